//! An old password that comes with a new one, or is deleted: it goes the way of binds. A wrong one is counted, and its
//! refusal waits until that is on disk.
//!
//! Knows names and binds; not the request.

use ldap::LdapResult;
use schema::NormalizedDn;

use super::context::UpdateContext;
use super::password_checks::Refused;
use crate::bind::{ClearPassword, ComparedPassword, Proven};
use crate::refusal::Refusal;

/// What an old password is.
pub(super) enum OldPassword {
    Right(Box<Proven>),
    /// With the refusal of it.
    Wrong(Refused),
    /// A pool's thread has to compare it.
    TakesLong,
}

impl UpdateContext<'_> {
    /// Compares the password of who has that name, or of nobody; `wrong` is said of a wrong one.
    pub(super) fn compare_old(
        &self,
        name: &NormalizedDn,
        password: ClearPassword<'_>,
        wrong: impl FnOnce() -> LdapResult,
    ) -> Result<OldPassword, LdapResult> {
        let claimed = self.binding.claim(name)?;
        Ok(match self.binding.compare_password(claimed, password)? {
            ComparedPassword::Right(proven) => OldPassword::Right(proven),
            ComparedPassword::Wrong(wait) => {
                OldPassword::Wrong(Refused { result: wrong(), error: None, wait: Some(wait) })
            }
            ComparedPassword::TakesLong => OldPassword::TakesLong,
        })
    }

    /// The same on a thread that may take long, or after it was found that it does not.
    pub(super) fn check_old(&self, name: &NormalizedDn, old: &[u8], wrong: Refusal) -> Result<Box<Proven>, Refused> {
        match self
            .compare_old(name, ClearPassword { clear: old, may_be_slow: true, with_code: false }, || wrong.into())?
        {
            OldPassword::Right(proven) => Ok(proven),
            OldPassword::Wrong(refused) => Err(refused),
            OldPassword::TakesLong => Err(Refusal::StateNotWritten.into()),
        }
    }
}
