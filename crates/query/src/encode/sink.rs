//! Where encoded messages go. A message can be of any length, the memory that it takes cannot: long ones are taken in
//! parts.

use std::ops::ControlFlow;

use store::StoreError;

/// A buffer that somebody may empty while a long message is being written to it.
pub trait MessageSink {
    /// The buffer to append to.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// The buffer holds part of a message, and may be emptied now. `Break`: nobody reads the rest.
    fn part_written(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl MessageSink for Vec<u8> {
    #[inline]
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }
}

/// Why an entry was not written.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The database could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Whoever takes entries does not take this one, or no more of it.
    #[error("the entry is not taken")]
    Stopped,
}
