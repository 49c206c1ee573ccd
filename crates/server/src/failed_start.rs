//! A start that failed, in the error log: whoever looks there in the morning has not seen the terminal of the night.

use config::{Config, Instance};
use runtime::log::file::LogFileSettings;
use schema::Schema;

use crate::log::publishers::Publishers;
use crate::log::settings::error_logs;
use crate::log::{ErrorLogSettings, LogSettings};
use crate::messages;

/// Name of the error log where the configuration does not say.
const ERROR_LOG: &str = "errors";

/// Writes why the server did not start, one line for each line of `reason`. Without a configuration, because it has
/// faults, the error log is where it is by default. What cannot be written is only on the terminal then.
pub fn report_failed_start(instance: &Instance, config: Option<&Config>, reason: &str) {
    let by_default = || {
        let file = LogFileSettings::new(instance.logs().join(ERROR_LOG));
        vec![ErrorLogSettings::new(ERROR_LOG, file)]
    };
    let mut logs = config.map_or_else(by_default, error_logs);
    for log in &mut logs {
        log.go_on_in_file();
    }
    let publishers = Publishers::new();
    // One that cannot be opened leaves the others.
    for log in logs {
        let settings = LogSettings { error: vec![log], ..LogSettings::default() };
        if publishers.set(&settings, &Schema::standard()).is_err() {
            continue;
        }
        for line in reason.lines() {
            publishers.errors().report(messages::START_FAILED, format_args!("The server did not start: {line}"));
        }
        publishers.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_start_is_in_the_error_log_whatever_the_configuration_says() {
        let dir = tempfile::tempdir().unwrap();
        let instance = Instance::new(dir.path());
        std::fs::create_dir_all(instance.logs()).unwrap();
        std::fs::write(instance.logs().join("errors"), "before\n").unwrap();
        report_failed_start(&instance, None, "pando.toml:3:1: first\npando.toml:4:1: second");
        let text = std::fs::read_to_string(instance.logs().join("errors")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "before");
        let head = "category=CORE severity=ERROR msgID=4 msg=The server did not start: pando.toml";
        assert_eq!([&lines[1][29..], &lines[2][29..]], [format!("{head}:3:1: first"), format!("{head}:4:1: second")]);
        assert_eq!(lines.len(), 3);
    }
}
