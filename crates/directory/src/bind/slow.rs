//! Passwords that are slow to check: remembered from a moment ago, verified by a pool's thread, or being verified by it
//! for another bind with the same password of the same account, whose verdict is waited for. A hundred first binds at
//! once cost one hash, right or wrong; each is counted as a guess of its own.
//!
//! Names that nobody has go the same way: they are verified in full, and never remembered.

use std::sync::Arc;
use std::time::Instant;

use access::verified::{Verdict, Waiter};
use zeroize::Zeroizing;

use super::awaited::AwaitedVerdict;
use super::context::BindContext;
use super::remembered::Remembered;
use super::step::{Attempt, BindStep, HashJob, QueuedBind, VerdictWait, WaitsFor};

impl BindContext<'_> {
    /// Has a password checked. Who waited for a verdict once, in vain, waits a second time and not a third.
    pub(super) fn check_slow(&self, attempt: Attempt, clear: &[u8], is_second: bool) -> BindStep {
        let mut awaited = None;
        let waiter = || -> Waiter {
            let verdict = Arc::clone(awaited.insert(Arc::<AwaitedVerdict>::default()));
            Box::new(move |it| verdict.come(it))
        };
        let verification = match self.remembered(&attempt, clear, waiter) {
            Remembered::Right => return self.conclude_clear(attempt, clear, true),
            Remembered::Waits => None,
            Remembered::Verify(verification) => verification,
        };
        let clear = Zeroizing::new(clear.to_vec());
        match awaited {
            Some(awaited) => {
                let wait = VerdictWait { attempt, clear, awaited, is_second };
                BindStep::Queued(Box::new(QueuedBind(WaitsFor::Verdict(wait))))
            }
            None => BindStep::SlowHash(Box::new(HashJob { attempt, clear, verification, made: Instant::now() })),
        }
    }

    /// Whether a password is remembered, where the policy lets it be. A guess that is refused whatever it is must not
    /// be answered sooner when it is right.
    pub(super) fn remembered(&self, attempt: &Attempt, clear: &[u8], waiter: impl FnOnce() -> Waiter) -> Remembered {
        let claimed = &attempt.claimed;
        // With a second factor, a password that is known at once would tell that only the code is wrong.
        let may_be = claimed.policy.remember_verified_binds
            && !claimed.state.tokens.are_asked_for()
            && !attempt.guess.is_refused();
        match claimed.uuid().filter(|_| may_be) {
            Some(uuid) => {
                let changed = claimed.state.password_changed;
                self.remembered.look_up(&uuid, (&claimed.passwords, changed), clear, waiter)
            }
            None => Remembered::Verify(None),
        }
    }

    /// Brings on a bind that waited for the verdict of another one's verification.
    pub(super) fn go_on_after(&self, wait: VerdictWait, verdict: Verdict) -> BindStep {
        let VerdictWait { mut attempt, clear, is_second, .. } = wait;
        attempt.via.begun = Instant::now();
        let is_right = match verdict {
            Verdict::Right => true,
            Verdict::Wrong => false,
            // The pool had no room, or the client of that bind is gone.
            Verdict::NotVerified if is_second => return self.busy(),
            Verdict::NotVerified => return self.check_slow(attempt, &clear, true),
        };
        let passwords = std::mem::take(&mut attempt.claimed.passwords);
        let mut claimed = match self.renew(attempt.claimed) {
            Ok(claimed) => claimed,
            Err(error) => return *self.failed_to_read(&error),
        };
        let is_same = claimed.passwords.is_empty() || claimed.passwords == passwords;
        if is_same {
            // Where nothing was written they were taken out.
            claimed.passwords = passwords;
        }
        let attempt = Attempt { claimed, ..attempt };
        match is_same {
            true => self.conclude_clear(attempt, &clear, is_right),
            false => BindStep::SlowHash(Box::new(HashJob { attempt, clear, verification: None, made: Instant::now() })),
        }
    }
}
