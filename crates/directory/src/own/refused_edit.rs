//! What a refused edit of the configuration's file means to a client.
//!
//! Knows edits and result codes.

use config::EditError;
use ldap::LdapResult;

use crate::refusal::Refusal;

/// What a refused edit means to a client.
#[must_use]
pub fn refused_edit(error: EditError) -> LdapResult {
    match &error {
        EditError::Faults(_) | EditError::Refused(_) => {
            Refusal::ConfigurationRefused { problem: error.to_string() }.into()
        }
        EditError::Changed(_) => Refusal::ConfigurationBusy { problem: error.to_string() }.into(),
        EditError::Io(..) => Refusal::ConfigurationNotWritten { problem: error.to_string() }.into(),
    }
}
