//! The network side of Pando: event loops, TLS, connections, limits, logs and monitoring.
//!
//! Life of a request: `event_loop` says that a connection is readable, `engine` reads, cuts the bytes into messages and
//! executes them through an `executor`, and writes everything of one turn at once. What may take long goes to a `pool` and
//! comes back through a `mailbox`.
//!
//! This crate does not know how entries are stored, what a filter matches, or who may see what.

mod accept;
mod answer;
mod conclude;
mod connection;
mod connection_requests;
mod engine;
mod event_loop;
mod execute;
mod executor;
mod limits;
mod listener;
pub mod log;
mod mailbox;
pub mod metrics;
mod monitor;
mod operation;
mod output;
pub mod rebuild_request;
mod reload;
pub mod reload_answer;
mod reply;
mod server;
mod settings;
mod stalls;
#[cfg(test)]
mod tests;
mod transport;
mod watch;

pub use limits::Limits;
pub use listener::{ListenAt, ListenerSettings};
pub use server::{Logs, STOP_TIME_MAX, Server, StartError};
pub use settings::{Settings, SettingsError};
