//! From a record straight into the output buffer: the search result entry (RFC 4511 §4.5.2).
//!
//! Values lie in the record as they go over the wire, so that an attribute is one copy. All lengths are added up first, then
//! everything is written once, in place: nothing is moved afterwards. It decides nothing: [`Selection`] says what goes.

mod matched;
mod selection;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use ber::{OCTET_STRING, SEQUENCE, SET, element_size, put_header};
use smallvec::SmallVec;
use store::record::{Header, put_value, value_size};
use store::{Content, DescId, StoreError};

pub use matched::MatchedValues;
pub use selection::{SELECTORS_MAX, Selection};

use crate::entry::EntryView;
use crate::facts::Facts;

/// `SearchResultEntry ::= [APPLICATION 4]`
pub const SEARCH_RESULT_ENTRY: u8 = 0x64;

/// Controls of a message: `[0]`.
const CONTROLS: u8 = 0xa0;

/// Attributes of an entry that need no allocation. An inetOrgPerson has twenty.
const PIECES_IN_PLACE: usize = 40;

/// Appends a whole LDAP message with the entry. `controls` is the content of the message's controls, encoded; empty for none.
/// `scratch` keeps values that are computed. After an error `out` is as it was.
pub fn search_entry(
    facts: &Facts,
    entry: &EntryView<'_>,
    selection: &mut Selection,
    message_id: i32,
    controls: &[u8],
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let layout = Layout::new(facts, entry, selection, scratch)?;
    let controls_size = if controls.is_empty() { 0 } else { element_size(controls.len()) };
    let id_size = 2 + integer_size(message_id);
    let message = id_size + element_size(layout.content) + controls_size;
    let start = out.len();
    out.reserve(element_size(message));
    put_header(out, SEQUENCE, message);
    ber::Writer::new(out).integer(ber::INTEGER, i64::from(message_id));
    let written = layout.write(entry, scratch, out);
    if written.is_err() {
        out.truncate(start);
        return written;
    }
    if !controls.is_empty() {
        put_header(out, CONTROLS, controls.len());
        out.extend_from_slice(controls);
    }
    Ok(())
}

/// Appends only the `SearchResultEntry` itself: what pre- and post-read controls carry (RFC 4527).
pub fn entry_op(
    facts: &Facts,
    entry: &EntryView<'_>,
    selection: &mut Selection,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let layout = Layout::new(facts, entry, selection, scratch)?;
    let start = out.len();
    out.reserve(element_size(layout.content));
    let written = layout.write(entry, scratch, out);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// What goes into one entry's message, and how long everything is.
struct Layout<'a> {
    pieces: SmallVec<[Piece<'a>; PIECES_IN_PLACE]>,
    /// Content of the sequence of attributes.
    attributes: usize,
    /// Content of the entry element.
    content: usize,
}

/// One attribute.
struct Piece<'a> {
    description: &'a [u8],
    body: Body<'a>,
    /// Content of the set of values.
    values: usize,
    /// Content of the attribute's sequence.
    content: usize,
}

/// Where an attribute's values are, in wire form.
enum Body<'a> {
    Stored(&'a [u8]),
    /// In the scratch buffer, from here on for the set's length.
    Computed(usize),
    Large(DescId),
}

impl<'a> Layout<'a> {
    fn new(
        facts: &Facts,
        entry: &EntryView<'a>,
        selection: &mut Selection,
        scratch: &mut Vec<u8>,
    ) -> Result<Layout<'a>, StoreError> {
        let mut layout = Layout { pieces: SmallVec::new(), attributes: 0, content: 0 };
        scratch.clear();
        if selection.wants_something() {
            layout.take_stored(facts, entry, selection, scratch)?;
            layout.take_computed(facts, entry, selection, scratch)?;
            if let Some(matched) = selection.matched_values() {
                layout.keep_matching(facts, entry, matched, scratch)?;
            }
        }
        layout.content = element_size(entry.dn.len()) + element_size(layout.attributes);
        Ok(layout)
    }

    fn take_stored(
        &mut self,
        facts: &Facts,
        entry: &EntryView<'a>,
        selection: &mut Selection,
        scratch: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let tables = entry.record.tables();
        let name = |desc: DescId| tables.description(desc).unwrap_or_default().as_bytes();
        let types_only = selection.types_only;
        let header = entry.record.header();
        if header.class_set.is_some() && selection.sends(facts, tables, DescId::OBJECT_CLASS) {
            let body = if types_only { &[][..] } else { entry.record.object_classes().body() };
            self.push(name(DescId::OBJECT_CLASS), Body::Stored(body), body.len());
        }
        for attribute in entry.record.attributes() {
            if !selection.sends(facts, tables, attribute.desc) {
                continue;
            }
            match attribute.content {
                _ if types_only => self.push(name(attribute.desc), Body::Stored(&[]), 0),
                Content::Inline(values) => {
                    self.push(name(attribute.desc), Body::Stored(values.body()), values.body().len())
                }
                Content::Large(_) => {
                    let bytes = large_bytes(entry, attribute.desc)?;
                    self.push(name(attribute.desc), Body::Large(attribute.desc), bytes);
                }
            }
        }
        for desc in Header::DESCRIPTIONS {
            if !selection.sends(facts, tables, desc) {
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

    fn take_computed(
        &mut self,
        facts: &Facts,
        entry: &EntryView<'a>,
        selection: &Selection,
        scratch: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        for attribute in selection.virtuals() {
            let start = scratch.len();
            if attribute.put(facts, entry, scratch)? {
                let length = if selection.types_only { 0 } else { scratch.len() - start };
                self.push(attribute.name().as_bytes(), Body::Computed(start), length);
            }
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, description: &'a [u8], body: Body<'a>, values: usize) {
        let content = element_size(description.len()) + element_size(values);
        self.attributes += element_size(content);
        self.pieces.push(Piece { description, body, values, content });
    }

    fn write(&self, entry: &EntryView<'_>, scratch: &[u8], out: &mut Vec<u8>) -> Result<(), StoreError> {
        put_header(out, SEARCH_RESULT_ENTRY, self.content);
        put_header(out, OCTET_STRING, entry.dn.len());
        entry.dn.put(out);
        put_header(out, SEQUENCE, self.attributes);
        for piece in &self.pieces {
            put_header(out, SEQUENCE, piece.content);
            put_header(out, OCTET_STRING, piece.description.len());
            out.extend_from_slice(piece.description);
            put_header(out, SET, piece.values);
            match piece.body {
                Body::Stored(body) => out.extend_from_slice(body),
                Body::Computed(start) => {
                    out.extend_from_slice(scratch.get(start..start + piece.values).unwrap_or_default())
                }
                Body::Large(desc) => {
                    let start = out.len();
                    entry.source.large_values(entry.id, desc, &mut |value| {
                        put_value(out, value);
                        ControlFlow::Continue(())
                    })?;
                    if out.len() - start != piece.values {
                        return Err(StoreError::Misuse("large values changed while they were read"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Adds up the values of a large attribute: what the record says of them is a statistic, a length on the wire must be exact.
fn large_bytes(entry: &EntryView<'_>, desc: DescId) -> Result<usize, StoreError> {
    let mut bytes = 0;
    entry.source.large_values(entry.id, desc, &mut |value| {
        bytes += value_size(value.len());
        ControlFlow::Continue(())
    })?;
    Ok(bytes)
}

/// Content bytes of an INTEGER.
fn integer_size(value: i32) -> usize {
    let magnitude = if value < 0 { !value } else { value };
    (32 - magnitude.leading_zeros() as usize) / 8 + 1
}
