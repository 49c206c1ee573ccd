//! Has the configuration changed, and answers.
//!
//! Knows the change that was read; what it does to the file stands with the entries of the configuration, and the file
//! itself is the keeper's business.

use ldap::oids::control;
use ldap::{Controls, LdapResult, ResultCode};

use super::context::UpdateContext;
use super::done::UpdateDone;
use crate::configuration_keeper::KeptChange;
use crate::own::ConfigurationChange;
use crate::refusal::Refusal;
use change::proposal::Flags;

/// Controls that say what an update of the configuration depends on, or what its answer has: nothing here obeys them.
const NOT_TAKEN: [&str; 3] = [control::ASSERTION, control::PRE_READ, control::POST_READ];

/// Refuses controls that would not be obeyed.
pub(super) fn check_configuration_controls(controls: &Controls<'_>) -> Result<(), LdapResult> {
    for item in controls.iter() {
        let oid = std::str::from_utf8(item.oid).unwrap_or_default();
        if NOT_TAKEN.contains(&oid) && (item.critical || oid == control::ASSERTION) {
            return Err(Refusal::ConfigurationControl { oid: oid.to_owned() }.into());
        }
    }
    Ok(())
}

impl UpdateContext<'_> {
    /// Waits for disks: runs on a pool.
    pub(super) fn change_configuration(&self, change: &ConfigurationChange) -> UpdateDone {
        let is_trial = change.flags.has(Flags::NO_OP);
        let kept = KeptChange { by: change.identity.dn(), is_trial, edit: &|edit| change.make(edit) };
        let changed = match self.configured.keeper.get() {
            Some(keeper) => keeper.change(&kept),
            None => Err(Refusal::NoConfigurationKeeper.into()),
        };
        UpdateDone::refused(match changed {
            Ok(_) if is_trial => LdapResult::new(ResultCode::NO_OPERATION, String::new()),
            Ok(at_restart) => LdapResult::new(ResultCode::SUCCESS, at_restart.join("; ")),
            Err(refused) => refused,
        })
    }
}
