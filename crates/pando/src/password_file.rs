//! Passwords in files, so that no list of processes shows them. Knows not whose they are.

use std::path::Path;

use runtime::secret_file;

use crate::failure::{Context, Failure};

/// The first line of a file: how passwords are given without showing them.
pub fn first_line(file: &Path) -> Result<String, Failure> {
    let line = secret_file::first_line(file, secret_file::GIVEN).context(file.display())?;
    line.map(|line| line.to_string()).ok_or_else(|| Failure::new(format_args!("{} is empty", file.display())))
}
