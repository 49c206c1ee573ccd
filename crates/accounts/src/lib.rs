//! Accounts: what a password policy is, which state an account has, and what follows from the two at a moment.
//!
//! Everything here is a function of its arguments: no entry, no clock, no client, no file. Names are OpenDJ's and those
//! of draft-behera-ldap-password-policy-11. Where policies and states are kept, and who is asked when, is for `config`,
//! `access` and `directory`.

mod account;
mod apply;
mod change;
mod event;
mod expiry;
mod generator;
mod history;
mod moment;
pub mod pass_through;
mod policy;
pub mod second_factor;
mod state;
mod time_format;
mod usability;
mod validate;
mod verdict;

#[cfg(test)]
mod tests;

pub use account::{Account, LockEnd};
pub use apply::apply_change;
pub use change::{LockRules, StateChange};
pub use event::{AccountEvent, AccountEventKind};
pub use expiry::Expiry;
pub use generator::{FormatError, GenerateError, PasswordGenerator};
pub use history::{HistoryRules, HistoryValue, history_after, history_that_counts};
pub use ldap::controls::{PasswordPolicyResponse, PolicyError, PolicyWarning};
pub use moment::Moment;
pub use policy::{LastLogin, PasswordPolicy, StateUpdateFailure};
pub use state::{AccountState, Lock};
pub use time_format::{TimeFormat, TimeFormatError};
pub use usability::Usability;
pub use validate::{
    AttributeValueRule, BreachList, CharacterSet, CharacterSetError, CharacterSets, Dictionary, DictionaryRule,
    EntryValues, NoEntry, PasswordFault, QualityCheck, QualityRule, ReadAt, Surroundings, ValidatorRule,
    check_password,
};
pub use verdict::{BindRefusal, Credential, MayGuess, UnderLock, Verdict};
