//! The way into the queues of the backends: every change gets its CSN here, and changes that the server makes by itself
//! are counted and timed by their cause.
//!
//! Knows clocks and queues; what a change says is the business of whoever makes it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use store::{Outcome, StoreError, Submitter};

use super::decided::Decided;
use change::csn::{Csn, CsnClock};
use query::backend::Backend;
use query::monitor_entry::MonitorEntry;

/// Why the server changes something that no client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// References name an entry that was deleted or renamed.
    References,
    /// Indexes are built, rebuilt or dropped.
    Indexes,
    /// Plugins, schema: what the backends keep of the configuration.
    Configuration,
    /// Dynamic entries have expired.
    Expiry,
}

impl Cause {
    const ALL: [Cause; 4] = [Cause::References, Cause::Indexes, Cause::Configuration, Cause::Expiry];

    /// As in the attribute names of `cn=monitor`.
    fn name(self) -> &'static str {
        match self {
            Cause::References => "referential-integrity",
            Cause::Indexes => "index-building",
            Cause::Configuration => "configuration",
            Cause::Expiry => "dynamic-entries",
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    clock: CsnClock,
    internal: [Tally; Cause::ALL.len()],
}

#[derive(Debug, Default)]
struct Tally {
    count: AtomicU64,
    total_us: AtomicU64,
    max_us: AtomicU64,
}

impl Intake {
    /// The CSN of a change that the server makes itself.
    pub(crate) fn next_csn(&self) -> Csn {
        self.clock.next()
    }

    pub(super) fn encode(&self, decided: &Decided<'_>, entry_uuid: [u8; 16]) -> (Csn, Vec<u8>) {
        let csn = self.clock.next();
        (csn, decided.proposal(csn, entry_uuid).encode())
    }

    /// Hands in what the client of a connection asked for. Connections take turns.
    pub(super) fn submit(&self, backend: &Backend, connection: u64, proposal: Vec<u8>, done: store::Done) {
        backend.store.submit(Submitter(connection), proposal, done);
    }

    /// Hands in a change of the server's own, and waits for it. Not for event loops, nor for the thread of a writer.
    pub(crate) fn submit_and_wait(
        &self,
        backend: &Backend,
        cause: Cause,
        proposal: Vec<u8>,
    ) -> Result<Outcome, StoreError> {
        let begun = Instant::now();
        let outcome = backend.store.submit_and_wait(proposal);
        self.count(cause, begun);
        outcome
    }

    /// Counts a change of the server's own that began at `begun` and is done.
    pub(super) fn count(&self, cause: Cause, begun: Instant) {
        let Some(tally) = self.internal.get(cause as usize) else { return };
        let time_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        tally.count.fetch_add(1, Ordering::Relaxed);
        tally.total_us.fetch_add(time_us, Ordering::Relaxed);
        tally.max_us.fetch_max(time_us, Ordering::Relaxed);
    }

    /// What `cn=monitor` says of the server's own changes.
    pub(crate) fn monitor_entry(&self) -> MonitorEntry {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Cause::ALL.iter().zip(&self.internal).fold(MonitorEntry::new("Internal Operations"), |entry, (cause, tally)| {
            let name = cause.name();
            entry
                .with(&format!("{name}-operations"), get(&tally.count))
                .with(&format!("{name}-time-total-us"), get(&tally.total_us))
                .with(&format!("{name}-time-max-us"), get(&tally.max_us))
        })
    }
}
