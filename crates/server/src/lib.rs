//! LDAP over the event loops of `runtime`: framing, connections, operations, the access and audit logs, monitoring.
//!
//! Life of a request: a loop of `runtime` hands the bytes that arrived to `protocol`; `execute` cuts them into messages
//! and executes them through an `executor`, which answers into the connection's output. What may take long goes to a
//! pool and comes back through a `remote`, which `mail` reads; `conclude` counts and logs.
//!
//! This crate does not know how entries are stored, what a filter matches, or who may see what, nor how sockets are
//! waited for.

mod activity;
mod administration;
mod answer;
mod changed_by;
mod client;
mod conclude;
mod configuration_keeper;
mod configuration_record;
mod connection_requests;
mod connection_rules;
mod connections;
mod execute;
mod executor;
mod exported;
mod failed_start;
mod http;
mod http_settings;
mod invalid_instructions;
mod kerberos;
mod ldap_loop;
mod limits;
mod listener;
pub mod log;
mod mail;
mod messages;
pub mod metrics;
mod missing_groups;
mod monitor;
mod notifications;
mod older_instructions;
mod operation;
mod password_servers;
mod protocol;
mod refusal;
mod reload;
mod remote;
mod reply;
mod server;
mod settings;
mod stalls;
mod start_check;
mod tasks;
#[cfg(test)]
mod tests;
mod watch;

pub use connection_rules::ConnectionRules;
pub use failed_start::report_failed_start;
pub use http::HttpOpenError;
pub use http_settings::HttpSettings;
pub use limits::Limits;
pub use limits::STOP_TIME_MAX;
pub use listener::LdapListener;
pub use messages::all_messages;
pub use server::{Ended, Server, StartError};
pub use settings::{Settings, SettingsError};
pub use start_check::{Beside, StartCheckError, check_start};
