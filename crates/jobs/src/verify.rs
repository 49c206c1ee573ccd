//! Verify: proves that entries, tree and indexes agree, also beside a running server.

use std::sync::Arc;

use store::Snapshot;
use store::bulk::{self, Problem, VerifyOptions, VerifySummary};
use store::index::Indexer;

use crate::files::Target;
use crate::{JobError, Progress, Unit, Watch};

/// A verification to be made.
#[derive(Debug, Default)]
pub struct Verify {
    /// Only these indexes; none: everything.
    pub indexes: Vec<String>,
}

impl Verify {
    /// Verifies what `snapshot` sees; each problem is given to `report`.
    ///
    /// # Errors
    /// When the backend cannot be read at all, or an index is not known. Problems are no errors.
    pub fn run(
        self,
        target: Target<'_>,
        snapshot: &Snapshot,
        watch: &mut dyn Watch,
        report: &mut dyn FnMut(&Problem),
    ) -> Result<VerifySummary, JobError> {
        let Target { backend, schema, .. } = target;
        let options = VerifyOptions {
            indexes: self.indexes,
            other_base_dns: target.base_dns_within()?,
            cancel: watch.cancel(),
            ..VerifyOptions::everything(backend.directory.clone())
        };
        let indexer = Indexer::new(Arc::clone(schema), Arc::clone(snapshot.indexes().set()));
        let progress = &mut |now: &bulk::Progress| watch.progress(&Progress::of(now, Unit::Entries));
        Ok(bulk::verify_with_progress(snapshot, &indexer, &options, progress, report)?)
    }
}
