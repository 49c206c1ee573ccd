//! Who changes the file of the configuration when a client changes `cn=config`.
//!
//! Knows what is asked for; the file, its lock and the parts of the server are the keeper's business.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use config::{Config, Edit};
use ldap::LdapResult;

/// A change of the configuration by a client.
pub struct KeptChange<'c> {
    /// Who asks for it.
    pub by: &'c str,
    /// It is judged, and nothing is changed.
    pub is_trial: bool,
    /// Makes the change in the file's text.
    pub edit: &'c dyn Fn(&mut Edit) -> Result<(), LdapResult>,
}

/// See the module.
pub trait ConfigurationKeeper: Send + Sync {
    /// Changes the file, and has every part of the server take the change. Gives a sentence for each part of it that
    /// takes a restart. Waits for disks.
    ///
    /// # Errors
    /// When the change is refused: nothing is changed then.
    fn change(&self, change: &KeptChange<'_>) -> Result<Vec<String>, LdapResult>;
}

/// The configuration, as updates of it need it.
#[derive(Clone, Copy)]
pub(crate) struct Configured<'d> {
    pub(crate) taken: &'d ArcSwap<Config>,
    pub(crate) keeper: &'d OnceLock<Arc<dyn ConfigurationKeeper>>,
}
