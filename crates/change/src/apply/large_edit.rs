//! Changes of an attribute whose values are in the `values` table: what is asked about one value costs one look-up,
//! whatever their number.
//!
//! Invariant: a value in `added` is not stored, or is in `removed` as well; one in `removed` is stored.

use std::collections::BTreeMap;

use schema::{MatchingRule, Schema};
use store::{DescId, EntryId, LargeStub, StoreError, View};

use super::value_set::normal_form;

/// Values by their normal form.
pub(super) type ByNormalForm = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// See the module.
#[derive(Debug)]
pub(super) struct LargeEdit {
    rule: Option<&'static MatchingRule>,
    id: EntryId,
    /// Number of the description.
    pub(super) desc: DescId,
    /// What the record will say of the attribute.
    pub(super) stub: LargeStub,
    /// Normal form → value, in the order in which the store keeps them.
    pub(super) added: ByNormalForm,
    /// Normal form → the value that goes.
    pub(super) removed: ByNormalForm,
}

impl LargeEdit {
    pub(super) fn new(rule: Option<&'static MatchingRule>, id: EntryId, desc: DescId, stub: LargeStub) -> Self {
        Self { rule, id, desc, stub, added: BTreeMap::new(), removed: BTreeMap::new() }
    }

    pub(super) fn len(&self) -> u64 {
        self.stub.count
    }

    pub(super) fn insert(&mut self, schema: &Schema, view: &View<'_>, value: &[u8]) -> Result<bool, StoreError> {
        let normal = normal_form(self.rule, schema, value);
        if self.has(view, &normal)? {
            return Ok(false);
        }
        self.stub.count += 1;
        self.stub.bytes += value.len() as u64;
        // A value that was taken out and comes back in another spelling replaces the stored one: both lists keep it.
        self.added.insert(normal, value.into());
        Ok(true)
    }

    pub(super) fn remove(&mut self, schema: &Schema, view: &View<'_>, value: &[u8]) -> Result<bool, StoreError> {
        let normal = normal_form(self.rule, schema, value);
        Ok(self.take(view, &normal)?.is_some())
    }

    /// Takes the value with that normal form out and gives it.
    pub(super) fn take(&mut self, view: &View<'_>, normal: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let taken = match self.added.remove(normal) {
            Some(added) => added.into_vec(),
            None if self.removed.contains_key(normal) => return Ok(None),
            None => match view.large_value(self.id, self.desc, normal)? {
                Some(stored) => {
                    self.removed.insert(normal.into(), (*stored).into());
                    stored.into_owned()
                }
                None => return Ok(None),
            },
        };
        self.stub.count = self.stub.count.saturating_sub(1);
        self.stub.bytes = self.stub.bytes.saturating_sub(taken.len() as u64);
        Ok(Some(taken))
    }

    pub(super) fn contains(&self, schema: &Schema, view: &View<'_>, value: &[u8]) -> Result<bool, StoreError> {
        self.has(view, &normal_form(self.rule, schema, value))
    }

    fn has(&self, view: &View<'_>, normal: &[u8]) -> Result<bool, StoreError> {
        if self.added.contains_key(normal) {
            return Ok(true);
        }
        if self.removed.contains_key(normal) {
            return Ok(false);
        }
        Ok(view.large_value(self.id, self.desc, normal)?.is_some())
    }
}
