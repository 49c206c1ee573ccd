//! `[log-publisher.NAME]`: from objects to structs, and what is wrong between their properties.
//!
//! Opens no file.

use std::collections::HashMap;
use std::path::Path;

use aci::DnPattern;

use crate::log_publisher::{
    AccessLogConfig, AccessLogFilter, AccessLogFormat, AuditLogConfig, CsvLogFormat, ErrorLogConfig, FilteringPolicy,
    LogCriteria, LogDestination, LogFileConfig, LogQueueConfig, LogRecordType, RetentionPolicy, RotationPolicy,
    TextLogFormat,
};
use crate::object::{Judge, Object};
use crate::read::Get;
use crate::value::Value;
use crate::views::Severity;

/// The class of filtering criteria.
const CRITERIA: &str = "access-log-filtering-criteria";

/// The file in `log-directory`, as OpenDJ calls it.
fn file_in_directory(type_name: &str) -> Option<&'static str> {
    match type_name {
        "json-file-access" => Some("ldap-access.audit.json"),
        "csv-file-access" => Some("ldap-access.csv"),
        _ => None,
    }
}

const JUDGED_OF_PUBLISHERS: [(&str, Judge); 2] = [("csv-quote-char", is_mark), ("csv-delimiter-char", is_mark)];

const JUDGED: [(&str, Judge); 4] = [
    ("user-dn-equal-to", is_pattern),
    ("user-dn-not-equal-to", is_pattern),
    ("request-target-dn-equal-to", is_pattern),
    ("request-target-dn-not-equal-to", is_pattern),
];

fn is_pattern(text: &str) -> Result<(), String> {
    DnPattern::parse(text).map(drop).map_err(|error| error.to_string())
}

/// Nothing that values begin with, or that ends a line.
fn is_mark(text: &str) -> Result<(), String> {
    match text.as_bytes() {
        [mark] if mark.is_ascii() && !mark.is_ascii_alphanumeric() && !matches!(mark, b'\n' | b'\r' | b'\\') => Ok(()),
        _ => Err("it has to be one character of ASCII, and no letter, digit, backslash or line end".to_owned()),
    }
}

/// The publishers of a configuration.
pub(crate) struct LogPublishers {
    pub(crate) access: Vec<AccessLogConfig>,
    pub(crate) audit: Vec<AuditLogConfig>,
    pub(crate) error: Vec<ErrorLogConfig>,
}

/// Reads all publishers, in the order of the file.
pub(crate) fn publishers(objects: &[Object], instance: &Path) -> LogPublishers {
    let mut found = LogPublishers { access: Vec::new(), audit: Vec::new(), error: Vec::new() };
    for object in objects.iter().filter(|object| object.class.name == "log-publisher") {
        let get = Get { object, instance };
        match object.variant.type_name {
            "file-based-audit" => found.audit.push(AuditLogConfig {
                name: object.name.clone(),
                enabled: get.boolean("enabled"),
                file: log_file(&get, objects),
                obscured: get.texts("obscure-attribute"),
            }),
            kind if kind.ends_with("-error") => found.error.push(error_log(&get, objects)),
            _ => found.access.push(access_log(&get, objects)),
        }
    }
    found
}

/// What no single property shows.
pub(crate) fn faults(objects: &[Object]) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let mut owners: HashMap<String, String> = HashMap::new();
    for publisher in objects.iter().filter(|object| object.class.name == "log-publisher") {
        publisher.judge(&JUDGED_OF_PUBLISHERS, &mut faults);
        let is_csv = publisher.variant.type_name == "csv-file-access";
        if is_csv && publisher.values("csv-quote-char") == publisher.values("csv-delimiter-char") {
            let message = format!("{} has one character around values and between them", publisher.title());
            faults.push((publisher.offset_of("csv-delimiter-char"), message));
        }
        let property = if publisher.variant.property("log-file").is_some() { "log-file" } else { "log-directory" };
        if let Some(place) = publisher.values(property).first().map(ToString::to_string) {
            let file = match file_in_directory(publisher.variant.type_name) {
                Some(name) => Path::new(&place).join(name).display().to_string(),
                None => place,
            };
            if let Some(owner) = owners.insert(file.clone(), publisher.title()) {
                let message = format!("{} has the log file \"{file}\", as {owner} does", publisher.title());
                faults.push((publisher.offset_of(property), message));
            }
        }
        let is_access_log = publisher.variant.property("filtering-policy").is_some();
        for criteria in publisher.children_of(CRITERIA) {
            criteria.judge(&JUDGED, &mut faults);
            if !is_access_log {
                let title = publisher.title();
                faults.push((criteria.offset, format!("{title} is no access log: filtering criteria have no effect")));
            }
        }
    }
    faults
}

fn access_log(get: &Get<'_>, objects: &[Object]) -> AccessLogConfig {
    AccessLogConfig {
        name: get.object.name.clone(),
        enabled: get.boolean("enabled"),
        destination: destination(get, objects),
        format: format(get),
        control_oids: get.boolean("log-control-oids"),
        queue: LogQueueConfig { lines_max: get.count("queue-size"), waits: get.text("queue-full-policy") == "wait" },
        filter: AccessLogFilter {
            policy: FilteringPolicy::from_word(&get.text("filtering-policy")).unwrap_or(FilteringPolicy::NoFiltering),
            suppress_internal: get.boolean("suppress-internal-operations"),
            criteria: get.object.children_of(CRITERIA).map(|object| criteria(object, get.instance)).collect(),
        },
    }
}

fn format(get: &Get<'_>) -> AccessLogFormat {
    // That they are one octet was checked.
    let octet = |name: &str| get.text(name).bytes().next().unwrap_or_default();
    match get.object.variant.type_name {
        "json-file-access" => AccessLogFormat::Json,
        "csv-file-access" => AccessLogFormat::Csv(CsvLogFormat {
            quote: octet("csv-quote-char"),
            delimiter: octet("csv-delimiter-char"),
            line_end: if get.text("csv-eol-symbols") == "crlf" { "\r\n" } else { "\n" }.to_owned(),
        }),
        _ => AccessLogFormat::Text(TextLogFormat {
            combined: get.text("log-format") == "combined",
            time_format: get.text("log-record-time-format"),
        }),
    }
}

fn destination(get: &Get<'_>, objects: &[Object]) -> LogDestination {
    LogDestination::File(log_file(get, objects))
}

fn criteria(object: &Object, instance: &Path) -> LogCriteria {
    let get = Get { object, instance };
    let numbers = |name: &str| -> Vec<i64> {
        let values = object.values(name).into_iter();
        values.filter_map(|value| if let Value::Integer(number) = value { Some(number) } else { None }).collect()
    };
    let codes = |name: &str| numbers(name).into_iter().filter_map(|code| i32::try_from(code).ok()).collect();
    let number = |name: &str| get.one(name).map(|_| get.number(name));
    LogCriteria {
        name: object.name.clone(),
        record_types: get.texts("log-record-type").iter().filter_map(|word| LogRecordType::from_word(word)).collect(),
        client_addresses: get.masks("connection-client-address-equal-to"),
        other_client_addresses: get.masks("connection-client-address-not-equal-to"),
        protocols: get.texts("connection-protocol-equal-to").iter().map(|text| text.to_ascii_lowercase()).collect(),
        ports: numbers("connection-port-equal-to").into_iter().filter_map(|port| u16::try_from(port).ok()).collect(),
        users: get.texts("user-dn-equal-to"),
        other_users: get.texts("user-dn-not-equal-to"),
        groups: get.texts("user-is-member-of"),
        other_groups: get.texts("user-is-not-member-of"),
        targets: get.texts("request-target-dn-equal-to"),
        other_targets: get.texts("request-target-dn-not-equal-to"),
        result_codes: codes("response-result-code-equal-to"),
        other_result_codes: codes("response-result-code-not-equal-to"),
        etime_above_ms: number("response-etime-greater-than"),
        etime_below_ms: number("response-etime-less-than"),
        entries_above: number("search-response-nentries-greater-than"),
        entries_below: number("search-response-nentries-less-than"),
        is_indexed: get.one("search-response-is-indexed").map(|value| value == Value::Boolean(true)),
    }
}

fn error_log(get: &Get<'_>, objects: &[Object]) -> ErrorLogConfig {
    let overrides = get.texts("override-severity");
    ErrorLogConfig {
        name: get.object.name.clone(),
        enabled: get.boolean("enabled"),
        destination: destination(get, objects),
        severities: Severity::set(get.texts("default-severity").iter().map(String::as_str)),
        overrides: overrides
            .iter()
            .filter_map(|text| text.split_once('='))
            .map(|(category, words)| (category.trim().to_ascii_lowercase(), Severity::set(words.split(','))))
            .collect(),
    }
}

fn log_file(get: &Get<'_>, all: &[Object]) -> LogFileConfig {
    let named = |class: &str, property: &str| -> Vec<&Object> {
        let names = get.texts(property);
        names
            .iter()
            .filter_map(|name| all.iter().find(|object| object.class.name == class && object.name == *name))
            .collect()
    };
    LogFileConfig {
        path: match file_in_directory(get.object.variant.type_name) {
            Some(name) => get.path("log-directory").join(name),
            None => get.path("log-file"),
        },
        mode: get.mode("log-file-permissions"),
        append: get.object.variant.property("append").is_none() || get.boolean("append"),
        check_interval: get.duration("time-interval"),
        rotation: named("log-rotation-policy", "rotation-policy").into_iter().map(rotation).collect(),
        retention: named("log-retention-policy", "retention-policy").into_iter().map(retention).collect(),
    }
}

fn rotation(object: &Object) -> RotationPolicy {
    let get = Get { object, instance: Path::new("") };
    match object.variant.type_name {
        "time-limit" => RotationPolicy::Interval(get.duration("rotation-interval")),
        "size-limit" => RotationPolicy::Size(get.number("file-size-limit")),
        _ => RotationPolicy::TimesOfDay(get.times_of_day("time-of-day")),
    }
}

fn retention(object: &Object) -> RetentionPolicy {
    let get = Get { object, instance: Path::new("") };
    match object.variant.type_name {
        "file-count" => RetentionPolicy::FileCount(get.count("number-of-files")),
        "size-limit" => RetentionPolicy::DiskSpaceUsed(get.number("disk-space-used")),
        _ => RetentionPolicy::FreeDiskSpace(get.number("free-disk-space")),
    }
}
