//! Access control instructions in entries that are not valid: older data, or that of other servers. Their scope is
//! closed to all but those with the privilege bypass-acl, which nobody should have to guess.

use directory::Directory;
use runtime::log::error::ErrorLog;

use crate::messages;

/// Lines; what comes beyond is in `cn=Access Control,cn=monitor`.
const LINES_MAX: usize = 50;

/// Names each in the error log.
pub(crate) fn warn(directory: &Directory, errors: &ErrorLog) {
    match directory.invalid_instructions() {
        Ok(problems) => {
            for problem in problems.iter().take(LINES_MAX) {
                let message = format_args!(
                    "The entry \"{}\" holds an access control instruction that is not valid, so it and all below it is \
                     closed to everybody without the privilege bypass-acl: {}",
                    problem.holder, problem.why
                );
                errors.report(messages::INSTRUCTION_NOT_VALID, message);
            }
        }
        Err(error) => {
            errors.report(messages::INSTRUCTIONS_UNREADABLE, format_args!("access control instructions: {error}"));
        }
    }
}
