//! Rebuild: makes indexes anew from the entries, while no server runs. A running server does it by itself, see
//! `directory::indexes`.

use std::path::PathBuf;
use std::sync::Arc;

use query::configured::index_configs;
use store::bulk::{self, RebuildOptions, RebuildSummary, RebuildWhich};

use crate::files::Target;
use crate::{JobError, Progress, Unit, Watch};

/// A rebuild to be made.
pub struct Rebuild {
    /// Which indexes.
    pub which: RebuildWhich,
    /// They are only declared good.
    pub clear_degraded_state: bool,
    /// Where the sort keeps its temporary file; none: the backend's folder.
    pub temporary_directory: Option<PathBuf>,
}

impl Rebuild {
    /// Rebuilds.
    ///
    /// # Errors
    /// When the backend is in use or damaged, or an index is not known: then all is as it was.
    pub fn run(self, target: Target<'_>, watch: &mut dyn Watch) -> Result<RebuildSummary, JobError> {
        let Target { backend, schema, .. } = target;
        target.fold()?;
        let options = RebuildOptions {
            directory: backend.directory.clone(),
            indexes: index_configs(backend)?,
            schema: Arc::clone(schema),
            which: self.which,
            clear_degraded_state: self.clear_degraded_state,
            threads: 0,
            memory_bytes: 0,
            temporary_directory: self.temporary_directory,
            cancel: watch.cancel(),
        };
        Ok(bulk::rebuild(&options, &mut |now| watch.progress(&Progress::of(now, Unit::Entries)))?)
    }
}
