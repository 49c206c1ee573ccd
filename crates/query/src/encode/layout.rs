//! Which attributes and values of one entry go out, and how long everything is.
//!
//! Values lie in the record as they go over the wire; the layout says where they are and adds their lengths up, so that
//! whoever writes the entry writes once and in place. It decides nothing: [`Selection`] says what goes.

use std::ops::ControlFlow;

use ber::element_size;
use ldap::controls::NamedValues;
use schema::{AttributeDescription, TypeIndex};
use smallvec::SmallVec;
use store::record::{Attribute, Header, put_value, value_size};
use store::{Content, DescId, StoreError, Values};

use super::cursors::{AttributeState, RangeCursors};
use super::matched::MatchedValues;
use super::range::{self, RangePart, ValueRange};
use super::selection::Selection;
use super::sink::EncodeError;
use crate::entry::{EachRow, EntryView, GivenValues, Shown, is_plain};
use crate::facts::Facts;
use crate::rights::Reader;

/// Attributes of an entry that need no allocation. An inetOrgPerson has twenty.
const PIECES_IN_PLACE: usize = 40;

/// A large attribute of more bytes than this makes an entry long: it is written in parts.
const LONG_BYTES: u64 = 256 * 1024;

/// Values of a large attribute that take as long, though not all of them may be sent.
const LONG_VALUES: u64 = 4096;

/// Attributes of which an entry shows other values than those that it has stored.
type Given = SmallVec<[TypeIndex; 4]>;

/// What goes into one entry's message, and how long everything is.
pub struct Layout<'a> {
    pub(super) pieces: SmallVec<[Piece<'a>; PIECES_IN_PLACE]>,
    /// Content of the sequence of attributes.
    pub(super) attributes: usize,
    /// Content of the entry element.
    pub(super) content: usize,
}

/// One attribute.
pub(super) struct Piece<'a> {
    pub(super) description: &'a [u8],
    /// The option that says which values these are.
    pub(super) range: Option<Box<str>>,
    pub(super) body: Body<'a>,
    /// Content of the set of values.
    pub(super) values: usize,
    /// Content of the attribute's sequence.
    pub(super) content: usize,
}

/// Where an attribute's values are, in wire form.
pub(super) enum Body<'a> {
    Stored(&'a [u8]),
    /// In the scratch buffer, from here on for the set's length.
    Computed(usize),
    /// In rows of their own. Boxed, so that a layout of ordinary attributes is not made larger by it.
    Large(Box<LargePart>),
}

/// Neighbouring values of a large attribute, or all of them.
pub(super) struct LargePart {
    desc: DescId,
    /// The row behind which they lie; empty for the first.
    behind: Box<[u8]>,
    /// Values behind that row that are none of them.
    skip: u64,
    count: u64,
}

impl LargePart {
    fn whole(desc: DescId) -> LargePart {
        LargePart { desc, behind: Box::default(), skip: 0, count: u64::MAX }
    }

    /// Calls `each` with the values and their rows.
    pub(super) fn each(&self, entry: &EntryView<'_>, each: EachRow<'_>) -> Result<(), StoreError> {
        let end = self.skip.saturating_add(self.count);
        let mut at = 0u64;
        if self.count == 0 {
            return Ok(());
        }
        entry.source.large_rows(entry.id, self.desc, &self.behind, &mut |row, value| {
            if at >= self.skip {
                each(row, value)?;
            }
            at += 1;
            if at >= end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    /// Adds the values up: what the record says of them is a statistic, a length on the wire must be exact. Also the
    /// last row.
    fn measure(&self, entry: &EntryView<'_>) -> Result<(usize, Vec<u8>), StoreError> {
        let (mut bytes, mut last) = (0, Vec::new());
        self.each(entry, &mut |row, value| {
            bytes += value_size(value.len());
            last.clear();
            last.extend_from_slice(row);
            ControlFlow::Continue(())
        })?;
        Ok((bytes, last))
    }
}

impl<'a> Layout<'a> {
    /// Lays an entry out. `may_be_long` is asked before the first large attribute of more than [`LONG_BYTES`] is looked
    /// at.
    pub fn new(
        reader: Reader<'a>,
        entry: &EntryView<'a>,
        selection: &mut Selection,
        scratch: &mut Vec<u8>,
        may_be_long: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Layout<'a>, EncodeError> {
        let mut layout = Layout { pieces: SmallVec::new(), attributes: 0, content: 0 };
        scratch.clear();
        if selection.wants_something() {
            selection.meet_reader(reader);
            let given = match entry.source.computed()? {
                Some(computed) => layout.take_given(reader, entry, selection, computed, scratch)?,
                None => Given::new(),
            };
            layout.take_stored(reader, entry, selection, &given, scratch, may_be_long)?;
            layout.take_computed(reader, entry, selection, scratch)?;
            if let Some(matched) = selection.matched_values() {
                layout.keep_matching(reader.facts, entry, matched, scratch)?;
            }
        }
        layout.content = element_size(entry.dn.len()) + element_size(layout.attributes);
        Ok(layout)
    }

    fn take_stored(
        &mut self,
        reader: Reader<'_>,
        entry: &EntryView<'a>,
        selection: &mut Selection,
        given: &[TypeIndex],
        scratch: &mut Vec<u8>,
        may_be_long: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), EncodeError> {
        let tables = entry.record.tables();
        let name = |desc: DescId| tables.description(desc).unwrap_or_default().as_bytes();
        let types_only = selection.types_only;
        let header = entry.record.header();
        if header.class_set.is_some() && selection.sends(reader, entry, DescId::OBJECT_CLASS)? {
            let body = if types_only { &[][..] } else { entry.record.object_classes().body() };
            self.push(name(DescId::OBJECT_CLASS), Body::Stored(body), body.len());
        }
        for attribute in entry.record.attributes() {
            if !given.is_empty() && given.iter().any(|it| is_plain(tables, attribute.desc, *it)) {
                continue;
            }
            if selection.has_ranges()
                && let Some(range) = selection.range_of(reader, entry, attribute.desc)?
            {
                let asked = AskedRange { range, types_only, cursors: selection.cursors() };
                self.take_range(entry, name(attribute.desc), attribute, &asked, may_be_long)?;
                continue;
            }
            if !selection.sends(reader, entry, attribute.desc)? {
                continue;
            }
            match attribute.content {
                _ if types_only => self.push(name(attribute.desc), Body::Stored(&[]), 0),
                Content::Inline(values) => {
                    self.push(name(attribute.desc), Body::Stored(values.body()), values.body().len())
                }
                Content::Large(stub) => {
                    if stub.bytes > LONG_BYTES && may_be_long().is_break() {
                        return Err(EncodeError::Stopped);
                    }
                    let whole = Box::new(LargePart::whole(attribute.desc));
                    let (bytes, _) = whole.measure(entry)?;
                    self.push(name(attribute.desc), Body::Large(whole), bytes);
                }
            }
        }
        for desc in Header::DESCRIPTIONS {
            if !selection.sends(reader, entry, desc)? {
                continue;
            }
            let start = scratch.len();
            if header.put_value(desc, tables, scratch) {
                let length = if types_only { 0 } else { scratch.len() - start };
                self.push(name(desc), Body::Computed(start), length);
            }
        }
        Ok(())
    }

    /// What the entry shows of attributes that it is given; those whose stored values are not shown under the plain
    /// name.
    #[cold]
    fn take_given(
        &mut self,
        reader: Reader<'a>,
        entry: &EntryView<'a>,
        selection: &mut Selection,
        computed: &dyn GivenValues,
        scratch: &mut Vec<u8>,
    ) -> Result<Given, StoreError> {
        let mut given = Given::new();
        for choice in selection.given(reader, computed.defined()).iter() {
            let start = scratch.len();
            if (choice.is_by_entry && !reader.of_entry(entry, choice.attribute)?)
                || computed.shown(entry, choice.position, choice.ask, scratch)? == Shown::Stored
            {
                continue;
            }
            given.push(choice.attribute);
            let length = scratch.len() - start;
            let known = reader.facts.schema.attribute_by_index(choice.attribute);
            if let (Some(known), true) = (known, length > 0) {
                let length = if selection.types_only { 0 } else { length };
                self.push(known.name().as_bytes(), Body::Computed(start), length);
            }
        }
        Ok(given)
    }

    /// Adds attributes that whoever asks for the layout has made. The scratch buffer is the one of [`Layout::new`].
    #[cold]
    pub fn add(&mut self, entry: &EntryView<'_>, made: &'a [NamedValues], scratch: &mut Vec<u8>) {
        for (description, values) in made {
            let start = scratch.len();
            values.iter().for_each(|value| put_value(scratch, value));
            self.push(description, Body::Computed(start), scratch.len() - start);
        }
        self.content = element_size(entry.dn.len()) + element_size(self.attributes);
    }

    /// The descriptions of its attributes.
    pub fn descriptions(&self) -> impl Iterator<Item = &'a [u8]> {
        self.pieces.iter().map(|piece| piece.description)
    }

    /// The values of an attribute that are in a range.
    fn take_range(
        &mut self,
        entry: &EntryView<'a>,
        description: &'a [u8],
        attribute: Attribute<'a>,
        asked: &AskedRange<'_>,
        may_be_long: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), EncodeError> {
        let part = asked.range.of(range::count(&attribute.content));
        let option = Some(part.option.clone());
        let (body, bytes) = match attribute.content {
            _ if asked.types_only => (Body::Stored(&[]), 0),
            Content::Inline(values) => {
                let body = range::slice(&values, &part);
                (Body::Stored(body), body.len())
            }
            Content::Large(_) => {
                let (large, bytes) = asked.measure(entry, attribute.desc, &part, may_be_long)?;
                (Body::Large(large), bytes)
            }
        };
        self.push_range(description, option, body, bytes);
        Ok(())
    }

    fn take_computed(
        &mut self,
        reader: Reader<'a>,
        entry: &EntryView<'a>,
        selection: &Selection,
        scratch: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let facts = reader.facts;
        if !selection.members().is_empty()
            && let Some(groups) = entry.source.groups()
        {
            for attribute in selection.members() {
                let start = scratch.len();
                let Some(known) = facts.schema.attribute_by_index(*attribute) else { continue };
                if selection.may_send(reader, entry, *attribute)? && groups.put_members(entry, *attribute, scratch)? {
                    let length = if selection.types_only { 0 } else { scratch.len() - start };
                    self.push(known.name().as_bytes(), Body::Computed(start), length);
                }
            }
        }
        for (index, attribute) in selection.virtuals() {
            let start = scratch.len();
            if selection.may_send(reader, entry, *index)? && attribute.put(facts, entry, scratch)? {
                let length = if selection.types_only { 0 } else { scratch.len() - start };
                self.push(attribute.name().as_bytes(), Body::Computed(start), length);
            }
        }
        Ok(())
    }

    /// Leaves out the values that do not match (RFC 3876). An attribute none of whose values match is sent without
    /// values, as section 2 (4 ii) says.
    fn keep_matching(
        &mut self,
        facts: &Facts,
        entry: &EntryView<'a>,
        matched: &mut MatchedValues,
        scratch: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        self.attributes = 0;
        let mut kept = Vec::new();
        for piece in std::mem::take(&mut self.pieces) {
            kept.clear();
            // What has no name in the schema has no values that an item could match.
            if let Ok(own) = AttributeDescription::parse(&facts.schema, piece.description) {
                let mut keep = |value: &[u8]| {
                    if matched.sends(facts, &own, value) {
                        put_value(&mut kept, value);
                    }
                };
                match piece.body {
                    Body::Stored(body) => Values::new(0, body).iter().for_each(keep),
                    Body::Computed(start) => {
                        let body = scratch.get(start..start + piece.values).unwrap_or_default();
                        Values::new(0, body).iter().for_each(keep);
                    }
                    Body::Large(part) => part.each(entry, &mut |_, value| {
                        keep(value);
                        ControlFlow::Continue(())
                    })?,
                }
            }
            let start = scratch.len();
            scratch.extend_from_slice(&kept);
            self.push_range(piece.description, piece.range, Body::Computed(start), kept.len());
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, description: &'a [u8], body: Body<'a>, values: usize) {
        self.push_range(description, None, body, values);
    }

    #[inline]
    fn push_range(&mut self, description: &'a [u8], range: Option<Box<str>>, body: Body<'a>, values: usize) {
        let name_size = description.len() + range.as_ref().map_or(0, |range| range.len());
        let content = element_size(name_size) + element_size(values);
        self.attributes += element_size(content);
        self.pieces.push(Piece { description, range, body, values, content });
    }
}

/// A piece of an attribute's values that a request asks for.
struct AskedRange<'s> {
    range: &'s ValueRange,
    types_only: bool,
    cursors: Option<&'s RangeCursors>,
}

impl AskedRange<'_> {
    /// Finds it in a large attribute, from where the last piece ended if that is known, and how long it is.
    fn measure(
        &self,
        entry: &EntryView<'_>,
        desc: DescId,
        part: &RangePart,
        may_be_long: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(Box<LargePart>, usize), EncodeError> {
        let state = AttributeState::of(entry.id, entry.record.header(), desc);
        let known = self.cursors.zip(state);
        let (number, behind) = known.map_or((0, Box::default()), |(cursors, state)| cursors.find(state, part.skip));
        let large = Box::new(LargePart { desc, behind, skip: part.skip - number, count: part.count });
        if large.skip.saturating_add(large.count) > LONG_VALUES && may_be_long().is_break() {
            return Err(EncodeError::Stopped);
        }
        let (bytes, last) = large.measure(entry)?;
        if let Some((cursors, state)) = known.filter(|_| !last.is_empty()) {
            cursors.keep(state, part.skip + part.count, &last);
        }
        Ok((large, bytes))
    }
}
