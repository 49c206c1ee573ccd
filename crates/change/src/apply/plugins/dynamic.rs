//! Entries that live for a time (RFC 2589; OpenLDAP: slapo-dds): who gets time when, and who goes when it is over.
//!
//! The end of an entry's time is a stored value. It is decided with the proposal: an added entry's by the proposal's
//! own time, a refreshed one's by whoever made the proposal. Entries that are over go by proposals, too, which say who
//! is looked at and at which time: nothing here knows what time it is.
//!
//! Invariant: everything below a dynamic entry is dynamic, so that it can go when nothing is below it any more.

use schema::{NormalizedDn, Schema};
use store::{EntryId, RecordView, StoreError, View};

use super::configured::Dynamic;
use super::lookup::{Lookup, Pair};
use super::references::{Moved, follow};
use crate::apply::change_notes::Note;
use crate::apply::draft::{Described, Draft, Now, Start};
use crate::apply::error::ApplyError;
use crate::apply::marks::mark_removed;
use crate::apply::value_set::{ValueSet, normal_form};
use crate::apply::work::{Target, Work};
use crate::csn::Csn;
use crate::history::{Cause, ChangeKind};
use crate::refusal::Refusal;
use query::class_flags::ClassFlags;
use query::dynamic_entry::{EXPIRY, expires_at};
use query::error::Refusal as NameRefusal;
use query::error::shown;

/// Entries that one proposal looks at, some milliseconds of work.
pub const EXPIRY_SLICE: usize = 128;

/// Who removes entries whose time is over, for the history.
const REMOVER: &str = "cn=Dynamic Entries,cn=plugins,cn=config";

impl Dynamic {
    fn check_scope(&self, name: &NormalizedDn) -> Result<(), ApplyError> {
        if self.scope.covers_name(name) {
            return Ok(());
        }
        Err(Refusal::DynamicElsewhere { plugin: self.name.clone() }.into())
    }

    fn check_count(&self, work: &Work<'_, '_>) -> Result<(), ApplyError> {
        let Some((most, lookup)) = &self.most else { return Ok(()) };
        let schema = &work.facts.schema;
        let normal = normal_form(Some(lookup.rule), schema, b"dynamicObject");
        if lookup.count(schema, &work.view(), &normal, *most)? < *most {
            return Ok(());
        }
        Err(Refusal::TooManyDynamic { plugin: self.name.clone(), most: *most }.into())
    }
}

/// An entry is added: a dynamic one gets its time, a static one may not stand below a dynamic one.
pub(in crate::apply) fn begin(
    work: &Work<'_, '_>,
    draft: &mut Draft<'_>,
    dn: &[u8],
    parent: Option<&Target>,
) -> Result<(), ApplyError> {
    let Some(dynamic) = &work.rules.plugins.dynamic else { return Ok(()) };
    let flags = work.facts.flags_of_classes(draft.classes());
    if !flags.has(ClassFlags::DYNAMIC) {
        return match parent {
            Some(parent) => check_static_below(parent, dn),
            None => Ok(()),
        };
    }
    if flags.has(ClassFlags::ALIAS.with(ClassFlags::REFERRAL)) {
        return Err(Refusal::DynamicAliasOrReferral.into());
    }
    let (name, _) = work.resolve(dn)?;
    dynamic.check_scope(&name)?;
    dynamic.check_count(work)?;
    let Some(expiry) = work.facts.schema.attribute_type(EXPIRY.as_bytes()) else { return Ok(()) };
    if draft.touched_type(expiry.index).is_some_and(|given| !given.is_empty()) {
        // Root brings an entry back with the relax control.
        return Ok(());
    }
    let csn = work.proposal.csn;
    let mut text = Vec::with_capacity(15);
    Csn { time_us: csn.time_us.saturating_add(dynamic.default_ttl_us), ..csn }.write_timestamp(&mut text);
    let mut set = ValueSet::new(expiry.equality);
    set.insert(&work.facts.schema, &text);
    let at = draft.touch(&Described::of_type(expiry), Start::Empty)?;
    draft.at(at)?.now = Now::Set(set);
    Ok(())
}

/// An entry is dynamic from its beginning to its end, or never.
pub(in crate::apply) fn keep_class(work: &Work<'_, '_>, draft: &Draft<'_>, target: &Target) -> Result<(), ApplyError> {
    if work.rules.plugins.dynamic.is_none() || !draft.touches_classes() {
        return Ok(());
    }
    let was = target.classes.flags.has(ClassFlags::DYNAMIC);
    if work.facts.flags_of_classes(draft.classes()).has(ClassFlags::DYNAMIC) == was {
        return Ok(());
    }
    Err(if was { Refusal::StaysDynamic } else { Refusal::StaysStatic }.into())
}

/// An entry moves to another name, below `superior` if there is an entry.
pub(in crate::apply) fn check_move(
    work: &Work<'_, '_>,
    target: &Target,
    name: &NormalizedDn,
    superior: Option<&Target>,
) -> Result<(), ApplyError> {
    let Some(dynamic) = &work.rules.plugins.dynamic else { return Ok(()) };
    if target.classes.flags.has(ClassFlags::DYNAMIC) {
        return dynamic.check_scope(name);
    }
    let Some(superior) = superior else { return Ok(()) };
    let dn = work.view().dn_of(target.id)?.unwrap_or_default();
    check_static_below(superior, dn.as_bytes())
}

fn check_static_below(above: &Target, dn: &[u8]) -> Result<(), ApplyError> {
    if !above.classes.flags.has(ClassFlags::DYNAMIC) {
        return Ok(());
    }
    Err(Refusal::StaticBelowDynamic { dn: shown(dn) }.into())
}

/// Some entries to look at, as a proposal carries them: those whose time is over go.
///
/// ```text
/// time in µs since 1970 u64 · entry u64…                  (little-endian)
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpirySlice {
    /// Whose time was over by then goes.
    pub deadline_us: u64,
    /// At most [`EXPIRY_SLICE`].
    pub entries: Vec<EntryId>,
}

impl ExpirySlice {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let numbers = std::iter::once(self.deadline_us).chain(self.entries.iter().map(|id| id.0));
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    /// Reads [`ExpirySlice::encode`]; `None` when it is not that.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
        let deadline_us = numbers.next().filter(|_| rest.is_empty())?;
        let entries: Vec<EntryId> = numbers.map(EntryId).collect();
        (entries.len() <= EXPIRY_SLICE).then_some(Self { deadline_us, entries })
    }
}

/// Removes those entries of a slice whose time is over and below which nothing stands.
pub(in crate::apply) fn expire(work: &mut Work<'_, '_>, bytes: &[u8]) -> Result<(), ApplyError> {
    work.require_root("Removing entries whose time is over")?;
    let slice = ExpirySlice::decode(bytes).ok_or(Refusal::DamagedProposal { of: "a slice of expired entries" })?;
    if work.rules.plugins.dynamic.is_none() {
        return Ok(());
    }
    let mut waiting = slice.entries;
    let mut gone = Vec::new();
    // One that stands above another one of the slice goes after it.
    loop {
        let count = waiting.len();
        let mut inner = Vec::new();
        for id in waiting {
            if !is_over(work, id, slice.deadline_us)? {
                continue;
            }
            if work.view().children(id)?.is_empty() {
                gone.extend(remove(work, id)?);
            } else {
                inner.push(id);
            }
        }
        waiting = inner;
        if waiting.is_empty() || waiting.len() == count {
            break;
        }
    }
    if gone.is_empty() { Ok(()) } else { follow(work, gone) }
}

fn is_over(work: &Work<'_, '_>, id: EntryId, deadline_us: u64) -> Result<bool, ApplyError> {
    let view = work.view();
    let Some(found) = view.entry(id)? else { return Ok(false) };
    let until = expires_at(&work.facts, &found.view()?);
    Ok(until.is_some_and(|seconds| seconds.saturating_mul(1_000_000) <= deadline_us))
}

/// Removes an entry without children; gives its name, where references follow names.
fn remove(work: &mut Work<'_, '_>, id: EntryId) -> Result<Option<Moved>, ApplyError> {
    let follows = work.rules.plugins.follows_references();
    let dn = match follows || work.rules.notes.is_on() {
        true => work.view().dn_of(id)?.unwrap_or_default(),
        false => String::new(),
    };
    let tables = work.txn.tables().clone();
    let found = work.view().entry(id)?.map(|record| record.into_bytes().into_owned());
    let bytes = found.unwrap_or_default();
    let record = RecordView::parse(&bytes, &tables)?;
    mark_removed(work, id, &record);
    if work.rules.notes.is_on() {
        let note = Note {
            dn: &dn,
            cause: Cause::Plugin { name: REMOVER },
            ..Note::requested(ChangeKind::Delete, record.header().uuid.unwrap_or_default())
        };
        work.rules.notes.deleted(work.txn, id, &record, &note)?;
    }
    work.txn.delete_entry(id)?;
    if !follows {
        return Ok(None);
    }
    let old = NormalizedDn::parse(&work.facts.schema, dn.as_bytes())
        .map_err(|error| NameRefusal::invalid_dn(dn.as_bytes(), error))?;
    Ok(Some(Moved { old, dn, new: None, is_subtree: false }))
}

/// Entries whose time was over by a moment, those that have waited longest first: at most [`EXPIRY_SLICE`], from behind
/// `after` on. With the place where to go on, if there may be more.
///
/// # Errors
/// When something cannot be read.
pub fn expired(
    schema: &Schema,
    view: &View<'_>,
    deadline_us: u64,
    after: Option<&Pair>,
) -> Result<(Vec<EntryId>, Option<Pair>), StoreError> {
    let Some(lookup) = Lookup::new(schema, EXPIRY) else { return Ok((Vec::new(), None)) };
    let mut text = Vec::with_capacity(15);
    Csn { time_us: deadline_us, count: 0, replica: 0 }.write_timestamp(&mut text);
    let last = normal_form(Some(lookup.rule), schema, &text);
    let mut pairs = lookup.pairs(schema, view, &[], after, EXPIRY_SLICE)?;
    let has_more = pairs.len() == EXPIRY_SLICE;
    // Normal forms of times are in the order of the times.
    let end = pairs.partition_point(|(key, _)| **key <= *last);
    let is_whole = end == pairs.len();
    pairs.truncate(end);
    let ids = pairs.iter().map(|(_, id)| *id).collect();
    Ok((ids, pairs.pop().filter(|_| has_more && is_whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_come_back_as_they_were() {
        let slice = ExpirySlice { deadline_us: 7, entries: vec![EntryId(3), EntryId(u64::MAX)] };
        let bytes = slice.encode();
        assert_eq!(ExpirySlice::decode(&bytes), Some(slice));
        assert_eq!(ExpirySlice::decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(ExpirySlice::decode(&[]), None);
        assert_eq!(ExpirySlice::decode(&[0; 8 * (EXPIRY_SLICE + 2)]), None);
    }
}
