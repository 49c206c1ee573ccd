//! Binds (RFC 4511 §4.2, RFC 4513): from a name and what proves it to an identity.
//!
//! There is one path for all, whatever proves the identity, and it is a straight line: who is meant, how many guesses
//! are left, the proof, the account's policy and state, the answer. A refusal never tells whether the name exists, has
//! a password, is locked or disabled: result, message and time are those of a wrong password. The state of an account
//! is told only to who has proved to be its user.
//!
//! | file | what |
//! |---|---|
//! | `context` | what binds need of the directory |
//! | `simple` | the bind request |
//! | `claimed` | who is meant: an account, a root user, or nobody |
//! | `decoy` | what is verified where there is no password |
//! | `remembered` | binds that were verified a moment ago |
//! | `slow`, `awaited` | passwords that are slow to check, and the verdict of another bind's verification |
//! | `authenticate` | the path |
//! | `comparison` | the same for passwords that come with other requests |
//! | `reencoding` | passwords in deprecated schemes, after it |
//! | `code`, `shown_code` | the one-time code that follows a password |
//! | `elsewhere` | passwords that another server checks |
//! | `step` | where a bind is: decided, waiting for a slow hash, for another server, or for the disk |
//! | `queued` | binds that wait for a guess, or for the verification of the same password |
//! | `done` | how it ended |

mod authenticate;
mod awaited;
mod claimed;
mod code;
mod comparison;
mod context;
mod decoy;
mod done;
mod elsewhere;
mod queued;
mod reencoding;
mod remembered;
mod shown_code;
mod simple;
mod slow;
mod step;

#[cfg(test)]
mod elsewhere_tests;
#[cfg(test)]
mod root_tests;
#[cfg(test)]
pub(crate) mod slow_tests;
#[cfg(test)]
pub(crate) mod tests;

pub use authenticate::Named;
pub(crate) use comparison::{ClearPassword, ComparedPassword, Proven};
pub(crate) use context::BindContext;
pub(crate) use decoy::Decoys;
pub use done::{BindDone, BindFailure};
pub use elsewhere::{Elsewhere, RemoteAccount, RemoteDone, RemotePasswords, RemoteQuestion, RemoteVerdict};
pub(crate) use remembered::RememberedBinds;
pub use remembered::{Fill, KeyMemory, MakeKey};
pub(crate) use simple::bind_controls;
pub use step::{BindStep, Credential, HashJob, QueuedBind, ReadyBind, RemoteJob, WaitingBind};
pub(crate) use step::{Via, Wait};
