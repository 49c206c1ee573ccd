//! Logs, and when their files are put aside and deleted: `[log-publisher.NAME]`, `[log-rotation-policy.NAME]`,
//! `[log-retention-policy.NAME]`.

use super::shared::POSITIVE;
use crate::declare::{Class, Property, Variant, property};
use crate::syntax::Syntax;
use crate::units::Unit;
use crate::value::SEVERITIES;

const AT_LEAST_A_SECOND: Syntax = Syntax::Duration { unit: Unit::Milliseconds, min_ms: 1000, max_ms: u64::MAX };
const BYTES: Syntax = Syntax::Size { min: 1, max: u64::MAX };

/// Not of an audit log, which is always continued.
const APPEND: Property = property(
    "append",
    "LogFileConfig.append",
    Syntax::Boolean,
    "The server appends to the file when it starts; otherwise it empties it.",
)
.default(&["true"]);

/// What all kinds of log file share.
macro_rules! log_properties {
    ($file:literal, $enabled:literal, $($more:expr),* $(,)?) => {
        &[
            property(
                "enabled",
                "LogFileConfig.enabled",
                Syntax::Boolean,
                "Whether the log is written.",
            )
            .default(&[$enabled]),
            property("log-file", "LogFileConfig.path", Syntax::Path, "The file.").default(&[$file]),
            property(
                "log-file-permissions",
                "LogFileConfig.mode",
                Syntax::Mode,
                "Permission bits of the file.",
            )
            .default(&["640"]),
            property(
                "time-interval",
                "LogFileConfig.check_interval",
                AT_LEAST_A_SECOND,
                "Pause between two looks at the rotation and retention policies.",
            )
            .default(&["5 seconds"]),
            property(
                "rotation-policy",
                "LogFileConfig.rotation",
                Syntax::Reference("log-rotation-policy"),
                "When the file is put aside and a new one begun: as soon as one of the policies applies.",
            )
            .absent("The file grows without end.")
            .multi(),
            property(
                "retention-policy",
                "LogFileConfig.retention",
                Syntax::Reference("log-retention-policy"),
                "Which files that were put aside are deleted; all are enforced.",
            )
            .absent("Files that were put aside stay.")
            .multi(),
            $($more,)*
        ]
    };
}

pub(super) static LOG_PUBLISHER: Class = Class {
    name: "log-publisher",
    named_by: Some("the publisher's name"),
    variants: &[
        Variant {
            type_name: "file-based-access",
            help: "A line for each request and its result.",
            properties: log_properties![
                "logs/access",
                "true",
                APPEND,
                property(
                    "log-format",
                    "AccessLogConfig.combined",
                    Syntax::Choice(&["combined", "multi-line"]),
                    "One line an operation (combined), or one for the request and one for the result."
                )
                .default(&["multi-line"]),
                property(
                    "log-record-time-format",
                    "AccessLogConfig.time_format",
                    Syntax::Text,
                    "Time at the start of a line, in the letters of Java's SimpleDateFormat."
                )
                .default(&["dd/MMM/yyyy:HH:mm:ss Z"]),
                property(
                    "log-control-oids",
                    "AccessLogConfig.control_oids",
                    Syntax::Boolean,
                    "Lines list the controls of requests and results."
                )
                .default(&["false"]),
                property(
                    "queue-size",
                    "AccessLogConfig.queue_lines_max",
                    POSITIVE,
                    "Lines that may wait for the disk; more are dropped, counted and reported in the log."
                )
                .default(&["5000"]),
            ],
        },
        Variant {
            type_name: "file-based-audit",
            help: "Every change of an entry as an LDIF change record, in order, none left out; a restart goes on \
                   where the file ends.",
            properties: log_properties![
                "logs/audit",
                "false",
                property(
                    "obscure-attribute",
                    "AuditLogConfig.obscured",
                    Syntax::AttributeType,
                    "Attributes, with their subtypes, whose values are written as ********, in comments; [] hides none."
                )
                .default(&["userPassword", "authPassword"])
                .multi(),
            ],
        },
        Variant {
            type_name: "file-based-error",
            help: "Errors and events of the server.",
            properties: log_properties![
                "logs/errors",
                "true",
                APPEND,
                property(
                    "default-severity",
                    "ErrorLogConfig.severities",
                    Syntax::Choice(&SEVERITIES),
                    "Severities that are written."
                )
                .default(&["error", "warning", "notice"])
                .multi(),
                property(
                    "override-severity",
                    "ErrorLogConfig.overrides",
                    Syntax::SeverityOverride,
                    "Severities for single categories."
                )
                .absent("default-severity holds for all categories.")
                .multi(),
            ],
        },
    ],
    children: &[],
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
            )],
        },
        Variant {
            type_name: "size-limit",
            help: "By the size of the file.",
            properties: &[property(
                "file-size-limit",
                "LogFileConfig.rotation",
                BYTES,
                "Size at which the file is put aside.",
            )],
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
            .multi()],
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
            )],
        },
        Variant {
            type_name: "size-limit",
            help: "By the space that the files take.",
            properties: &[property(
                "disk-space-used",
                "LogFileConfig.retention",
                BYTES,
                "Space that the files that were put aside may take.",
            )],
        },
        Variant {
            type_name: "free-disk-space",
            help: "By the space left on the disk.",
            properties: &[property(
                "free-disk-space",
                "LogFileConfig.retention",
                BYTES,
                "Space on the disk that stays free; the oldest files go first.",
            )],
        },
    ],
    children: &[],
    help: "Which old log files are deleted.",
};
