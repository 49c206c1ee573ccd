//! The logs that know LDAP: what a line of the access log says, and the audit log, which follows the history of
//! changes.

pub mod access;
pub mod audit;
mod audit_position;
pub(crate) mod internal;
pub(crate) mod request;

pub use access::{AccessLog, AccessLogSettings, LogFormat, OperationIds, ResultFields};
pub use audit::AuditLogSettings;
pub(crate) use audit::AuditRecords;
