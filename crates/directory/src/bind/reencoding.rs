//! The end of a bind with a clear password: one that is stored in a deprecated scheme is stored anew.

use ldap::ResultCode;
use zeroize::Zeroizing;

use super::claimed::{Claimed, Who};
use super::context::BindContext;
use super::step::{Attempt, BindStep};
use crate::account::{Reencoding, has_deprecated};

impl BindContext<'_> {
    /// What follows from a password that was judged.
    pub(super) fn conclude_clear(&self, attempt: Attempt, clear: &[u8], is_right: bool) -> BindStep {
        let wanted = if is_right { self.reencoding(&attempt.claimed, clear) } else { None };
        let step = self.conclude(attempt, is_right);
        if let Some(wanted) = wanted
            && step.is_success()
        {
            self.reencoder.take(wanted);
        }
        step
    }

    fn reencoding(&self, claimed: &Claimed, clear: &[u8]) -> Option<Reencoding> {
        let Who::Entry(found) = &claimed.who else { return None };
        has_deprecated(&claimed.policy, &claimed.passwords).then(|| Reencoding {
            place: found.place,
            entry_uuid: found.entry_uuid,
            stored: claimed.passwords.clone(),
            clear: Zeroizing::new(clear.to_vec()),
            policy: claimed.policy.clone(),
            parameters: **self.parameters.load(),
        })
    }
}

impl BindStep {
    pub(super) fn is_success(&self) -> bool {
        let done = match self {
            BindStep::Done(done) => done,
            BindStep::Waits(waiting) => &waiting.done,
            BindStep::SlowHash(_) | BindStep::Queued(_) | BindStep::Elsewhere(_) => return false,
        };
        done.result.code == ResultCode::SUCCESS
    }
}
