//! The public keys of a token issuer, in a file that is read again when it changes.
//!
//! A changed file that cannot be used leaves the keys that were read before in force; the error log says so once, and
//! once more when the file is good again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable::{FileStamp, ReadBound};
use query::monitor_entry::MonitorEntry;
use query::notices::{NoticeKind, Notices};
use sasl::jwt::KeySet;

/// Largest file that is read.
const KEY_SET: ReadBound = ReadBound::file(4 << 20);

/// See the module.
pub(crate) struct KeyFile {
    path: PathBuf,
    read: Mutex<Read>,
}

struct Read {
    stamp: Option<FileStamp>,
    keys: Arc<KeySet>,
    /// Why the file as it is now cannot be used.
    fault: Option<String>,
}

impl KeyFile {
    /// Reads the file.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn open(path: &Path) -> Result<KeyFile, String> {
        let (stamp, keys) = (FileStamp::of(path), Arc::new(read(path)?));
        Ok(KeyFile { path: path.to_owned(), read: Mutex::new(Read { stamp, keys, fault: None }) })
    }

    /// The keys.
    pub(crate) fn keys(&self, notices: &Notices) -> Arc<KeySet> {
        Arc::clone(&self.look(notices).keys)
    }

    /// What `cn=monitor` says.
    pub(crate) fn monitor_entry(&self, notices: &Notices) -> MonitorEntry {
        let known = self.look(notices);
        let entry = MonitorEntry::new("Token Keys")
            .with("token-keys-file", self.path.display())
            .with("token-keys-count", known.keys.count());
        match &known.fault {
            Some(fault) => entry.with("token-keys-fault", fault),
            None => entry,
        }
    }

    /// Reads the file again if it is another one.
    fn look(&self, notices: &Notices) -> MutexGuard<'_, Read> {
        let now = FileStamp::of(&self.path);
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if known.stamp != now {
            known.stamp = now;
            match read(&self.path) {
                Ok(keys) => {
                    known.keys = Arc::new(keys);
                    if known.fault.take().is_some() {
                        let path = self.path.display();
                        let told = format!("The key set of OAUTHBEARER can be used again: {path}; its keys are in use");
                        notices.warn(NoticeKind::TokenKeys, &told);
                    }
                }
                Err(fault) => {
                    let told = format!(
                        "The key set of OAUTHBEARER was replaced and cannot be used: {fault}. The keys that were read \
                         before stay in use: put a JSON Web Key Set there, and it is read with the next token"
                    );
                    notices.warn(NoticeKind::TokenKeys, &told);
                    known.fault = Some(fault);
                }
            }
        }
        known
    }
}

fn read(path: &Path) -> Result<KeySet, String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = KEY_SET.read(path).map_err(|error| said(&error))?;
    KeySet::parse(&text).map_err(|error| said(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    #[test]
    fn a_replaced_file_that_cannot_be_used_is_told_once_and_when_it_is_good_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuer.jwks");
        std::fs::write(&path, KEYS).unwrap();
        let file = KeyFile::open(&path).unwrap();
        let notices = Notices::default();
        let told = Arc::new(Mutex::new(Vec::new()));
        let keeper = Arc::clone(&told);
        notices.set(Box::new(move |_, sentence| keeper.lock().unwrap().push(sentence.to_owned())));
        let fault = || {
            let entry = file.monitor_entry(&notices);
            entry.attributes.into_iter().find(|(name, _)| name == "token-keys-fault").map(|(_, values)| values.concat())
        };
        assert_eq!((file.keys(&notices).count(), fault()), (1, None));
        std::fs::write(&path, "no keys").unwrap();
        for _ in 0..3 {
            assert_eq!(file.keys(&notices).count(), 1, "those that were read before");
            assert!(fault().unwrap().starts_with(&path.display().to_string()));
        }
        std::fs::remove_file(&path).unwrap();
        assert!(fault().unwrap().contains("No such file"));
        std::fs::write(
            &path,
            KEYS.replace(
                "}]",
                "},{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]",
            ),
        )
        .unwrap();
        assert_eq!((file.keys(&notices).count(), fault()), (2, None));
        let told = told.lock().unwrap();
        let begins = ["was replaced and cannot be used", "was replaced and cannot be used", "can be used again"];
        assert_eq!(told.len(), begins.len(), "{told:#?}");
        assert!(told.iter().zip(begins).all(|(sentence, part)| sentence.contains(part)), "{told:#?}");
    }

    #[test]
    fn a_device_is_no_key_set() {
        let told = KeyFile::open(Path::new("/dev/zero")).err().unwrap();
        assert_eq!(told, "/dev/zero: it is a device: name a regular file");
    }
}
