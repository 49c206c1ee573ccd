//! The header of a record: the place in the tree and the operational values that every entry has, in about 45 bytes.

use schema::uuid;

use super::format::FORMAT_PLAIN;
use super::time::{Timestamp, digits, number, seconds_of, write_seconds};
use super::values::put_value;
use crate::tables::Tables;
use crate::varint::{self, take, take_bytes, unzigzag, zigzag};
use crate::{ClassSetId, DescId, EntryId, NameId};

const UUID: u8 = 1;
const CREATED: u8 = 2;
const MODIFIED: u8 = 4;
const CREATOR: u8 = 8;
const MODIFIER: u8 = 16;
const CSN: u8 = 32;
const CLASSES: u8 = 64;

/// The part of a record before the attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Header<'a> {
    /// The entry above.
    pub parent: EntryId,
    /// RDN in user form.
    pub rdn: &'a [u8],
    /// `entryUUID`.
    pub uuid: Option<[u8; 16]>,
    /// `createTimestamp`.
    pub created: Option<Timestamp>,
    /// `modifyTimestamp`.
    pub modified: Option<Timestamp>,
    /// `creatorsName`.
    pub creator: Option<NameId>,
    /// `modifiersName`.
    pub modifier: Option<NameId>,
    /// `entryCSN`.
    pub csn: Option<CsnParts>,
    /// The object classes.
    pub class_set: Option<ClassSetId>,
}

/// A change sequence number in its LDAP text form `YYYYMMDDhhmmss.ffffffZ#count#replica#modification`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsnParts {
    /// Microseconds since 1970.
    pub us: u64,
    /// Six hexadecimal digits.
    pub count: u32,
    /// Three hexadecimal digits.
    pub replica: u16,
    /// Six hexadecimal digits.
    pub modification: u32,
}

impl<'a> Header<'a> {
    /// Descriptions whose single value may be in the header.
    pub const DESCRIPTIONS: [DescId; 6] = [
        DescId::ENTRY_UUID,
        DescId::CREATE_TIMESTAMP,
        DescId::MODIFY_TIMESTAMP,
        DescId::CREATORS_NAME,
        DescId::MODIFIERS_NAME,
        DescId::ENTRY_CSN,
    ];

    /// Reads the header of a record of that format; what comes after it is the attributes.
    pub(super) fn parse(bytes: &'a [u8], format: u8) -> Option<(Header<'a>, &'a [u8])> {
        let ([own, flags], rest) = bytes.split_first_chunk::<2>()?;
        if *own != format {
            return None;
        }
        let has = |flag: u8| flags & flag != 0;
        let mut rest = rest;
        let mut header = Header { parent: EntryId(take(&mut rest)?), ..Header::default() };
        let rdn_len = usize::try_from(take(&mut rest)?).ok()?;
        header.rdn = take_bytes(&mut rest, rdn_len)?;
        if has(UUID) {
            header.uuid = take_bytes(&mut rest, 16)?.try_into().ok();
        }
        if has(CREATED) {
            header.created = Some(Timestamp::unpack(take(&mut rest)?)?);
        }
        if has(MODIFIED) {
            let packed = header.created.map_or(0, |time| time.pack() as i64).checked_add(unzigzag(take(&mut rest)?))?;
            header.modified = Some(Timestamp::unpack(u64::try_from(packed).ok()?)?);
        }
        if has(CREATOR) {
            header.creator = Some(NameId(u32::try_from(take(&mut rest)?).ok()?));
        }
        if has(MODIFIER) {
            header.modifier = Some(NameId(u32::try_from(take(&mut rest)?).ok()?));
        }
        if has(CSN) {
            let us = (header.us_base() as i64).checked_add(unzigzag(take(&mut rest)?))?;
            header.csn = Some(CsnParts {
                us: u64::try_from(us).ok()?,
                count: u32::try_from(take(&mut rest)?).ok()?,
                replica: u16::try_from(take(&mut rest)?).ok()?,
                modification: u32::try_from(take(&mut rest)?).ok()?,
            });
        }
        if has(CLASSES) {
            header.class_set = Some(ClassSetId(u32::try_from(take(&mut rest)?).ok()?));
        }
        Some((header, rest))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let flag = |present: bool, flag: u8| if present { flag } else { 0 };
        out.push(FORMAT_PLAIN);
        out.push(
            flag(self.uuid.is_some(), UUID)
                | flag(self.created.is_some(), CREATED)
                | flag(self.modified.is_some(), MODIFIED)
                | flag(self.creator.is_some(), CREATOR)
                | flag(self.modifier.is_some(), MODIFIER)
                | flag(self.csn.is_some(), CSN)
                | flag(self.class_set.is_some(), CLASSES),
        );
        varint::put(out, self.parent.0);
        varint::put(out, self.rdn.len() as u64);
        out.extend_from_slice(self.rdn);
        out.extend_from_slice(self.uuid.as_ref().map_or(&[][..], |uuid| uuid));
        if let Some(time) = self.created {
            varint::put(out, time.pack());
        }
        if let Some(time) = self.modified {
            let base = self.created.map_or(0, |time| time.pack() as i64);
            varint::put(out, zigzag(time.pack() as i64 - base));
        }
        for name in [self.creator, self.modifier].into_iter().flatten() {
            varint::put(out, u64::from(name.0));
        }
        if let Some(csn) = self.csn {
            varint::put(out, zigzag(csn.us as i64 - self.us_base() as i64));
            varint::put(out, u64::from(csn.count));
            varint::put(out, u64::from(csn.replica));
            varint::put(out, u64::from(csn.modification));
        }
        if let Some(set) = self.class_set {
            varint::put(out, u64::from(set.0));
        }
    }

    /// The CSN of an entry lies within its last modification's second; the difference takes 3 bytes.
    fn us_base(&self) -> u64 {
        self.ms_base() * 1000
    }

    /// The last time that is known of the entry, in milliseconds since 1970.
    pub(super) fn ms_base(&self) -> u64 {
        self.modified.or(self.created).map_or(0, |time| time.ms)
    }

    /// Takes the value of one of [`Header::DESCRIPTIONS`] if its text can be restored exactly. The builder takes names.
    pub(super) fn accept(&mut self, desc: DescId, text: &[u8]) -> bool {
        match desc {
            DescId::ENTRY_UUID => {
                self.uuid = parse_uuid(text);
                self.uuid.is_some()
            }
            DescId::CREATE_TIMESTAMP => {
                self.created = Timestamp::parse(text);
                self.created.is_some()
            }
            DescId::MODIFY_TIMESTAMP => {
                self.modified = Timestamp::parse(text);
                self.modified.is_some()
            }
            DescId::ENTRY_CSN => {
                self.csn = CsnParts::parse(text);
                self.csn.is_some()
            }
            _ => false,
        }
    }

    /// Appends the value of a header description in wire form; `false` if it is not in the header.
    pub fn put_value(&self, desc: DescId, tables: &Tables, out: &mut Vec<u8>) -> bool {
        let name = match desc {
            DescId::CREATORS_NAME => self.creator,
            DescId::MODIFIERS_NAME => self.modifier,
            _ => None,
        };
        if let Some(name) = name.and_then(|id| tables.name(id)) {
            put_value(out, name);
            return true;
        }
        // Every text below is shorter than 128 bytes: one length byte, filled in afterwards.
        let start = out.len();
        out.extend_from_slice(&[0x04, 0]);
        let written = match desc {
            DescId::ENTRY_UUID => self.uuid.map(|it| uuid::put(&it, out)),
            DescId::CREATE_TIMESTAMP => self.created.map(|time| time.write(out)),
            DescId::MODIFY_TIMESTAMP => self.modified.map(|time| time.write(out)),
            DescId::ENTRY_CSN => self.csn.map(|csn| csn.write(out)),
            _ => None,
        };
        if written.is_none() {
            out.truncate(start);
            return false;
        }
        let len = out.len() - start - 2;
        out[start + 1] = len as u8;
        true
    }
}

impl CsnParts {
    /// Reads the text; `None` when it could not be restored exactly.
    pub fn parse(text: &[u8]) -> Option<CsnParts> {
        let marks = [(14, b'.'), (21, b'Z'), (22, b'#'), (29, b'#'), (33, b'#')];
        if text.len() != 40 || marks.iter().any(|(at, mark)| text.get(*at) != Some(mark)) {
            return None;
        }
        Some(CsnParts {
            us: seconds_of(text.get(..14)?)? * 1_000_000 + number(text.get(15..21)?)?,
            count: hex(text.get(23..29)?)?,
            replica: hex(text.get(30..33)?)? as u16,
            modification: hex(text.get(34..40)?)?,
        })
    }

    /// Appends the text.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_seconds(self.us / 1_000_000, out);
        out.push(b'.');
        digits(self.us % 1_000_000, 6, out);
        out.extend_from_slice(b"Z#");
        put_hex(self.count, 6, out);
        out.push(b'#');
        put_hex(u32::from(self.replica), 3, out);
        out.push(b'#');
        put_hex(self.modification, 6, out);
    }
}

fn hex_digit(byte: u8) -> Option<u32> {
    match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        // Upper case could not be restored.
        b'a'..=b'f' => Some(u32::from(byte - b'a') + 10),
        _ => None,
    }
}

fn hex(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |value, &byte| Some(value << 4 | hex_digit(byte)?))
}

fn put_hex(value: u32, count: u32, out: &mut Vec<u8>) {
    for place in (0..count).rev() {
        let digit = (value >> (4 * place) & 15) as u8;
        out.push(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
    }
}

/// Only digits that can be restored exactly: no upper case.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    uuid::parse(text).filter(|_| !text.iter().any(u8::is_ascii_uppercase))
}
