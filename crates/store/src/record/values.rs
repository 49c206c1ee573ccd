//! Values of one attribute in BER wire form: `04 length value`, one after the other.

use super::format::DAMAGED;
use crate::posting::Damaged;

const OCTET_STRING: u8 = 0x04;

/// The values of an attribute, as they go to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Values<'a> {
    count: u32,
    body: &'a [u8],
}

impl<'a> Values<'a> {
    /// `count` values in wire form.
    pub fn new(count: u32, body: &'a [u8]) -> Values<'a> {
        Values { count, body }
    }

    /// How many.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All of them in wire form.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// One after the other. Damage ends the iteration.
    #[inline]
    pub fn iter(&self) -> ValueIter<'a> {
        ValueIter { rest: self.body }
    }

    /// Whether the count is true and every byte belongs to a value.
    pub fn check(&self) -> Result<(), Damaged> {
        let mut iter = self.iter();
        let count = iter.by_ref().count();
        if count == self.count as usize && iter.rest.is_empty() { Ok(()) } else { Err(DAMAGED) }
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = &'a [u8];
    type IntoIter = ValueIter<'a>;

    fn into_iter(self) -> ValueIter<'a> {
        self.iter()
    }
}

/// Iterator of [`Values`].
#[derive(Clone, Debug)]
pub struct ValueIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for ValueIter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_first_chunk::<2>()?;
        if head[0] != OCTET_STRING {
            return None;
        }
        let (len, rest) = match head[1] {
            len @ 0..0x80 => (usize::from(len), rest),
            form => {
                let size = usize::from(form & 0x7f);
                let (bytes, rest) = rest.split_at_checked(size).filter(|_| (1..=4).contains(&size))?;
                (bytes.iter().fold(0, |len, &byte| len << 8 | usize::from(byte)), rest)
            }
        };
        let (value, rest) = rest.split_at_checked(len)?;
        self.rest = rest;
        Some(value)
    }
}

/// Bytes that [`put_value`] appends.
#[inline]
pub fn value_size(len: usize) -> usize {
    len + match len {
        0..0x80 => 2,
        0x80..0x100 => 3,
        0x100..0x1_0000 => 4,
        0x1_0000..0x100_0000 => 5,
        _ => 6,
    }
}

/// Appends one value in wire form. Values are bounded by [`RECORD_BYTES_MAX`](super::format::RECORD_BYTES_MAX), so four
/// length bytes suffice.
#[inline]
pub fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    let len = value.len();
    out.push(OCTET_STRING);
    if len < 0x80 {
        out.push(len as u8);
    } else {
        let bytes = (len as u32).to_be_bytes();
        let skip = (len as u32).leading_zeros() as usize / 8;
        out.push(0x80 | (4 - skip) as u8);
        out.extend_from_slice(&bytes[skip..]);
    }
    out.extend_from_slice(value);
}
