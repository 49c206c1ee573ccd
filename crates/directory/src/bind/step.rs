//! Where a bind is.

use access::Authentication;
use access::guesses::Guess;
use access::verified::Verification;
use ldap::LdapResult;
use zeroize::Zeroizing;

use super::claimed::Claimed;
use super::done::{BindDone, BindFailure};
use crate::account::{StateWrite, StateWriter};
use crate::refusal::Refusal;

/// Where a bind is. Most are decided at once; boxing that would cost an allocation each.
#[allow(clippy::large_enum_variant)]
#[must_use = "a bind that is not done has to be brought on"]
pub enum BindStep {
    /// Decided.
    Done(BindDone),
    /// The stored password is slow to check: call [`HashJob::run`] on a pool.
    SlowHash(Box<HashJob>),
    /// Decided, but the answer waits until what it changes is on disk: call [`WaitingBind::then`].
    Waits(Box<WaitingBind>),
}

/// How the client came, and what it wants to be told.
#[derive(Clone, Debug)]
pub(crate) struct Via {
    /// What a session is told when the bind succeeds.
    pub(crate) authentication: Authentication,
    /// The connection is encrypted, or local.
    pub(crate) is_secure: bool,
    /// The client sent the password policy control.
    pub(crate) wants_policy: bool,
    /// The client asks for its authorization identity (RFC 3829).
    pub(crate) wants_identity: bool,
}

/// A claim that is being proved.
pub(super) struct Attempt {
    pub(super) claimed: Claimed,
    pub(super) via: Via,
    /// Whether the guess counts, if guesses are counted.
    pub(super) guess: Guessing,
}

/// What was said of a guess before it was compared.
pub(super) enum Guessing {
    /// A wrong one changes nothing.
    Uncounted,
    /// It is one of those that the policy allows.
    Counted(Guess),
    /// It is not: whatever it is, it is wrong.
    NotNow,
}

/// A claim with a proof that was judged.
pub(super) struct Judged {
    pub(super) claimed: Claimed,
    pub(super) via: Via,
    /// None: it is proved.
    pub(super) wrong: Option<Wrong>,
}

/// Why a claim is not proved.
pub(super) struct Wrong {
    pub(super) failure: BindFailure,
    /// The answer waits until this is written.
    pub(super) write: Option<StateWrite>,
}

/// A bind that waits for a slow hash.
pub struct HashJob {
    pub(super) attempt: Attempt,
    pub(super) clear: Zeroizing<Vec<u8>>,
    /// What becomes of it is remembered.
    pub(super) verification: Option<Verification>,
}

/// A bind that waits for the disk.
pub struct WaitingBind {
    pub(super) write: StateWrite,
    pub(super) done: BindDone,
    /// How it ends when nothing can be written; none: as if it could.
    pub(super) failed: Option<BindDone>,
}

impl BindStep {
    /// The result of a bind that was ended early.
    pub(super) fn into_result(self) -> LdapResult {
        match self {
            BindStep::Done(done) => done.result,
            BindStep::SlowHash(_) | BindStep::Waits(_) => Refusal::StateNotWritten.into(),
        }
    }
}

impl WaitingBind {
    /// Has the state written, and answers then; on the writer's thread.
    pub(crate) fn then_in(self, states: &StateWriter, answer: impl FnOnce(BindDone) + Send + 'static) {
        let WaitingBind { mut write, done, failed } = self;
        write.done = Some(Box::new(move |written: Result<(), LdapResult>| match (written, failed) {
            (Err(_), Some(failed)) => answer(failed),
            (Ok(()), _) | (Err(_), None) => answer(done),
        }));
        states.write(write);
    }
}
