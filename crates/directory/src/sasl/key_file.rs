//! The public keys of a token issuer, in a file that is read again when it changes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use durable::FileStamp;
use sasl::jwt::KeySet;

/// Largest file that is read.
const BYTES_MAX: u64 = 4 << 20;

/// See the module.
pub(crate) struct KeyFile {
    path: PathBuf,
    read: Mutex<(Option<FileStamp>, Arc<KeySet>)>,
}

impl KeyFile {
    /// Reads the file.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn open(path: &Path) -> Result<KeyFile, String> {
        let (stamp, keys) = (FileStamp::of(path), Arc::new(read(path)?));
        Ok(KeyFile { path: path.to_owned(), read: Mutex::new((stamp, keys)) })
    }

    /// The keys. A changed file that cannot be used leaves those that were read before.
    pub(crate) fn keys(&self) -> Arc<KeySet> {
        let now = FileStamp::of(&self.path);
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != now {
            known.0 = now;
            if let Ok(keys) = read(&self.path) {
                known.1 = Arc::new(keys);
            }
        }
        Arc::clone(&known.1)
    }
}

fn read(path: &Path) -> Result<KeySet, String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if std::fs::metadata(path).map_err(|error| said(&error))?.len() > BYTES_MAX {
        return Err(said(&format_args!("it has more than {BYTES_MAX} bytes")));
    }
    let text = std::fs::read(path).map_err(|error| said(&error))?;
    KeySet::parse(&text).map_err(|error| said(&error))
}
