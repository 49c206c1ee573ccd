//! Who asks, and what that allows: identities and sessions, limits, the state of accounts, access control, and binds
//! that were verified a moment ago (`verified`).
//!
//! Refuses to know requests: what is asked for, and how the answer is sent, is for those above.
//!
//! Access control:
//!
//! | file | what |
//! |---|---|
//! | `control` | what is configured, and the rights of whoever asks |
//! | `holders` | which entries hold instructions |
//! | `set` | which instructions there are: by holder, and by whom they may concern; kept up to date by what changed |
//! | `compiled` | instructions in the form in which they decide |
//! | `asker` | who asks, as rules look at it |
//! | `decide` | what concerns an asker, what of it applies at a place, tables of attribute types |
//! | `rights` | what one asker may do: privileges, and the instructions that concern it |
//! | `decider`, `entry_conditions`, `visible` | decisions entry by entry |
//! | `about` | whether an instruction is about what is asked |
//! | `plain` | the same decisions by evaluating every instruction as it is written, with reasons |
//! | `entry_rights` | every right on the entries of one backend at one moment |
//! | `answers` | the rights to read as searches ask for them |
//! | `oid_rights` | the use of controls and extended operations |
//! | `guess_rates` | how often wrong passwords come from one address and for one name |
//! | `guess_sources` | from which addresses the wrong passwords of an account came |
//! | `unknown_names` | what is kept of names that nobody has |
//! | `named_user` | whether a user is in a group, and a name matches a pattern, as logs ask |
//! | `lint` | what can be said against instructions before they do harm |

mod about;
pub mod account;
mod account_clock;
pub mod account_policy;
mod answers;
mod asker;
mod attack;
mod compiled;
mod connection_facts;
mod control;
mod decide;
mod decider;
mod entry_conditions;
mod entry_rights;
pub mod explanation;
pub mod guess_rates;
pub mod guess_sources;
pub mod guesses;
pub mod holders;
mod identity;
pub mod inactive;
pub mod limits;
pub mod lint;
pub mod locked_guesses;
mod named_user;
pub mod not_obeyed;
mod oid_rights;
mod plain;
mod privilege;
pub mod profiles;
mod question;
mod refusal;
mod rights;
pub mod session;
mod set;
mod settings;
mod standing;
pub mod unknown_names;
pub mod verified;
mod visible;

pub use account_clock::AccountClock;
pub use account_policy::PolicyFinder;
pub use aci::Right;
pub use attack::AttackEvent;
pub use connection_facts::{Authentication, HostName, Known, LocalPeer, TlsChannel};
pub use control::{AccessControl, AciProblem, AciUse};
pub use entry_rights::EntryRights;
pub use identity::Identity;
pub use limits::{Allowance, Bound, Most, Page, PagedTotal, SessionLimits};
pub use named_user::{DnMatcher, is_in_group};
pub use oid_rights::OidDecision;
pub use privilege::{Privilege, PrivilegeGrant, PrivilegeSet, UnknownPrivilege};
pub use query::account_state;
pub use question::{Question, WrittenValue};
pub use refusal::Refusal;
pub use rights::Rights;
pub use session::Session;
pub use set::{ProposedChange, ProposedInstructions};
pub use settings::{ACIS_PER_ENTRY_MAX, AccessError, AccessSettings};
pub use standing::{Revocation, Revoked, Standing};
