//! Groups that a rule of limits names and that do not exist. A misspelt group would go unnoticed: its rule speaks of
//! nobody.

use directory::Directory;
use runtime::log::error::ErrorLog;

use crate::messages;

/// Names each in the error log.
pub(crate) fn warn(directory: &Directory, errors: &ErrorLog) {
    match directory.missing_limit_groups() {
        Ok(missing) => {
            for (rule, group) in missing {
                let message = format_args!(
                    "[limits.{rule}] names the group \"{group}\", which does not exist: add it or correct pando.toml"
                );
                errors.report(messages::GROUP_MISSING, message);
            }
        }
        Err(error) => errors.report(messages::GROUPS_UNREADABLE, format_args!("groups of limits: {error}")),
    }
}
