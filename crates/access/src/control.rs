//! Access control in service: what is configured, and the rights of whoever asks.
//!
//! Shared by all threads, and changed while the server runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use query::facts::Facts;
use query::read_moment::ReadContext;
use schema::NormalizedDn;
use store::StoreError;

use crate::identity::Identity;
use crate::policy::Access;
use crate::privilege::PrivilegeSet;
use crate::rights::Rights;
use crate::session::Session;
use crate::settings::{AccessError, AccessSettings};

/// See the module.
#[derive(Debug)]
pub struct AccessControl {
    settings: ArcSwap<AccessSettings>,
    generation: AtomicU64,
    /// Held while they are replaced, so that no two settings get the same number.
    changing: Mutex<()>,
}

impl AccessControl {
    /// With what is configured.
    ///
    /// # Errors
    /// When an instruction is not valid.
    pub fn new(settings: AccessSettings) -> Result<AccessControl, AccessError> {
        Ok(AccessControl {
            settings: ArcSwap::from_pointee(settings),
            generation: AtomicU64::new(0),
            changing: Mutex::default(),
        })
    }

    /// Takes other settings, for everybody from the next request on. Returns whether they differ.
    ///
    /// # Errors
    /// When an instruction is not valid; then nothing changes.
    pub fn set(&self, settings: AccessSettings) -> Result<bool, AccessError> {
        let _only_one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if **self.settings.load() == settings {
            return Ok(false);
        }
        // In this order: who sees the new number finds the new settings.
        self.settings.store(Arc::new(settings));
        self.generation.fetch_add(1, Ordering::Release);
        Ok(true)
    }

    /// Whether some rule asks for the names of addresses, so that the server must look them up.
    #[must_use]
    pub fn needs_host_names(&self) -> bool {
        false
    }

    /// What the session may do now. What it kept is given again as long as it holds.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn rights_of(
        &self,
        session: &Session,
        _facts: &Arc<Facts>,
        _reading: &ReadContext,
        _now_unix_seconds: i64,
    ) -> Result<Arc<Rights>, StoreError> {
        let generation = self.generation.load(Ordering::Acquire);
        if let Some(kept) = &*session.rights.borrow()
            && kept.generation == generation
            && kept.identity == session.identity
        {
            return Ok(Arc::clone(kept));
        }
        let settings = self.settings.load_full();
        let privileges = match &session.identity {
            Identity::Root { dn } => {
                let name = NormalizedDn::parse(&_facts.schema, dn.as_bytes()).unwrap_or_default();
                let own = settings.privileges_of.iter().find(|(root, _)| *root == name);
                own.map_or(settings.root_privileges, |(_, privileges)| *privileges)
            }
            Identity::Anonymous | Identity::User { .. } => PrivilegeSet::NONE,
        };
        let rights = Arc::new(Rights {
            identity: session.identity.clone(),
            privileges: privileges.with(settings.disabled_privileges),
            policy: Access::of(&session.identity),
            generation,
        });
        *session.rights.borrow_mut() = Some(Arc::clone(&rights));
        Ok(rights)
    }
}
