//! The key of the instance that seals the secrets of tokens: a file outside of `db/`, made with the first token.
//!
//! A file that was lost, or is another one, opens nothing: accounts with tokens cannot bind until it is put back. It is
//! looked at again whenever a secret does not open, so that putting it back takes no restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use accounts::second_factor::SealKey;
use arc_swap::ArcSwapOption;
use durable::FileStamp;
use query::instance_secret::{SecretError, load_or_make};

/// See the module.
pub(crate) struct KeyFile {
    path: PathBuf,
    key: ArcSwapOption<SealKey>,
    /// The file that was read.
    stamp: Mutex<Option<FileStamp>>,
}

impl KeyFile {
    /// Reads the file if it is there.
    pub(crate) fn open(path: PathBuf) -> KeyFile {
        let file = KeyFile { path, key: ArcSwapOption::empty(), stamp: Mutex::new(None) };
        file.look_again();
        file
    }

    /// The key, if there is one.
    pub(crate) fn key(&self) -> Option<Arc<SealKey>> {
        self.key.load_full()
    }

    /// Whether there is a key: without one, no account here has a token that is good.
    pub(crate) fn is_there(&self) -> bool {
        self.key.load().is_some()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file again if it is another one, or is back. Whether there is another key now.
    pub(crate) fn look_again(&self) -> bool {
        let mut known = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        let now = FileStamp::of(&self.path);
        if *known == now {
            return false;
        }
        *known = now;
        let read = now.and_then(|_| read_or_make(&self.path).ok());
        let is_there = read.is_some();
        self.key.store(read.map(Arc::new));
        is_there
    }

    /// The key; makes it when there is no file.
    pub(crate) fn key_or_make(&self) -> Result<Arc<SealKey>, SecretError> {
        self.look_again();
        if let Some(key) = self.key() {
            return Ok(key);
        }
        let mut known = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Arc::new(read_or_make(&self.path)?);
        *known = FileStamp::of(&self.path);
        self.key.store(Some(Arc::clone(&key)));
        Ok(key)
    }
}

fn read_or_make(path: &Path) -> Result<SealKey, SecretError> {
    let secret = load_or_make(path)?;
    SealKey::new(&secret).map_err(|error| SecretError::new(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_found_when_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/second-factor.key");
        let file = KeyFile::open(path.clone());
        assert!(!file.is_there() && !path.exists(), "nobody needs one yet");
        let sealed = file.key_or_make().unwrap().seal(b"secret", &[1; 16], "phone").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let opens = |file: &KeyFile| file.key().is_some_and(|key| key.open(&sealed, &[1; 16], "phone").is_ok());
        assert!(opens(&file) && opens(&KeyFile::open(path.clone())));
        let away = folder.path().join("away");
        std::fs::rename(&path, &away).unwrap();
        assert!(!file.look_again() && !file.is_there());
        std::fs::rename(&away, &path).unwrap();
        assert!(file.look_again() && opens(&file));
        assert!(!file.look_again(), "it is the same file");
        std::fs::write(&path, "no key\n").unwrap();
        assert!(!file.look_again() && file.key_or_make().is_err(), "a damaged file is not replaced");
    }
}
