//! The pauses in long work on LMDB, which leave processor and disk to others.

/// Called between small pieces of work; may sleep.
pub(crate) type Pace<'p> = &'p mut dyn FnMut();
