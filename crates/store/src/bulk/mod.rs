//! Work on whole databases: import, export, verify, rebuild.
//!
//! An import reads LDIF in chunks ([`source`]), prepares entries on all cores ([`prepare`]), gives out ids and parents
//! in the order of the file ([`import`]), sorts the index keys ([`sort`]) and appends everything in key order to a new
//! environment ([`writer`]), which takes the place of the old one at the very end ([`swap`]). Until then nothing that
//! serves is touched.
//!
//! It knows entries, schema and LDIF; it refuses to know configuration, passwords and filters: those come as functions.

mod assign;
mod batch;
mod counts;
mod dn_map;
mod error;
mod export;
mod find;
mod finish;
mod import;
mod kept;
mod names;
mod options;
mod plan;
mod postings;
mod prepare;
mod problem;
mod rebuild;
mod rejects;
mod rekey;
mod sort;
mod source;
mod swap;
mod turns;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use error::BulkError;
pub use export::{ExportOptions, ExportSummary, export};
pub use import::import;
pub use options::{
    Cancel, EntryFilter, ImportMode, ImportOptions, ImportStamps, ImportSummary, PasswordHook, Phase, Progress,
    SelectedEntry, Selection, SkipReason, Skips,
};
pub use problem::Problem;
pub use rebuild::{RebuildOptions, RebuildSummary, RebuildWhich, rebuild};
pub use sort::SortError;
pub use source::LdifSource;
pub use swap::{new_directory, recover};
pub use verify::{VerifyOptions, VerifySummary, verify, verify_with_progress};
