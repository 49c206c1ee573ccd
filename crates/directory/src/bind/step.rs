//! Where a bind is.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::Authentication;
use access::guesses::{Guess, Guessed, Line, Turn};
use access::locked_guesses::LockedGuess;
use access::verified::{Verdict, Verification};
use ldap::LdapResult;
use zeroize::Zeroizing;

use super::awaited::AwaitedVerdict;
use super::claimed::Claimed;
use super::done::{BindDone, BindFailure};
use super::shown_code::{ShownCode, Spending};
use crate::account::{StateWrite, StateWriter};
use crate::refusal::Refusal;
use crate::timer::Timer;

/// A refusal is never answered sooner after the bind came, not counting the time of a slow hash: what is looked up,
/// compared and written before and after it takes less, and does not show.
const REFUSAL_TIME_MIN: Duration = Duration::from_millis(5);

/// When all that is done, a refusal waits for a random time below this. The microseconds that still tell one kind of
/// refusal from another are lost in it.
const REFUSAL_TIME_SPREAD: Duration = Duration::from_millis(1);

/// Where a bind is. Most are decided at once; boxing that would cost an allocation each.
#[allow(clippy::large_enum_variant)]
#[must_use = "a bind that is not done has to be brought on"]
pub enum BindStep {
    /// Decided.
    Done(BindDone),
    /// The stored password is slow to check: call [`HashJob::run`] on a pool.
    SlowHash(Box<HashJob>),
    /// The guesses in flight may use up those that are left, or the same password is being verified: call
    /// [`QueuedBind::then`].
    Queued(Box<QueuedBind>),
    /// Another server checks the password: call [`RemoteJob::run`] on a thread that may wait.
    Elsewhere(Box<RemoteJob>),
    /// Decided, but the answer waits: for what it changes to be on disk, for a time, or both: call
    /// [`WaitingBind::then`].
    Waits(Box<WaitingBind>),
}

/// What proves who binds.
#[derive(Clone, Copy)]
pub enum Credential<'c> {
    /// A password in clear.
    Password(&'c [u8]),
    /// A proof that the client knows the password, which was judged already.
    Judged {
        /// It fits.
        is_right: bool,
    },
    /// Somebody trusted vouches for the client: a certificate, a ticket, a token. No password is guessed.
    Trusted,
}

/// How the client came, and what it wants to be told.
#[derive(Clone, Debug)]
pub(crate) struct Via {
    /// What a session is told when the bind succeeds.
    pub(crate) authentication: Authentication,
    /// When the bind came; later by the time of a slow hash.
    pub(crate) begun: Instant,
    /// The connection is encrypted, or local.
    pub(crate) is_secure: bool,
    /// The client sent the password policy control.
    pub(crate) wants_policy: bool,
    /// The client asks for its authorization identity (RFC 3829).
    pub(crate) wants_identity: bool,
    /// Where the client is; none of a local socket.
    pub(crate) address: Option<IpAddr>,
}

impl Via {
    /// Whether the system says who it is: the owner of the server, or another of its users, on a local socket.
    pub(super) fn is_of_system(&self) -> bool {
        matches!(self.authentication, Authentication::LocalSocket)
    }
}

/// A claim that is being proved.
pub(super) struct Attempt {
    pub(super) claimed: Claimed,
    pub(super) via: Via,
    /// Whether the guess counts, if guesses are counted.
    pub(super) guess: Guessing,
    /// What follows the password, where the account has a second factor.
    pub(super) code: Option<Box<ShownCode>>,
}

/// What was said of a guess before it was compared.
pub(super) enum Guessing {
    /// A wrong one changes nothing.
    Uncounted,
    /// It is one of those that the policy allows.
    Counted(Guess),
    /// It is not: whatever it is, it is wrong.
    NotNow,
    /// It is one of those that are compared under a lock.
    UnderLock(LockedGuess),
    /// Those are spent: whatever it is, it is wrong.
    SpentUnderLock,
}

impl Guessing {
    /// Whether it is wrong whatever it is.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self, Guessing::NotNow | Guessing::SpentUnderLock)
    }
}

/// A claim with a proof that was judged.
pub(super) struct Judged {
    pub(super) claimed: Claimed,
    pub(super) via: Via,
    /// None: it is proved.
    pub(super) wrong: Option<Wrong>,
    /// The code that proved it, too.
    pub(super) spending: Option<Spending>,
}

/// Why a claim is not proved.
pub(super) struct Wrong {
    pub(super) failure: BindFailure,
    /// Before that is said.
    pub(super) wait: Wait,
}

/// A bind that waits for another one of its account.
pub struct QueuedBind(pub(super) WaitsFor);

/// What it waits for.
pub(super) enum WaitsFor {
    /// A guess that goes.
    Guess(GuessWait),
    /// The verdict of a verification of the same password.
    Verdict(VerdictWait),
}

/// A bind that waits for the verdict of another one's verification.
pub(super) struct VerdictWait {
    pub(super) attempt: Attempt,
    pub(super) clear: Zeroizing<Vec<u8>>,
    pub(super) awaited: Arc<AwaitedVerdict>,
    /// It waited once before, and nothing was verified.
    pub(super) is_second: bool,
}

/// A bind that waits for a guess.
pub(super) struct GuessWait {
    pub(super) claimed: Claimed,
    pub(super) whose: Guessed,
    pub(super) via: Via,
    pub(super) proof: KeptProof,
    pub(super) line: Line,
    /// It waits no longer.
    pub(super) until: Instant,
}

/// What proves who binds, kept.
pub(super) enum KeptProof {
    Clear(Zeroizing<Vec<u8>>),
    Judged { is_right: bool },
}

/// A bind whose turn it is.
pub struct ReadyBind(pub(super) Ready);

/// What it waited for.
pub(super) enum Ready {
    Guess(GuessWait, Turn),
    Verdict(VerdictWait, Verdict),
}

/// A bind whose password another server checks.
pub struct RemoteJob {
    pub(super) attempt: Attempt,
    pub(super) clear: Zeroizing<Vec<u8>>,
}

/// A bind that waits for a slow hash.
pub struct HashJob {
    pub(super) attempt: Attempt,
    pub(super) clear: Zeroizing<Vec<u8>>,
    /// What becomes of it is remembered.
    pub(super) verification: Option<Verification>,
    pub(super) made: Instant,
}

/// A bind that waits for the disk, for a time, or both.
pub struct WaitingBind {
    pub(crate) wait: Wait,
    pub(crate) done: BindDone,
    /// How it ends when nothing can be written; none: as if it could.
    pub(crate) failed: Option<BindDone>,
}

/// What an answer waits for.
pub(crate) struct Wait {
    /// To be on disk.
    pub(super) write: Option<StateWrite>,
    /// It is not given before.
    pub(super) not_before: Option<Instant>,
}

impl BindStep {
    /// The result of a bind that was ended early.
    pub(super) fn into_result(self) -> LdapResult {
        match self {
            BindStep::Done(done) => done.result,
            BindStep::SlowHash(_) | BindStep::Queued(_) | BindStep::Elsewhere(_) | BindStep::Waits(_) => {
                Refusal::StateNotWritten.into()
            }
        }
    }
}

impl WaitingBind {
    /// Answers when it is time, on the thread of the writer or the timer.
    pub(crate) fn then_in(
        self,
        states: &StateWriter,
        timer: &Arc<Timer>,
        answer: impl FnOnce(BindDone) + Send + 'static,
    ) {
        let WaitingBind { wait, done, failed } = self;
        wait.then(states, timer, move |written| match (written, failed) {
            (Err(_), Some(failed)) => answer(failed),
            (Ok(()), _) | (Err(_), None) => answer(done),
        });
    }
}

impl Wait {
    /// That of a refusal, or of what must take as long as one.
    pub(crate) fn of_refusal(via: &Via, write: Option<StateWrite>) -> Wait {
        Wait { write, not_before: Some(via.begun + REFUSAL_TIME_MIN) }
    }

    /// Has the state written, and calls when that is done, or cannot be, and it is time.
    pub(crate) fn then(
        self,
        states: &StateWriter,
        timer: &Arc<Timer>,
        call: impl FnOnce(Result<(), LdapResult>) + Send + 'static,
    ) {
        let Wait { write, not_before } = self;
        let timer = Arc::clone(timer);
        let then = move |written: Result<(), LdapResult>| match not_before {
            Some(at) => timer.at(at.max(Instant::now()) + random_spread(), Box::new(move || call(written))),
            None => call(written),
        };
        match write {
            Some(write) => states.write(StateWrite { done: Some(Box::new(then)), ..write }),
            None => then(Ok(())),
        }
    }
}

pub(super) fn random_spread() -> Duration {
    let random = getrandom::u32().unwrap_or_default();
    REFUSAL_TIME_SPREAD * (random >> 16) / (1 << 16)
}
