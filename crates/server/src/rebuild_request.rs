//! What `pando rebuild-index` asks of a running server: a file in the instance, which the server takes when it is told to reload.
//!
//! Knows lines and files; the indexes that they name may not exist.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    path::PathBuf,
};

use config::Instance;
use store::bulk::RebuildWhich;

/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A wish to have indexes built anew while the server runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuildRequest {
    /// The backend's id.
    pub backend: String,
    /// Which of its indexes.
    pub which: RebuildWhich,
}

fn file(instance: &Instance) -> PathBuf {
    instance.directory().join("rebuild-index.request")
}

impl RebuildRequest {
    /// Leaves the request for the server.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn leave(&self, instance: &Instance) -> io::Result<()> {
        // Appended in one write, so that two tools do not mix their lines.
        let mut out = OpenOptions::new().create(true).append(true).open(file(instance))?;
        out.write_all(self.lines().as_bytes())?;
        out.sync_all()
    }

    /// Takes all requests that were left.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn take(instance: &Instance) -> io::Result<Vec<Self>> {
        let taken = file(instance).with_extension("taken");
        match fs::rename(file(instance), &taken) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            renamed => renamed?,
        }
        let mut text = String::new();
        fs::File::open(&taken)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        fs::remove_file(&taken)?;
        Ok(text.lines().filter_map(Self::of_line).collect())
    }

    fn lines(&self) -> String {
        let line = |what: &str| format!("{} {what}\n", self.backend);
        match &self.which {
            RebuildWhich::All => line("all"),
            RebuildWhich::Degraded => line("degraded"),
            RebuildWhich::Named(names) => names.iter().map(|name| line(&format!("index {name}"))).collect(),
        }
    }

    fn of_line(line: &str) -> Option<Self> {
        let (backend, what) = line.split_once(' ')?;
        let which = match what.split_once(' ') {
            Some(("index", name)) => RebuildWhich::Named(vec![name.to_owned()]),
            None if what == "all" => RebuildWhich::All,
            None if what == "degraded" => RebuildWhich::Degraded,
            _ => return None,
        };
        Some(Self { backend: backend.to_owned(), which })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let instance = Instance::new(folder.path());
        let request = |which| RebuildRequest { backend: "userRoot".to_owned(), which };
        let named = |name: &str| RebuildWhich::Named(vec![name.to_owned()]);
        assert_eq!(RebuildRequest::take(&instance).unwrap(), []);
        let both = RebuildWhich::Named(vec!["cn".to_owned(), "sn.caseIgnoreMatch".to_owned()]);
        for which in [RebuildWhich::Degraded, both, RebuildWhich::All] {
            request(which).leave(&instance).unwrap();
        }
        OpenOptions::new().append(true).open(file(&instance)).unwrap().write_all(b"nonsense\n").unwrap();
        let expected =
            [RebuildWhich::Degraded, named("cn"), named("sn.caseIgnoreMatch"), RebuildWhich::All].map(request);
        assert_eq!(RebuildRequest::take(&instance).unwrap(), expected);
        assert_eq!(RebuildRequest::take(&instance).unwrap(), []);
    }
}
