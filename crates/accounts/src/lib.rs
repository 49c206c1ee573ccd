//! Accounts: what a password policy is, which state an account has, and what follows from the two at a moment.
//!
//! Everything here is a function of its arguments: no entry, no clock, no client, no file. Names are OpenDJ's and those
//! of draft-behera-ldap-password-policy-11. Where policies and states are kept, and who is asked when, is for `config`,
//! `access` and `directory`.

mod change;
mod moment;
mod policy;
mod state;

pub use change::{LockRules, StateChange};
pub use moment::Moment;
pub use policy::{LastLogin, PasswordPolicy, StateUpdateFailure};
pub use state::{AccountState, HistoryValue, Lock};
