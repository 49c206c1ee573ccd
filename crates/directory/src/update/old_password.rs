//! An old password that comes with a new one, or is deleted: it goes the way of binds. A wrong one is counted, and its
//! refusal waits until that is on disk.
//!
//! Knows names and binds; not the request.

use ldap::LdapResult;
use schema::NormalizedDn;

use super::context::UpdateContext;
use super::order::Order;
use super::password_checks::Refused;
use crate::bind::{BindFailure, ClearPassword, ComparedPassword, Proven};
use crate::refusal::Refusal;

/// Whose password it is said to be.
#[derive(Clone, Copy)]
pub(super) struct Whose<'a> {
    pub(super) name: &'a NormalizedDn,
    /// The name as the client sent it.
    pub(super) sent: &'a [u8],
}

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
        order: &Order<'_, '_>,
        whose: Whose<'_>,
        password: ClearPassword<'_>,
        wrong: impl FnOnce() -> LdapResult,
    ) -> Result<OldPassword, LdapResult> {
        let Whose { name, sent } = whose;
        let claimed = match name.as_bytes() {
            // What the client sent is no name: it is whatever nobody is called.
            [] => self.binding.claim_nobody(sent, BindFailure::NoEntry),
            _ => self.binding.claim(name)?,
        };
        self.guess_watch.check(order.session, sent)?;
        let compared = self.binding.compare_password(claimed, password)?;
        if matches!(compared, ComparedPassword::Wrong(_)) {
            self.guess_watch.note(order.session.address, sent);
        }
        Ok(match compared {
            ComparedPassword::Right(proven) => OldPassword::Right(proven),
            ComparedPassword::Wrong(wait) => {
                OldPassword::Wrong(Refused { result: wrong(), error: None, wait: Some(wait) })
            }
            ComparedPassword::TakesLong => OldPassword::TakesLong,
        })
    }

    /// The same on a thread that may take long, or after it was found that it does not.
    pub(super) fn check_old(
        &self,
        order: &Order<'_, '_>,
        whose: Whose<'_>,
        old: &[u8],
        wrong: Refusal,
    ) -> Result<Box<Proven>, Refused> {
        let password =
            ClearPassword { clear: old, may_be_slow: true, with_code: false, address: order.session.address };
        match self.compare_old(order, whose, password, || wrong.into())? {
            OldPassword::Right(proven) => Ok(proven),
            OldPassword::Wrong(refused) => Err(refused),
            OldPassword::TakesLong => Err(Refusal::StateNotWritten.into()),
        }
    }
}
