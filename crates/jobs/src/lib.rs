//! Work on whole backends: import, export, rebuild, verify. Each job is a value with its options; it tells how far it
//! is, can be cancelled, and ends with counts or a reason.
//!
//! Refuses to know who started it: it prints nothing, reads no command line and opens no socket. Whoever starts a job
//! that writes holds the lock of the instance.

mod error;
pub mod export;
pub mod files;
pub mod filter;
pub mod import;
pub mod output_file;
pub mod progress;
pub mod rebuild;
pub mod selection;
pub mod verify;

pub use error::JobError;
pub use progress::{Progress, Unit, Watch};
