//! Who asks, and what that allows: identities and sessions, limits, the state of accounts, rights to read.
//!
//! Refuses to know requests: what is asked for, and how the answer is sent, is for those above.

pub mod account;
pub mod inactive;
pub mod limits;
pub mod not_obeyed;
mod refusal;
pub mod rights;
pub mod session;
mod standing;

pub use limits::{Allowance, Bound, Most, Page, PagedTotal, SessionLimits};
pub use refusal::Refusal;
pub use rights::Access;
pub use session::{Identity, Session};
pub use standing::Standing;
