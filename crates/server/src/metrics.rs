//! What one event loop counts of LDAP, beside what the network side counts of it.
//!
//! Knows nothing of who reads it (`monitor`).

use std::sync::Arc;
use std::time::Duration;

use runtime::metrics::{Counter, NetworkMetrics, Timings};

/// Kinds of LDAP operations, in the order and with the names of OpenDJ's logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "RFC 4511's words")]
pub enum OperationKind {
    Abandon,
    Add,
    Bind,
    Compare,
    Delete,
    Extended,
    Modify,
    ModifyDn,
    Search,
    Unbind,
}

impl OperationKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Abandon,
        Self::Add,
        Self::Bind,
        Self::Compare,
        Self::Delete,
        Self::Extended,
        Self::Modify,
        Self::ModifyDn,
        Self::Search,
        Self::Unbind,
    ];

    /// As written in the access log.
    pub fn log_name(self) -> &'static str {
        match self {
            Self::Abandon => "ABANDON",
            Self::Add => "ADD",
            Self::Bind => "BIND",
            Self::Compare => "COMPARE",
            Self::Delete => "DELETE",
            Self::Extended => "EXTENDED",
            Self::Modify => "MODIFY",
            Self::ModifyDn => "MODIFYDN",
            Self::Search => "SEARCH",
            Self::Unbind => "UNBIND",
        }
    }

    /// As in the attribute names of `cn=monitor`.
    pub fn monitor_name(self) -> &'static str {
        match self {
            Self::Abandon => "abandon",
            Self::Add => "add",
            Self::Bind => "bind",
            Self::Compare => "compare",
            Self::Delete => "delete",
            Self::Extended => "extended",
            Self::Modify => "modify",
            Self::ModifyDn => "modifyDN",
            Self::Search => "search",
            Self::Unbind => "unbind",
        }
    }
}

/// See the module.
#[derive(Debug)]
#[repr(align(128))]
pub struct LdapMetrics {
    /// Connections and bytes.
    pub network: Arc<NetworkMetrics>,
    /// Per kind: requests read, responses sent, time.
    operations: [Timings; OperationKind::ALL.len()],
    /// Entries returned by searches.
    pub entries_returned: Counter,
    /// References returned by searches.
    pub references_returned: Counter,
    /// Searches that no index could answer.
    pub searches_unindexed: Counter,
    /// Searches that ended at their size limit.
    pub searches_over_size: Counter,
    /// Searches that ended at their time limit.
    pub searches_over_time: Counter,
    /// Searches that ended at their lookthrough limit, or were refused by another administrative limit.
    pub searches_over_lookthrough: Counter,
    /// Searches with base scope.
    pub searches_base: Counter,
    /// Searches with one-level scope.
    pub searches_one: Counter,
    /// Searches with subtree scope.
    pub searches_sub: Counter,
    /// Binds that failed with invalidCredentials.
    pub binds_failed: Counter,
    /// Operations abandoned or cancelled before they ended.
    pub abandoned: Counter,
    /// Operations refused with `busy`.
    pub busy: Counter,
}

impl LdapMetrics {
    /// Zeros, beside what the network side counts.
    pub fn new(network: Arc<NetworkMetrics>) -> Self {
        Self {
            network,
            operations: std::array::from_fn(|_| Timings::default()),
            entries_returned: Counter::default(),
            references_returned: Counter::default(),
            searches_unindexed: Counter::default(),
            searches_over_size: Counter::default(),
            searches_over_time: Counter::default(),
            searches_over_lookthrough: Counter::default(),
            searches_base: Counter::default(),
            searches_one: Counter::default(),
            searches_sub: Counter::default(),
            binds_failed: Counter::default(),
            abandoned: Counter::default(),
            busy: Counter::default(),
        }
    }

    /// The numbers of one kind.
    pub fn of(&self, kind: OperationKind) -> &Timings {
        &self.operations[kind as usize]
    }

    /// One operation ended, in the minute that it is (since 1970).
    pub fn record(&self, kind: OperationKind, minute: u64, elapsed: Duration) {
        self.of(kind).record(minute, elapsed);
    }
}
