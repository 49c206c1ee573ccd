//! How long work on LMDB gives way to others.

/// Called between small pieces of work; may sleep.
pub(crate) type Pace<'p> = &'p mut dyn FnMut();
