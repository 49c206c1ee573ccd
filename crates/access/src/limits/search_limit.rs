//! A limit of a client's searches, and who sets it.

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Entries that are sent.
    Size,
    /// Milliseconds.
    Time,
    /// Entries that are looked at.
    Lookthrough,
}

/// Who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// This attribute of the client's entry.
    Entry(&'static str),
    /// The rule of that name in the configuration.
    Rule(String),
    /// What is configured for everybody.
    Global,
}

/// A limit that holds for the searches of a client which name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchLimit {
    /// What is limited.
    pub kind: LimitKind,
    /// The most that is allowed.
    pub most: u64,
    /// Who says so.
    pub source: LimitSource,
}
