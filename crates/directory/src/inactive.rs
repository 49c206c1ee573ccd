//! Accounts that an administrator has inactivated: `nsAccountLock: true` in the entry, or given to it (Sun, 389: by a class of service
//! on `nsRole`), keeps it from binding.
//!
//! Knows one attribute of one entry; who tells the client so is for `bind`. Sessions that are there go on, as in those servers.

use std::ops::ControlFlow;
use std::sync::Arc;

use store::{EntryId, Snapshot, StoreError};

use crate::computed::each_stored;
use crate::directory::Directory;
use crate::entry::{DnParts, EntrySource, EntryView};
use crate::facts::Facts;
use crate::groups::Groups;
use crate::search::RequestTime;

/// What DSEE and 389 answer.
pub(crate) const MESSAGE: &str = "Account inactivated. Contact system administrator.";

impl Directory {
    /// Whether an entry of the backend at `at` may not bind. Where no entry has such a value and nothing is defined, it is not read.
    ///
    /// # Errors
    /// When something cannot be read.
    pub(crate) fn is_inactive(
        &self,
        facts: &Arc<Facts>,
        at: usize,
        snapshot: &Snapshot,
        id: EntryId,
    ) -> Result<bool, StoreError> {
        let Some(lock) = facts.account_lock else { return Ok(false) };
        let view = snapshot.view();
        let definitions = self.computed_service().definitions(at, facts, &view)?;
        let definitions = definitions.filter(|all| !all.concerned(lock).is_empty());
        if definitions.is_none() && view.tables().by_type(lock.0).is_empty() {
            return Ok(false);
        }
        let Some(record) = view.entry(id)? else { return Ok(false) };
        let record = record.view()?;
        let mut is_locked = false;
        let mut look = |value: &[u8]| {
            is_locked = value.eq_ignore_ascii_case(b"true");
            if is_locked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let Some(definitions) = definitions else {
            each_stored(&EntryView { id, record, dn: DnParts::default(), source: &view }, lock, &mut look)?;
            return Ok(is_locked);
        };
        let groups = Groups::new(&self.groups(), &self.backends, facts, RequestTime::now().unix_seconds);
        let groups = groups.knowing(at, Some(definitions));
        let groups = groups.at(at, view);
        let mut dn = Vec::new();
        groups.put_dn(crate::groups::Place { backend: at, id }, &mut dn)?;
        let entry = EntryView { id, record, dn: DnParts::whole(&dn), source: &groups };
        if let Some(computed) = groups.computed()? {
            computed.values_of(&entry, lock, &mut look)?;
        }
        Ok(is_locked)
    }
}
