//! Why a value has no normal form.

use thiserror::Error;

use crate::prep::PrepError;
use crate::syntax::SyntaxError;

/// Why a value has no normal form under a rule, in words that follow "the value".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidValue {
    /// String preparation refused it.
    #[error("{0}")]
    Prep(#[from] PrepError),
    /// It is not of the rule's syntax.
    #[error("is not {0}")]
    NotA(&'static str),
    /// It is not of the syntax of the rule's assertions.
    #[error("{0}")]
    Syntax(#[from] SyntaxError),
    /// The rule cannot be applied to values of this kind by name alone.
    #[error("is not comparable by {0}")]
    NotComparable(&'static str),
}
