//! Where the lines of a log go in the end: a file, the standard output, another machine.
//!
//! A target works on the thread of its own log, so that one that is slow holds up no other log and no request.

use std::io;
use std::time::{Duration, SystemTime};

use thiserror::Error;

use super::file::LogFile;

/// Lines that did not arrive.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct LostLines {
    /// How many.
    pub lines: u64,
    /// Why.
    pub error: io::Error,
}

impl LostLines {
    /// All of `lines`.
    pub fn all(lines: &[u8], error: io::Error) -> Self {
        Self { lines: count_lines(lines), error }
    }
}

/// How many lines that is.
pub fn count_lines(lines: &[u8]) -> u64 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// See the module.
pub trait Target: Send {
    /// What it is called in messages: `log file /srv/logs/access`.
    fn title(&self) -> String;

    /// Takes whole lines.
    ///
    /// # Errors
    /// How many of them are lost, and why.
    fn write(&mut self, lines: &[u8], now: SystemTime) -> Result<(), LostLines>;

    /// Looks after what time brings.
    ///
    /// # Errors
    /// When that fails.
    fn check(&mut self, _now: SystemTime) -> io::Result<()> {
        Ok(())
    }

    /// Pause between two calls of [`Target::check`].
    fn check_interval(&self) -> Duration {
        Duration::from_secs(5)
    }

    /// Opens it again, after something else took it away.
    ///
    /// # Errors
    /// When that fails.
    fn reopen(&mut self, _now: SystemTime) -> io::Result<()> {
        Ok(())
    }
}

impl Target for LogFile {
    fn title(&self) -> String {
        format!("log file {}", self.path().display())
    }

    fn write(&mut self, lines: &[u8], now: SystemTime) -> Result<(), LostLines> {
        LogFile::write(self, lines, now).map_err(|error| LostLines::all(lines, error))
    }

    fn check(&mut self, now: SystemTime) -> io::Result<()> {
        LogFile::check(self, now)
    }

    fn check_interval(&self) -> Duration {
        LogFile::check_interval(self)
    }

    fn reopen(&mut self, now: SystemTime) -> io::Result<()> {
        LogFile::reopen(self, now)
    }
}
