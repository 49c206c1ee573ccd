//! An entry as operations see it: its record, its name, and where the rest of it is.
//!
//! Knows the store's records; does not know who asks, nor what for.

use std::ops::ControlFlow;
use std::sync::Arc;

use accounts::PasswordPolicy;
use schema::TypeIndex;
use store::record::Attribute;
use store::{Content, DescId, EntryId, RecordView, StoreError, Tables, View};

use crate::backend::BackendIndex;
use crate::defined_attributes::DefinedAttributes;
use crate::virtual_attributes::VirtualAttribute;

/// Takes rows and values of a large attribute, until it says stop.
pub type EachRow<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// Who is in which group, for entries of one backend at one moment.
pub trait Membership {
    /// Whether the configuration has that attribute.
    fn offers(&self, attribute: VirtualAttribute) -> bool;

    /// Whether the entry is in any group.
    fn is_in_any(&self, entry: &EntryView<'_>) -> Result<bool, StoreError>;

    /// Whether the entry is in the group with that normalized name.
    fn contains(&self, entry: &EntryView<'_>, group: &[u8]) -> Result<bool, StoreError>;

    /// Whether a chain of values of the attribute leads from the entry to the one with that normalized name; none when
    /// that cannot be told.
    fn is_in_chain(&self, entry: &EntryView<'_>, attribute: TypeIndex, form: &[u8])
    -> Result<Option<bool>, StoreError>;

    /// Whether an entry is a group that does not list its members, and would do so in that attribute.
    fn computes_members(&self, record: &RecordView<'_>, attribute: TypeIndex) -> bool;

    /// Whether the entry with that normalized name is in the group.
    fn has_member(&self, group: &EntryView<'_>, member: &[u8]) -> Result<bool, StoreError>;

    /// Appends the DNs of all groups that the entry is in, in wire form; `false` when it is in none.
    fn put_groups(&self, entry: &EntryView<'_>, out: &mut Vec<u8>) -> Result<bool, StoreError>;

    /// Appends the members of a group that does not list them, in wire form; `false` when there are none, or none may
    /// be told.
    fn put_members(&self, group: &EntryView<'_>, attribute: TypeIndex, out: &mut Vec<u8>) -> Result<bool, StoreError>;
}

/// How an attribute was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// By its name, or that of a supertype.
    ByName,
    /// As one of all user attributes, or of all operational ones.
    ByKind,
    /// By its name, without values that are stored.
    WithoutReal,
    /// As one of all, without values that are stored.
    ByKindWithoutReal,
}

impl Ask {
    /// Whether stored values are wanted too.
    #[must_use]
    pub fn with_real(self) -> bool {
        matches!(self, Ask::ByName | Ask::ByKind)
    }

    /// Whether it was not asked for by name.
    #[must_use]
    pub fn is_by_kind(self) -> bool {
        matches!(self, Ask::ByKind | Ask::ByKindWithoutReal)
    }
}

/// Which values of an attribute an entry shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Those that it has stored.
    Stored,
    /// Those that were appended, instead of those that it has stored under the plain name; there may be none.
    Computed,
}

/// What entries of one backend are given at one moment: values that they show without having them.
pub trait GivenValues {
    /// The attributes that are given to some entry.
    fn defined(&self) -> &Arc<DefinedAttributes>;

    /// Finds the values that an entry shows of the defined attribute at that position, and appends them in wire form
    /// unless they are just the stored ones.
    fn shown(&self, entry: &EntryView<'_>, position: usize, ask: Ask, out: &mut Vec<u8>) -> Result<Shown, StoreError>;
}

/// Where an entry is stored: the backend, and the moment of it that is looked at.
#[derive(Clone, Copy)]
pub struct StoredAt<'s> {
    /// Which backend.
    pub backend: BackendIndex,
    /// At which moment.
    pub view: View<'s>,
}

impl<'s> StoredAt<'s> {
    /// The source of the entries of a backend that need no groups and are given nothing.
    #[must_use]
    pub fn new(backend: BackendIndex, view: View<'s>) -> Self {
        Self { backend, view }
    }
}

/// What an entry's record does not hold: answered by a snapshot for readers, by a transaction inside `apply`.
pub trait EntrySource {
    /// Exact number of children.
    fn children_count(&self, id: EntryId) -> Result<u64, StoreError>;

    /// Whether there are children.
    fn has_children(&self, id: EntryId) -> Result<bool, StoreError> {
        Ok(self.children_count(id)? > 0)
    }

    /// Calls `each` with the rows and values of a large attribute that lie behind the row `behind` (empty: all), until
    /// it says stop.
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

    /// Where the entry is stored, where an asker's rights may be asked for it; none of the server's own entries.
    fn stored(&self) -> Option<StoredAt<'_>> {
        None
    }

    /// Who is in which group, where somebody asks for it and it can be told: not inside `apply`, whose outcome must not
    /// depend on other backends.
    fn groups(&self) -> Option<&dyn Membership> {
        None
    }

    /// The password policy in force for an entry, where somebody asks for it and it can be told.
    fn password_policy(&self, entry: &EntryView<'_>) -> Result<Option<Arc<PasswordPolicy>>, StoreError> {
        let _ = entry;
        Ok(None)
    }

    /// What entries get from other places, where somebody asks for it, it can be told, and some entry gets something.
    fn computed(&self) -> Result<Option<&dyn GivenValues>, StoreError> {
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

impl EntrySource for StoredAt<'_> {
    fn children_count(&self, id: EntryId) -> Result<u64, StoreError> {
        self.view.children_count(id)
    }

    fn large_rows(&self, id: EntryId, desc: DescId, behind: &[u8], each: EachRow<'_>) -> Result<(), StoreError> {
        self.view.large_rows(id, desc, behind, each)
    }

    fn large_contains(&self, id: EntryId, desc: DescId, normal_form: &[u8]) -> Result<bool, StoreError> {
        self.view.large_contains(id, desc, normal_form)
    }

    fn stored(&self) -> Option<StoredAt<'_>> {
        Some(*self)
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

/// What a record has of exactly that attribute, without options.
pub fn plain<'r>(record: &RecordView<'r>, attribute: TypeIndex) -> impl Iterator<Item = Attribute<'r>> {
    let tables = record.tables();
    let descs = tables.by_type(attribute.0);
    record.attributes().filter(move |it| descs.contains(&it.desc) && is_plain(tables, it.desc, attribute))
}

/// Whether a description is exactly that attribute, without options.
#[must_use]
pub fn is_plain(tables: &Tables, desc: DescId, attribute: TypeIndex) -> bool {
    tables.type_of(desc) == Some(attribute.0) && tables.description(desc).is_some_and(|name| !name.contains(';'))
}

/// Calls `each` with the values that an entry has stored under the plain name of an attribute.
pub fn each_stored(
    entry: &EntryView<'_>,
    attribute: TypeIndex,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    entry.each_value(plain(&entry.record, attribute), each)
}
