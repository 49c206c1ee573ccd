//! Taking another configuration while the directory serves, and what administrators ask of its indexes.
//!
//! Knows which parts a configuration concerns; how each takes it is the part's business.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use config::{Applier, AtRestart, Config};
use store::StoreError;
use store::bulk::RebuildWhich;

use crate::access_settings::access_settings;
use crate::breach_lists::tell_of_lists;
use crate::directory::Directory;
use crate::guess_rates::guess_limits;
use crate::identity_mappers::IdentityMappers;
use crate::index_builder::IndexNotice;
use crate::index_progress::{IndexBuild, index_build};
use crate::indexes::{IndexContext, without_stamp};
use crate::not_obeyed::tell_of_entries;
use crate::open_error::OpenError;
use crate::root_users::RootUsers;
use crate::sasl::SaslSettings;
use access::AccessControl;
use query::backend::numbered;
use query::computed::check_tables;
use query::configured::configured_indexes;
use query::configured_names::check_names;
use query::policies::ConfiguredPolicies;

/// What a new configuration changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconfigured {
    /// What took effect, a sentence each.
    pub changed: Vec<String>,
    /// The parts that had something to apply.
    pub applied: BTreeSet<Applier>,
    /// What differs from what the server started with and takes a restart.
    pub at_restart: Vec<AtRestart>,
}

impl Reconfigured {
    fn applied(&mut self, applier: Applier, sentence: impl Into<String>) {
        self.applied.insert(applier);
        self.changed.push(sentence.into());
    }
}

impl Directory {
    /// What changes of indexes need.
    pub(crate) fn indexing(&self) -> IndexContext<'_> {
        IndexContext {
            config: &self.config,
            in_force: &self.in_force,
            backends: &self.backends,
            intake: self.updates.intake(),
            work: &self.index_work,
        }
    }

    /// Takes what is declared live ([`Applier`]), except what the network side applies. A configuration with something
    /// that is not valid changes nothing. Waits for disks: not for event loops.
    ///
    /// # Errors
    /// When something is not valid under the schema in force, or a backend does not take the change.
    pub fn reconfigure(&self, new: &Config) -> Result<Reconfigured, OpenError> {
        let _only_one = self.index_work.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted = Vec::new();
        for (at, backend) in numbered(&self.backends) {
            // A backend that is configured no more stays in service until the restart.
            let Some(configured) = new.backend(&backend.id) else { continue };
            wanted.push((at, backend, configured.index_entry_limit, configured_indexes(&self.schema(), configured)?));
        }
        let mut done = Reconfigured { at_restart: self.config.changes_to(new).at_restart, ..Reconfigured::default() };
        let root_users = RootUsers::new(new, &self.schema())?;
        let sasl = SaslSettings::new(new, &self.schema())?;
        let identity_mappers = IdentityMappers::new(new, &self.schema())?;
        let access = access_settings(new, &self.schema())?;
        let proposed = self.proposal(new, &access)?;
        AccessControl::new(access.clone())?;
        self.updating().check_plugins(new)?;
        check_tables(&self.facts(), &new.virtual_attributes)?;
        let policies = ConfiguredPolicies::new(new, &self.schema())?;
        check_names(new, &self.schema())?;
        if self.limits.set(new, &self.schema())? {
            done.applied(Applier::Limits, "The limits of operations changed");
        }
        if self.access_control.set(access)? {
            done.applied(Applier::AccessControl, "The global access control instructions or the privileges changed");
        }
        if self.propose(proposed)? {
            done.applied(Applier::AccessControl, "The proposed access control instructions changed");
        }
        if self.guess_rates.set(guess_limits(new)) {
            done.applied(Applier::Binds, "The limits of wrong passwords changed");
        }
        if self.set_root_users(root_users) {
            done.applied(Applier::Binds, "The root users or the answers to failed binds changed");
        }
        if **self.identity_mappers.load() != identity_mappers {
            self.identity_mappers.store(Arc::new(identity_mappers));
            done.applied(Applier::IdentityMappers, "The identity mappers changed");
        }
        if **self.updates.password_parameters.load() != new.password_parameters {
            self.updates.password_parameters.store(Arc::new(new.password_parameters));
            done.applied(Applier::PasswordStorage, "The costs of new passwords changed");
        }
        if **self.sasl.load() != sasl {
            self.sasl.store(Arc::new(sasl));
            done.applied(Applier::Sasl, "The SASL mechanisms changed");
        }
        if self.reading.policies.set_configured(policies) {
            done.applied(Applier::PasswordPolicies, "The password policies changed");
            tell_of_lists(&self.notices, new);
        }
        if self.default_referral.set(new) {
            done.applied(Applier::Referrals, "The servers that requests for other names are referred to changed");
        }
        if self.updating().set_plugins(new)? {
            done.applied(Applier::Plugins, "The plugins changed");
        }
        let changelog = self.history().set(new.changelog);
        if changelog.map_err(|error| OpenError::Store { backend: "changelog".to_owned(), error })? {
            done.applied(Applier::Changelog, "The retention of the changelog changed");
        }
        if self.reading.computed.set_tables(&new.virtual_attributes) {
            done.applied(Applier::VirtualAttributes, "The virtual attributes changed");
        }
        for (at, backend, entry_limit, indexes) in wanted {
            if backend.set_entry_limit(entry_limit) {
                done.applied.insert(Applier::Indexes);
            }
            let before = backend.store.indexes().configured().clone();
            if *before == indexes {
                continue;
            }
            let gone: Vec<&str> = missing(&before.names, &indexes.names);
            let new: Vec<&str> = missing(&indexes.names, &before.names);
            let mut sentence = format!("Indexes of the backend \"{}\" changed", backend.id);
            for (what, names) in [("built now", new), ("dropped", gone)] {
                if !names.is_empty() {
                    sentence = format!("{sentence}; {what}: {}", names.join(", "));
                }
            }
            self.indexing().set(at, indexes, Vec::new())?;
            done.applied(Applier::Indexes, sentence);
        }
        self.index_work.wake();
        Ok(done)
    }

    /// Takes root users and what failed binds are answered with. Sessions of root users that are gone or have another
    /// password end. Returns whether they are others than before.
    fn set_root_users(&self, mut users: RootUsers) -> bool {
        let before = self.roots.load();
        let differ = **before != users;
        users.succeed(&before);
        self.root_accounts.set_users(&users, self.account_clock.now());
        self.roots.store(Arc::new(users));
        differ
    }

    /// Builds what is to be built from now on, in the background, and tells of it.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start_index_builders(&self, tell: Arc<dyn Fn(IndexNotice) + Send + Sync>) -> std::io::Result<()> {
        self.indexing().start_builders(tell)
    }

    /// Builds indexes of a backend anew while it serves. Until they are complete, no search uses them. Gives back their
    /// names.
    ///
    /// # Errors
    /// When there is no such backend or index, or the backend does not take the change.
    pub fn rebuild_indexes(&self, backend_id: &str, which: &RebuildWhich) -> Result<Vec<String>, OpenError> {
        self.indexing().rebuild(backend_id, which)
    }

    /// How far the indexes of these names are.
    ///
    /// # Errors
    /// When there is no such backend, or it cannot be read.
    pub fn index_build(&self, backend_id: &str, names: &[String]) -> Result<IndexBuild, OpenError> {
        index_build(&self.backends, backend_id, names)
    }

    /// Tells, with counts, of attributes in the backends that are not obeyed. Reads all entries of a backend that
    /// has such an attribute: not for event loops. Ends early when `goes_on`, asked now and then, says no.
    ///
    /// # Errors
    /// When a backend cannot be read, or is closed meanwhile.
    pub fn tell_of_not_obeyed(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), StoreError> {
        tell_of_entries(&self.notices, &self.facts(), &self.backends, goes_on)
    }
}

/// Those of `names` that `others` have not.
fn missing<'n>(names: &'n [String], others: &[String]) -> Vec<&'n str> {
    names.iter().filter(|name| !others.contains(name)).map(|name| without_stamp(name)).collect()
}
