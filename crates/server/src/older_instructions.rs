//! Global access control instructions that `setup` wrote before the server could do what they would allow today.

use directory::Directory;
use runtime::log::error::ErrorLog;

use crate::messages;

/// Says in the error log what they lack.
pub(crate) fn warn(directory: &Directory, errors: &ErrorLog) {
    if let Some(message) = directory.lacking_instructions() {
        errors.report(messages::INSTRUCTIONS_OLDER, message);
    }
}
