//! What an entry shows to the server itself, outside of a search: where its backend gives entries values that they do not have.
//!
//! Knows attributes, not what they mean: limits and locks are for whoever asks.

use std::sync::Arc;

use schema::TypeIndex;
use store::{Snapshot, StoreError};

use crate::computed::ComputedAt;
use crate::directory::Directory;
use crate::entry::{DnParts, EntrySource, EntryView};
use crate::facts::Facts;
use crate::groups::{Groups, Place};
use crate::search::RequestTime;

impl Directory {
    /// Calls `look` with an entry as it is shown, if its backend gives entries something of `wanted`; none otherwise: then what is stored
    /// is all. Where nothing is defined it costs a look at that.
    ///
    /// # Errors
    /// When something cannot be read.
    pub(crate) fn if_given<T>(
        &self,
        facts: &Arc<Facts>,
        place: Place,
        snapshot: &Snapshot,
        mut wanted: impl Iterator<Item = TypeIndex>,
        look: impl FnOnce(&ComputedAt<'_>, &EntryView<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let view = snapshot.view();
        let definitions = self.computed_service().definitions(place.backend, facts, &view)?;
        let Some(definitions) = definitions.filter(|it| wanted.any(|index| !it.concerned(index).is_empty())) else {
            return Ok(None);
        };
        let Some(record) = view.entry(place.id)? else { return Ok(None) };
        let groups = Groups::new(&self.groups(), &self.backends, facts, RequestTime::now().unix_seconds);
        let groups = groups.knowing(place.backend, Some(definitions));
        let groups = groups.at(place.backend, view);
        let Some(computed) = groups.computed()? else { return Ok(None) };
        let mut dn = Vec::new();
        groups.put_dn(place, &mut dn)?;
        let entry = EntryView { id: place.id, record: record.view()?, dn: DnParts::whole(&dn), source: &groups };
        look(&computed, &entry).map(Some)
    }
}
