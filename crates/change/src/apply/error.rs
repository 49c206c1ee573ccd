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
    /// Limits, indexes that the schema does not carry, and what the store is not meant to be asked for follow from the
    /// proposal and the data alone: a slip of the program refuses one update instead of ending all.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Misuse(problem) => Refusal::Slip { problem }.into(),
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

#[cfg(test)]
mod tests {
    use ldap::{LdapResult, ResultCode};

    use super::*;

    #[test]
    fn a_slip_of_the_program_refuses_one_update_and_damage_stops_all() {
        let ApplyError::Refused(refusal) = ApplyError::from(StoreError::Misuse("name is taken")) else {
            panic!("the backend would take no update any more");
        };
        assert_eq!(LdapResult::from(*refusal).code, ResultCode::OTHER);
        let damaged = ApplyError::from(StoreError::Damaged("posting list".to_owned()));
        assert!(matches!(damaged, ApplyError::Unreadable(_)));
    }
}
