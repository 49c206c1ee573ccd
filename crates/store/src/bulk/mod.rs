//! Work on whole databases: import, export, verify, rebuild.
//!
//! An import reads LDIF in chunks ([`input`]), prepares entries on all cores ([`prepare`]), gives out ids and parents
//! in the order of the file ([`import`]), sorts the index keys ([`sort`]) and appends everything in key order to a new
//! environment ([`writer`]), which takes the place of the old one at the very end ([`swap`]). Until then the old
//! database is not touched.
//!
//! Knows entries, schema and LDIF; does not know configuration, passwords and filters: those come as functions.

mod assign;
mod counts;
mod dn_map;
mod entry_by_name;
mod error;
mod export;
mod finish;
mod import;
mod index_names;
mod input;
mod kept;
mod names;
mod options;
mod plan;
mod postings;
mod prepare;
mod prepared_batch;
mod problem;
mod rebuild;
mod rejects;
mod rekey;
mod sort;
mod swap;
mod turns;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use error::BulkError;
pub use export::{ExportOptions, ExportSummary, export};
pub use import::import;
pub use input::LdifSource;
pub use options::{
    Cancel, EntryFilter, ImportMode, ImportOptions, ImportStamps, ImportSummary, InstructionHook, PasswordHook, Phase,
    Progress, SelectedEntry, Selection, SkipReason, Skips,
};
pub use problem::Problem;
pub use rebuild::{RebuildOptions, RebuildSummary, RebuildWhich, rebuild};
pub use sort::SortError;
pub use swap::{new_directory, recover};
pub(crate) use swap::{prepare as prepare_folder, swap as swap_folder};
pub use verify::{VerifyOptions, VerifySummary, verify, verify_with_progress};
