//! Operations: from a decoded request, through the directory, to a response.
//!
//! What is quick runs here, on the loop. Searches that are long or answer much, and passwords that are slow to check,
//! run in pools; updates run on the writer of their backend. This module does not know what an operation means: the
//! directory does.

mod administer;
mod bind;
mod directory_executor;
mod dispatch;
mod extended;
mod search;
mod update;

pub(crate) use directory_executor::{DirectoryExecutor, Pools};
