//! Tasks that work on a backend while it serves: export, rebuild.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use directory::IndexBuild;
use jobs::export::Export;
use jobs::output_file::OutputFile;
use jobs::progress::rate;
use jobs::selection::Wanted;
use jobs::{JobError, Watch};
use query::backend::Backend;
use schema::NormalizedDn;
use store::bulk::{BulkError, RebuildWhich};
use tasks::work::{self, ExportWork, Part};
use tasks::{Progress, Severity, Task, TaskBook};

use super::watch::TaskWatch;
use super::work::{Ended, TaskWork};

/// Between two looks how far indexes are.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl TaskWork {
    /// A file that a task names: in the instance's folder, unless it says where.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.config().instance.directory().join(name)
    }

    pub(super) fn backend(&self, id: &str) -> Result<&Backend, String> {
        let mut backends = self.directory.backends().iter();
        backends.find(|backend| backend.id == id).ok_or_else(|| format!("there is no backend \"{id}\" in service"))
    }

    pub(super) fn export(&self, book: &Arc<TaskBook>, task: &Task, work: &ExportWork) -> Result<Ended, String> {
        let schema = self.directory.schema();
        let selection = wanted(&work.part).selection(&schema).map_err(|error| error.to_string())?;
        let snapshot = self.backend(&work.backend)?.store.snapshot().map_err(|error| error.to_string())?;
        let file = OutputFile::of(&self.file(&work.file), work.append).map_err(|error| error.to_string())?;
        let job = Export {
            selection,
            exclude_operational: !work.operational,
            wrap_column: work.wrap_column,
            compress: work.compress,
        };
        let mut watch = TaskWatch::new(book, task);
        let exported = file.writer().and_then(|out| job.run(&snapshot, &schema, out, &mut watch));
        let done = exported.and_then(|summary| file.finish().map(|()| summary));
        match done {
            Ok(summary) => {
                let text = format!(
                    "Exported {} entries and skipped {} in {:.1} seconds (average rate {:.1}/sec)",
                    summary.exported,
                    summary.skipped,
                    summary.elapsed.as_secs_f64(),
                    rate(summary.exported, summary.elapsed)
                );
                self.say(book, task, Severity::Notice, &text);
                Ok(Ended::Done)
            }
            Err(error) => {
                file.discard();
                ended_by(error, &watch)
            }
        }
    }

    pub(super) fn rebuild(
        &self,
        book: &Arc<TaskBook>,
        task: &Task,
        base_dn: &str,
        which: &work::RebuildWhich,
    ) -> Result<Ended, String> {
        let name = NormalizedDn::parse(&self.directory.schema(), base_dn.as_bytes())
            .map_err(|error| format!("\"{base_dn}\" is no DN: {error}"))?;
        let holds = |backend: &&Backend| backend.suffixes.iter().any(|suffix| suffix.normalized == name);
        let backend = self.directory.backends().iter().find(holds);
        let backend = backend.ok_or_else(|| format!("no backend has the base DN \"{base_dn}\""))?;
        let which = match which {
            work::RebuildWhich::All => RebuildWhich::All,
            work::RebuildWhich::Degraded => RebuildWhich::Degraded,
            work::RebuildWhich::Named(names) => RebuildWhich::Named(names.clone()),
        };
        let names = self.directory.rebuild_indexes(&backend.id, &which).map_err(|error| error.to_string())?;
        if names.is_empty() {
            self.say(book, task, Severity::Notice, "No index needs to be rebuilt");
            return Ok(Ended::Done);
        }
        loop {
            match self.directory.index_build(&backend.id, &names).map_err(|error| error.to_string())? {
                IndexBuild::Complete => break,
                IndexBuild::Building { entries, total } => {
                    let progress = Progress { phase: "entries", done: entries, total: Some(total), entries };
                    book.progress(&task.id, progress);
                }
                IndexBuild::Failed { reason } => return Err(format!("the indexes are not complete: {reason}")),
                IndexBuild::Dropped { index } => {
                    return Err(format!("the index \"{index}\" was dropped while it was built"));
                }
            }
            if task.is_cancelled() {
                let text = "The server goes on building the indexes, and searches do without them until then";
                self.say(book, task, Severity::Warning, text);
                return Ok(Ended::Cancelled);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.say(book, task, Severity::Notice, &format!("Rebuild complete: {}", names.join(", ")));
        Ok(Ended::Done)
    }
}

/// How a job ended that did not succeed.
pub(super) fn ended_by(error: JobError, watch: &TaskWatch) -> Result<Ended, String> {
    match error {
        JobError::Bulk(BulkError::Cancelled) if watch.cancel().is_cancelled() => Ok(Ended::Cancelled),
        error => Err(error.to_string()),
    }
}

pub(super) fn wanted(part: &Part) -> Wanted {
    Wanted {
        include_branches: part.include_branches.clone(),
        exclude_branches: part.exclude_branches.clone(),
        include_attributes: part.include_attributes.clone(),
        exclude_attributes: part.exclude_attributes.clone(),
        include_filters: part.include_filters.clone(),
        exclude_filters: part.exclude_filters.clone(),
    }
}
