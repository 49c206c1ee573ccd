//! Secrets that the configuration keeps in files of their own.

use std::path::Path;

use runtime::secret_file;
use zeroize::Zeroizing;

/// The first line of a file that holds a secret.
pub(super) fn first_line(file: &Path) -> Result<Zeroizing<String>, String> {
    let line = secret_file::first_line(file, secret_file::CONFIGURED)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    let line = line.filter(|line| !line.is_empty());
    line.ok_or_else(|| format!("{}: the file has no first line", file.display()))
}
