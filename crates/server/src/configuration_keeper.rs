//! Changes the file of the configuration for clients that change `cn=config`, by the way that `pando reload` takes.
//!
//! Knows the file, its lock and the reload; what a client wants of the file comes with the change.

use std::sync::{Arc, Weak};
use std::time::Duration;

use config::Edit;
use directory::{ConfigurationKeeper, KeptChange, RootPasswordError, refused_edit};
use ldap::LdapResult;
use runtime::pid_file::{PidFile, PidFileError};

use crate::administration::Administration;
use crate::changed_by::ChangedBy;
use crate::refusal::Refusal;
use crate::start_check::{Beside, check_start};

/// A change waits so long for another one.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// See the module. The directory has it, so that it does not keep what has the directory.
pub(crate) struct Keeper(Weak<Administration>);

impl Keeper {
    pub(crate) fn new(administration: &Arc<Administration>) -> Arc<Self> {
        Arc::new(Self(Arc::downgrade(administration)))
    }
}

impl ConfigurationKeeper for Keeper {
    fn change(&self, change: &KeptChange<'_>) -> Result<Vec<String>, LdapResult> {
        let administration = self.0.upgrade().ok_or(Refusal::AdministratorsWait)?;
        administration.change_file(change)
    }
}

impl Administration {
    /// Judges a change of the file with everything that depends on it, writes it, and has the server take it.
    fn change_file(&self, change: &KeptChange<'_>) -> Result<Vec<String>, LdapResult> {
        let instance = &self.directory().config().instance;
        let _only_one = PidFile::acquire_within(&instance.edit_lock(), WAIT_MAX).map_err(|error| match error {
            PidFileError::Held { pid, path } => {
                LdapResult::from(Refusal::ConfigurationHeld { pid, path: path.display().to_string() })
            }
            error => Refusal::Configuration { problem: error.to_string() }.into(),
        })?;
        let file = instance.config_file();
        let is_hashed = match directory::hash_root_passwords_in_file(&file) {
            Ok(_) => true,
            // This change may be the one that sets a valid password.
            Err(RootPasswordError::InFile { .. }) => false,
            Err(error) => return Err(refused(error)),
        };
        let mut edit = Edit::open(&file).map_err(refused_edit)?;
        let old = edit.config().map_err(refused_edit)?;
        (change.edit)(&mut edit)?;
        directory::hash_root_passwords(&mut edit).map_err(refused)?;
        let new = edit.config().map_err(refused_edit)?;
        check_start(&new, &Beside::ThisProcess(self.directory().config())).map_err(refused)?;
        if change.is_trial {
            return Ok(Vec::new());
        }
        // A clear password must not be kept in the copy of what was before.
        let saved = if is_hashed { edit.save() } else { edit.save_without_backup() };
        saved.map_err(refused_edit)?;
        if let Err(reason) = self.reload(&ChangedBy::client(change.by)) {
            edit.take_back().map_err(refused_edit)?;
            // What was taken of it before the refusal goes back, too.
            let _ = self.reload(&ChangedBy::client(change.by));
            return Err(refused(reason));
        }
        Ok(old.changes_to(&new).at_restart.iter().map(ToString::to_string).collect())
    }
}

fn refused(error: impl ToString) -> LdapResult {
    Refusal::Configuration { problem: error.to_string() }.into()
}
