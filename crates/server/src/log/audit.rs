//! The audit log: a thread that follows the history of changes and writes each as an LDIF change record.
//!
//! 1. No update waits for it, and none is lost while it is on: the history has what is not written yet, also after a
//!    crash.
//! 2. How far it got, the file itself says (`audit_position`), so that nothing is written twice.
//! 3. After a power cut too: only the end of the file may be damaged, which is cut off and written again.
//! 4. What the history let go before it was written is named in the file and in the error log.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use change::audit::{AuditFormat, CHANGE_NUMBER};
use change::history::{History, HistoryError, HistoryReader};
use directory::Directory;
use runtime::log::error::ErrorLog;
use runtime::log::file::{Durability, LogFile, LogFileSettings};
use runtime::log::message::MessageKind;
use runtime::stoppable::{Stop, Stoppable};

use super::audit_position::{self, AFTER, UNSYNCED_BYTES_MAX};
use crate::messages;

/// Bytes that are written at once, at least one record.
const WRITE_BYTES: usize = 256 * 1024;

/// Longest sleep between two looks at whether to stop.
const WAIT: Duration = Duration::from_millis(200);

/// Pause after a failure: a full disk, say.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// An audit log as configured.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditLogSettings {
    /// The file and its policies.
    pub file: LogFileSettings,
    /// Attributes whose values are not shown.
    pub obscured: Vec<String>,
}

/// The running thread. Dropping it writes what there is and joins.
#[derive(Debug)]
pub(crate) struct AuditLog {
    _thread: Stoppable,
    records: AuditRecords,
}

/// Records that come from elsewhere than from the history of changes, on their way into an audit log.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditRecords(Arc<Mutex<Vec<u8>>>);

impl AuditRecords {
    /// Appends whole records: each ends with a blank line.
    pub(crate) fn append(&self, records: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(records);
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AuditLog {
    /// Opens the file and starts to follow.
    ///
    /// # Errors
    /// When the file cannot be opened or read, or no thread can be started.
    pub(crate) fn start(settings: AuditLogSettings, directory: Arc<Directory>, errors: ErrorLog) -> io::Result<Self> {
        let records = AuditRecords::default();
        let mut writer = AuditWriter::open(settings, directory, errors, records.clone())?;
        Ok(Self { _thread: Stoppable::start("audit", move |stop| writer.run(stop))?, records })
    }

    /// Where records of another kind are put.
    pub(crate) fn records(&self) -> AuditRecords {
        self.records.clone()
    }
}

struct AuditWriter {
    settings: AuditLogSettings,
    directory: Arc<Directory>,
    errors: ErrorLog,
    file: LogFile,
    records: AuditRecords,
    /// The last change that is written.
    position: u64,
    next_check: Instant,
    /// Whether a failure was reported and nothing has worked since.
    is_failing: bool,
}

impl AuditWriter {
    fn open(
        mut settings: AuditLogSettings,
        directory: Arc<Directory>,
        errors: ErrorLog,
        records: AuditRecords,
    ) -> io::Result<Self> {
        settings.file.durability = Some(Durability::new(UNSYNCED_BYTES_MAX));
        let found = audit_position::find(&settings.file.path)?;
        let file = LogFile::open(settings.file.clone(), SystemTime::now())?;
        let next_check = Instant::now() + file.check_interval();
        let last = directory.history().bounds().last;
        let mut this = Self {
            settings,
            directory,
            errors,
            file,
            records,
            position: found.unwrap_or(last),
            next_check,
            is_failing: false,
        };
        if this.position > last {
            let position = this.position;
            this.say(
                messages::AUDIT_BEGINS_ANEW,
                &format!(
                    "The changes begin anew: the last one is {last}, and {position} is written already; the data was \
                 exchanged"
                ),
            )?;
            this.position = last;
            this.say_where()?;
        }
        this.begin_file()?;
        if !this.directory.history().is_on() {
            this.say(
                messages::AUDIT_WITHOUT_HISTORY,
                "No history of changes is kept, so that there is nothing to write: switch it on in pando.toml",
            )?;
        }
        Ok(this)
    }

    fn run(&mut self, stop: &Stop) {
        loop {
            // Asked before reading: what was settled before the stop is read then.
            let is_last = stop.is_said();
            match self.catch_up(stop) {
                Ok(()) => self.is_failing = false,
                Err(error) => self.failed(&error, stop),
            }
            if is_last {
                return;
            }
            let _ = self.directory.history().wait_beyond(self.position, WAIT);
        }
    }

    /// Writes everything that there is by now.
    fn catch_up(&mut self, stop: &Stop) -> io::Result<()> {
        let directory = Arc::clone(&self.directory);
        let history = directory.history();
        self.check()?;
        let other = self.records.take();
        if !other.is_empty() {
            self.file.write(&other, SystemTime::now()).inspect_err(|_| self.records.append(&other))?;
            self.begin_file()?;
        }
        let last = history.bounds().last;
        if last <= self.position {
            return Ok(());
        }
        let format = AuditFormat::new(directory.facts(), &self.settings.obscured);
        let mut reader = self.reader(history)?;
        let mut records = Vec::new();
        loop {
            let read = gather(&mut reader, &format, &mut records);
            if !records.is_empty() {
                self.file.write(&records, SystemTime::now())?;
                records.clear();
                self.position = reader.position() - 1;
                self.begin_file()?;
            }
            match read {
                Ok(true) => {}
                Ok(false) => {
                    // Numbers that never came true were looked at, too.
                    self.position = self.position.max(last);
                    return Ok(());
                }
                Err(HistoryError::Purged { .. }) if !stop.is_said() => reader = self.reader(history)?,
                Err(HistoryError::Damaged { number }) => {
                    self.say(messages::AUDIT_UNREADABLE, &format!("Change {number} is damaged and cannot be shown"))?;
                    self.position = number;
                    reader = self.reader(history)?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Goes on behind the last change written. Says which ones are missing.
    fn reader(&mut self, history: &History) -> io::Result<HistoryReader> {
        let first = history.bounds().first;
        if first > self.position + 1 {
            let (from, to) = (self.position + 1, first - 1);
            self.say(messages::AUDIT_INCOMPLETE, &format!(
                "Changes {from} to {to} are missing: the history let them go before they were written; keep it longer"
            ))?;
            self.position = to;
        }
        Ok(history.from(self.position + 1))
    }

    /// A sentence for whoever reads the file or the error log.
    fn say(&mut self, kind: MessageKind, sentence: &str) -> io::Result<()> {
        self.errors.report(kind, format_args!("Audit log {}: {sentence}", self.file.path().display()));
        self.file.write(format!("# {sentence}\n\n").as_bytes(), SystemTime::now())
    }

    /// A file that has no record yet says where it begins.
    fn begin_file(&mut self) -> io::Result<()> {
        if self.file.is_empty() { self.say_where() } else { Ok(()) }
    }

    fn say_where(&mut self) -> io::Result<()> {
        let line = format!("# {AFTER}{CHANGE_NUMBER}{}\n\n", self.position);
        self.file.write(line.as_bytes(), SystemTime::now())
    }

    fn check(&mut self) -> io::Result<()> {
        if Instant::now() >= self.next_check {
            self.next_check = Instant::now() + self.file.check_interval();
            self.file.check(SystemTime::now())?;
            self.begin_file()?;
        }
        Ok(())
    }

    /// Says once what is wrong; then finds out from the file what of the last records got into it.
    fn failed(&mut self, error: &io::Error, stop: &Stop) {
        if !self.is_failing {
            self.is_failing = true;
            let path = self.file.path().display();
            let message = format_args!("Audit log {path}: {error}; it is tried again, and goes on where it ended");
            self.errors.report(messages::AUDIT_FAILING, message);
        }
        let _ = stop.wait(FAILURE_PAUSE);
        let found = audit_position::find(&self.settings.file.path);
        if let (Ok(found), Ok(file)) = (found, LogFile::open(self.settings.file.clone(), SystemTime::now())) {
            self.position = found.unwrap_or(self.position);
            self.file = file;
        }
    }
}

/// Appends records until there are enough (true) or no more (false).
fn gather(reader: &mut HistoryReader, format: &AuditFormat, records: &mut Vec<u8>) -> Result<bool, HistoryError> {
    while records.len() < WRITE_BYTES {
        match reader.next_change()? {
            Some(change) => format.put(records, &change),
            None => return Ok(false),
        }
    }
    Ok(true)
}
