//! What is wrong with a configuration file: every fault, each with its place.

use std::fmt;
use std::path::PathBuf;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Line, from 1; 0 if the fault has no place in the file.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// All faults of a file, in its order; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    /// The file as the caller named it.
    pub file: PathBuf,
    /// The faults.
    pub errors: Vec<ConfigError>,
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.errors.iter().enumerate() {
            if place > 0 {
                f.write_str("\n")?;
            }
            match error.line {
                0 => write!(f, "{}: {}", self.file.display(), error.message)?,
                line => write!(f, "{}:{line}:{}: {}", self.file.display(), error.column, error.message)?,
            }
        }
        Ok(())
    }
}

/// Turns byte offsets of a text into lines and columns.
pub(crate) struct Places<'a>(pub &'a str);

impl Places<'_> {
    pub(crate) fn at(&self, offset: usize, message: impl Into<String>) -> ConfigError {
        let before = self.0.get(..offset).unwrap_or(self.0);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ConfigError {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before.get(line_start..).unwrap_or("").chars().count() + 1,
            message: message.into(),
        }
    }
}
