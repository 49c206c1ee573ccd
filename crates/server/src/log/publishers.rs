//! The logs of a running server: opened at the start, and others as the configuration changes.
//!
//! 1. A log whose place or form changes goes on in its new one from one moment on; what was written before stays where
//!    it is, and nothing is lost between.
//! 2. Everything that can fail is tried before anything is changed.
//! 3. What goes wrong with one log is told once, in the error log, and where that is the one that is in trouble on the
//!    standard error output too.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use directory::Directory;
use runtime::log::error::{ErrorEnd, ErrorLog, drop_note};
use runtime::log::file::{LogFile, LogFileSettings};
use runtime::log::target::Target;
use runtime::log::writer::{BUFFER_BYTES_MAX, Destination, LogWriter, News, Overload, Tell};
use schema::Schema;
use thiserror::Error;

use super::access::{AccessPublisher, AccessPublishers};
use super::audit::{AuditLog, AuditLogSettings, AuditRecords};
use super::criteria::Filter;
use super::format::RecordIds;
use super::settings::{AccessLogSettings, DestinationSettings, ErrorLogSettings, LogSettings};
use crate::messages;

/// Why a log cannot be opened.
#[derive(Debug, Error)]
#[error("cannot open the log {place}: {error}")]
pub struct LogOpenError {
    /// Where it was to be.
    pub place: String,
    /// What the system says.
    pub error: io::Error,
}

/// What one log has done.
#[derive(Debug, Clone)]
pub struct LogCounts {
    /// The publisher's name.
    pub name: String,
    /// Lines that did not arrive.
    pub dropped: u64,
    /// Attempts to write that failed.
    pub failures: u64,
}

/// See the module.
pub struct Publishers {
    access: Arc<AccessPublishers>,
    errors: ErrorLog,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    settings: LogSettings,
    /// By the names of their publishers.
    writers: BTreeMap<String, Arc<LogWriter>>,
    audits: Vec<(AuditLogSettings, AuditLog)>,
}

/// A log that is to be, as far as it can be prepared.
enum Prepared {
    /// As it is.
    Kept(Arc<LogWriter>),
    /// The same log, which goes on elsewhere.
    Moved(Arc<LogWriter>, Destination),
    /// A new one.
    New(Arc<LogWriter>),
}

impl Publishers {
    /// None yet: errors go to the standard error output.
    pub fn new() -> Self {
        let ids = Arc::new(RecordIds::new(run_id()));
        let access = Arc::new(AccessPublishers::new(ids));
        Self { access, errors: ErrorLog::stderr(), running: Mutex::default() }
    }

    /// The error log.
    pub fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// What loops take their ends from.
    pub fn access(&self) -> &Arc<AccessPublishers> {
        &self.access
    }

    /// These access and error logs from now on. Returns whether they are others than before.
    ///
    /// # Errors
    /// When one cannot be opened; nothing is changed then.
    pub fn set(&self, settings: &LogSettings, schema: &Arc<Schema>) -> Result<bool, LogOpenError> {
        let mut running = self.running();
        let old = running.settings.clone();
        if (&old.access, &old.error) == (&settings.access, &settings.error) {
            return Ok(false);
        }
        let mut prepared = BTreeMap::new();
        for log in &settings.access {
            let note = log.shape.drop_note(self.access.ids());
            let before = old.access.iter().find(|other| other.name == log.name);
            let is_kept = before.is_some_and(|it| it.destination == log.destination && it.shape == log.shape);
            let before = before.map(|it| &it.destination);
            let log_prepared = self.prepare(&running, &log.name, &log.destination, before, is_kept, note, false)?;
            prepared.insert(log.name.clone(), log_prepared);
        }
        for log in &settings.error {
            let before = old.error.iter().find(|other| other.name == log.name).map(|it| &it.destination);
            let is_kept = before == Some(&log.destination);
            let log_prepared =
                self.prepare(&running, &log.name, &log.destination, before, is_kept, drop_note(), true)?;
            prepared.insert(log.name.clone(), log_prepared);
        }
        let writers: BTreeMap<String, Arc<LogWriter>> =
            prepared.into_iter().map(|(name, it)| (name, it.go())).collect();
        let ends = |log: &ErrorLogSettings| {
            let sink = writers.get(&log.name)?.sink(Overload::Drop, BUFFER_BYTES_MAX);
            Some(ErrorEnd { sink, selection: log.selection.clone() })
        };
        self.errors.set(settings.error.iter().filter_map(ends).collect());
        let publishers = settings.access.iter().filter_map(|log| {
            let writer = writers.get(&log.name)?;
            Some(publisher(log, writer, schema))
        });
        self.access.set(publishers.collect());
        // Those that are not wanted any more write what they have, and end.
        running.writers = writers;
        running.settings = LogSettings { audit: old.audit, ..settings.clone() };
        Ok(true)
    }

    #[allow(clippy::too_many_arguments, reason = "the two kinds of log differ in all of them")]
    fn prepare(
        &self,
        running: &Running,
        name: &str,
        destination: &DestinationSettings,
        before: Option<&DestinationSettings>,
        is_kept: bool,
        note: runtime::log::writer::DropNote,
        is_error_log: bool,
    ) -> Result<Prepared, LogOpenError> {
        let writer = running.writers.get(name).filter(|_| before.is_some());
        if let Some(writer) = writer.filter(|_| is_kept) {
            return Ok(Prepared::Kept(Arc::clone(writer)));
        }
        let target = open(destination, before)?;
        let destination = Destination { target, note };
        match writer {
            Some(writer) => Ok(Prepared::Moved(Arc::clone(writer), destination)),
            None => {
                let place = destination.target.title();
                let writer = LogWriter::start("log", destination, self.tell(is_error_log));
                writer.map(|writer| Prepared::New(Arc::new(writer))).map_err(|error| LogOpenError { place, error })
            }
        }
    }

    /// These audit logs from now on. Returns whether they are others than before.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn set_audits(&self, settings: &[AuditLogSettings], directory: &Arc<Directory>) -> Result<bool, LogOpenError> {
        let mut running = self.running();
        let is_wanted = |audit: &AuditLogSettings| settings.contains(audit);
        let count = running.audits.len();
        // One that ends writes the rest, and another one of the same file goes on behind it.
        running.audits.retain(|(audit, _)| is_wanted(audit));
        let mut is_other = running.audits.len() != count;
        for audit in settings {
            if running.audits.iter().any(|(own, _)| own == audit) {
                continue;
            }
            let place = audit.file.path.display().to_string();
            let started = AuditLog::start(audit.clone(), Arc::clone(directory), self.errors.clone());
            running.audits.push((audit.clone(), started.map_err(|error| LogOpenError { place, error })?));
            is_other = true;
        }
        running.settings.audit = settings.to_vec();
        Ok(is_other)
    }

    /// Where records of another kind are put into the audit logs.
    pub(crate) fn audit_records(&self) -> Vec<AuditRecords> {
        self.running().audits.iter().map(|(_, audit)| audit.records()).collect()
    }

    /// Opens the files anew under their names.
    pub fn reopen(&self) {
        self.running().writers.values().for_each(|writer| writer.reopen());
    }

    /// Returns when all lines written so far are where they belong.
    pub fn flush(&self) {
        let writers: Vec<Arc<LogWriter>> = self.running().writers.values().cloned().collect();
        writers.iter().for_each(|writer| writer.flush());
    }

    /// Audit logs write the rest: nobody changes anything any more.
    pub fn stop_audits(&self) {
        self.running().audits.clear();
    }

    /// Writes everything and ends. Errors go nowhere from then on.
    pub fn stop(&self) {
        let writers = std::mem::take(&mut self.running().writers);
        drop(writers);
    }

    /// What each log has done.
    pub fn counts(&self) -> Vec<LogCounts> {
        let running = self.running();
        let count = |(name, writer): (&String, &Arc<LogWriter>)| LogCounts {
            name: name.clone(),
            dropped: writer.dropped(),
            failures: writer.failures(),
        };
        running.writers.iter().map(count).collect()
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, is_error_log: bool) -> Tell {
        let errors = self.errors.clone();
        Arc::new(move |news| {
            if is_error_log {
                eprintln!("{news}");
            }
            match news {
                News::Failing { .. } => errors.report(messages::LOG_FAILING, news),
                News::Works { .. } => errors.report(messages::LOG_WORKS, news),
            }
        })
    }
}

impl Default for Publishers {
    fn default() -> Self {
        Self::new()
    }
}

impl Prepared {
    fn go(self) -> Arc<LogWriter> {
        match self {
            Prepared::Kept(writer) | Prepared::New(writer) => writer,
            Prepared::Moved(writer, destination) => {
                writer.set_destination(destination);
                writer
            }
        }
    }
}

fn publisher(log: &AccessLogSettings, writer: &Arc<LogWriter>, schema: &Arc<Schema>) -> AccessPublisher {
    let (overload, bytes_max) = (log.overload, log.queue_bytes_max);
    let writer = Arc::downgrade(writer);
    AccessPublisher {
        shape: log.shape.clone(),
        filter: Arc::new(Filter::new(&log.filter, schema)),
        sink: Box::new(move || writer.upgrade().map(|writer| writer.sink(overload, bytes_max))),
    }
}

/// A file that the same log writes already is continued, whatever `append` says.
fn open(settings: &DestinationSettings, before: Option<&DestinationSettings>) -> Result<Box<dyn Target>, LogOpenError> {
    match settings {
        DestinationSettings::File(file) => {
            let is_own = |path: &Path| before.and_then(DestinationSettings::file).is_some_and(|it| it.path == path);
            let settings = LogFileSettings { append: file.append || is_own(&file.path), ..file.clone() };
            let place = file.path.display().to_string();
            let file = LogFile::open(settings, SystemTime::now()).map_err(|error| LogOpenError { place, error })?;
            Ok(Box::new(file))
        }
    }
}

/// What tells the records of this run of the server from those of others.
fn run_id() -> String {
    let mut bytes = [0u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        bytes = since.as_nanos().to_be_bytes();
    }
    // Version 4 of RFC 9562.
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
