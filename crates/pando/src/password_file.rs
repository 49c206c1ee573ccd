//! Passwords in files, so that no list of processes shows them. Knows not whose they are.

use std::path::Path;

use runtime::secret_file;
use zeroize::Zeroizing;

use crate::failure::{Context, Failure};

/// The first line of a file: how passwords are given without showing them.
pub fn first_line(file: &Path) -> Result<String, Failure> {
    let line = secret_file::first_line(file, secret_file::GIVEN).context(file.display())?;
    line.map(|line| line.to_string()).ok_or_else(|| Failure::new(format_args!("{} is empty", file.display())))
}

/// A password of the command line, or else the first line of a file.
pub fn given_or_first_line(given: Option<&str>, file: Option<&Path>) -> Result<Option<Zeroizing<String>>, Failure> {
    match (given, file) {
        (Some(given), _) => Ok(Some(Zeroizing::new(given.to_owned()))),
        (None, Some(file)) => first_line(file).map(Zeroizing::new).map(Some),
        (None, None) => Ok(None),
    }
}
