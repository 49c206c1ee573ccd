//! Passwords and tokens in files of their own, so that neither the configuration nor a list of processes shows them.

use std::path::Path;
use std::{fs, io};

use zeroize::Zeroizing;

/// The first line of a file, which is the secret; none in an empty file.
///
/// # Errors
/// When the file cannot be read.
pub fn first_line(file: &Path) -> io::Result<Option<Zeroizing<String>>> {
    let text = Zeroizing::new(fs::read_to_string(file)?);
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
            fs::write(&file, text).unwrap();
            assert_eq!(first_line(&file).unwrap().as_ref().map(|line| line.as_str()), line, "{text:?}");
        }
        assert!(first_line(&folder.path().join("none")).is_err());
    }
}
