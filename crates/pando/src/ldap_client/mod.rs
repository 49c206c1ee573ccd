//! How tools reach any LDAP server: host, TLS, and who binds, with the options of OpenDJ's client tools.
//!
//! Knows connections and binds; what is asked on them is for each tool.

mod login;
mod options;
#[cfg(test)]
mod tests;
mod words;

pub use login::{Exchange, Login, Progress, SaslLogin};
pub use options::ConnectionOptions;
pub use words::{dereferencing, scope};
