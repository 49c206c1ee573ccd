//! The path of every bind: the guess is counted, the proof is judged, and what follows is told and written.

use std::sync::Arc;
use std::time::Instant;

use access::guesses::Guessed;
use access::locked_guesses::LockedGuesses;
use accounts::{
    BindRefusal, Credential as Proof, MayGuess, Moment, PasswordPolicyResponse, StateChange, StateUpdateFailure,
    UnderLock, Verdict,
};
use ldap::{ControlBuf, LdapResult, ResultCode};
use schema::NormalizedDn;
use zeroize::Zeroizing;

use super::claimed::{Claimed, Who};
use super::code::take_code;
use super::context::BindContext;
use super::done::{BindDone, BindFailure, authorization_identity};
use super::shown_code::Spending;
use super::step::{
    Attempt, BindStep, Credential, Guessing, HashJob, Judged, QueuedBind, RemoteJob, Via, Wait, WaitingBind, Wrong,
};
use crate::account::{StateOf, StateWrite};
use access::inactive::{Inactive, LOCKED_MESSAGE};

/// Whom a client says to be.
#[derive(Clone, Copy)]
pub enum Named<'n> {
    /// By the name of an entry, which may or may not be there.
    Entry(&'n NormalizedDn),
    /// By something that names nobody.
    Nobody(&'n [u8]),
}

impl BindContext<'_> {
    /// Brings a claim as far as it goes without waiting.
    pub(crate) fn authenticate(&self, claimed: Claimed, credential: Credential<'_>, via: Via) -> BindStep {
        let (clear, is_right) = match credential {
            Credential::Trusted => return self.conclude_trusted(claimed, &via),
            Credential::Judged { is_right } => (None, is_right),
            Credential::Password(clear) => (Some(clear), false),
        };
        let mut attempt = match self.count(claimed, via) {
            Ok(attempt) => attempt,
            Err(step) => return *step,
        };
        if matches!(attempt.guess, Guessing::NotNow) {
            return self.queue(attempt, credential);
        }
        match clear.map(|sent| take_code(&mut attempt, sent)) {
            Some(clear) if attempt.claimed.is_checked_elsewhere() => {
                let clear = Zeroizing::new(clear.to_vec());
                BindStep::Elsewhere(Box::new(RemoteJob { attempt, clear }))
            }
            Some(clear) if attempt.claimed.is_slow() => self.check_slow(attempt, clear, false),
            Some(clear) => {
                let is_right = is_password(&attempt.claimed.passwords, clear);
                self.conclude_clear(attempt, clear, is_right)
            }
            None => self.conclude(attempt, is_right),
        }
    }

    /// Guesses are left, but those in flight may use them up: the bind waits until one goes.
    fn queue(&self, attempt: Attempt, credential: Credential<'_>) -> BindStep {
        match attempt.claimed.guessed().filter(|_| !self.guesses.is_full()) {
            Some(whose) => {
                BindStep::Queued(Box::new(QueuedBind::for_guess(attempt.claimed, whose, attempt.via, credential)))
            }
            None => self.busy(),
        }
    }

    /// Counts the guess, before it is compared.
    pub(super) fn count(&self, claimed: Claimed, via: Via) -> Result<Attempt, Box<BindStep>> {
        let whose = claimed.guessed();
        let attempt = |claimed, via, guess| Ok(Attempt { claimed, via, guess, code: None });
        let Some(whose) = whose else { return attempt(claimed, via, Guessing::Uncounted) };
        match claimed.account().may_guess(0) {
            MayGuess::Counted | MayGuess::NotNow => self.locked_guesses_of(whose).unlocked(whose),
            MayGuess::Uncounted => return attempt(claimed, via, Guessing::Uncounted),
            MayGuess::UnderLock(lock) => {
                let guess = self.under_lock(whose, lock, claimed.now);
                return attempt(claimed, via, guess);
            }
        }
        let counted = self.guesses.count(whose, |others| claimed.account().may_guess(others) != MayGuess::NotNow);
        let Some(guess) = counted else { return attempt(claimed, via, Guessing::NotNow) };
        // A failure may have been written, and its guess have gone, after the state was read.
        let claimed = self.renew(claimed).map_err(|error| self.failed_to_read(&error))?;
        let guess = match claimed.account().may_guess(guess.before()) {
            MayGuess::Counted => Guessing::Counted(guess),
            MayGuess::Uncounted => Guessing::Uncounted,
            MayGuess::UnderLock(lock) => self.under_lock(whose, lock, claimed.now),
            MayGuess::NotNow => Guessing::NotNow,
        };
        attempt(claimed, via, guess)
    }

    fn locked_guesses_of(&self, whose: Guessed) -> &Arc<LockedGuesses> {
        match whose {
            Guessed::Nobody(_) => &self.unknown_names.locked_guesses,
            _ => self.locked_guesses,
        }
    }

    fn under_lock(&self, whose: Guessed, lock: UnderLock, now: Moment) -> Guessing {
        self.locked_guesses_of(whose).take(whose, lock, now).map_or(Guessing::SpentUnderLock, Guessing::UnderLock)
    }

    pub(super) fn failed_to_read(&self, error: &store::StoreError) -> Box<BindStep> {
        let (result, bound) = (query::error::store_failure(error), self.nobody());
        Box::new(BindStep::Done(BindDone { result, controls: Vec::new(), bound, failure: None }))
    }

    /// What follows from a proof that was judged.
    pub(super) fn conclude(&self, attempt: Attempt, is_right: bool) -> BindStep {
        let Judged { claimed, via, wrong, spending } = self.judge(attempt, is_right);
        let Some(Wrong { failure, wait }) = wrong else {
            return self.conclude_right(claimed, &via, Proof::Password, spending);
        };
        let done = self.refused(failure, &via, PasswordPolicyResponse::default());
        BindStep::Waits(Box::new(WaitingBind { wait, done, failed: None }))
    }

    /// What a refusal waits for: as long as a wrong password takes to be written, wherever one is.
    fn wait_of_refusal(&self, claimed: &Claimed, failure: BindFailure, (via, guess): (&Via, Guessing)) -> Wait {
        let write = self.some_policy_counts().then(|| {
            // What nobody's name is told is not why it was refused: each guess that is compared is wrong.
            let is_counted = match claimed.who {
                Who::Nobody { .. } => !guess.is_refused(),
                _ => failure.is_wrong_guess(),
            };
            let changes = if is_counted { claimed.account().after_wrong_password() } else { None };
            let guess = match guess {
                Guessing::Counted(guess) if is_counted => Some(guess),
                _ => None,
            };
            StateWrite { of: claimed.who.state_of(), changes: changes.into_iter().collect(), guess, done: None }
        });
        Wait::of_refusal(via, write)
    }

    /// Whether a proof proves anything; if it does not, what is waited for before that is said.
    pub(super) fn judge(&self, mut attempt: Attempt, is_right: bool) -> Judged {
        let is_right = is_right && !attempt.guess.is_refused();
        let code = self.judge_code(&mut attempt, is_right);
        let Attempt { claimed, via, guess, .. } = attempt;
        let failure = match (&claimed.who, &guess, &code) {
            (Who::Nobody { why, .. }, ..) => Some(*why),
            (_, Guessing::NotNow, _) => Some(BindFailure::TooManyGuesses),
            (_, Guessing::SpentUnderLock, _) => Some(BindFailure::GuessesSpentUnderLock),
            (.., Err(failure)) => Some(*failure),
            _ if !via.is_secure && claimed.policy.require_secure_authentication => Some(BindFailure::NotSecure),
            _ => None,
        };
        let spending = code.ok().flatten();
        let Some(failure) = failure else {
            if let Guessing::UnderLock(guess) = guess {
                guess.give_back();
            }
            return Judged { claimed, via, wrong: None, spending };
        };
        self.spend_unanswered(&claimed.who, spending);
        if failure.is_wrong_guess()
            && let Some(whose) = claimed.guessed()
        {
            self.guess_sources.note(whose, via.address, claimed.now);
        }
        let wait = self.wait_of_refusal(&claimed, failure, (&via, guess));
        Judged { claimed, via, wrong: Some(Wrong { failure, wait }), spending: None }
    }

    /// What follows when somebody trusted vouches for the client.
    fn conclude_trusted(&self, claimed: Claimed, via: &Via) -> BindStep {
        match claimed.who {
            Who::Nobody { why, .. } => BindStep::Done(self.refused(why, via, PasswordPolicyResponse::default())),
            _ => self.conclude_right(claimed, via, Proof::Other, None),
        }
    }

    /// What follows for who has proved to be the user.
    fn conclude_right(&self, claimed: Claimed, via: &Via, proof: Proof, code: Option<Spending>) -> BindStep {
        let mut verdict = claimed.account().after_right_password(proof);
        let is_reset = claimed.account().must_change();
        if matches!(claimed.who, Who::Root(_)) && via.is_of_system() && verdict.refusal.is_some_and(is_lock) {
            // Whoever owns the server has a way in, however many wrong passwords strangers send.
            verdict = Verdict::default();
        }
        if let Some(refusal) = verdict.refusal {
            let failure = match (refusal, &claimed.who) {
                (BindRefusal::Disabled, Who::Entry(found)) if found.inactive == Some(Inactive::Locked) => {
                    BindFailure::Inactivated
                }
                _ => BindFailure::Refused(refusal),
            };
            self.spend_unanswered(&claimed.who, code);
            return BindStep::Done(self.refused(failure, via, verdict.told));
        }
        let (of, mut bound) = match claimed.who {
            Who::Entry(found) => (StateOf::Entry(found.place, found.entry_uuid), found.bound),
            Who::Root(found) => (StateOf::Root(found.account), found.bound),
            Who::Nobody { why, .. } => {
                return BindStep::Done(self.refused(why, via, PasswordPolicyResponse::default()));
            }
        };
        let on_failure = claimed.policy.state_update_failure;
        let must_write = on_failure != StateUpdateFailure::Ignore && !verdict.changes.is_empty();
        let is_checked = must_write || on_failure == StateUpdateFailure::Proactive;
        let refused = || self.refused(BindFailure::StateNotWritten, via, PasswordPolicyResponse::default());
        if is_checked && self.states.is_failing(&of) {
            return BindStep::Done(refused());
        }
        bound.authentication = via.authentication.clone();
        if verdict.must_change {
            bound.standing.limit_to_change(is_reset);
        }
        let done = self.succeeded(bound, via, verdict.told);
        let (mut changes, is_by_code) = (verdict.changes, code.is_some());
        let guess = code.map(|Spending { change, held }| {
            changes.push(change);
            held
        });
        if changes.is_empty() {
            return BindStep::Done(done);
        }
        // A grace login is one less for good, and a code is good once; nothing else that a bind writes is worth
        // waiting for.
        let waits = is_by_code || changes.iter().any(|change| matches!(change, StateChange::UseGrace { .. }));
        let write = StateWrite { of, changes, guess, done: None };
        if waits {
            let failed = (is_by_code || on_failure != StateUpdateFailure::Ignore).then(refused);
            let wait = Wait { write: Some(write), not_before: None };
            return BindStep::Waits(Box::new(WaitingBind { wait, done, failed }));
        }
        self.states.write(write);
        BindStep::Done(done)
    }

    fn succeeded(&self, bound: access::Bound, via: &Via, told: PasswordPolicyResponse) -> BindDone {
        let mut done = BindDone::succeeded(bound);
        if via.wants_identity {
            done.controls.push(authorization_identity(&done.bound.identity));
        }
        done.controls.extend(policy_control(via, told));
        done
    }

    /// Result and message are the same for every failure, unless the configuration lets clients know (`verbose`).
    fn refused(&self, failure: BindFailure, via: &Via, told: PasswordPolicyResponse) -> BindDone {
        let is_verbose = self.roots.load().verbose;
        let result = match failure {
            // A text that other servers' clients know.
            BindFailure::Inactivated => LdapResult::new(ResultCode::UNWILLING_TO_PERFORM, LOCKED_MESSAGE),
            // Which of the two is wrong is for the log.
            BindFailure::WrongCode | BindFailure::NoSecondFactor if is_verbose => {
                LdapResult::new(ResultCode::INVALID_CREDENTIALS, BindFailure::WrongPassword.to_string())
            }
            _ if is_verbose => LdapResult::new(ResultCode::INVALID_CREDENTIALS, failure.to_string()),
            _ => LdapResult::new(ResultCode::INVALID_CREDENTIALS, String::new()),
        };
        let controls = policy_control(via, told).into_iter().collect();
        BindDone { result, controls, bound: self.nobody(), failure: Some(failure) }
    }
}

impl HashJob {
    /// Whether a root user is named: such binds have a reserve in the pool.
    #[must_use]
    pub fn is_of_root_user(&self) -> bool {
        matches!(self.attempt.claimed.who, Who::Root(_))
    }

    /// Checks the password; takes as long as the stored value's cost says.
    pub(crate) fn run_in(self, context: &BindContext<'_>) -> BindStep {
        let HashJob { mut attempt, clear, verification, made } = self;
        let is_right = is_password(&attempt.claimed.passwords, &clear) && attempt.claimed.is_somebody();
        let now = Instant::now();
        attempt.via.begun += now.saturating_duration_since(made);
        if let Some(verification) = verification {
            verification.end(is_right, now);
        }
        // Much can have happened to the account meanwhile.
        let passwords = attempt.claimed.passwords.clone();
        match context.renew(attempt.claimed) {
            Ok(claimed) => {
                let attempt = Attempt { claimed, ..attempt };
                let is_same = attempt.claimed.passwords == passwords;
                // They may have got another form of the same password.
                let is_right = if is_same { is_right } else { is_password(&attempt.claimed.passwords, &clear) };
                context.conclude_clear(attempt, &clear, is_right)
            }
            Err(error) => *context.failed_to_read(&error),
        }
    }
}

/// Every value is tried, so that the time does not tell which one it was.
pub(super) fn is_password(stored: &[Vec<u8>], clear: &[u8]) -> bool {
    stored.iter().fold(false, |found, stored| password::verify(stored, clear) | found)
}

/// Whether the account is only locked: strangers may have done that.
fn is_lock(refusal: BindRefusal) -> bool {
    !matches!(refusal, BindRefusal::Disabled | BindRefusal::NotStarted | BindRefusal::Ended)
}

/// The draft's control for who asked for it, Netscape's for others, where there is something to say.
fn policy_control(via: &Via, told: PasswordPolicyResponse) -> Option<ControlBuf> {
    if via.wants_policy {
        return Some(told.control());
    }
    told.netscape_control()
}
