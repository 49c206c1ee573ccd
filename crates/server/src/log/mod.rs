//! The logs that know LDAP: what a line of the access log says, and the audit log, which follows the history of
//! changes.
//!
//! | module | what |
//! |---|---|
//! | `request`, `fields` | what a request says |
//! | `event` | what the access logs are told |
//! | `criteria`, `matched` | which of it a log has |
//! | `format` | what its lines look like |
//! | `access` | the logs as an event loop has them; `internal` as the server itself does |
//! | `audit`, `audit_position` | the audit log |
//! | `settings`, `publishers` | which logs there are, and where they go |

pub mod access;
pub mod audit;
mod audit_position;
pub(crate) mod criteria;
#[cfg(test)]
mod criteria_tests;
pub mod event;
pub mod fields;
pub mod format;
pub(crate) mod internal;
pub mod matched;
pub mod publishers;
pub(crate) mod request;
pub mod settings;

pub use access::AccessLog;
pub use audit::AuditLogSettings;
pub use event::{OperationIds, ResultFields};
pub use settings::{AccessLogSettings, ErrorLogSettings, LogSettings};
