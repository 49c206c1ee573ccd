//! What is wrong with a file of expectations, and where.

/// One fault, as `FILE:LINE: what`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct Fault {
    /// The file's name.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

/// All that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Faults(pub Vec<Fault>);
