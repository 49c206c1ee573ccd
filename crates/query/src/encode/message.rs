//! The search result entry (RFC 4511 §4.5.2) as bytes, straight into the output buffer.
//!
//! All lengths are known from the [`Layout`], so everything is written once, in place: nothing is moved afterwards.

use std::ops::ControlFlow;

use ber::{OCTET_STRING, SEQUENCE, SET, element_size, put_header};
use ldap::controls::{self, ControlBuf};
use ldap::oids::control;
use store::StoreError;
use store::record::{put_value, value_size};

use super::layout::{Body, LargePart, Layout};
use super::selection::Selection;
use super::shown::{Dereferenced, EntryChange, ShownEntry};
use super::sink::{EncodeError, MessageSink};
use crate::entry::EntryView;
use crate::rights::Reader;

/// `SearchResultEntry ::= [APPLICATION 4]`
const SEARCH_RESULT_ENTRY: u8 = 0x64;

/// Bytes of a long message that are written before the sink is asked to take them.
const PART_BYTES: usize = 64 * 1024;

/// Appends only the `SearchResultEntry` itself: what pre- and post-read controls carry (RFC 4527).
pub fn entry_op(
    reader: Reader<'_>,
    entry: &EntryView<'_>,
    selection: &mut Selection,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let whole = |error| match error {
        EncodeError::Store(error) => error,
        EncodeError::Stopped => StoreError::Misuse("a buffer takes everything"),
    };
    let layout = Layout::new(reader, entry, selection, scratch, &mut || ControlFlow::Continue(())).map_err(whole)?;
    let start = out.len();
    out.reserve(element_size(layout.content));
    let written = ShownEntry::new(&layout, entry, scratch).put(out).map_err(whole);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

impl ShownEntry<'_, '_> {
    /// Appends a whole LDAP message with the entry, and with the controls that tell what else is known of it. After an
    /// error the sink is as it was, unless it has taken parts.
    pub fn put_message(&self, message_id: i32, sink: &mut impl MessageSink) -> Result<(), EncodeError> {
        let controls = self.controls();
        let id_size = 2 + integer_size(message_id);
        let message = id_size + element_size(self.layout.content) + controls.len();
        let out = sink.buffer();
        let start = out.len();
        out.reserve(element_size(message).min(2 * PART_BYTES));
        put_header(out, SEQUENCE, message);
        ber::Writer::new(out).integer(ber::INTEGER, i64::from(message_id));
        if let Err(error) = self.put(sink) {
            sink.buffer().truncate(start);
            return Err(error);
        }
        sink.buffer().extend_from_slice(&controls);
        Ok(())
    }

    /// The message's controls, encoded with their tag; most entries have none.
    #[inline]
    fn controls(&self) -> Vec<u8> {
        let has_none = self.change.is_none() && self.dereferenced.is_empty() && self.usability.is_none();
        if has_none { Vec::new() } else { self.encoded_controls() }
    }

    #[cold]
    fn encoded_controls(&self) -> Vec<u8> {
        let change = self.change.as_ref().map(notification);
        let dereferenced = (!self.dereferenced.is_empty()).then(|| dereference_response(self.dereferenced));
        let usability = self.usability.map(|usability| usability.control());
        let list: Vec<ControlBuf> = change.into_iter().chain(dereferenced).chain(usability).collect();
        let mut out = Vec::new();
        controls::put_control_list(&mut ber::Writer::new(&mut out), controls::CONTROLS_TAG, &list);
        out
    }

    fn put(&self, sink: &mut impl MessageSink) -> Result<(), EncodeError> {
        let (layout, entry) = (self.layout, self.view);
        let out = sink.buffer();
        put_header(out, SEARCH_RESULT_ENTRY, layout.content);
        put_header(out, OCTET_STRING, entry.dn.len());
        entry.dn.put(out);
        put_header(out, SEQUENCE, layout.attributes);
        for piece in &layout.pieces {
            let out = sink.buffer();
            put_header(out, SEQUENCE, piece.content);
            let range = piece.range.as_deref().unwrap_or_default().as_bytes();
            put_header(out, OCTET_STRING, piece.description.len() + range.len());
            out.extend_from_slice(piece.description);
            out.extend_from_slice(range);
            put_header(out, SET, piece.values);
            match &piece.body {
                Body::Stored(body) => out.extend_from_slice(body),
                Body::Computed(start) => {
                    out.extend_from_slice(self.scratch.get(*start..*start + piece.values).unwrap_or_default())
                }
                Body::Large(part) => write_large(part, entry, piece.values, sink)?,
            }
        }
        Ok(())
    }
}

/// The entry change notification (draft-ietf-ldapext-psearch-03 §5).
fn notification(change: &EntryChange<'_>) -> ControlBuf {
    let value = controls::encode_entry_change(change.change_type, change.previous_dn, change.number);
    ControlBuf::new(control::ENTRY_CHANGE_NOTIFICATION, Some(value))
}

fn dereference_response(all: &[Dereferenced]) -> ControlBuf {
    let all = all.iter().map(|it| (it.attribute.as_bytes(), it.value.as_slice(), it.attributes.as_slice()));
    ControlBuf::new(control::DEREFERENCE, Some(controls::encode_dereferenced(all)))
}

/// Writes values that come to exactly `bytes`, in parts.
fn write_large(
    part: &LargePart,
    entry: &EntryView<'_>,
    bytes: usize,
    sink: &mut impl MessageSink,
) -> Result<(), EncodeError> {
    let (mut written, mut ended) = (0, ControlFlow::Continue(()));
    part.each(entry, &mut |_, value| {
        let out = sink.buffer();
        put_value(out, value);
        written += value_size(value.len());
        if out.len() >= PART_BYTES {
            ended = sink.part_written();
        }
        ended
    })?;
    match ended {
        ControlFlow::Break(()) => Err(EncodeError::Stopped),
        ControlFlow::Continue(()) if written != bytes => {
            Err(StoreError::Damaged("large values of an entry are not those that it counts".to_owned()).into())
        }
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Content bytes of an INTEGER.
pub(super) fn integer_size(value: i32) -> usize {
    let magnitude = if value < 0 { !value } else { value };
    (32 - magnitude.leading_zeros() as usize) / 8 + 1
}
