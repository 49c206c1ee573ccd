//! `[log-publisher.NAME]`: the structs that the server reads.
//!
//! Opens no file; knows no line of any log.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::mask::AddressMask;
use crate::views::{Severity, words};

/// A log file, and when it is put aside and deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFileConfig {
    /// `log-file`, or the file in `log-directory`
    pub path: PathBuf,
    /// `log-file-permissions`
    pub mode: u32,
    /// `append`
    pub append: bool,
    /// `time-interval`
    pub check_interval: Duration,
    /// `rotation-policy`, resolved.
    pub rotation: Vec<RotationPolicy>,
    /// `retention-policy`, resolved.
    pub retention: Vec<RetentionPolicy>,
}

/// Lines that wait for a log's disk or network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogQueueConfig {
    /// `queue-size`, in lines.
    pub lines_max: usize,
    /// `queue-full-policy` is `wait`.
    pub waits: bool,
}

/// Where lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogDestination {
    /// A file.
    File(LogFileConfig),
}

impl LogDestination {
    /// The file, if it is one.
    #[must_use]
    pub fn file(&self) -> Option<&LogFileConfig> {
        match self {
            LogDestination::File(file) => Some(file),
        }
    }
}

/// `[log-publisher.NAME]` of a type of access log
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLogConfig {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// Where lines go.
    pub destination: LogDestination,
    /// What a line looks like.
    pub format: AccessLogFormat,
    /// `log-control-oids`
    pub control_oids: bool,
    /// Lines that wait.
    pub queue: LogQueueConfig,
    /// What is written at all.
    pub filter: AccessLogFilter,
}

/// What a line of an access log looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// Words and values.
    Text(TextLogFormat),
    /// One JSON object a line.
    Json,
    /// One row a line.
    Csv(CsvLogFormat),
}

/// Rows of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvLogFormat {
    /// `csv-quote-char`
    pub quote: u8,
    /// `csv-delimiter-char`
    pub delimiter: u8,
    /// `csv-eol-symbols`
    pub line_end: String,
}

/// Lines of words and values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLogFormat {
    /// `log-format` is `combined`.
    pub combined: bool,
    /// `log-record-time-format`
    pub time_format: String,
}

/// Which operations an access log has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLogFilter {
    /// `filtering-policy`
    pub policy: FilteringPolicy,
    /// `suppress-internal-operations`
    pub suppress_internal: bool,
    /// `[log-publisher.NAME.access-log-filtering-criteria.NAME]`
    pub criteria: Vec<LogCriteria>,
}

words! {
    /// What criteria do.
    FilteringPolicy {
        /// Nothing: everything is written.
        NoFiltering = "no-filtering",
        /// What matches one of them is written.
        Inclusive = "inclusive",
        /// What matches none of them is written.
        Exclusive = "exclusive",
    }
}

words! {
    /// Kinds of record in an access log.
    LogRecordType {
        /// An abandon request.
        Abandon = "abandon",
        /// An add operation.
        Add = "add",
        /// A bind.
        Bind = "bind",
        /// A comparison.
        Compare = "compare",
        /// A delete operation.
        Delete = "delete",
        /// An extended operation.
        Extended = "extended",
        /// A modify operation.
        Modify = "modify",
        /// A modify DN operation.
        Rename = "rename",
        /// A search.
        Search = "search",
        /// An unbind request.
        Unbind = "unbind",
        /// A client connected.
        Connect = "connect",
        /// A connection ended.
        Disconnect = "disconnect",
    }
}

/// `[log-publisher.NAME.access-log-filtering-criteria.NAME]`: all that is set has to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCriteria {
    /// The table's name.
    pub name: String,
    /// `log-record-type`; empty is all.
    pub record_types: BTreeSet<LogRecordType>,
    /// `connection-client-address-equal-to`
    pub client_addresses: Vec<AddressMask>,
    /// `connection-client-address-not-equal-to`
    pub other_client_addresses: Vec<AddressMask>,
    /// `connection-protocol-equal-to`, in lower case.
    pub protocols: Vec<String>,
    /// `connection-port-equal-to`
    pub ports: Vec<u16>,
    /// `user-dn-equal-to`
    pub users: Vec<String>,
    /// `user-dn-not-equal-to`
    pub other_users: Vec<String>,
    /// `user-is-member-of`
    pub groups: Vec<String>,
    /// `user-is-not-member-of`
    pub other_groups: Vec<String>,
    /// `request-target-dn-equal-to`
    pub targets: Vec<String>,
    /// `request-target-dn-not-equal-to`
    pub other_targets: Vec<String>,
    /// `response-result-code-equal-to`
    pub result_codes: Vec<i32>,
    /// `response-result-code-not-equal-to`
    pub other_result_codes: Vec<i32>,
    /// `response-etime-greater-than`, in milliseconds.
    pub etime_above_ms: Option<u64>,
    /// `response-etime-less-than`, in milliseconds.
    pub etime_below_ms: Option<u64>,
    /// `search-response-nentries-greater-than`
    pub entries_above: Option<u64>,
    /// `search-response-nentries-less-than`
    pub entries_below: Option<u64>,
    /// `search-response-is-indexed`
    pub is_indexed: Option<bool>,
}

/// `[log-publisher.NAME]` of type `file-based-audit`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLogConfig {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// The file.
    pub file: LogFileConfig,
    /// `obscure-attribute`
    pub obscured: Vec<String>,
}

/// `[log-publisher.NAME]` of a type of error log
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorLogConfig {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// Where lines go.
    pub destination: LogDestination,
    /// `default-severity`
    pub severities: BTreeSet<Severity>,
    /// `override-severity`: category (lower case) and its severities.
    pub overrides: Vec<(String, BTreeSet<Severity>)>,
}

/// When a log file is put aside and a new one begun: `[log-rotation-policy.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RotationPolicy {
    /// `rotation-interval`: the file is this old.
    Interval(Duration),
    /// `file-size-limit`: the file has this many bytes.
    Size(u64),
    /// `time-of-day`: one of these (hour, minute) of local time has passed.
    TimesOfDay(Vec<(u8, u8)>),
}

/// Which rotated log files are deleted: `[log-retention-policy.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetentionPolicy {
    /// `number-of-files`: at most this many rotated files are kept.
    FileCount(usize),
    /// `disk-space-used`: rotated files together have at most this many bytes.
    DiskSpaceUsed(u64),
    /// `free-disk-space`: the oldest go until this many bytes are free.
    FreeDiskSpace(u64),
}
