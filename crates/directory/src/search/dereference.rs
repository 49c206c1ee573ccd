//! The dereference control (draft-masarati-ldap-deref): with an entry, attributes of the entries that its values name.
//!
//! What is shown of an entry that is named is what a search for it by its name would show the asker: rights are asked
//! for it as for every entry. A name without such an entry comes alone. Each entry looked at counts towards the
//! lookthrough limit, and what one entry gets this way is bounded.

use std::ops::ControlFlow;
use std::sync::Arc;

use ldap::controls::NamedValues;
use schema::syntax::oid;
use schema::{NormalizedDn, TypeIndex, rule};

use super::entry_writer::CANDIDATES_PER_LOOK;
use super::limits::Limits;
use super::refusal::SearchRefusal;
use super::stop::Stop;
use crate::controls::DereferenceRequest;
use query::backend::BackendIndex;
use query::encode::{Dereferenced, EncodeError, Layout, Selection, ShownEntry};
use query::entry::{DnParts, EntryView};
use query::error::shown;
use query::facts::Facts;
use query::read_moment::{ReadAt, ReadMoment};
use query::rights::Reader;

/// Bytes of names and values that one entry may get. They are in memory until they are sent.
const BYTES_MAX: usize = 4 << 20;

/// Bytes that a name or value takes beside its own.
const OVERHEAD_BYTES: usize = 16;

/// What a request asks for, prepared.
#[derive(Default)]
pub(super) struct Dereferencing {
    specs: Vec<Spec>,
    /// Entries looked at so far.
    looked_at: u64,
    scratch: Vec<u8>,
}

/// One attribute to follow.
struct Spec {
    attribute: TypeIndex,
    name: Arc<str>,
    has_unique_ids: bool,
    /// Selects the attribute of the entries that are found.
    own: Selection,
    /// Selects what is wanted of the entries that are named.
    wanted: Selection,
    /// The backend whose numbers `wanted` goes by.
    wanted_in: Option<BackendIndex>,
}

/// Where an entry is looked at from.
pub(super) struct Viewpoint<'p, 'm> {
    pub(super) reader: Reader<'p>,
    pub(super) moment: &'m ReadMoment,
    pub(super) at: ReadAt<'m>,
}

/// What the search may still look at.
pub(super) struct Budget {
    pub(super) limits: Limits,
    /// Entries that it has looked at.
    pub(super) candidates: u64,
}

impl Dereferencing {
    /// Prepares a request; none when it is not critical and asks for what is not possible.
    pub(super) fn new(
        facts: &Facts,
        asked: &DereferenceRequest<'_>,
    ) -> Result<Option<Box<Dereferencing>>, SearchRefusal> {
        let mut specs: Vec<Spec> = Vec::new();
        for spec in &asked.specs {
            let attribute = || shown(spec.attribute);
            let Some(known) = facts.schema.attribute_type(spec.attribute) else {
                return Err(SearchRefusal::DereferenceOfUnknown { attribute: attribute() });
            };
            if specs.iter().any(|other| other.attribute == known.index) {
                return Err(SearchRefusal::DereferenceTwice { attribute: attribute() });
            }
            let has_unique_ids = known.syntax.oid() == oid::NAME_AND_OPTIONAL_UID;
            if !has_unique_ids && known.syntax.oid() != oid::DN {
                if asked.critical {
                    return Err(SearchRefusal::DereferenceOfNoName { attribute: attribute() });
                }
                return Ok(None);
            }
            let (mut own, mut wanted) = (Selection::default(), Selection::default());
            own.restart(facts, [spec.attribute].into_iter(), false);
            wanted.restart(facts, spec.wanted.iter(), false);
            let (attribute, name) = (known.index, known.name().into());
            specs.push(Spec { attribute, name, has_unique_ids, own, wanted, wanted_in: None });
        }
        Ok((!specs.is_empty()).then(|| Box::new(Dereferencing { specs, ..Dereferencing::default() })))
    }

    /// Entries of another backend or moment come.
    pub(super) fn meet_tables(&mut self) {
        for spec in &mut self.specs {
            spec.own.meet_tables();
            spec.wanted.meet_tables();
        }
    }

    /// What the entries are like that `entry` names. `look` is called from time to time, and may end it.
    #[cold]
    pub(super) fn of_entry(
        &mut self,
        place: &Viewpoint<'_, '_>,
        entry: &EntryView<'_>,
        budget: &Budget,
        look: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Result<Vec<Dereferenced>, Stop> {
        let (mut found, mut room) = (Vec::new(), BYTES_MAX);
        for spec in &mut self.specs {
            for value in spec.names(place.reader, entry, &mut self.scratch, &mut room)? {
                self.looked_at += 1;
                let looked_at = budget.candidates.saturating_add(self.looked_at);
                if budget.limits.lookthrough.is_some_and(|limit| looked_at > limit) || place.moment.is_spent() {
                    return Err(Stop::lookthrough_limit(budget.limits.lookthrough));
                }
                if looked_at.is_multiple_of(CANDIDATES_PER_LOOK as u64) {
                    look()?;
                }
                let attributes = spec.shown(place, &value, &mut self.scratch, &mut room)?;
                found.push(Dereferenced { attribute: Arc::clone(&spec.name), value, attributes });
            }
        }
        Ok(found)
    }
}

impl Spec {
    /// The values of the attribute that the reader is shown.
    fn names(
        &mut self,
        reader: Reader<'_>,
        entry: &EntryView<'_>,
        scratch: &mut Vec<u8>,
        room: &mut usize,
    ) -> Result<Vec<Vec<u8>>, Stop> {
        let schema = &reader.facts.schema;
        let is_own =
            |description: &[u8]| schema.attribute_type(description).is_some_and(|it| it.index == self.attribute);
        let layout = Layout::new(reader, entry, &mut self.own, scratch, &mut || ControlFlow::Continue(()))?;
        let mut names = Vec::new();
        for attribute in ShownEntry::new(&layout, entry, scratch).attributes() {
            if is_own(attribute.description()) {
                take_values(&mut names, room, |take| attribute.each_value(take).map_err(EncodeError::from))?;
            }
        }
        Ok(names)
    }

    /// What is shown of the entry that a value names; nothing if there is none.
    fn shown(
        &mut self,
        place: &Viewpoint<'_, '_>,
        value: &[u8],
        scratch: &mut Vec<u8>,
        room: &mut usize,
    ) -> Result<Vec<NamedValues>, Stop> {
        let (reader, groups) = (place.reader, place.at.groups());
        let name = if self.has_unique_ids { rule::split_unique_member(value).0 } else { value };
        let Ok(name) = NormalizedDn::parse(&reader.facts.schema, name) else { return Ok(Vec::new()) };
        let Some(found) = groups.locate(name.as_bytes())? else { return Ok(Vec::new()) };
        let view = groups.view_of(found.backend)?;
        let Some(record) = view.entry(found.id)? else { return Ok(Vec::new()) };
        let mut dn = Vec::new();
        groups.put_dn(found, &mut dn)?;
        let source = place.moment.at(found.backend, view);
        let entry = EntryView { id: found.id, record: record.view()?, dn: DnParts::whole(&dn), source: &source };
        if !reader.shows(&entry)? {
            return Ok(Vec::new());
        }
        if self.wanted_in.replace(found.backend) != Some(found.backend) {
            self.wanted.meet_tables();
        }
        let layout = Layout::new(reader, &entry, &mut self.wanted, scratch, &mut || ControlFlow::Continue(()))?;
        let mut all = Vec::new();
        for attribute in ShownEntry::new(&layout, &entry, scratch).attributes() {
            let mut values = Vec::new();
            take_values(&mut values, room, |take| attribute.each_value(take).map_err(EncodeError::from))?;
            if !values.is_empty() {
                let range = attribute.range().unwrap_or_default().as_bytes();
                all.push(([attribute.description(), range].concat(), values));
            }
        }
        Ok(all)
    }
}

/// Takes what `each` calls its argument with, as long as there is room.
fn take_values(
    values: &mut Vec<Vec<u8>>,
    room: &mut usize,
    each: impl FnOnce(&mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), EncodeError>,
) -> Result<(), Stop> {
    let mut is_too_much = false;
    each(&mut |value| match room.checked_sub(value.len() + OVERHEAD_BYTES) {
        Some(left) => {
            *room = left;
            values.push(value.to_vec());
            ControlFlow::Continue(())
        }
        None => {
            is_too_much = true;
            ControlFlow::Break(())
        }
    })?;
    if is_too_much { Err(SearchRefusal::DereferencedTooMuch { mib: BYTES_MAX >> 20 }.into()) } else { Ok(()) }
}
