//! Secrets of an instance: 64 hexadecimal digits in a file outside of `db/`. Knows not what they are for.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use durable::ReadBound;
use store::index::SECRET_BYTES;
use zeroize::Zeroizing;

/// Largest file with a secret: those that are longer by a mistake are read, too, to say so.
const SECRET: ReadBound = ReadBound::file(64 << 10);

/// Why a secret cannot be read or made.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct SecretError {
    path: PathBuf,
    reason: String,
}

impl SecretError {
    /// What is wrong with a file.
    pub fn new(path: &Path, reason: String) -> SecretError {
        SecretError { path: path.to_owned(), reason }
    }

    /// With more about it.
    pub(crate) fn adding(mut self, more: &str) -> SecretError {
        self.reason.push_str(more);
        self
    }
}

/// Reads a secret; makes it, readable by its owner only, when the file is not there.
///
/// # Errors
/// When the file cannot be read or made.
pub fn load_or_make(path: &Path) -> Result<Zeroizing<[u8; SECRET_BYTES]>, SecretError> {
    let failed = |reason: String| SecretError::new(path, reason);
    let text = match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(path).map_err(|error| failed(format!("cannot be made: {error}")))?;
            read(path)
        }
        text => text,
    };
    let text = text.map_err(|error| failed(format!("cannot be read: {error}")))?;
    parse(text.trim_ascii())
        .ok_or_else(|| failed("is not 64 hexadecimal digits: put the file back from a backup".to_owned()))
}

fn read(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    SECRET.read(path).map(Zeroizing::new)
}

fn parse(text: &[u8]) -> Option<Zeroizing<[u8; SECRET_BYTES]>> {
    let mut secret = Zeroizing::new([0; SECRET_BYTES]);
    if text.len() != 2 * SECRET_BYTES {
        return None;
    }
    for (byte, digits) in secret.iter_mut().zip(text.chunks_exact(2)) {
        let digits =
            std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(secret)
}

/// Puts the whole file in place in one step; if another process was quicker, its secret holds.
fn make(path: &Path) -> io::Result<()> {
    let mut secret = Zeroizing::new([0; SECRET_BYTES]);
    getrandom::fill(secret.as_mut()).map_err(io::Error::other)?;
    let text: Zeroizing<String> = Zeroizing::new(secret.iter().map(|byte| format!("{byte:02x}")).collect());
    let line = Zeroizing::new(format!("{}\n", *text));
    durable::create_file(path, line.as_bytes(), Permissions::from_mode(0o600)).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_made_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/some.secret");
        let first = load_or_make(&path).unwrap();
        assert_eq!(first, load_or_make(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left over");
        std::fs::remove_file(&path).unwrap();
        assert_ne!(first, load_or_make(&path).unwrap());
    }

    #[test]
    fn a_damaged_secret_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.secret");
        for text in ["", "00", &"xy".repeat(SECRET_BYTES), &"+1".repeat(SECRET_BYTES), &"00".repeat(SECRET_BYTES + 1)] {
            std::fs::write(&path, text).unwrap();
            let error = load_or_make(&path).unwrap_err().to_string();
            assert!(error.contains("put the file back"), "{text:?}: {error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
