//! What a session may spend on a search, and for how long it may be silent.
//!
//! Who gets what, in this order: attributes of the own entry ([`own`]), else the first rule of the configuration that
//! speaks of the session ([`rules`]), else what is configured for everybody. Root users have no limits unless a rule
//! names them. Does not look at candidates and does not end anything: searches and connections do.

mod allowance;
mod bound;
mod kept;
mod live;
mod own;
mod rules;
mod search_limit;
mod session;
mod sources;

use std::time::Duration;

use ldap::Filter;
use ldap::filter::FILTER_NODES_MAX;

use crate::refusal::Refusal;

pub use allowance::{Allowance, Most};
pub use bound::Bound;
pub use kept::Kept;
pub use live::LiveLimits;
pub use own::{OwnLimits, given_limits};
pub use rules::LimitRules;
pub use search_limit::{LimitKind, LimitSource, SearchLimit};
pub use session::LimitsFinder;

/// A rule of the configuration that is not valid.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// A configured name is no DN.
    #[error("{what} \"{dn}\" is not a distinguished name")]
    BadDn {
        /// What the name is for.
        what: &'static str,
        /// As configured.
        dn: String,
    },
    /// A rule's pattern is no regular expression, or too large a one.
    #[error("the pattern \"{pattern}\" of [limits.{rule}] cannot be used: {error}")]
    BadPattern {
        /// The rule's name.
        rule: String,
        /// As configured.
        pattern: String,
        /// What is wrong with it.
        error: String,
    },
}

/// What one session may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Entries that one search returns.
    pub size: Allowance,
    /// Milliseconds that one search takes.
    pub time_ms: Allowance,
    /// Candidates that one search looks at. No request can ask for a number, hence one value.
    pub lookthrough: Most,
    /// Parts of one filter.
    pub filter_parts: usize,
    /// Silence after which the connection is closed; `None` is never.
    pub idle: Option<Duration>,
    /// Entries of one page of a paged search (RFC 2696).
    pub page_size: Most,
    /// Entries of all pages of one paged search together.
    pub paged_total: PagedTotal,
    /// Searches may go without an index (OpenDJ's privilege `unindexed-search`).
    pub unindexed_search: bool,
    /// Which configuration they come from: see [`LiveLimits`].
    pub generation: u64,
}

/// How many entries all pages of one paged search may have together (OpenLDAP: `size.prtotal`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PagedTotal {
    /// As many as the hard size limit: paging does not get around it.
    #[default]
    SizeLimit,
    /// This many.
    Most(Most),
    /// Paged searches are refused.
    Disabled,
}

/// What one page may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Entries of this page.
    pub entries: u64,
    /// With them the limit of all pages is reached: if one more entry matches, the search ends with `sizeLimitExceeded`
    /// and an empty cookie, instead of with the cookie of a next page.
    pub is_last_allowed: bool,
}

impl SessionLimits {
    /// No limits, as root users have them. Going without an index takes the privilege unindexed-search.
    pub const UNLIMITED: SessionLimits = SessionLimits {
        size: Allowance::UNLIMITED,
        time_ms: Allowance::UNLIMITED,
        lookthrough: Most::Unlimited,
        filter_parts: FILTER_NODES_MAX,
        idle: None,
        page_size: Most::Unlimited,
        paged_total: PagedTotal::SizeLimit,
        unindexed_search: false,
        generation: 0,
    };

    /// Refuses filters that have more parts together than the session may send.
    ///
    /// # Errors
    /// `adminLimitExceeded`.
    pub fn check_filters<'f, 'a: 'f>(&self, filters: impl IntoIterator<Item = &'f Filter<'a>>) -> Result<(), Refusal> {
        let parts: usize = filters.into_iter().map(|filter| filter.nodes().len()).sum();
        let most = self.filter_parts;
        if parts <= most {
            return Ok(());
        }
        Err(Refusal::TooManyFilterParts { parts, most })
    }

    /// What the next page of a paged search may have. `size_limit` is the request's (0: none), `page_size` the
    /// control's, `sent_before` the entries of the pages before.
    ///
    /// A larger page than allowed is made smaller (RFC 2696 §3: a page may have fewer entries than asked for). The
    /// request's size limit counts all pages together, as in OpenLDAP.
    ///
    /// # Errors
    /// `adminLimitExceeded` when the session may not page at all.
    pub fn for_page(&self, size_limit: u64, page_size: u64, sent_before: u64) -> Result<Page, Refusal> {
        let allowed = match self.paged_total {
            PagedTotal::SizeLimit => self.size.hard(),
            PagedTotal::Most(most) => most,
            PagedTotal::Disabled => return Err(Refusal::NoPaging),
        };
        let total = Most::from_zero_is_none(size_limit).min(allowed);
        let page = Most::At(page_size).min(self.page_size).number().unwrap_or(page_size);
        Ok(match total.number().map(|total| total.saturating_sub(sent_before)) {
            Some(left) if left <= page => Page { entries: left, is_last_allowed: true },
            _ => Page { entries: page, is_last_allowed: false },
        })
    }
}

#[cfg(test)]
mod tests;
