//! The fold: a thread that moves frozen overlays into LMDB, beside readers and the writer.

mod blocks;
mod lists;
mod pace;
mod sweep;
mod thread;
mod write;

pub(crate) use sweep::remove_rows;
pub(crate) use thread::{FoldJob, FoldThread};
pub(crate) use write::fold;
