//! Groups of one class that list their members in one attribute: for membership under another name than `memberOf`
//! (OpenLDAP: memberof-group-oc, memberof-member-ad).
//!
//! Only what groups list themselves counts: groups in groups, dynamic and virtual static ones do not.

use std::ops::ControlFlow;

use schema::{ClassIndex, TypeIndex};
use store::{RecordView, StoreError, Values};

use super::graph::equality_of;
use super::moment::GroupsAt;
use crate::backend::all_indices;
use crate::class_ids::ids_of_classes_by;
use crate::entry_place::EntryPlace;
use crate::id_set::IdSet;

/// See the module.
#[derive(Debug, Clone)]
pub struct GroupPair {
    /// The class of the groups.
    pub class: ClassIndex,
    /// Its name.
    pub class_name: String,
    /// The attribute with the names of the members.
    pub member: TypeIndex,
}

impl GroupsAt<'_> {
    /// The groups, of all backends, that list the entry with that normalized name, in the order of their numbers.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn listing_by(&self, pair: &GroupPair, form: &[u8]) -> Result<Vec<EntryPlace>, StoreError> {
        let mut found = Vec::new();
        for backend in all_indices(self.backends()) {
            let view = self.view_of(backend)?;
            let all = || {
                let ids = ids_of_classes_by(self.facts(), &view, [pair.class_name.as_bytes()], &|classes| {
                    self.is_of_pair(pair, classes)
                })?;
                Ok(ids.iter().collect())
            };
            let counts = |record: &RecordView<'_>| self.is_of_pair(pair, record.object_classes());
            self.holders_in(backend, pair.member, form, &all, &counts, &mut found)?;
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The entries of the own backend that a group lists; none when they are more than `max`.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn listed_by(&self, pair: &GroupPair, group: EntryPlace, max: u64) -> Result<Option<IdSet>, StoreError> {
        let mut ids = IdSet::default();
        let view = self.view_of(group.backend)?;
        let Some(record) = view.entry(group.id)? else { return Ok(Some(ids)) };
        let record = record.view()?;
        let Some(rule) = equality_of(self.facts(), pair.member) else { return Ok(Some(ids)) };
        if !self.is_of_pair(pair, record.object_classes()) {
            return Ok(Some(ids));
        }
        let (mut names, mut outcome) = (0, Ok(()));
        let mut form = Vec::new();
        self.each_value(group, &record, pair.member, &mut |value| {
            names += 1;
            form.clear();
            if rule.normalize(&self.facts().schema, value, &mut form).is_ok() {
                match self.locate(&form) {
                    Ok(place) => ids.extend(place.filter(|it| it.backend == self.own()).map(|it| it.id)),
                    Err(error) => outcome = Err(error),
                }
            }
            if names > max || outcome.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        outcome?;
        Ok((names <= max).then_some(ids))
    }

    fn is_of_pair(&self, pair: &GroupPair, classes: Values<'_>) -> bool {
        let schema = &self.facts().schema;
        let mut classes = classes.iter().filter_map(|name| schema.object_class(name));
        classes.any(|class| class.is_subclass_of(pair.class))
    }
}
