//! Backups of backends: made beside a running server, compressed, sealed, verified, and restored to any moment that
//! they hold.
//!
//! A *full* backup is a copy of a backend's database with the records of the log that belong to it; an *incremental*
//! one has the records since the backup before. Both are a manifest and parts of at most 16 MiB in a *storage*: a
//! folder, or a bucket. `docs/decisions/008-backups.md` says why.
//!
//! Refuses to know who started it: it prints nothing, reads no command line and no configuration but what it is given.

pub mod chain;
mod contained;
mod error;
pub mod key;
pub mod make;
pub mod manifest;
mod names;
mod part;
mod reading;
mod records;
pub mod restore;
pub mod retention;
mod seal;
pub mod storage;
pub mod verify;

pub use contained::ContainedFile;
pub use error::BackupError;
pub use names::{check_id, manifests};
pub use seal::{Derivation, Seal};
