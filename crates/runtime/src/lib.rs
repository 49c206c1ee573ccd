//! What a server stands on, whatever protocol it speaks: event loops, TLS, listeners, pools of threads, log files and
//! their writer, the error log, counters, signals, the file that names the process.
//!
//! A protocol implements [`protocol::Protocol`] and is served by [`loops::OpenLoops`]: the loop reads, writes, limits
//! and closes, the protocol executes what arrived.
//!
//! This crate refuses to know LDAP, directories, or where a setting was read from: `server` fills the settings, and
//! another protocol can stand beside it on the same ground.

mod accept;
pub mod backlog;
pub mod certificates;
mod channel_binding;
pub mod client_certificates;
pub mod connection;
pub mod end;
mod event_loop;
pub mod handed;
pub mod host_names;
#[cfg(feature = "gssapi")]
pub mod kerberos;
pub mod limits;
mod listen_at;
pub mod listener;
pub mod local_socket;
pub mod locked_memory;
pub mod log;
pub mod loop_core;
pub mod loops;
pub mod mailbox;
pub mod metrics;
mod output;
pub mod panics;
pub mod periodic;
pub mod pid_file;
pub mod pool;
pub mod process;
pub mod protocol;
pub mod proxy;
pub mod secret_file;
pub mod signals;
pub mod spill;
pub mod stoppable;
pub mod survey;
pub mod sys;
pub mod tls;
pub mod tls_error;
pub mod tls_facts;
pub mod tls_keys;
mod transport;
mod turn;
