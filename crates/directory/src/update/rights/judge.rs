//! Who judges updates: with the rights of one asker, on a snapshot, before a proposal is made.
//!
//! Owns what it needs, so that an update whose entry changed meanwhile can be judged again on another thread.
//! Knows moments; what is asked of the asker is said by `sitting`.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use access::{EntryRights, Identity, Privilege, Rights};
use ldap::LdapResult;
use query::backend::{Backend, BackendIndex};
use query::error::store_failure;
use query::facts::Facts;
use query::read_moment::ReadContext;
use schema::NormalizedDn;
use store::StoreError;

use super::asker::{Asker, Granted};
use super::matter::Matter;
use super::noting::{Notes, Noting};
use super::scene::Scene;
use super::sitting::Sitting;
use super::verdict::{End, Readable, Verdict};

/// The privileges that some update takes.
const ALL_PRIVILEGES: [Privilege; 6] = [
    Privilege::BypassAcl,
    Privilege::ModifyAcl,
    Privilege::PasswordReset,
    Privilege::PrivilegeChange,
    Privilege::SubentryWrite,
    Privilege::UpdateSchema,
];

/// Whether there is nothing to judge: whoever asks has every privilege that an update can take.
pub(crate) fn may_everything(rights: &Rights) -> bool {
    ALL_PRIVILEGES.into_iter().all(|privilege| rights.has(privilege))
}

/// See the module.
pub(crate) struct Judge {
    pub(crate) rights: Arc<Rights>,
    /// Who asks, by the name that its entry has now.
    pub(crate) identity: Identity,
    pub(crate) facts: Arc<Facts>,
    pub(crate) reading: ReadContext,
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Judge").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Judge {
    /// Judges a request.
    ///
    /// # Errors
    /// Why it may not be done, or not on this thread.
    pub(crate) fn judge(&self, matter: Matter<'_, '_>) -> Result<Verdict, End> {
        self.decide(matter, None)
    }

    /// Takes the rights that the asker has now.
    ///
    /// # Errors
    /// When something cannot be read.
    pub(crate) fn renew(&mut self) -> Result<(), LdapResult> {
        let renewed = self.rights.renewed(&[], now_unix_seconds());
        if let Some(renewed) = renewed.map_err(|error| store_failure(&error))? {
            self.rights = renewed;
        }
        Ok(())
    }

    /// The same, with every question that is asked of the asker noted.
    ///
    /// # Errors
    /// Why it may not be done.
    pub(crate) fn explain(&self, matter: Matter<'_, '_>, notes: &Notes) -> Result<Verdict, End> {
        self.decide(matter, Some(notes))
    }

    fn decide(&self, matter: Matter<'_, '_>, notes: Option<&Notes>) -> Result<Verdict, End> {
        let own = match &self.identity {
            Identity::User { backend, entry, .. } if *backend == matter.backend => Some(*entry),
            _ => None,
        };
        self.at_once(matter.backend, notes, |backend, scene, rights| {
            let now_unix_seconds = now_unix_seconds();
            let took_values = Cell::new(false);
            let own_dn = self.identity.dn();
            Sitting { matter, backend, scene, rights, own, own_dn, now_unix_seconds, took_values }.decide()
        })
    }

    /// What the asker may read of the entry of that name now.
    ///
    /// # Errors
    /// When something cannot be read.
    pub(crate) fn readable_now(&self, at: BackendIndex, dn: &[u8]) -> Result<Readable, StoreError> {
        let Ok(name) = NormalizedDn::parse(&self.facts.schema, dn) else { return Ok(Readable::default()) };
        self.at_once(at, None, |backend, scene, _| {
            let Some(suffix) = backend.suffix_of(name.as_bytes()) else { return Ok(Readable::default()) };
            match scene.way(suffix, &name)?.entry() {
                Some(held) => scene.readable(held),
                None => Ok(Readable::default()),
            }
        })
    }

    /// Looks at one moment of a backend.
    fn at_once<T, E: From<StoreError>>(
        &self,
        at: BackendIndex,
        notes: Option<&Notes>,
        look: impl FnOnce(&Backend, Scene<'_>, &EntryRights<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let backend = self.reading.backends.get(at.0).ok_or(StoreError::Closed)?;
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let moment = self.reading.moment(&self.facts, now_unix_seconds());
        let source = moment.at(at, view);
        // Instructions may have come together with what they hide.
        let renewed = match self.rights.are_of(at, &snapshot) {
            true => None,
            false => self.rights.renewed(&[(at, &snapshot)], now_unix_seconds())?,
        };
        let rights = renewed.as_ref().unwrap_or(&self.rights).at(source)?;
        let granted = Granted { facts: &self.facts, rights: &rights };
        let noting = notes.map(|notes| Noting { granted, notes });
        let asker: &dyn Asker = noting.as_ref().map_or(&granted, |noting| noting);
        look(backend, Scene { facts: &self.facts, asker, view, source: &source }, &rights)
    }
}

fn now_unix_seconds() -> i64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(unix.as_secs()).unwrap_or(i64::MAX)
}
