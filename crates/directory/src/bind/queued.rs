//! Binds that wait for another one of their account: until a guess goes, because the guesses in flight may use up those
//! that the policy leaves, and a right password must not be refused for that; or for the verdict on the same password.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::guesses::{Guessed, Line, Turn};
use ldap::LdapResult;
use zeroize::Zeroizing;

use super::claimed::Claimed;
use super::context::BindContext;
use super::done::BindDone;
use super::step::{BindStep, Credential, GuessWait, KeptProof, QueuedBind, Ready, ReadyBind, Via, WaitsFor};
use crate::refusal::Refusal;

/// How long a bind waits for a guess.
const WAIT_MAX: Duration = Duration::from_secs(10);

impl QueuedBind {
    /// One that begins to wait for a guess.
    pub(super) fn for_guess(claimed: Claimed, whose: Guessed, via: Via, credential: Credential<'_>) -> QueuedBind {
        let proof = match credential {
            Credential::Password(clear) => KeptProof::Clear(Zeroizing::new(clear.to_vec())),
            Credential::Judged { is_right } => KeptProof::Judged { is_right },
            Credential::Trusted => KeptProof::Judged { is_right: true },
        };
        let until = Instant::now() + WAIT_MAX;
        QueuedBind(WaitsFor::Guess(GuessWait { claimed, whose, via, proof, line: Line::Back, until }))
    }

    /// Calls on the timer's thread when it is the bind's turn.
    pub(crate) fn then_in(self: Box<Self>, context: &BindContext<'_>, call: impl FnOnce(ReadyBind) + Send + 'static) {
        match self.0 {
            WaitsFor::Guess(wait) => wait.then_in(context, call),
            WaitsFor::Verdict(wait) => {
                let (awaited, timer) = (Arc::clone(&wait.awaited), Arc::clone(context.timer));
                awaited.then(Box::new(move |verdict| {
                    timer.soon(Box::new(move || call(ReadyBind(Ready::Verdict(wait, verdict)))));
                }));
            }
        }
    }
}

impl GuessWait {
    fn then_in(self, context: &BindContext<'_>, call: impl FnOnce(ReadyBind) + Send + 'static) {
        let (guesses, timer) = (Arc::clone(context.guesses), Arc::clone(context.timer));
        let (whose, line, until) = (self.whose, self.line, self.until);
        let soon = Arc::clone(&timer);
        let wake = move |turn| soon.soon(Box::new(move || call(ReadyBind(Ready::Guess(self, turn)))));
        if let Some(waiting) = context.guesses.wait(whose, line, Box::new(wake)) {
            timer.at(until, Box::new(move || guesses.give_up(waiting)));
        }
    }
}

impl ReadyBind {
    /// Brings the bind on.
    pub(crate) fn run_in(self, context: &BindContext<'_>) -> BindStep {
        match self.0 {
            Ready::Guess(wait, turn) => wait.run_in(context, turn),
            Ready::Verdict(wait, verdict) => context.go_on_after(wait, verdict),
        }
    }
}

impl GuessWait {
    fn run_in(self, context: &BindContext<'_>, turn: Turn) -> BindStep {
        let GuessWait { claimed, whose, via, proof, until, .. } = self;
        if turn == Turn::TooLong {
            return context.busy();
        }
        let claimed = match context.renew(claimed) {
            Ok(claimed) => claimed,
            Err(error) => return *context.failed_to_read(&error),
        };
        let credential = match &proof {
            KeptProof::Clear(clear) => Credential::Password(clear),
            KeptProof::Judged { is_right } => Credential::Judged { is_right: *is_right },
        };
        let step = context.authenticate(claimed, credential, via);
        if let BindStep::Queued(queued) = step {
            return match queued.0 {
                WaitsFor::Guess(wait) => {
                    let wait = GuessWait { line: Line::Front, until, ..wait };
                    BindStep::Queued(Box::new(QueuedBind(WaitsFor::Guess(wait))))
                }
                // It has its guess.
                WaitsFor::Verdict(wait) => {
                    context.guesses.wake_next(whose);
                    BindStep::Queued(Box::new(QueuedBind(WaitsFor::Verdict(wait))))
                }
            };
        }
        // The account may be locked now, or its failures forgotten: then nobody has to wait.
        context.guesses.wake_next(whose);
        step
    }
}

impl BindContext<'_> {
    /// Too many wait.
    pub(super) fn busy(&self) -> BindStep {
        let result = LdapResult::from(Refusal::GuessesWait);
        BindStep::Done(BindDone { result, controls: Vec::new(), bound: self.nobody(), failure: None })
    }
}
