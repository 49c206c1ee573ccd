//! The options of an import, its progress and its summary.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use schema::check::Leniency;
use schema::{NormalizedDn, Schema};

use crate::index::IndexConfigs;
use crate::record::Values;

/// Whether the old entries stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// The database holds the file's entries and nothing else; with include branches in the selection: entries outside
    /// them stay.
    Replace,
    /// The file's entries are added.
    Append {
        /// An entry that is there already is replaced, otherwise rejected.
        replace_existing: bool,
    },
}

/// An entry as filters read it.
#[derive(Debug, Clone, Copy)]
pub struct SelectedEntry<'a> {
    /// Its name as in the file.
    pub dn: &'a str,
    /// Descriptions and values.
    pub attributes: &'a [(&'a str, Values<'a>)],
}

/// Says whether an entry matches; made by the caller from an LDAP filter.
pub type EntryFilter = Arc<dyn Fn(&SelectedEntry<'_>) -> bool + Send + Sync>;

/// Turns a clear password into what is stored; `None` keeps the value (it is hashed already). The error is the reason
/// of a reject.
pub type PasswordHook = Arc<dyn Fn(&[u8]) -> Result<Option<Vec<u8>>, String> + Send + Sync>;

/// Checks an access control instruction of an entry of this name, and gives the form in which it is stored; `None`
/// keeps the value. The error is the reason of a reject.
pub type InstructionHook = Arc<dyn Fn(&NormalizedDn, &[u8]) -> Result<Option<Vec<u8>>, String> + Send + Sync>;

/// Checks a value. The error is the reason of a reject.
pub type ValueHook = Arc<dyn Fn(&[u8]) -> Result<(), String> + Send + Sync>;

/// Which entries and attributes are selected. Empty lists do not restrict.
#[derive(Clone, Default)]
pub struct Selection {
    /// Only entries at or below one of these DNs.
    pub include_branches: Vec<String>,
    /// Not entries at or below one of these.
    pub exclude_branches: Vec<String>,
    /// Only entries that match one of these.
    pub include_filters: Vec<EntryFilter>,
    /// Not entries that match one of these.
    pub exclude_filters: Vec<EntryFilter>,
    /// Only these attributes (beside objectClass).
    pub include_attributes: Vec<String>,
    /// Not these attributes.
    pub exclude_attributes: Vec<String>,
}

impl Selection {
    /// Whether the filters let an entry pass.
    pub(super) fn passes(&self, entry: &SelectedEntry<'_>) -> bool {
        let included = self.include_filters.is_empty() || self.include_filters.iter().any(|filter| filter(entry));
        included && !self.exclude_filters.iter().any(|filter| filter(entry))
    }
}

impl std::fmt::Debug for Selection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Selection")
            .field("include_branches", &self.include_branches)
            .field("exclude_branches", &self.exclude_branches)
            .field("include_attributes", &self.include_attributes)
            .field("exclude_attributes", &self.exclude_attributes)
            .finish_non_exhaustive()
    }
}

/// A switch by which another thread (a signal, a task) stops long work.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Creator and time of entries for which the file does not say them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportStamps {
    /// `creatorsName` and `modifiersName`.
    pub name: String,
    /// `createTimestamp` and `modifyTimestamp`, in seconds since 1970.
    pub unix_seconds: u64,
}

/// Why an import left entries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// They are below no base DN of the backend.
    OtherBackend,
    /// They are outside the included branches, or in an excluded one.
    Branch,
    /// A filter left them out.
    Filter,
}

impl SkipReason {
    /// All of them.
    pub const ALL: [SkipReason; 3] = [Self::OtherBackend, Self::Branch, Self::Filter];
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::OtherBackend => "not below a base DN of the backend",
            Self::Branch => "left out by --includeBranch or --excludeBranch",
            Self::Filter => "left out by --includeFilter or --excludeFilter",
        })
    }
}

/// How many entries were left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skips([u64; SkipReason::ALL.len()]);

impl Skips {
    /// Counts found by `count`.
    pub(super) fn of(count: impl Fn(SkipReason) -> u64) -> Self {
        Self(SkipReason::ALL.map(count))
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons that there were, with their counts.
    pub fn reasons(&self) -> impl Iterator<Item = (SkipReason, u64)> {
        SkipReason::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// `3 not below a base DN of the backend, 1 left out by …`
impl std::fmt::Display for Skips {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, (reason, count)) in self.reasons().enumerate() {
            write!(out, "{}{count} {reason}", if place > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// Everything that an import needs to know beside the LDIF.
#[derive(Clone)]
pub struct ImportOptions {
    /// The backend's folder.
    pub directory: PathBuf,
    /// Its base DNs; entries elsewhere are skipped.
    pub base_dns: Vec<String>,
    /// Base DNs of other backends. An entry at or below one of them that is below an own base DN is bad: its name
    /// belongs there.
    pub other_base_dns: Vec<String>,
    /// Its indexes.
    pub indexes: IndexConfigs,
    /// The schema.
    pub schema: Arc<Schema>,
    /// How strictly entries are checked.
    pub leniency: Leniency,
    /// Entries are not checked against the schema at all (`--skipSchemaValidation`).
    pub skip_schema_validation: bool,
    /// Whether the old entries stay.
    pub mode: ImportMode,
    /// The database may be empty afterwards (`--clearBackend`).
    pub may_be_empty: bool,
    /// Creator and time for entries without; `None`: they stay without.
    pub stamps: Option<ImportStamps>,
    /// Attributes to count the entries of.
    pub counted_attributes: Vec<String>,
    /// Which entries and attributes are wanted.
    pub selection: Selection,
    /// Bad entries do not stop the import. A reject file implies it.
    pub continue_on_error: bool,
    /// Takes rejected entries with the reason as comment.
    pub reject_file: Option<PathBuf>,
    /// Takes entries that the selection leaves out.
    pub skip_file: Option<PathBuf>,
    /// Reject and skip file are emptied first rather than appended to.
    pub overwrite: bool,
    /// Called for each value of `userPassword` and of attributes of the user password syntax.
    pub hash_password: Option<PasswordHook>,
    /// Called for each access control instruction.
    pub check_instruction: Option<InstructionHook>,
    /// Called for each value of `ds-privilege-name`.
    pub check_privilege: Option<ValueHook>,
    /// Worker threads; 0: one for each core.
    pub threads: usize,
    /// Memory for sorting; 0: the default.
    pub memory_bytes: usize,
    /// Where the sort keeps its temporary file; none: beside the database.
    pub temporary_directory: Option<PathBuf>,
    /// Stops the import.
    pub cancel: Cancel,
}

impl ImportOptions {
    /// A plain import that replaces what is in `directory`.
    #[must_use]
    pub fn new(
        directory: PathBuf,
        base_dns: Vec<String>,
        indexes: impl Into<IndexConfigs>,
        schema: Arc<Schema>,
    ) -> Self {
        Self {
            directory,
            base_dns,
            other_base_dns: Vec::new(),
            indexes: indexes.into(),
            schema,
            leniency: Leniency::default(),
            skip_schema_validation: false,
            mode: ImportMode::Replace,
            may_be_empty: false,
            stamps: None,
            counted_attributes: Vec::new(),
            selection: Selection::default(),
            continue_on_error: false,
            reject_file: None,
            skip_file: None,
            overwrite: false,
            hash_password: None,
            check_instruction: None,
            check_privilege: None,
            threads: 0,
            memory_bytes: 0,
            temporary_directory: None,
            cancel: Cancel::default(),
        }
    }
}

impl std::fmt::Debug for ImportOptions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ImportOptions")
            .field("directory", &self.directory)
            .field("base_dns", &self.base_dns)
            .field("mode", &self.mode)
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}

/// The phase of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Reading entries (OpenDJ's phase one).
    Entries,
    /// Writing indexes (OpenDJ's phase two).
    Indexes,
    /// Waiting for the disk.
    Syncing,
}

/// Work on a database reports its progress after every so many entries.
pub(super) const PROGRESS_ENTRIES: u64 = 10_000;

/// The progress of the work.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// Entries read.
    pub processed: u64,
    /// Entries in the new database.
    pub imported: u64,
    /// Entries that the selection left out.
    pub skipped: u64,
    /// Bad entries.
    pub rejected: u64,
    /// Old entries taken over.
    pub migrated: u64,
    /// Bytes of the inputs read (entries, where there is no input); in the phase of indexes: bytes of the sorted keys
    /// written.
    pub bytes_read: u64,
    /// Bytes in all, if known.
    pub bytes_total: Option<u64>,
    /// Since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// Nothing is done yet.
    pub(super) fn at(phase: Phase, started: Instant) -> Self {
        Self {
            phase,
            processed: 0,
            imported: 0,
            skipped: 0,
            rejected: 0,
            migrated: 0,
            bytes_read: 0,
            bytes_total: None,
            elapsed: started.elapsed(),
        }
    }
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Entries read.
    pub processed: u64,
    /// Entries of the file in the new database.
    pub imported: u64,
    /// Entries that were left out.
    pub skipped: Skips,
    /// Bad entries.
    pub rejected: u64,
    /// Old entries taken over.
    pub migrated: u64,
    /// How many entries have each of the attributes that were to be counted.
    pub counted: Vec<(String, u64)>,
    /// Index keys in the new database.
    pub index_keys: u64,
    /// Ids of all keys together.
    pub index_ids: u64,
    /// Size of the database file.
    pub database_bytes: u64,
    /// All of it.
    pub elapsed: Duration,
    /// Reading entries.
    pub phase_one: Duration,
    /// Writing indexes and syncing.
    pub phase_two: Duration,
}
