//! Passwords in files, so that no list of processes shows them. Knows not whose they are.

use std::fs;
use std::path::Path;

use crate::failure::{Context, Failure};

/// The first line of a file: how passwords are given without showing them.
pub fn first_line(file: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(file).context(file.display())?;
    text.lines().next().map(str::to_owned).ok_or_else(|| Failure::new(format_args!("{} is empty", file.display())))
}
