//! Reading `pando.toml` again while the server runs (SIGHUP, `pando reload`): what can change, changes; what cannot is named.
//!
//! A file with faults changes nothing. Knows the error log and the directory; how indexes change is the directory's business.

use config::Config;
use directory::Directory;
use ldap::administration::ReloadResponse;
use runtime::log::error::ErrorLog;

use crate::{messages, missing_groups, stalls::Stalls};

/// Takes the configuration as the file has it now; `Err` says why it was not taken. Everything that happens is told in the error log.
pub(crate) fn reload(directory: &Directory, stalls: &Stalls, errors: &ErrorLog) -> Result<ReloadResponse, String> {
    let file = directory.config().instance.config_file();
    match Config::load(&file) {
        Ok(config) => reconfigure(directory, &config, stalls, errors),
        Err(faults) => {
            for fault in faults.to_string().lines() {
                errors.report(messages::CONFIG_FAULT, fault);
            }
            let message = "The configuration has faults and was not taken: the server goes on with the one before";
            errors.report(messages::CONFIG_REFUSED, message);
            Err(faults.to_string())
        }
    }
}

fn reconfigure(
    directory: &Directory,
    config: &Config,
    stalls: &Stalls,
    errors: &ErrorLog,
) -> Result<ReloadResponse, String> {
    match directory.reconfigure(config) {
        Ok(done) => {
            stalls.set_threshold(config.global.stall_threshold);
            for sentence in &done.changed {
                errors.report(messages::CONFIG_CHANGED, sentence);
            }
            for property in &done.needs_restart {
                errors.report(
                    messages::RESTART_NEEDED,
                    format_args!("{property} differs from what the server started with: restart it to take the change"),
                );
            }
            missing_groups::warn(directory, errors);
            errors.report(messages::CONFIG_READ, "The configuration was read again");
            Ok(ReloadResponse { changed: done.changed, needs_restart: done.needs_restart })
        }
        Err(error) => {
            let message =
                format_args!("The configuration was not taken, the server goes on with the one before: {error}");
            errors.report(messages::CONFIG_REFUSED, message);
            Err(error.to_string())
        }
    }
}
