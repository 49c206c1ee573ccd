//! Access and error logs: what a line says, and how it reaches a file without a request ever waiting for a disk.
//!
//! `access` and `error` word the lines, `writer` gathers them, `file` rotates; `audit` follows the history of changes. Usable without the
//! rest of the server.

pub mod access;
pub mod audit;
mod audit_position;
pub mod clock;
pub mod error;
pub mod file;
pub(crate) mod internal;
pub(crate) mod request;
pub(crate) mod text;
pub mod writer;

pub use access::{AccessLog, AccessLogSettings, DisconnectReason, LogFormat, OperationIds, ResultFields};
pub use audit::AuditLogSettings;
pub use error::{Category, ErrorLog, ErrorLogSettings, Severity};
