//! What logs are run with, from the configuration.
//!
//! Opens nothing.

use std::path::PathBuf;

use config::{AccessLogConfig, AccessLogFilter, AccessLogFormat, Config, EtimeResolution, LogDestination};
use runtime::log::clock::{TimeFormat, TimeFormatError};
use runtime::log::error::{Selection, Severities, parse_override};
use runtime::log::file::LogFileSettings;
use runtime::log::writer::{BUFFER_BYTES_MAX, Overload};
use thiserror::Error;

use super::audit::AuditLogSettings;
use super::format::{Form, Shape};

/// Bytes that a waiting log line takes on average; `queue-size` counts lines.
const LOG_LINE_BYTES: usize = 256;

/// Why logs cannot be run so.
#[derive(Debug, Error)]
pub enum LogSettingsError {
    /// An access log's time format.
    #[error("log publisher {publisher:?}: {error}")]
    TimeFormat {
        /// The publisher's name.
        publisher: String,
        /// What is wrong.
        error: TimeFormatError,
    },
}

/// Where lines go.
#[derive(Debug, Clone, PartialEq)]
pub enum DestinationSettings {
    /// A file.
    File(LogFileSettings),
}

impl DestinationSettings {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&LogFileSettings> {
        match self {
            DestinationSettings::File(file) => Some(file),
        }
    }
}

/// One access log.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessLogSettings {
    /// The publisher's name.
    pub name: String,
    /// Where lines go.
    pub destination: DestinationSettings,
    /// What lines look like.
    pub shape: Shape,
    /// What is written.
    pub filter: AccessLogFilter,
    /// What to do when lines cannot be written in time.
    pub overload: Overload,
    /// Most bytes that one event loop may have waiting (`queue-size`, there in lines).
    pub queue_bytes_max: usize,
}

impl AccessLogSettings {
    /// OpenDJ's defaults for a file.
    pub fn new(name: &str, file: LogFileSettings) -> Self {
        let form = Form::Text { combined: false, time_format: TimeFormat::default() };
        Self {
            name: name.to_owned(),
            destination: DestinationSettings::File(file),
            shape: Shape { form, etime: EtimeResolution::Milliseconds, control_oids: false },
            filter: AccessLogFilter {
                policy: config::FilteringPolicy::NoFiltering,
                suppress_internal: false,
                criteria: Vec::new(),
            },
            overload: Overload::default(),
            queue_bytes_max: BUFFER_BYTES_MAX,
        }
    }
}

/// One error log.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorLogSettings {
    /// The publisher's name.
    pub name: String,
    /// Where lines go.
    pub destination: DestinationSettings,
    /// What is written.
    pub selection: Selection,
}

impl ErrorLogSettings {
    /// Errors, warnings and notices into a file.
    pub fn new(name: &str, file: LogFileSettings) -> Self {
        let destination = DestinationSettings::File(file);
        Self { name: name.to_owned(), destination, selection: Selection::default() }
    }

    /// A file is continued: what is in it says what came before.
    pub fn go_on_in_file(&mut self) {
        match &mut self.destination {
            DestinationSettings::File(file) => file.append = true,
        }
    }
}

/// All logs that are switched on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogSettings {
    /// Access logs.
    pub access: Vec<AccessLogSettings>,
    /// Audit logs.
    pub audit: Vec<AuditLogSettings>,
    /// Error logs.
    pub error: Vec<ErrorLogSettings>,
}

impl LogSettings {
    /// Reads the configuration.
    ///
    /// # Errors
    /// When something in it cannot be obeyed.
    pub fn from_config(config: &Config) -> Result<Self, LogSettingsError> {
        let etime = config.global.etime_resolution;
        let access = config.access_logs.iter().filter(|log| log.enabled).map(|log| access_log(log, etime));
        let audit = config.audit_logs.iter().filter(|log| log.enabled);
        Ok(Self {
            access: access.collect::<Result<_, _>>()?,
            audit: audit
                .map(|log| AuditLogSettings { file: log_file(&log.file), obscured: log.obscured.clone() })
                .collect(),
            error: error_logs(config),
        })
    }

    /// All files that are written.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let access = self.access.iter().filter_map(|log| log.destination.file());
        let error = self.error.iter().filter_map(|log| log.destination.file());
        access.chain(self.audit.iter().map(|log| &log.file)).chain(error).map(|file| &file.path)
    }
}

fn access_log(log: &AccessLogConfig, etime: EtimeResolution) -> Result<AccessLogSettings, LogSettingsError> {
    let form = match &log.format {
        AccessLogFormat::Text(text) => {
            let time_format = TimeFormat::parse(&text.time_format)
                .map_err(|error| LogSettingsError::TimeFormat { publisher: log.name.clone(), error })?;
            Form::Text { combined: text.combined, time_format }
        }
        AccessLogFormat::Json => Form::Json,
        AccessLogFormat::Csv(csv) => Form::Csv(csv.into()),
    };
    let shape = Shape { form, etime, control_oids: log.control_oids };
    let mut destination = destination(&log.destination);
    match &mut destination {
        DestinationSettings::File(file) => file.head = shape.head(),
    }
    Ok(AccessLogSettings {
        name: log.name.clone(),
        destination,
        shape,
        filter: log.filter.clone(),
        overload: if log.queue.waits { Overload::Block } else { Overload::Drop },
        queue_bytes_max: log.queue.lines_max.saturating_mul(LOG_LINE_BYTES),
    })
}

/// The error logs that are switched on.
pub(crate) fn error_logs(config: &Config) -> Vec<ErrorLogSettings> {
    config.error_logs.iter().filter(|log| log.enabled).map(error_log).collect()
}

fn error_log(log: &config::ErrorLogConfig) -> ErrorLogSettings {
    let severities = |set: &std::collections::BTreeSet<config::Severity>| {
        Severities::parse(set.iter().map(|severity| severity.word())).unwrap_or_default()
    };
    let overrides = log.overrides.iter().filter_map(|(category, set)| {
        let (category, _) = parse_override(&format!("{category}=none"))?;
        Some((category, severities(set)))
    });
    ErrorLogSettings {
        name: log.name.clone(),
        destination: destination(&log.destination),
        selection: Selection { severities: severities(&log.severities), overrides: overrides.collect() },
    }
}

fn destination(destination: &LogDestination) -> DestinationSettings {
    match destination {
        LogDestination::File(file) => DestinationSettings::File(log_file(file)),
    }
}

fn log_file(file: &config::LogFileConfig) -> LogFileSettings {
    LogFileSettings {
        mode: file.mode,
        append: file.append,
        check_interval: file.check_interval,
        rotation: file.rotation.clone(),
        retention: file.retention.clone(),
        write_out: Some(store::write_out::begin),
        ..LogFileSettings::new(file.path.clone())
    }
}
