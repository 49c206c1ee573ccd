//! Files, compressed or not, and standard input, as lines.

pub mod files;
pub mod follow;
pub mod lines;
pub mod source;
