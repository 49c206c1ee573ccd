//! A start that failed, in the error log: whoever looks there in the morning has not seen the terminal of the night.

use config::{Config, Instance};
use runtime::log::error::{ErrorLog, ErrorLogSettings};
use runtime::log::file::LogFileSettings;
use runtime::log::writer::LogThreadBuilder;

use crate::{messages, settings};

/// Name of the error log where the configuration does not say.
const ERROR_LOG: &str = "errors";

/// Writes why the server did not start, one line for each line of `reason`. Without a configuration, because it has
/// faults, the error log is where it is by default. What cannot be written is only on the terminal then.
pub fn report_failed_start(instance: &Instance, config: Option<&Config>, reason: &str) {
    let by_default = || vec![ErrorLogSettings::new(LogFileSettings::new(instance.logs().join(ERROR_LOG)))];
    for mut log in config.map_or_else(by_default, settings::error_logs) {
        // The lines before say what came before.
        log.file.append = true;
        let mut builder = LogThreadBuilder::default();
        let Ok(errors) = ErrorLog::open(&mut builder, log) else { continue };
        let Ok(thread) = builder.start() else { continue };
        for line in reason.lines() {
            errors.report(messages::START_FAILED, format_args!("The server did not start: {line}"));
        }
        thread.flush();
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
