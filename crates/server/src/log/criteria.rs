//! Which operations a log has: OpenDJ's filtering criteria with its meaning.
//!
//! All that one of the criteria sets has to match, and one value of several; `inclusive` writes what matches one of the
//! criteria, `exclusive` what matches none. What a request tells is judged when it comes, what an answer tells when it
//! is there. A log that has no lines of requests judges a bind by who is bound then; one that has them, by who was
//! bound before. Every comparison with a number is strict.
//!
//! Knows no line and no file.

use std::net::IpAddr;
use std::sync::Arc;

use config::{AccessLogFilter, FilteringPolicy, LogCriteria, LogRecordType};
use directory::{DnMatcher, Identity};
use schema::Schema;

use super::event::{EndPoint, Origin, ResultFields};
use super::matched::Matched;
use crate::metrics::OperationKind;

/// Who is asked for the groups of a user.
pub trait Groups {
    /// Whether an identity is in the group of that name.
    fn is_in_group(&self, identity: &Identity, group: &str) -> bool;
}

/// What a connection or a request tells.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// What it is.
    pub record: LogRecordType,
    /// The connection.
    pub origin: &'a Origin<'a>,
    /// Who is bound; a connection that has just come has nobody and is not asked.
    pub user: Option<&'a Identity>,
    /// The entry that the request is about; none where the request names none, or was not understood.
    pub target: Option<&'a [u8]>,
    /// Who knows groups.
    pub groups: &'a dyn Groups,
}

/// What the log calls the record of an operation.
pub fn record_of(kind: OperationKind) -> LogRecordType {
    match kind {
        OperationKind::Abandon => LogRecordType::Abandon,
        OperationKind::Add => LogRecordType::Add,
        OperationKind::Bind => LogRecordType::Bind,
        OperationKind::Compare => LogRecordType::Compare,
        OperationKind::Delete => LogRecordType::Delete,
        OperationKind::Extended => LogRecordType::Extended,
        OperationKind::Modify => LogRecordType::Modify,
        OperationKind::ModifyDn => LogRecordType::Rename,
        OperationKind::Search => LogRecordType::Search,
        OperationKind::Unbind => LogRecordType::Unbind,
    }
}

/// The filter of one log.
#[derive(Debug)]
pub struct Filter {
    policy: FilteringPolicy,
    /// Whether changes that the server makes by itself are left out.
    pub suppresses_internal: bool,
    criteria: Vec<Criterion>,
}

#[derive(Debug)]
struct Criterion {
    config: LogCriteria,
    users: Vec<DnMatcher>,
    other_users: Vec<DnMatcher>,
    targets: Vec<DnMatcher>,
    other_targets: Vec<DnMatcher>,
    asks_of_response: bool,
}

impl Filter {
    /// By the schema of the moment.
    pub fn new(config: &AccessLogFilter, schema: &Arc<Schema>) -> Self {
        let criteria = match config.policy {
            // They have no effect.
            FilteringPolicy::NoFiltering => Vec::new(),
            FilteringPolicy::Inclusive | FilteringPolicy::Exclusive => {
                config.criteria.iter().map(|criteria| Criterion::new(criteria, schema)).collect()
            }
        };
        Self { policy: config.policy, suppresses_internal: config.suppress_internal, criteria }
    }

    /// How many criteria it has.
    pub fn count(&self) -> usize {
        self.criteria.len()
    }

    /// Notes which of its criteria, numbered from `first`, a request matches. Returns whether its answer may come into
    /// the log.
    pub fn judge(&self, asked: &Asked<'_>, first: usize, matched: &mut Matched) -> bool {
        let mut may_match = false;
        let mut must_match = false;
        for (at, criterion) in self.criteria.iter().enumerate() {
            if !criterion.matches(asked) {
                matched.clear(first + at);
                continue;
            }
            matched.set(first + at);
            may_match = true;
            must_match |= !criterion.asks_of_response;
        }
        match self.policy {
            FilteringPolicy::NoFiltering => true,
            FilteringPolicy::Inclusive => may_match,
            FilteringPolicy::Exclusive => !must_match,
        }
    }

    /// Whether a request that was judged is in the log, its answer apart.
    pub fn has_request(&self, first: usize, matched: &Matched) -> bool {
        self.decide(self.numbered(first, matched).next().is_some())
    }

    /// Whether the answer of a request that was judged is in the log.
    pub fn has_response(
        &self,
        kind: OperationKind,
        result: &ResultFields<'_>,
        first: usize,
        matched: &Matched,
    ) -> bool {
        self.decide(self.numbered(first, matched).any(|criterion| criterion.matches_response(kind, result)))
    }

    /// Whether a connection that comes or goes is in the log.
    pub fn has_connection(&self, asked: &Asked<'_>) -> bool {
        self.decide(self.criteria.iter().any(|criterion| criterion.matches(asked)))
    }

    fn numbered<'f>(&'f self, first: usize, matched: &'f Matched) -> impl Iterator<Item = &'f Criterion> {
        let all = self.criteria.iter().enumerate();
        all.filter(move |(at, _)| matched.has(first + at)).map(|(_, criterion)| criterion)
    }

    fn decide(&self, any_matches: bool) -> bool {
        match self.policy {
            FilteringPolicy::NoFiltering => true,
            FilteringPolicy::Inclusive => any_matches,
            FilteringPolicy::Exclusive => !any_matches,
        }
    }
}

impl Criterion {
    fn new(config: &LogCriteria, schema: &Arc<Schema>) -> Self {
        // The configuration was checked: each of them can be read.
        let matchers = |texts: &[String]| texts.iter().filter_map(|text| DnMatcher::parse(schema, text).ok()).collect();
        let asks_of_response = !config.result_codes.is_empty()
            || !config.other_result_codes.is_empty()
            || config.etime_above_ms.is_some()
            || config.etime_below_ms.is_some()
            || config.entries_above.is_some()
            || config.entries_below.is_some()
            || config.is_indexed.is_some();
        Self {
            users: matchers(&config.users),
            other_users: matchers(&config.other_users),
            targets: matchers(&config.targets),
            other_targets: matchers(&config.other_targets),
            asks_of_response,
            config: config.clone(),
        }
    }

    /// What is cheap is asked first.
    fn matches(&self, asked: &Asked<'_>) -> bool {
        let types = &self.config.record_types;
        (types.is_empty() || types.contains(&asked.record))
            && self.matches_connection(asked.origin)
            && self.matches_target(asked)
            && asked.user.is_none_or(|user| self.matches_user(user, asked.groups))
    }

    fn matches_connection(&self, origin: &Origin<'_>) -> bool {
        let config = &self.config;
        let protocol = |one: &String| one.eq_ignore_ascii_case(origin.protocol);
        if !(config.protocols.is_empty() || config.protocols.iter().any(protocol)) {
            return false;
        }
        let port = if let EndPoint::Address(to) = origin.to { Some(to.port()) } else { None };
        if !(config.ports.is_empty() || port.is_some_and(|port| config.ports.contains(&port))) {
            return false;
        }
        let client: Option<IpAddr> = if let EndPoint::Address(from) = origin.from { Some(from.ip()) } else { None };
        let is_at = |masks: &[config::AddressMask]| client.is_some_and(|at| masks.iter().any(|it| it.contains(at)));
        !is_at(&config.other_client_addresses)
            && (config.client_addresses.is_empty() || is_at(&config.client_addresses))
    }

    fn matches_target(&self, asked: &Asked<'_>) -> bool {
        use LogRecordType::{Abandon, Connect, Disconnect, Extended, Unbind};
        if matches!(asked.record, Abandon | Connect | Disconnect | Extended | Unbind) {
            return true;
        }
        matches_name(asked.target, &self.targets, &self.other_targets)
    }

    fn matches_user(&self, user: &Identity, groups: &dyn Groups) -> bool {
        let name = (!user.is_anonymous()).then(|| user.dn().as_bytes());
        let is_in = |names: &[String]| names.iter().any(|group| groups.is_in_group(user, group));
        matches_name(name, &self.users, &self.other_users)
            && !is_in(&self.config.other_groups)
            && (self.config.groups.is_empty() || is_in(&self.config.groups))
    }

    fn matches_response(&self, kind: OperationKind, result: &ResultFields<'_>) -> bool {
        let config = &self.config;
        let etime_ms = u64::try_from(result.elapsed.as_millis()).unwrap_or(u64::MAX);
        let is_result = !config.other_result_codes.contains(&result.code)
            && (config.result_codes.is_empty() || config.result_codes.contains(&result.code))
            && config.etime_above_ms.is_none_or(|limit| etime_ms > limit)
            && config.etime_below_ms.is_none_or(|limit| etime_ms < limit);
        if !is_result || kind != OperationKind::Search {
            return is_result;
        }
        let entries = result.entries.unwrap_or(0);
        config.is_indexed.is_none_or(|is_indexed| is_indexed != result.is_unindexed)
            && config.entries_above.is_none_or(|limit| entries > limit)
            && config.entries_below.is_none_or(|limit| entries < limit)
    }
}

/// A name that is not there, or is none, matches no pattern.
fn matches_name(name: Option<&[u8]>, equal: &[DnMatcher], not_equal: &[DnMatcher]) -> bool {
    let matches = |patterns: &[DnMatcher]| name.is_some_and(|name| patterns.iter().any(|it| it.matches(name)));
    !matches(not_equal) && (equal.is_empty() || matches(equal))
}
