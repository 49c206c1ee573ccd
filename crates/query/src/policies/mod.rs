//! Password policies: those of the configuration, those of entries of the class `pwdPolicy`, and which of them is in
//! force for an entry.
//!
//! * [`ConfiguredPolicies`]: by name, and the default.
//! * `written`: what an entry of the class `pwdPolicy` says; what it does not say comes from the default policy.
//! * [`PolicySet`]: the policies of one backend at one moment, kept by [`PolicyService`] until one of them changes.
//! * `choice`: what an entry names, else the first subentry that is about it, else the default.
//!
//! Refuses to know who asks, and what follows from a policy.

mod choice;
mod configured;
mod service;
mod set;
mod written;

pub use choice::{Seen, policy_in_force};
pub use configured::ConfiguredPolicies;
pub use service::PolicyService;
pub use set::{PolicyEntry, PolicySet};
pub use written::{Over, Written, written};
