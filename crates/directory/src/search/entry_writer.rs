//! Where the entries of a search go: all that a search sees of whoever asked.
//!
//! LDAP connections are one such place. Nothing here knows of messages: an entry comes as what its reader is shown.

use std::ops::ControlFlow;
use std::time::Duration;

use query::encode::{EncodeError, ShownEntry};

/// How long a search keeps one snapshot. Half of what the store asks for.
pub(super) const SNAPSHOT_AGE_MAX: Duration = Duration::from_millis(500);

/// Candidates between two looks at the clock.
pub(super) const CANDIDATES_PER_LOOK: usize = 128;

/// Hands each entry of a search of the server's own to a function; references lead elsewhere and are left out.
pub(crate) struct Each<F>(pub(crate) F);

impl<F: FnMut(&ShownEntry<'_, '_>) -> Result<(), EncodeError>> EntryWriter for Each<F> {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        (self.0)(entry).map(ControlFlow::Continue)
    }

    fn reference(&mut self, _urls: &[String]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// Takes what a search finds.
pub trait EntryWriter {
    /// Takes an entry. `Break`: it is taken, and the search is to end there, because nobody waits for more.
    ///
    /// # Errors
    /// When the entry is not taken, or its values cannot be read.
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError>;

    /// Takes a continuation reference: URLs that all lead to the same place.
    fn reference(&mut self, urls: &[String]) -> ControlFlow<()>;

    /// The next entry takes long to read. `Break`: it is not wanted here.
    fn long_entry(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Whether the operation was abandoned or cancelled.
    fn cancelled(&self) -> bool;

    /// Whether the search should [`pause`](EntryWriter::pause): so much waits for the client, or it is others' turn.
    /// Asked after every [`CANDIDATES_PER_LOOK`] candidates at the latest.
    fn should_pause(&mut self) -> bool {
        false
    }

    /// Whether the search must [`pause`](EntryWriter::pause) before its next candidate: a long entry waits outside
    /// memory.
    fn must_pause(&self) -> bool {
        false
    }

    /// Sleeps until the client has caught up and it is this search's turn again. The search holds no snapshot
    /// meanwhile.
    fn pause(&mut self) {}
}
