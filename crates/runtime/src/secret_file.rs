//! Passwords and tokens in files of their own, so that neither the configuration nor a list of processes shows them.

use std::io;
use std::path::Path;

use durable::ReadBound;
use zeroize::Zeroizing;

/// Largest file with a secret.
const BYTES_MAX: u64 = 64 << 10;
/// Files that a configuration names.
pub const CONFIGURED: ReadBound = ReadBound::file(BYTES_MAX);
/// What a person gives to a tool, also by `/dev/stdin` or `<(…)`.
pub const GIVEN: ReadBound = ReadBound::stream(BYTES_MAX);

/// The first line of a file, which is the secret; none in an empty file.
///
/// # Errors
/// When the file cannot be read within the bound.
pub fn first_line(file: &Path, bound: ReadBound) -> io::Result<Option<Zeroizing<String>>> {
    let text = Zeroizing::new(bound.text(file)?);
    Ok(text.lines().next().map(|line| Zeroizing::new(line.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_ends_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        for (text, line) in [("one\ntwo\n", Some("one")), ("one\r\n", Some("one")), ("\n", Some("")), ("", None)] {
            std::fs::write(&file, text).unwrap();
            for bound in [CONFIGURED, GIVEN] {
                let found = first_line(&file, bound).unwrap();
                assert_eq!(found.as_ref().map(|found| found.as_str()), line, "{text:?}");
            }
        }
        for bound in [CONFIGURED, GIVEN] {
            assert!(first_line(&folder.path().join("none"), bound).is_err());
            let error = first_line(Path::new("/dev/zero"), bound).unwrap_err().to_string();
            assert!(error.contains(if bound == GIVEN { "larger than 64 KiB" } else { "a device" }), "{error}");
        }
    }
}
