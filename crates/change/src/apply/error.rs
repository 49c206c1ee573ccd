//! Why a proposal has no effect: it is refused, it was judged on something else, or the backend's data could not be
//! read.
//!
//! The difference decides what happens to the backend. A refusal follows from the proposal and the data, so every
//! machine and every replay gives the same one. After a failed read it is unknown what the proposal would have done:
//! the writer applies nothing more.

use store::StoreError;
use store::posting::Damaged;

use crate::refusal::Refusal;

/// See the module. Both are rare and large, so they are boxed.
#[derive(Debug)]
pub(super) enum ApplyError {
    /// The data could not be read.
    Unreadable(Box<StoreError>),
    /// The proposal is refused.
    Refused(Box<Refusal>),
    /// What it is about is not what was judged: whoever judged may judge again.
    JudgedElse,
}

impl From<Refusal> for ApplyError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<query::error::Refusal> for ApplyError {
    fn from(refusal: query::error::Refusal) -> Self {
        Refusal::from(refusal).into()
    }
}

impl From<StoreError> for ApplyError {
    /// Limits, and indexes that the schema does not carry, follow from the proposal and the data alone.
    fn from(error: StoreError) -> Self {
        match error {
            error if error.is_limit() || matches!(error, StoreError::Index(_)) => {
                query::error::Refusal::from(&error).into()
            }
            error => Self::Unreadable(Box::new(error)),
        }
    }
}

impl From<Damaged> for ApplyError {
    fn from(damaged: Damaged) -> Self {
        StoreError::from(damaged).into()
    }
}
