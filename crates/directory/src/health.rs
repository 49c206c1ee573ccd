//! Why the server is not healthy: what keeps it from doing its work and does not pass by itself.

use std::time::Duration;

use query::backend::Backend;
use query::monitor_entry::MonitorEntry;
use store::{DiskTrouble, Doing};

/// A writer that has done one thing for so long is not healthy.
const WRITER_TIME_MAX: Duration = Duration::from_secs(10);

/// One sentence for each trouble; none when all is well.
pub(crate) fn troubles(backends: &[Backend]) -> Vec<String> {
    let mut all = Vec::new();
    for backend in backends {
        let id = &backend.id;
        if let Some(error) = backend.store.updates_stopped() {
            all.push(format!("backend \"{id}\" takes no updates until the server is started again: {error}"));
        }
        match backend.store.trouble() {
            Some(DiskTrouble::Log(error)) => {
                all.push(format!("backend \"{id}\" refuses updates until its log can be written: {error}"));
            }
            Some(DiskTrouble::Database(error)) => {
                all.push(format!("backend \"{id}\" cannot write its database, and tries again: {error}"));
            }
            None => {}
        }
        let (doing, time, _) = backend.store.doing();
        if doing != Doing::Nothing && time >= WRITER_TIME_MAX {
            let seconds = time.as_secs();
            all.push(format!("the writer of backend \"{id}\" has hung for {seconds} s: see logs/errors"));
        }
    }
    all
}

/// The same as an entry of the monitor.
pub(crate) fn monitor_entry(backends: &[Backend]) -> MonitorEntry {
    let troubles = troubles(backends);
    let mut entry = MonitorEntry::new("Health").with("healthy", if troubles.is_empty() { "TRUE" } else { "FALSE" });
    if !troubles.is_empty() {
        entry.attributes.push(("trouble".to_owned(), troubles));
    }
    entry
}
