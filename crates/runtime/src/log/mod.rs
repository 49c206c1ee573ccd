//! Log files: how a line reaches a file without anybody ever waiting for a disk, and the error log.
//!
//! `writer` gathers lines for a `target`, `file` rotates (`rotated` names what was put aside), `clock` writes the
//! time, `text` what a line may hold; `error` is the error log and `message` the kinds of what it says. What other
//! logs say is their owners' business.

pub mod clock;
pub mod error;
pub mod file;
pub mod message;
pub mod rotated;
pub mod target;
pub mod text;
pub mod writer;
