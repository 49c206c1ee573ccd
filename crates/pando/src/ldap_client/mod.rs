//! How tools reach any LDAP server: host, TLS, and who binds, with the options of OpenDJ's client tools.
//!
//! Knows connections and binds; what is asked on them is for each tool.

mod controls;
mod login;
mod options;
mod session;
pub mod status;
#[cfg(test)]
mod tests;
mod words;

pub use controls::{CommonControlOptions, ControlOptions, parse_filter, parse_value};
pub use login::{Exchange, Login, Progress, SaslLogin};
pub use options::{ConnectionOptions, Target, TlsFiles};
pub use session::{Session, SessionOptions, time_text};
pub use words::{dereferencing, scope};
