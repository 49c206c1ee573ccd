//! Where a search writes to, and how it ended: all that a search sees of its client.

use std::ops::ControlFlow;
use std::time::Duration;

use ldap::{ControlBuf, LdapResult};

use query::encode::MessageSink;

/// Candidates that an event loop may look at before it serves others; more go to the pool. About 200 µs of work.
pub const LONG_CANDIDATES: u64 = 200;

/// How long a search keeps one snapshot. Half of what the store asks for.
pub(super) const SNAPSHOT_AGE_MAX: Duration = Duration::from_millis(500);

/// Candidates between two looks at the clock.
pub(super) const CANDIDATES_PER_LOOK: usize = 128;

/// Where a search writes to.
pub trait SearchOutput: MessageSink {
    /// One message more is in the buffer. `Break` ends the search: the client is gone, or does not read.
    fn entry_written(&mut self) -> ControlFlow<()>;

    /// Whether the operation was abandoned or cancelled.
    fn cancelled(&self) -> bool;

    /// Whether the search should [`pause`](SearchOutput::pause): so much waits for the client, or it is others' turn. Asked after
    /// every [`CANDIDATES_PER_LOOK`] candidates at the latest.
    fn should_pause(&mut self) -> bool {
        false
    }

    /// Whether the search must [`pause`](SearchOutput::pause) before its next candidate: a long message waits outside memory.
    fn must_pause(&self) -> bool {
        false
    }

    /// Sleeps until the client has caught up and it is this search's turn again. The search holds no snapshot meanwhile.
    fn pause(&mut self) {}
}

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
            controls: Vec::new(),
        }
    }
}
