//! The error log: what an administrator should know, one line each, in OpenDJ's format.
//!
//! A handle is cheap to clone and may be used from any thread; a line never waits for the disk.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::clock::{LogClock, TimeFormat};
use super::file::LogFileSettings;
use super::message::{Category, LINES_DROPPED, MessageKind, Severity};
use super::text::{decimal, escaped};
use super::writer::{LogThreadBuilder, Overload, Sink};

fn bit(severity: Severity) -> u8 {
    1 << severity as u8
}

/// A set of severities, as `default-severity` gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Severities(u8);

impl Severities {
    /// Reads one or more of `all`, `none`, `error`, `warning`, `notice`, `info`, `debug`; `None` for an unknown word.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut bits = 0;
        for word in words {
            let word = word.trim();
            if word.eq_ignore_ascii_case("all") {
                bits |= Severity::ALL.iter().fold(0, |bits, severity| bits | bit(*severity));
            } else if !word.eq_ignore_ascii_case("none") {
                bits |= Severity::ALL
                    .iter()
                    .find(|severity| severity.name().eq_ignore_ascii_case(word))
                    .map(|severity| bit(*severity))?;
            }
        }
        Some(Self(bits))
    }

    fn has(self, severity: Severity) -> bool {
        self.0 & bit(severity) != 0
    }
}

impl Default for Severities {
    fn default() -> Self {
        Self(bit(Severity::Error) | bit(Severity::Warning) | bit(Severity::Notice))
    }
}

/// The error log as configured.
#[derive(Debug, Clone)]
pub struct ErrorLogSettings {
    /// The file and its policies.
    pub file: LogFileSettings,
    /// What is written, unless a category says otherwise (`default-severity`).
    pub severities: Severities,
    /// `override-severity`: `SYNC=INFO,ERROR`.
    pub overrides: Vec<(Category, Severities)>,
    /// Whether lines are repeated on the standard error output (a server in the foreground).
    pub to_stderr: bool,
}

impl ErrorLogSettings {
    /// Errors, warnings and notices into a file.
    pub fn new(file: LogFileSettings) -> Self {
        Self { file, severities: Severities::default(), overrides: Vec::new(), to_stderr: false }
    }
}

/// Reads one `override-severity` value.
pub fn parse_override(text: &str) -> Option<(Category, Severities)> {
    let (category, severities) = text.split_once('=')?;
    let category = Category::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(category.trim()))?;
    Some((category, Severities::parse(severities.split(','))?))
}

/// A handle to the error log.
#[derive(Clone)]
pub struct ErrorLog {
    shared: Arc<Shared>,
}

struct Shared {
    sink: Option<Sink>,
    clock: Mutex<LogClock>,
    severities: Severities,
    overrides: Vec<(Category, Severities)>,
    to_stderr: bool,
}

impl ErrorLog {
    /// Opens the log's file.
    pub fn open(builder: &mut LogThreadBuilder, settings: ErrorLogSettings) -> std::io::Result<Self> {
        let file = builder.open(settings.file, TimeFormat::default(), drop_note)?;
        let sink = Some(builder.sink(file, Overload::Drop));
        Ok(Self::with_sink(sink, settings.severities, settings.overrides, settings.to_stderr))
    }

    /// A log that writes to the standard error output only.
    pub fn stderr() -> Self {
        Self::with_sink(None, Severities::default(), Vec::new(), true)
    }

    /// A log that keeps silent, for tests and tools.
    pub fn silent() -> Self {
        Self::with_sink(None, Severities(0), Vec::new(), false)
    }

    fn with_sink(
        sink: Option<Sink>,
        severities: Severities,
        overrides: Vec<(Category, Severities)>,
        to_stderr: bool,
    ) -> Self {
        let clock = Mutex::new(LogClock::new(TimeFormat::default()));
        Self { shared: Arc::new(Shared { sink, clock, severities, overrides, to_stderr }) }
    }

    /// Whether a line of this kind would be written.
    pub fn is_enabled(&self, category: Category, severity: Severity) -> bool {
        let special = self.shared.overrides.iter().find(|(special, _)| *special == category);
        special.map_or(self.shared.severities, |(_, severities)| *severities).has(severity)
    }

    /// Writes one line.
    pub fn report(&self, kind: MessageKind, message: impl fmt::Display) {
        if !self.is_enabled(kind.category, kind.severity) {
            return;
        }
        let mut line =
            self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner).stamp(SystemTime::now()).to_vec();
        fields(&mut line, kind, &message.to_string());
        line.push(b'\n');
        if let Some(sink) = &self.shared.sink {
            sink.append(|out| out.extend_from_slice(&line));
        }
        if self.shared.to_stderr {
            eprint!("{}", String::from_utf8_lossy(&line));
        }
    }
}

impl fmt::Debug for ErrorLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorLog").field("to_stderr", &self.shared.to_stderr).finish_non_exhaustive()
    }
}

fn fields(out: &mut Vec<u8>, kind: MessageKind, message: &str) {
    out.extend_from_slice(b"category=");
    out.extend_from_slice(kind.category.name().as_bytes());
    out.extend_from_slice(b" severity=");
    out.extend_from_slice(kind.severity.name().as_bytes());
    out.extend_from_slice(b" msgID=");
    decimal(out, u64::from(kind.id));
    out.extend_from_slice(b" msg=");
    // Not in quotes, so quotes may stay; only the end of the line must be safe.
    for (at, part) in message.split('"').enumerate() {
        if at > 0 {
            out.push(b'"');
        }
        escaped(out, part.as_bytes());
    }
}

fn drop_note(out: &mut Vec<u8>, count: u64) {
    let message = format!("{count} lines were dropped because the disk did not keep up");
    fields(out, LINES_DROPPED, &message);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_format_and_severities() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("errors");
        let mut builder = LogThreadBuilder::default();
        let mut settings = ErrorLogSettings::new(LogFileSettings::new(path.clone()));
        settings.overrides.push(parse_override("SYNC=INFO,ERROR").unwrap());
        let log = ErrorLog::open(&mut builder, settings).unwrap();
        let thread = builder.start().unwrap();
        let kind = |category, severity, id| MessageKind { id, category, severity, meaning: "" };
        let taken_offline = kind(Category::Backend, Severity::Notice, 370);
        log.report(taken_offline, "The backend \"userRoot\" is now\ntaken offline");
        log.report(kind(Category::Core, Severity::Info, 1), "not written");
        log.report(kind(Category::Sync, Severity::Info, 2), "written");
        log.report(kind(Category::Sync, Severity::Warning, 3), "not written");
        thread.flush();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().map(|line| &line[29..]).collect();
        assert_eq!(
            lines,
            [
                "category=BACKEND severity=NOTICE msgID=370 msg=The backend \"userRoot\" is now\\0ataken offline",
                "category=SYNC severity=INFO msgID=2 msg=written",
            ]
        );
    }

    #[test]
    fn words_of_severity() {
        assert!(Severities::parse(["all"]).unwrap().has(Severity::Debug));
        assert!(!Severities::parse(["none"]).unwrap().has(Severity::Error));
        assert_eq!(Severities::parse(["loud"]), None);
        assert_eq!(parse_override("NOWHERE=ERROR"), None);
        assert_eq!(parse_override("SYNC"), None);
    }
}
