//! The form that a record has in the database when one of its attributes has several times: each time is a number, the
//! difference to the one before.
//!
//! ```text
//! format 2 | flags, parent, RDN, operational values: as in format 1
//! attributes: as in format 1, but for attributes whose values are all times of one form:
//!   description id × 2 varint, value count varint, form 1 (0: seconds, 1: milliseconds), count differences varint
//! ```
//! A body has 2 bytes at least, so a body length below 2 says that times follow. The first difference is to
//! `modifyTimestamp`, else to `createTimestamp`, each other one to the time before it, across attributes.
//!
//! Nobody above sees this form: a record is packed when it is written to the database, and restored, byte by byte, when
//! it is read from there. A record without an attribute of several times is not packed, though it may have single ones:
//! restoring takes a buffer, and every account has times, but only those that fail have several of a kind.
//!
//! Invariants:
//! (1) Restoring what was packed gives exactly the same bytes.
//! (2) A packed record is no longer than the record.

use std::borrow::Cow;

use super::format::{FORMAT_PACKED, FORMAT_PLAIN, RECORD_BYTES_MAX};
use super::header::Header;
use super::time::Timestamp;
use super::values::Values;
use super::view::{AttributeIter, Content};
use crate::varint::{self, take, take_bytes, unzigzag, zigzag};

/// Room for what is longer in the record than in the packed form; nearly always enough.
const ROOM: usize = 256;

/// How the times of an attribute are written.
#[derive(Clone, Copy)]
struct Form {
    /// What the record has in place of the body length.
    number: u64,
    /// Bytes of each text.
    width: usize,
    /// Milliseconds of the unit in which differences are counted.
    unit: u64,
}

const FORMS: [Form; 2] = [Form { number: 0, width: 15, unit: 1_000 }, Form { number: 1, width: 19, unit: 1 }];

impl Form {
    /// The form that these values may have, by their sizes alone.
    fn of(values: &Values<'_>) -> Option<Form> {
        let bytes = values.body().len();
        FORMS.into_iter().find(|form| bytes == values.count() as usize * form.wire_width())
    }

    /// Bytes of a text in wire form.
    fn wire_width(self) -> usize {
        2 + self.width
    }

    /// The time, if exactly it can be restored.
    fn read(self, wire: &[u8]) -> Option<u64> {
        let text = wire.strip_prefix(&[0x04, self.width as u8])?;
        Timestamp::parse(text).map(|time| time.ms)
    }
}

/// What the database keeps of a record.
pub fn packed(record: &[u8]) -> Cow<'_, [u8]> {
    shorter(record).map_or(Cow::Borrowed(record), Cow::Owned)
}

fn shorter(record: &[u8]) -> Option<Vec<u8>> {
    let (header, attributes) = Header::parse(record, FORMAT_PLAIN)?;
    if !AttributeIter::new(attributes).any(|attribute| match &attribute.content {
        Content::Inline(values) => values.count() > 1 && Form::of(values).is_some(),
        Content::Large(_) => false,
    }) {
        return None;
    }
    let mut out = Vec::with_capacity(record.len());
    out.push(FORMAT_PACKED);
    out.extend_from_slice(record.get(1..record.len() - attributes.len())?);
    let mut before = header.ms_base();
    let mut has_several = false;
    let mut rest = attributes;
    while !rest.is_empty() {
        let mut iter = AttributeIter::new(rest);
        let attribute = iter.next()?;
        let bytes = rest.get(..rest.len() - iter.rest().len())?;
        rest = iter.rest();
        let start = out.len();
        if let Content::Inline(values) = attribute.content
            && let Some(form) = Form::of(&values)
        {
            varint::put(&mut out, u64::from(attribute.desc.0) << 1);
            varint::put(&mut out, u64::from(values.count()));
            varint::put(&mut out, form.number);
            if let Some(last) = put_times(form, &values, before, &mut out) {
                before = last;
                has_several |= values.count() > 1;
                continue;
            }
            out.truncate(start);
        }
        out.extend_from_slice(bytes);
    }
    has_several.then_some(out)
}

/// Appends the differences between the times, and gives the last time; nothing if a value cannot be restored exactly.
fn put_times(form: Form, values: &Values<'_>, mut before: u64, out: &mut Vec<u8>) -> Option<u64> {
    for wire in values.body().chunks_exact(form.wire_width()) {
        let ms = form.read(wire)?;
        varint::put(out, zigzag((ms / form.unit) as i64 - (before / form.unit) as i64));
        before = ms;
    }
    Some(before)
}

/// The record that the database keeps as `stored`. A damaged one stays as it is, and no record can be read from it.
#[inline]
pub fn unpacked(stored: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if stored.first() != Some(&FORMAT_PACKED) {
        return stored;
    }
    restored(&stored).map_or(stored, Cow::Owned)
}

#[inline(never)]
fn restored(stored: &[u8]) -> Option<Vec<u8>> {
    let (header, attributes) = Header::parse(stored, FORMAT_PACKED)?;
    let mut out = Vec::with_capacity(stored.len() + ROOM);
    out.push(FORMAT_PLAIN);
    out.extend_from_slice(stored.get(1..stored.len() - attributes.len())?);
    let mut before = header.ms_base();
    let mut rest = attributes;
    while !rest.is_empty() {
        let whole = rest;
        let (head, count, number) = (take(&mut rest)?, take(&mut rest)?, take(&mut rest)?);
        let is_large = head & 1 == 1;
        match FORMS.into_iter().find(|form| !is_large && form.number == number) {
            Some(form) => before = take_times(form, head, count, before, &mut rest, &mut out)?,
            None => {
                if !is_large {
                    take_bytes(&mut rest, usize::try_from(number).ok()?)?;
                }
                out.extend_from_slice(whole.get(..whole.len() - rest.len())?);
            }
        }
        if out.len() > RECORD_BYTES_MAX {
            return None;
        }
    }
    Some(out)
}

/// Takes off what [`put_times`] appended, and appends the attribute as it was.
fn take_times(form: Form, head: u64, count: u64, mut before: u64, rest: &mut &[u8], out: &mut Vec<u8>) -> Option<u64> {
    // Each time has a byte at least: a damaged count asks for no more than there can be.
    let texts = usize::try_from(count).ok().filter(|count| *count <= rest.len())?;
    let bytes = texts * form.wire_width();
    if bytes > RECORD_BYTES_MAX {
        return None;
    }
    varint::put(out, head);
    varint::put(out, count);
    varint::put(out, bytes as u64);
    for _ in 0..texts {
        let at = (before / form.unit).checked_add_signed(unzigzag(take(rest)?))?;
        let time = Timestamp::of_ms(at.checked_mul(form.unit)?, form.unit == 1)?;
        out.extend_from_slice(&[0x04, form.width as u8]);
        time.write(out);
        before = time.ms;
    }
    Some(before)
}
