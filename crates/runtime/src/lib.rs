//! What a server stands on, whatever protocol it speaks: log files and their writer, the error log, TLS, pools of threads, counters,
//! signals, the file that names the process.
//!
//! This crate refuses to know LDAP, directories, or where a setting was read from: `server` fills the settings, and another protocol
//! can stand beside it on the same ground.

pub mod log;
pub mod metrics;
pub mod periodic;
pub mod pid_file;
pub mod pool;
pub mod process;
pub mod proxy;
pub mod signals;
pub mod spill;
pub mod sys;
pub mod tls;
