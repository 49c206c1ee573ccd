//! The error log: what an administrator should know, one line each, in OpenDJ's format.
//!
//! A handle is cheap to clone and may be used from any thread; a line never waits for the disk. It may go to several
//! logs, each with severities of its own, and which these are may change while the server runs.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;

use super::clock::{LogClock, TimeFormat};
use super::message::{Category, LINES_DROPPED, MessageKind, Severity};
use super::text::{decimal, escaped};
use super::writer::{DropNote, Sink};

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

/// What is written to one of the logs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// What is written, unless a category says otherwise (`default-severity`).
    pub severities: Severities,
    /// `override-severity`: `SYNC=INFO,ERROR`.
    pub overrides: Vec<(Category, Severities)>,
}

impl Selection {
    fn has(&self, category: Category, severity: Severity) -> bool {
        let special = self.overrides.iter().find(|(special, _)| *special == category);
        special.map_or(self.severities, |(_, severities)| *severities).has(severity)
    }
}

/// One of the logs that errors go to.
#[derive(Debug)]
pub struct ErrorEnd {
    /// The log.
    pub sink: Sink,
    /// What goes there.
    pub selection: Selection,
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
    ends: ArcSwap<Vec<ErrorEnd>>,
    clock: Mutex<LogClock>,
    /// Whether lines go to the standard error output while there is no log.
    is_loud: bool,
}

impl ErrorLog {
    /// A log that writes to the standard error output until it is told of logs.
    pub fn stderr() -> Self {
        Self::with(true)
    }

    /// A log that keeps silent until it is told of logs, for tests and tools.
    pub fn silent() -> Self {
        Self::with(false)
    }

    fn with(is_loud: bool) -> Self {
        let clock = Mutex::new(LogClock::new(TimeFormat::default()));
        Self { shared: Arc::new(Shared { ends: ArcSwap::default(), clock, is_loud }) }
    }

    /// Lines go to these logs from now on.
    pub fn set(&self, ends: Vec<ErrorEnd>) {
        self.shared.ends.store(Arc::new(ends));
    }

    /// Writes one line.
    pub fn report(&self, kind: MessageKind, message: impl fmt::Display) {
        let ends = self.shared.ends.load();
        let is_default = || Severities::default().has(kind.severity);
        let is_to_stderr = ends.is_empty() && self.shared.is_loud && is_default();
        let is_wanted = |end: &&ErrorEnd| end.selection.has(kind.category, kind.severity);
        if !is_to_stderr && !ends.iter().any(|end| is_wanted(&end)) {
            return;
        }
        let mut line =
            self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner).stamp(SystemTime::now()).to_vec();
        fields(&mut line, kind, &message.to_string());
        line.push(b'\n');
        for end in ends.iter().filter(is_wanted) {
            end.sink.append(|out| out.extend_from_slice(&line));
        }
        if is_to_stderr {
            eprint!("{}", String::from_utf8_lossy(&line));
        }
    }
}

impl fmt::Debug for ErrorLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorLog").field("is_loud", &self.shared.is_loud).finish_non_exhaustive()
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

/// The line about missing lines of an error log.
pub fn drop_note() -> DropNote {
    let mut clock = LogClock::new(TimeFormat::default());
    Box::new(move |out, count, now| {
        out.extend_from_slice(clock.stamp(now));
        let message = format!("{count} lines are missing because they could not be written in time");
        fields(out, LINES_DROPPED, &message);
        out.push(b'\n');
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::log::file::{LogFile, LogFileSettings};
    use crate::log::writer::{Destination, LogWriter, Overload};

    fn to_file(path: &Path) -> Destination {
        let file = LogFile::open(LogFileSettings::new(path.to_owned()), SystemTime::now()).unwrap();
        Destination { target: Box::new(file), note: drop_note() }
    }

    #[test]
    fn line_format_and_severities() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("errors");
        let writer = LogWriter::start("log", to_file(&path), Arc::new(|news| panic!("{news}"))).unwrap();
        let log = ErrorLog::silent();
        let selection =
            Selection { overrides: vec![parse_override("SYNC=INFO,ERROR").unwrap()], ..Selection::default() };
        let everything = Selection { severities: Severities::parse(["all"]).unwrap(), ..Selection::default() };
        let other = LogWriter::start("log", to_file(&dir.path().join("other")), Arc::new(|_| ())).unwrap();
        let end = |writer: &LogWriter, selection| ErrorEnd { sink: writer.sink(Overload::Drop, 1 << 20), selection };
        log.set(vec![end(&writer, selection), end(&other, everything)]);
        let kind = |category, severity, id| MessageKind { id, category, severity, meaning: "" };
        let taken_offline = kind(Category::Backend, Severity::Notice, 370);
        log.report(taken_offline, "The backend \"userRoot\" is now\ntaken offline");
        log.report(kind(Category::Core, Severity::Info, 1), "not written");
        log.report(kind(Category::Sync, Severity::Info, 2), "written");
        log.report(kind(Category::Sync, Severity::Warning, 3), "not written");
        writer.flush();
        other.flush();
        assert_eq!(std::fs::read_to_string(dir.path().join("other")).unwrap().lines().count(), 4);
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
