//! Why a value is not of a syntax.

use thiserror::Error;

/// Why a value is not of a syntax, in words that follow "the value".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntaxError {
    /// An empty value where one character is the least.
    #[error("is empty, which the syntax {syntax} does not allow")]
    Empty {
        /// Description of the syntax.
        syntax: String,
    },
    /// Anything else.
    #[error("is not a valid {syntax}")]
    Invalid {
        /// Description of the syntax.
        syntax: String,
    },
    /// A definition with a mistake.
    #[error("is not a valid {syntax}: {reason}")]
    Definition {
        /// Description of the syntax.
        syntax: String,
        /// What is wrong and where.
        reason: String,
    },
    /// Not one of the words of an enumeration.
    #[error("is not one of {allowed}")]
    NotListed {
        /// The words, separated by commas.
        allowed: String,
    },
    /// Not what the pattern of the syntax says.
    #[error("does not match the pattern {pattern}")]
    PatternMismatch {
        /// The regular expression.
        pattern: String,
    },
}
