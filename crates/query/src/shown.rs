//! What an entry shows to the server itself, outside of a search: where its backend gives entries values that they do not have.
//!
//! Knows attributes, not what they mean: limits and locks are for whoever asks.

use std::sync::Arc;
use std::time::SystemTime;

use schema::TypeIndex;
use store::{Snapshot, StoreError};

use crate::backend::Backend;
use crate::computed::{ComputedAt, ComputedService};
use crate::entry::{DnParts, EntrySource, EntryView};
use crate::facts::Facts;
use crate::groups::{GroupService, Groups, Place};

/// What reading takes beside the schema: the backends, and what is kept for groups and computed attributes between operations.
#[derive(Clone)]
pub struct ReadContext {
    /// The backends in service.
    pub backends: Arc<[Backend]>,
    /// What is kept for groups, and for attributes that entries are given.
    pub groups: Arc<GroupService>,
}

impl ReadContext {
    /// What is kept for attributes that entries are given.
    #[must_use]
    pub fn computed(&self) -> &ComputedService {
        &self.groups.computed
    }

    /// Groups at a moment from now on. `now_unix_seconds` is for filters that depend on the time.
    #[must_use]
    pub fn groups_from_now(&self, facts: &Arc<Facts>, now_unix_seconds: i64) -> Groups {
        Groups::new(&self.groups, &self.backends, facts, now_unix_seconds)
    }

    /// Calls `look` with an entry as it is shown, if its backend gives entries something of `wanted`; none otherwise: then what is stored
    /// is all. Where nothing is defined it costs a look at that.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn if_given<T>(
        &self,
        facts: &Arc<Facts>,
        place: Place,
        snapshot: &Snapshot,
        mut wanted: impl Iterator<Item = TypeIndex>,
        look: impl FnOnce(&ComputedAt<'_>, &EntryView<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let view = snapshot.view();
        let definitions = self.computed().definitions(place.backend, facts, &view)?;
        let Some(definitions) = definitions.filter(|it| wanted.any(|index| !it.concerned(index).is_empty())) else {
            return Ok(None);
        };
        let Some(record) = view.entry(place.id)? else { return Ok(None) };
        let groups = self.groups_from_now(facts, now_unix_seconds());
        let groups = groups.knowing(place.backend, Some(definitions));
        let groups = groups.at(place.backend, view);
        let Some(computed) = groups.computed()? else { return Ok(None) };
        let mut dn = Vec::new();
        groups.put_dn(place, &mut dn)?;
        let entry = EntryView { id: place.id, record: record.view()?, dn: DnParts::whole(&dn), source: &groups };
        look(&computed, &entry).map(Some)
    }
}

fn now_unix_seconds() -> i64 {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(unix.as_secs()).unwrap_or(i64::MAX)
}
