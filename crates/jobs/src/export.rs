//! Export: writes a backend as LDIF, also beside a running server.

use std::io::Write;
use std::sync::Arc;

use schema::Schema;
use store::Snapshot;
use store::bulk::{self, ExportOptions, ExportSummary, Selection};

use crate::{JobError, Progress, Unit, Watch};

/// An export to be made.
#[derive(Default)]
pub struct Export {
    /// Which entries and attributes.
    pub selection: Selection,
    /// Operational attributes are left out.
    pub exclude_operational: bool,
    /// Column at which lines are folded; 0 folds none.
    pub wrap_column: usize,
    /// Compressed with gzip.
    pub compress: bool,
}

impl Export {
    /// Writes what `snapshot` sees to `out`.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn run(
        self,
        snapshot: &Snapshot,
        schema: &Arc<Schema>,
        out: Box<dyn Write + Send>,
        watch: &mut dyn Watch,
    ) -> Result<ExportSummary, JobError> {
        let options = ExportOptions {
            selection: self.selection,
            exclude_operational: self.exclude_operational,
            wrap_column: self.wrap_column,
            compress: self.compress,
            cancel: watch.cancel(),
        };
        let progress = &mut |now: &bulk::Progress| watch.progress(&Progress::of(now, Unit::Entries));
        Ok(bulk::export(snapshot, schema, &options, out, progress)?)
    }
}
