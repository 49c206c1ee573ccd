//! Why the server is not healthy: what keeps it from doing its work and does not pass by itself.

use std::time::Duration;

use directory::Directory;
use store::{DiskTrouble, Doing};

/// A writer that has done one thing for so long is not healthy.
const WRITER_TIME_MAX: Duration = Duration::from_secs(10);

/// One sentence for each trouble; none when all is well.
pub(crate) fn troubles(directory: &Directory) -> Vec<String> {
    let mut all = Vec::new();
    for backend in directory.backends() {
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
