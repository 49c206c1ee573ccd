//! Rights that tests give to identities in place of those that the directory knows: by their name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use query::asker_rights::AskerRights;

static ALL: Mutex<BTreeMap<String, Arc<dyn AskerRights>>> = Mutex::new(BTreeMap::new());

/// Gives rights to the identity of that name.
pub(crate) fn set(dn: &str, rights: Arc<dyn AskerRights>) {
    ALL.lock().unwrap_or_else(PoisonError::into_inner).insert(dn.to_owned(), rights);
}

/// What an identity was given.
pub(super) fn of(dn: &str) -> Option<Arc<dyn AskerRights>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner).get(dn).cloned()
}
