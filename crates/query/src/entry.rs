//! An entry as operations see it: its record, its name, and where the rest of it is.
//!
//! Knows the store's records; does not know who asks, nor what for.

use std::ops::ControlFlow;

use store::record::Attribute;
use store::{Content, DescId, EntryId, RecordView, StoreError, View};

use crate::computed::ComputedAt;
use crate::groups::GroupsAt;

/// Takes rows and values of a large attribute, until it says stop.
pub type EachRow<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// What an entry's record does not hold: answered by a snapshot for readers, by a transaction inside `apply`.
pub trait EntrySource {
    /// Exact number of children.
    fn children_count(&self, id: EntryId) -> Result<u64, StoreError>;

    /// Calls `each` with the rows and values of a large attribute that lie behind the row `behind` (empty: all), until it says stop.
    fn large_rows(&self, id: EntryId, desc: DescId, behind: &[u8], each: EachRow<'_>) -> Result<(), StoreError>;

    /// Calls `each` with the values of a large attribute until it says stop.
    fn large_values(
        &self,
        id: EntryId,
        desc: DescId,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.large_rows(id, desc, &[], &mut |_, value| each(value))
    }

    /// Whether a large attribute has the value with this normal form under its equality rule.
    fn large_contains(&self, id: EntryId, desc: DescId, normal_form: &[u8]) -> Result<bool, StoreError>;

    /// The time of the operation in seconds since 1970, where it matters and can be told.
    fn unix_seconds(&self) -> Option<i64> {
        None
    }

    /// Who is in which group, where somebody asks for it and it can be told: not inside `apply`, whose outcome must not depend on
    /// other backends.
    fn groups(&self) -> Option<GroupsAt<'_>> {
        None
    }

    /// What entries get from other places, where somebody asks for it, it can be told, and some entry gets something.
    fn computed(&self) -> Result<Option<ComputedAt<'_>>, StoreError> {
        Ok(None)
    }
}

impl EntrySource for View<'_> {
    fn children_count(&self, id: EntryId) -> Result<u64, StoreError> {
        Ok(self.children(id)?.count())
    }

    fn large_rows(&self, id: EntryId, desc: DescId, behind: &[u8], each: EachRow<'_>) -> Result<(), StoreError> {
        for found in self.large_values_after(id, desc, behind)? {
            let (row, value) = found?;
            if each(&row, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn large_contains(&self, id: EntryId, desc: DescId, normal_form: &[u8]) -> Result<bool, StoreError> {
        Ok(self.large_value(id, desc, normal_form)?.is_some())
    }
}

/// The source of entries that are all in their record: the root DSE, the schema, the monitor.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSource;

impl EntrySource for NoSource {
    fn children_count(&self, _id: EntryId) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn large_rows(&self, _id: EntryId, _desc: DescId, _behind: &[u8], _each: EachRow<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn large_contains(&self, _id: EntryId, _desc: DescId, _normal_form: &[u8]) -> Result<bool, StoreError> {
        Ok(false)
    }
}

/// A name in two parts, so that entries of one parent need not each have theirs put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DnParts<'a> {
    /// The RDN as the user wrote it; the whole DN of a base entry.
    pub rdn: &'a [u8],
    /// The DN of the parent; empty for a base entry.
    pub parent: &'a [u8],
}

impl<'a> DnParts<'a> {
    /// A whole DN.
    #[must_use]
    pub fn whole(dn: &'a [u8]) -> DnParts<'a> {
        DnParts { rdn: dn, parent: b"" }
    }

    /// Bytes of the DN.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        if self.parent.is_empty() { self.rdn.len() } else { self.rdn.len() + 1 + self.parent.len() }
    }

    /// Whether it is the root DSE's name.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rdn.is_empty() && self.parent.is_empty()
    }

    /// Appends the DN.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.rdn);
        if !self.parent.is_empty() {
            out.push(b',');
            out.extend_from_slice(self.parent);
        }
    }
}

/// One entry.
#[derive(Clone, Copy)]
pub struct EntryView<'a> {
    /// Its number.
    pub id: EntryId,
    /// Its record.
    pub record: RecordView<'a>,
    /// Its name; empty when neither filter nor output needs it.
    pub dn: DnParts<'a>,
    /// Where the rest is.
    pub source: &'a dyn EntrySource,
}

impl<'a> EntryView<'a> {
    /// Calls `each` with the values of some of its attributes, wherever they are stored, until it says stop.
    pub fn each_value(
        &self,
        attributes: impl Iterator<Item = Attribute<'a>>,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        for stored in attributes {
            let mut flow = ControlFlow::Continue(());
            match stored.content {
                Content::Inline(values) => flow = values.iter().try_for_each(&mut *each),
                Content::Large(_) => self.source.large_values(self.id, stored.desc, &mut |value| {
                    flow = each(value);
                    flow
                })?,
            }
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }
}
