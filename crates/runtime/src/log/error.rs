//! The error log: what an administrator should know, one line each, in OpenDJ's format.
//!
//! A handle is cheap to clone and may be used from any thread; a line never waits for the disk.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::{
    clock::{LogClock, TimeFormat},
    file::LogFileSettings,
    text::{decimal, escaped},
    writer::{LogThreadBuilder, Overload, Sink},
};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Something failed and needs attention.
    Error,
    /// Something is wrong, the server goes on.
    Warning,
    /// An event worth knowing: start, stop, a new certificate.
    Notice,
    /// Details of normal work.
    Info,
    /// Details for developers.
    Debug,
}

impl Severity {
    const ALL: [Self; 5] = [Self::Error, Self::Warning, Self::Notice, Self::Info, Self::Debug];

    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warning => "WARNING",
            Self::Notice => "NOTICE",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
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
                bits |= Severity::ALL.iter().fold(0, |bits, severity| bits | severity.bit());
            } else if !word.eq_ignore_ascii_case("none") {
                bits |= Severity::ALL.iter().find(|severity| severity.name().eq_ignore_ascii_case(word))?.bit();
            }
        }
        Some(Self(bits))
    }

    fn has(self, severity: Severity) -> bool {
        self.0 & severity.bit() != 0
    }
}

impl Default for Severities {
    fn default() -> Self {
        Self(Severity::Error.bit() | Severity::Warning.bit() | Severity::Notice.bit())
    }
}

/// Which part of the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are OpenDJ's and say it")]
pub enum Category {
    AccessControl,
    Admin,
    AdminTool,
    Backend,
    Config,
    Core,
    Extensions,
    Log,
    Plugin,
    Protocol,
    Schema,
    Sync,
    Task,
    Util,
    Version,
}

impl Category {
    const ALL: [Self; 15] = [
        Self::AccessControl,
        Self::Admin,
        Self::AdminTool,
        Self::Backend,
        Self::Config,
        Self::Core,
        Self::Extensions,
        Self::Log,
        Self::Plugin,
        Self::Protocol,
        Self::Schema,
        Self::Sync,
        Self::Task,
        Self::Util,
        Self::Version,
    ];

    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessControl => "ACCESS_CONTROL",
            Self::Admin => "ADMIN",
            Self::AdminTool => "ADMIN_TOOL",
            Self::Backend => "BACKEND",
            Self::Config => "CONFIG",
            Self::Core => "CORE",
            Self::Extensions => "EXTENSIONS",
            Self::Log => "LOG",
            Self::Plugin => "PLUGIN",
            Self::Protocol => "PROTOCOL",
            Self::Schema => "SCHEMA",
            Self::Sync => "SYNC",
            Self::Task => "TASK",
            Self::Util => "UTIL",
            Self::Version => "VERSION",
        }
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

/// Numbers of our messages, stable so that operators can search for them.
pub mod message_id {
    /// The server is ready.
    pub const STARTED: u32 = 1;
    /// The server stops.
    pub const STOPPING: u32 = 2;
    /// The server has stopped.
    pub const STOPPED: u32 = 3;
    /// A listener is open.
    pub const LISTENING: u32 = 10;
    /// Accepting failed.
    pub const ACCEPT_FAILED: u32 = 11;
    /// The number of open files is limited too low.
    pub const FILE_LIMIT: u32 = 12;
    /// A rule of limits speaks of nobody.
    pub const LIMITS: u32 = 13;
    /// What the directory noticed in its entries.
    pub const DIRECTORY: u32 = 14;
    /// An operation waited long inside the server.
    pub const STALL: u32 = 15;
    /// A backend takes no more updates.
    pub const UPDATES_STOPPED: u32 = 16;
    /// A certificate was (re)loaded.
    pub const CERTIFICATE_LOADED: u32 = 20;
    /// A certificate file is not usable.
    pub const CERTIFICATE_BAD: u32 = 21;
    /// An operation panicked.
    pub const PANIC: u32 = 30;
    /// A message that is not LDAP.
    pub const BAD_MESSAGE: u32 = 31;
    /// Lines of a log were dropped.
    pub const LINES_DROPPED: u32 = 40;
    /// What the audit log cannot show or write.
    pub const AUDIT: u32 = 41;
    /// A configuration was taken.
    pub const CONFIG_TAKEN: u32 = 50;
    /// A configuration was not taken.
    pub const CONFIG_REFUSED: u32 = 51;
    /// A property waits for a restart.
    pub const RESTART_NEEDED: u32 = 52;
    /// Indexes are built.
    pub const INDEXES: u32 = 60;
    /// From other parts of the server.
    pub const OTHER: u32 = 100;
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
    pub fn write(&self, category: Category, severity: Severity, message_id: u32, message: impl fmt::Display) {
        if !self.is_enabled(category, severity) {
            return;
        }
        let mut line =
            self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner).stamp(SystemTime::now()).to_vec();
        fields(&mut line, category, severity, message_id, &message.to_string());
        line.push(b'\n');
        if let Some(sink) = &self.shared.sink {
            sink.append(|out| out.extend_from_slice(&line));
        }
        if self.shared.to_stderr {
            eprint!("{}", String::from_utf8_lossy(&line));
        }
    }

    /// A severe one.
    pub fn error(&self, category: Category, message_id: u32, message: impl fmt::Display) {
        self.write(category, Severity::Error, message_id, message);
    }

    /// A warning.
    pub fn warning(&self, category: Category, message_id: u32, message: impl fmt::Display) {
        self.write(category, Severity::Warning, message_id, message);
    }

    /// A notice.
    pub fn notice(&self, category: Category, message_id: u32, message: impl fmt::Display) {
        self.write(category, Severity::Notice, message_id, message);
    }
}

impl fmt::Debug for ErrorLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorLog").field("to_stderr", &self.shared.to_stderr).finish_non_exhaustive()
    }
}

fn fields(out: &mut Vec<u8>, category: Category, severity: Severity, message_id: u32, message: &str) {
    out.extend_from_slice(b"category=");
    out.extend_from_slice(category.name().as_bytes());
    out.extend_from_slice(b" severity=");
    out.extend_from_slice(severity.name().as_bytes());
    out.extend_from_slice(b" msgID=");
    decimal(out, u64::from(message_id));
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
    fields(out, Category::Log, Severity::Warning, message_id::LINES_DROPPED, &message);
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
        log.notice(Category::Backend, 370, "The backend \"userRoot\" is now\ntaken offline");
        log.write(Category::Core, Severity::Info, 1, "not written");
        log.write(Category::Sync, Severity::Info, 2, "written");
        log.warning(Category::Sync, 3, "not written");
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
