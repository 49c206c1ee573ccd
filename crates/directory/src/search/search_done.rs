//! How a search ended.

use ldap::{ControlBuf, LdapResult, ResultCode};

/// How a search ended, for the client and for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchDone {
    /// What `SearchResultDone` says.
    pub result: LdapResult,
    /// Entries written.
    pub entries_sent: u64,
    /// Continuation references written.
    pub references_sent: u64,
    /// Whether no index answered the filter.
    pub unindexed: bool,
    /// Entries looked at.
    pub candidates: u64,
    /// Whether the search was abandoned, cancelled or its client went away, so that nobody waits for the result.
    pub is_cancelled: bool,
    /// What the result would have been but for the base, which does not show: for the log only.
    pub masked: Option<ResultCode>,
    /// Controls of the response.
    pub controls: Vec<ControlBuf>,
}

impl SearchDone {
    /// A search that ended with `result` before it began.
    #[must_use]
    pub fn of(result: LdapResult) -> SearchDone {
        SearchDone {
            result,
            entries_sent: 0,
            references_sent: 0,
            unindexed: false,
            candidates: 0,
            is_cancelled: false,
            masked: None,
            controls: Vec::new(),
        }
    }
}
