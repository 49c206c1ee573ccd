//! The entries that a request is about, as the asker may know of them at one moment: what does not show does not exist.
//!
//! Knows names, and whether entries show; not what is done with them.

use change::Refusal as ApplyRefusal;
use query::backend::Suffix;
use query::class_flags::ClassFlags;
use query::entry::{DnParts, EntrySource, EntryView};
use query::error::{Refusal as NameRefusal, shown};
use query::facts::Facts;
use query::locate::{Path, locate};
use query::referral::{leaf_rdns, referral_urls};
use schema::{NormalizedDn, TypeIndex};
use store::{EntryId, RecordRef, StoreError, View};

use access::{Question, Right};

use super::asker::Asker;
use super::denial::Denial;
use super::verdict::Readable;

/// See the module.
#[derive(Clone, Copy)]
pub(super) struct Scene<'s> {
    pub(super) facts: &'s Facts,
    pub(super) asker: &'s dyn Asker,
    pub(super) view: View<'s>,
    /// What entries show beyond their records.
    pub(super) source: &'s dyn EntrySource,
}

/// An entry that was read.
pub(super) struct Held<'s> {
    pub(super) id: EntryId,
    record: RecordRef<'s>,
    pub(super) dn: String,
    source: &'s dyn EntrySource,
}

/// How far a name leads.
pub(super) struct Way<'s> {
    path: Path,
    /// The deepest entry on the way; none when the suffix has none.
    pub(super) deepest: Option<Held<'s>>,
    /// RDNs of the name below it.
    pub(super) missing: usize,
}

impl Held<'_> {
    /// The entry.
    pub(super) fn view(&self) -> Result<EntryView<'_>, StoreError> {
        let dn = DnParts::whole(self.dn.as_bytes());
        Ok(EntryView { id: self.id, record: self.record.view()?, dn, source: self.source })
    }
}

impl<'s> Way<'s> {
    /// The entry of the name itself, if it exists.
    pub(super) fn entry(&self) -> Option<&Held<'s>> {
        self.deepest.as_ref().filter(|_| self.missing == 0)
    }

    /// The entries above that one, or above the first that is missing, from the suffix down.
    fn above(&self) -> &[EntryId] {
        let count = self.path.entries.len() - usize::from(self.missing == 0 && self.deepest.is_some());
        self.path.entries.get(..count).unwrap_or_default()
    }
}

impl<'s> Scene<'s> {
    /// Where a name leads that `suffix` holds.
    pub(super) fn way(&self, suffix: &Suffix, name: &NormalizedDn) -> Result<Way<'s>, StoreError> {
        let path = locate(&self.view, &suffix.normalized, name.as_bytes())?;
        let Some(id) = path.deepest() else { return Ok(Way { path, deepest: None, missing: name.len() }) };
        let depth = suffix.base_depth() + path.entries.len() - 1;
        let missing = name.len().saturating_sub(depth);
        let deepest = self.held(id)?;
        Ok(Way { path, deepest, missing })
    }

    /// The entry of that number.
    pub(super) fn held(&self, id: EntryId) -> Result<Option<Held<'s>>, StoreError> {
        let Some(record) = self.view.entry(id)? else { return Ok(None) };
        let dn = self.view.dn_of(id)?.unwrap_or_default();
        Ok(Some(Held { id, record, dn, source: self.source }))
    }

    /// Whether an entry shows.
    pub(super) fn shows(&self, held: &Held<'_>) -> Result<bool, StoreError> {
        self.asker.shows(&held.view()?)
    }

    /// What the asker may read of an entry.
    pub(super) fn readable(&self, held: &Held<'_>) -> Result<Readable, StoreError> {
        let entry = held.view()?;
        if !self.asker.shows(&entry)? {
            return Ok(Readable::default());
        }
        let tables = entry.record.tables();
        let mut types: Vec<TypeIndex> = self.facts.virtual_types().iter().map(|(index, _)| *index).collect();
        entry.record.for_each(&mut Vec::new(), |stored| types.extend(tables.type_of(stored.desc).map(TypeIndex)));
        types.sort_unstable();
        types.dedup();
        let mut readable = Vec::with_capacity(types.len());
        for index in types {
            if self.asker.may(&entry, Question::attribute(Right::Read, index))? {
                readable.push(index);
            }
        }
        Ok(Readable(Some(readable.into())))
    }

    /// The answer for a name to which no entry that shows belongs: the same whether there is one or not, with the
    /// nearest entry above it that shows.
    pub(super) fn missing(&self, dn: &[u8], way: &Way<'_>) -> Result<NameRefusal, StoreError> {
        let dn = shown(dn);
        for id in way.above().iter().rev() {
            if let Some(above) = self.held(*id)?
                && self.shows(&above)?
            {
                return Ok(NameRefusal::NoSuchEntry { dn, matched: above.dn });
            }
        }
        Ok(NameRefusal::NoEntryAbove { dn })
    }

    /// Refers to where a referral object says that the name is (RFC 3296 §5), if the asker may read that.
    pub(super) fn check_referral(&self, dn: &[u8], way: &Way<'_>) -> Result<(), Denial> {
        let Some(deepest) = &way.deepest else { return Ok(()) };
        let entry = deepest.view()?;
        if !self.facts.class_flags(entry.record.object_classes()).has(ClassFlags::REFERRAL) {
            return Ok(());
        }
        let may_read = match self.facts.ref_type {
            Some(attribute) => self.asker.may(&entry, Question::attribute(Right::Read, attribute))?,
            None => false,
        };
        if !may_read || !self.asker.shows(&entry)? {
            return Err(self.missing(dn, way)?.into());
        }
        let below = leaf_rdns(&String::from_utf8_lossy(dn), way.missing);
        let urls = referral_urls(self.facts, &entry, &below, &deepest.dn, None)?;
        Err(ApplyRefusal::Referral { dn: deepest.dn.clone(), urls }.into())
    }
}
