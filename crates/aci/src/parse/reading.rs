//! How much of what other servers accept is read.

/// How much of what other servers accept is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// The language alone: what clients write.
    #[default]
    Strict,
    /// Also values without quotation marks, each with a warning: data of other servers that is imported.
    Import,
}
