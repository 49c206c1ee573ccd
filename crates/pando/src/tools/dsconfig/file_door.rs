//! The configuration as the file of an instance of this machine. The file is the truth: it is changed in place,
//! checked, and a running server reads it again; if the server refuses it, the file is as before.

use std::path::Path;

use config::{Applier, Change, Config, Edit, Instance, Listed, Step};
use directory::RootPasswordError;
use server::{Beside, check_start};

use super::door::{Deed, Door, Proposed, Seen};
use crate::administration::{self, Reloaded};
use crate::failure::Failure;
use crate::instance;
use crate::owner::Owner;

/// See the module.
pub struct FileDoor<'d> {
    directory: &'d Path,
    /// What the file says.
    config: Config,
    /// A running server is not asked to take changes.
    is_offline: bool,
}

impl<'d> FileDoor<'d> {
    /// The configuration of the instance in `directory`, which has been read.
    pub fn new(directory: &'d Path, config: Config, is_offline: bool) -> Self {
        Self { directory, config, is_offline }
    }
}

impl Door for FileDoor<'_> {
    fn list(&mut self, above: &[Step<'_>], class: &'static str) -> Result<Option<Vec<Listed>>, Failure> {
        Ok(self.config.list(above, class))
    }

    fn seen(&mut self, path: &[Step<'_>]) -> Result<Option<Seen>, Failure> {
        let (Some(variant), Some(values)) = (self.config.variant_of(path), self.config.properties_of(path)) else {
            return Ok(None);
        };
        let declared = |(name, values): (&str, Vec<String>)| Some((variant.property(name)?, values));
        Ok(Some(Seen { variant, values: values.into_iter().filter_map(declared).collect() }))
    }

    /// Changes the file, if a server would start with what comes of it; has a running server take it; says what
    /// happens now.
    fn change(&mut self, proposed: &Proposed<'_>) -> Result<Vec<String>, Failure> {
        let instance = instance::open(self.directory)?.instance;
        let owner = Owner::of(self.directory)?;
        // Until the server has answered: another tool's change comes after this one, or is refused.
        let _only_one = instance::lock_configuration(&instance)?;
        let file = instance.config_file();
        let is_hashed = match directory::hash_root_passwords_in_file(&file) {
            Ok(_) => true,
            // This change may be the one that sets a valid password.
            Err(RootPasswordError::InFile { .. }) => false,
            Err(error) => return Err(Failure::new(error)),
        };
        let mut edit = Edit::open(&file).map_err(Failure::new)?;
        let config = edit.config().map_err(Failure::new)?;
        make(&mut edit, proposed)?;
        directory::hash_root_passwords(&mut edit).map_err(Failure::new)?;
        let new = edit.config().map_err(Failure::new)?;
        let beside = if instance::running(&instance).is_some() { Beside::AnotherProcess } else { Beside::Nobody };
        check_start(&new, &beside).map_err(Failure::new)?;
        // A clear password must not be kept in the copy of what was before.
        let saved = if is_hashed { edit.save() } else { edit.save_without_backup() };
        saved.map_err(Failure::new)?;
        owner.settle(self.directory)?;
        let process = match self.is_offline {
            true => None,
            false => taken_by_server(&instance).or_else(|failure| {
                edit.take_back().map_err(Failure::new)?;
                owner.settle(self.directory)?;
                Err(match failure {
                    NotTaken::Refused(reason) => refused(&instance, &reason),
                    NotTaken::Failed(failure) => failure,
                })
            })?,
        };
        let told = what_happens(&config, &new, process);
        self.config = new;
        Ok(told)
    }

    fn place(&self) -> String {
        self.config.instance.config_file().display().to_string()
    }
}

/// Makes a change to the file that is being edited.
fn make(edit: &mut Edit, proposed: &Proposed<'_>) -> Result<(), Failure> {
    let path = proposed.path.as_slice();
    match proposed.deed {
        Deed::Create(type_name) => {
            edit.create(path, type_name).map_err(Failure::new)?;
            proposed.changes.iter().try_for_each(|change| change.make(edit, path))?;
            match edit.missing(path).as_slice() {
                [] => give_default_indexes(edit, path),
                missing => Err(proposed.needs(missing)),
            }
        }
        Deed::Set => proposed.changes.iter().try_for_each(|change| change.make(edit, path)),
        Deed::Delete => edit.delete(path).map_err(Failure::new),
    }
}

/// A new backend has the indexes that `setup` gives the first one.
fn give_default_indexes(edit: &mut Edit, path: &[Step<'_>]) -> Result<(), Failure> {
    let [backend @ ("backend", _)] = path else { return Ok(()) };
    for index in config::default_indexes() {
        let index_path = [*backend, ("index", index.attribute.as_str())];
        let kinds: Vec<String> = index.kinds.iter().map(|kind| kind.word().to_owned()).collect();
        edit.create(&index_path, None).map_err(Failure::new)?;
        edit.change(&index_path, "index-type", Change::Set, &kinds).map_err(Failure::new)?;
    }
    Ok(())
}

/// Why a running server has not taken a change.
enum NotTaken {
    Refused(String),
    Failed(Failure),
}

/// Has a running server take the file; gives its process.
fn taken_by_server(instance: &Instance) -> Result<Option<u32>, NotTaken> {
    match administration::reload(instance).map_err(NotTaken::Failed)? {
        None => Ok(None),
        Some(Reloaded { process, verdict: Ok(_) }) => Ok(Some(process)),
        Some(Reloaded { verdict: Err(reason), .. }) => Err(NotTaken::Refused(reason)),
    }
}

/// What to say of a change that the server refuses. It may have taken a part before it came to what it cannot take: it
/// goes back to the file as it is again.
fn refused(instance: &Instance, reason: &str) -> Failure {
    match administration::reload(instance) {
        Ok(None | Some(Reloaded { verdict: Ok(_), .. })) => {
            Failure::new(format_args!("the server refuses this, and nothing was changed: {reason}"))
        }
        Ok(Some(Reloaded { process, .. })) => Failure::new(format_args!(
            "the server refuses this, and the file is as before: {reason}; but the server (process {process}) has not \
             taken the file again: see {}/errors",
            instance.logs().display()
        )),
        Err(failure) => failure,
    }
}

/// What takes effect when. "The server has taken the change" is said only of what it has taken.
fn what_happens(old: &Config, new: &Config, process: Option<u32>) -> Vec<String> {
    let changes = old.changes_to(new);
    let builds_indexes = changes.live.contains(&Applier::Indexes);
    let directory = new.instance.directory().display();
    let Some(process) = process else {
        let builds = if builds_indexes { "; it builds indexes while it serves" } else { "" };
        return vec![format!("The change takes effect when a server on {directory} starts or reloads{builds}.")];
    };
    let mut told: Vec<String> = changes.at_restart.iter().map(|what| format!("{what}.")).collect();
    if !changes.live.is_empty() {
        told.push(format!("The server (process {process}) has taken the change."));
    }
    if builds_indexes {
        told.push(format!(
            "The server builds new indexes while it serves: watch pando backendstat show-index-status --instance \
             {directory}, or the attribute ds-backend-index-state in cn=monitor."
        ));
    }
    told
}
