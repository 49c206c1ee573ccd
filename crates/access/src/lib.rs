//! Who asks, and what that allows: identities and sessions, limits, the state of accounts, access control.
//!
//! Refuses to know requests: what is asked for, and how the answer is sent, is for those above.
//!
//! Access control:
//!
//! | file | what |
//! |---|---|
//! | `control` | what is configured, and the rights of whoever asks |
//! | `rights` | what one asker may do: privileges, and the way to its rights on entries |
//! | `answers` | its rights as searches ask for them |
//! | `entry_rights` | its rights on the entries of one backend at one moment |
//! | `policy` | what answers until instructions are in force: root everything, users everything but passwords |

pub mod account;
mod answers;
mod connection_facts;
mod control;
mod entry_rights;
pub mod explanation;
mod identity;
pub mod inactive;
pub mod limits;
pub mod not_obeyed;
mod policy;
mod privilege;
pub mod profiles;
mod question;
mod refusal;
mod rights;
pub mod session;
mod settings;
mod standing;

pub use aci::Right;
pub use connection_facts::{Authentication, HostName, Known};
pub use control::AccessControl;
pub use entry_rights::EntryRights;
pub use identity::Identity;
pub use limits::{Allowance, Bound, Most, Page, PagedTotal, SessionLimits};
pub use policy::Access;
pub use privilege::{Privilege, PrivilegeGrant, PrivilegeSet};
pub use question::{Question, WrittenValue};
pub use refusal::Refusal;
pub use rights::Rights;
pub use session::Session;
pub use settings::{ACIS_PER_ENTRY_MAX, AccessError, AccessSettings};
pub use standing::Standing;
