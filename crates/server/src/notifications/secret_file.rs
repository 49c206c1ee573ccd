//! Secrets that the configuration keeps in files of their own.

use std::fs;
use std::path::Path;

use zeroize::Zeroizing;

/// The first line of a file that holds a secret.
pub(super) fn first_line(file: &Path) -> Result<Zeroizing<String>, String> {
    let text = fs::read_to_string(file).map(Zeroizing::new).map_err(|error| format!("{}: {error}", file.display()))?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(Zeroizing::new(line.to_owned())),
        None => Err(format!("{}: the file has no first line", file.display())),
    }
}
