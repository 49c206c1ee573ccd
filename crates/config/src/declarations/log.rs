//! Logs, and when their files are put aside and deleted: `[log-publisher.NAME]`, `[log-rotation-policy.NAME]`,
//! `[log-retention-policy.NAME]`.

use super::log_criteria::ACCESS_LOG_FILTERING_CRITERIA;
use super::shared::POSITIVE;
use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;
use crate::units::Unit;
use crate::value::SEVERITIES;

const AT_LEAST_A_SECOND: Syntax = Syntax::Duration { unit: Unit::Milliseconds, min_ms: 1000, max_ms: u64::MAX };
const BYTES: Syntax = Syntax::Size { min: 1, max: u64::MAX };

const fn enabled(field: &'static str, default: &'static [&'static str]) -> Property {
    property("enabled", field, Syntax::Boolean, "Whether the log is written.").default(default).live(Applier::Logs)
}

const fn log_file(default: &'static [&'static str]) -> Property {
    property("log-file", "LogFileConfig.path", Syntax::Path, "The file.").default(default).live(Applier::Logs)
}

const LOG_DIRECTORY: Property =
    property("log-directory", "LogFileConfig.path", Syntax::Path, "The folder with the file.")
        .default(&["logs"])
        .live(Applier::Logs);

/// Not of an audit log, which is always continued.
const APPEND: Property = property(
    "append",
    "LogFileConfig.append",
    Syntax::Boolean,
    "The server appends to the file when it opens it; otherwise it empties it.",
)
.default(&["true"])
.live(Applier::Logs);

const PERMISSIONS: Property =
    property("log-file-permissions", "LogFileConfig.mode", Syntax::Mode, "Permission bits of the file.")
        .default(&["640"])
        .live(Applier::Logs);

const TIME_INTERVAL: Property = property(
    "time-interval",
    "LogFileConfig.check_interval",
    AT_LEAST_A_SECOND,
    "Pause between two looks at the rotation and retention policies.",
)
.default(&["5 seconds"])
.live(Applier::Logs);

const ROTATION: Property = property(
    "rotation-policy",
    "LogFileConfig.rotation",
    Syntax::Reference("log-rotation-policy"),
    "When the file is put aside and a new one begun: as soon as one of the policies applies.",
)
.absent("The file grows without end.")
.multi()
.live(Applier::Logs);

const RETENTION: Property = property(
    "retention-policy",
    "LogFileConfig.retention",
    Syntax::Reference("log-retention-policy"),
    "Which files that were put aside are deleted; all are enforced.",
)
.absent("Files that were put aside stay.")
.multi()
.live(Applier::Logs);

const CONTROL_OIDS: Property = property(
    "log-control-oids",
    "AccessLogConfig.control_oids",
    Syntax::Boolean,
    "Lines list the controls of requests and results.",
)
.default(&["false"])
.live(Applier::Logs);

const TIME_FORMAT: Property = property(
    "log-record-time-format",
    "TextLogFormat.time_format",
    Syntax::Text,
    "Time at the start of a line, in the letters of Java's SimpleDateFormat.",
)
.default(&["dd/MMM/yyyy:HH:mm:ss Z"])
.live(Applier::Logs);

const QUEUE_SIZE: Property = property(
    "queue-size",
    "LogQueueConfig.lines_max",
    POSITIVE,
    "Lines that may wait to be written, for each event loop of the server, at 256 bytes a line.",
)
.default(&["5000"])
.live(Applier::Logs);

const QUEUE_FULL: Property = property(
    "queue-full-policy",
    "LogQueueConfig.waits",
    Syntax::Choice(&["drop", "wait"]),
    "What becomes of a line for which there is no room: it is dropped, counted and reported in the log (drop), or the \
     event loop, with all its connections, waits until there is room (wait).",
)
.default(&["drop"])
.live(Applier::Logs);

const FILTERING_POLICY: Property = property(
    "filtering-policy",
    "AccessLogFilter.policy",
    Syntax::Choice(&["no-filtering", "inclusive", "exclusive"]),
    "Which lines are written: all, those that match one of the filtering criteria (inclusive), or those that match \
     none of them (exclusive).",
)
.default(&["no-filtering"])
.live(Applier::Logs);

const SUPPRESS_INTERNAL: Property = property(
    "suppress-internal-operations",
    "AccessLogFilter.suppress_internal",
    Syntax::Boolean,
    "Changes that the server makes by itself, because of a request, are left out.",
)
.default(&["false"])
.live(Applier::Logs);

const DEFAULT_SEVERITY: Property = property(
    "default-severity",
    "ErrorLogConfig.severities",
    Syntax::Choice(&SEVERITIES),
    "Severities that are written.",
)
.default(&["error", "warning", "notice"])
.multi()
.live(Applier::Logs);

const OVERRIDE_SEVERITY: Property = property(
    "override-severity",
    "ErrorLogConfig.overrides",
    Syntax::SeverityOverride,
    "Severities for single categories.",
)
.absent("default-severity holds for all categories.")
.multi()
.live(Applier::Logs);

pub(super) static LOG_PUBLISHER: Class = Class {
    name: "log-publisher",
    named_by: Some("the publisher's name"),
    variants: &[
        Variant {
            type_name: "file-based-access",
            help: "A line for each request and its result.",
            properties: &[
                enabled("AccessLogConfig.enabled", &["true"]),
                log_file(&["logs/access"]),
                PERMISSIONS,
                TIME_INTERVAL,
                ROTATION,
                RETENTION,
                APPEND,
                property(
                    "log-format",
                    "TextLogFormat.combined",
                    Syntax::Choice(&["combined", "multi-line"]),
                    "One line an operation (combined), or one for the request and one for the result.",
                )
                .default(&["multi-line"])
                .live(Applier::Logs),
                TIME_FORMAT,
                CONTROL_OIDS,
                FILTERING_POLICY,
                SUPPRESS_INTERNAL,
                QUEUE_SIZE,
                QUEUE_FULL,
            ],
        },
        Variant {
            type_name: "json-file-access",
            help: "A JSON object for each operation, with OpenDJ's keys, in ldap-access.audit.json.",
            properties: &[
                enabled("AccessLogConfig.enabled", &["true"]),
                LOG_DIRECTORY,
                PERMISSIONS,
                TIME_INTERVAL,
                ROTATION,
                RETENTION,
                CONTROL_OIDS,
                FILTERING_POLICY,
                SUPPRESS_INTERNAL,
                QUEUE_SIZE,
                QUEUE_FULL,
            ],
        },
        Variant {
            type_name: "csv-file-access",
            help: "A row for each operation, with OpenDJ's columns, in ldap-access.csv.",
            properties: &[
                enabled("AccessLogConfig.enabled", &["true"]),
                LOG_DIRECTORY,
                PERMISSIONS,
                TIME_INTERVAL,
                ROTATION,
                RETENTION,
                CONTROL_OIDS,
                FILTERING_POLICY,
                SUPPRESS_INTERNAL,
                QUEUE_SIZE,
                QUEUE_FULL,
                property("csv-quote-char", "CsvLogFormat.quote", Syntax::Text, "Character around values.")
                    .default(&["\""])
                    .live(Applier::Logs),
                property("csv-delimiter-char", "CsvLogFormat.delimiter", Syntax::Text, "Character between values.")
                    .default(&[","])
                    .live(Applier::Logs),
                property(
                    "csv-eol-symbols",
                    "CsvLogFormat.line_end",
                    Syntax::Choice(&["lf", "crlf"]),
                    "What ends a row: a line feed, or a carriage return and a line feed.",
                )
                .default(&["lf"])
                .live(Applier::Logs),
            ],
        },
        Variant {
            type_name: "file-based-audit",
            help: "Every change of an entry as an LDIF change record, in order, none left out; a restart goes on \
                   where the file ends.",
            properties: &[
                enabled("AuditLogConfig.enabled", &["false"]),
                log_file(&["logs/audit"]),
                PERMISSIONS,
                TIME_INTERVAL,
                ROTATION,
                RETENTION,
                property(
                    "obscure-attribute",
                    "AuditLogConfig.obscured",
                    Syntax::AttributeType,
                    "Attributes, with their subtypes, whose values are written as ********, in comments; [] hides \
                     none.",
                )
                .default(&["userPassword", "authPassword"])
                .multi()
                .live(Applier::Logs),
            ],
        },
        Variant {
            type_name: "file-based-error",
            help: "Errors and events of the server.",
            properties: &[
                enabled("ErrorLogConfig.enabled", &["true"]),
                log_file(&["logs/errors"]),
                PERMISSIONS,
                TIME_INTERVAL,
                ROTATION,
                RETENTION,
                APPEND,
                DEFAULT_SEVERITY,
                OVERRIDE_SEVERITY,
            ],
        },
    ],
    children: &[&ACCESS_LOG_FILTERING_CRITERIA],
    help: "A log.",
};

pub(super) static LOG_ROTATION_POLICY: Class = Class {
    name: "log-rotation-policy",
    named_by: Some("the policy's name"),
    variants: &[
        Variant {
            type_name: "time-limit",
            help: "By the age of the file.",
            properties: &[property(
                "rotation-interval",
                "LogFileConfig.rotation",
                AT_LEAST_A_SECOND,
                "Age at which the file is put aside.",
            )
            .live(Applier::Logs)],
        },
        Variant {
            type_name: "size-limit",
            help: "By the size of the file.",
            properties: &[property(
                "file-size-limit",
                "LogFileConfig.rotation",
                BYTES,
                "Size at which the file is put aside.",
            )
            .live(Applier::Logs)],
        },
        Variant {
            type_name: "fixed-time",
            help: "At times of the day.",
            properties: &[property(
                "time-of-day",
                "LogFileConfig.rotation",
                Syntax::TimeOfDay,
                "Hours and minutes, in local time, at which the file is put aside.",
            )
            .multi()
            .live(Applier::Logs)],
        },
    ],
    children: &[],
    help: "When a log file is put aside.",
};

pub(super) static LOG_RETENTION_POLICY: Class = Class {
    name: "log-retention-policy",
    named_by: Some("the policy's name"),
    variants: &[
        Variant {
            type_name: "file-count",
            help: "By the number of files.",
            properties: &[property(
                "number-of-files",
                "LogFileConfig.retention",
                POSITIVE,
                "Files that are kept, the current one not counted.",
            )
            .live(Applier::Logs)],
        },
        Variant {
            type_name: "size-limit",
            help: "By the space that the files take.",
            properties: &[property(
                "disk-space-used",
                "LogFileConfig.retention",
                BYTES,
                "Space that the files that were put aside may take.",
            )
            .live(Applier::Logs)],
        },
        Variant {
            type_name: "free-disk-space",
            help: "By the space left on the disk.",
            properties: &[property(
                "free-disk-space",
                "LogFileConfig.retention",
                BYTES,
                "Space on the disk that stays free; the oldest files go first.",
            )
            .live(Applier::Logs)],
        },
    ],
    children: &[],
    help: "Which old log files are deleted.",
};
