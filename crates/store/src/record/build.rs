//! Making a record.

use super::format::{INLINE_VALUE_BYTES_MAX, INLINE_VALUES_MAX, RECORD_BYTES_MAX};
use super::header::Header;
use super::values::{Values, put_value};
use super::view::LargeStub;
use crate::error::StoreError;
use crate::tables::Interner;
use crate::varint;
use crate::{DescId, EntryId};

/// Collects the attributes of one entry; reusable.
#[derive(Debug, Default)]
pub struct RecordBuilder {
    parent: EntryId,
    rdn: Vec<u8>,
    header: Header<'static>,
    attributes: Vec<u8>,
    scratch: Vec<u8>,
    seen: Vec<DescId>,
}

impl RecordBuilder {
    /// For an entry named `rdn` (user form) below `parent`; a base entry has [`EntryId::ROOT`] and its whole DN.
    pub fn new(parent: EntryId, rdn: &[u8]) -> RecordBuilder {
        RecordBuilder { parent, rdn: rdn.to_vec(), ..RecordBuilder::default() }
    }

    /// Starts over for another entry, keeping the buffers.
    pub fn restart(&mut self, parent: EntryId, rdn: &[u8]) {
        self.parent = parent;
        self.rdn.clear();
        self.rdn.extend_from_slice(rdn);
        self.header = Header::default();
        self.attributes.clear();
        self.seen.clear();
    }

    /// Takes over the operational values and the class set of another record, except those of `except`. What is pushed
    /// later takes their place.
    pub fn keep_header(&mut self, header: &Header<'_>, except: &[DescId]) {
        let keeps = |desc: DescId| !except.contains(&desc);
        self.header.uuid = header.uuid.filter(|_| keeps(DescId::ENTRY_UUID));
        self.header.created = header.created.filter(|_| keeps(DescId::CREATE_TIMESTAMP));
        self.header.modified = header.modified.filter(|_| keeps(DescId::MODIFY_TIMESTAMP));
        self.header.creator = header.creator.filter(|_| keeps(DescId::CREATORS_NAME));
        self.header.modifier = header.modifier.filter(|_| keeps(DescId::MODIFIERS_NAME));
        self.header.csn = header.csn.filter(|_| keeps(DescId::ENTRY_CSN));
        self.header.class_set = header.class_set.filter(|_| keeps(DescId::OBJECT_CLASS));
    }

    /// Whether values of these sizes belong in the `values` table instead.
    pub fn is_large(count: usize, longest: usize) -> bool {
        count > INLINE_VALUES_MAX || longest > INLINE_VALUE_BYTES_MAX
    }

    /// Adds an attribute with its values in the given order. Each description once; without values nothing is stored.
    pub fn push<'v>(
        &mut self,
        desc: DescId,
        values: impl IntoIterator<Item = &'v [u8]>,
        interner: &mut impl Interner,
    ) -> Result<(), StoreError> {
        let mut body = std::mem::take(&mut self.scratch);
        body.clear();
        let mut count = 0;
        for value in values {
            put_value(&mut body, value);
            count += 1;
        }
        let result = self.push_values(desc, Values::new(count, &body), interner);
        self.scratch = body;
        result
    }

    /// Adds an attribute whose values already are in wire form.
    pub fn push_values(
        &mut self,
        desc: DescId,
        values: Values<'_>,
        interner: &mut impl Interner,
    ) -> Result<(), StoreError> {
        if values.count() == 0 {
            return Ok(());
        }
        self.once(desc)?;
        if self.header_takes(desc, values, interner) {
            return Ok(());
        }
        varint::put(&mut self.attributes, u64::from(desc.0) << 1);
        varint::put(&mut self.attributes, u64::from(values.count()));
        varint::put(&mut self.attributes, values.body().len() as u64);
        self.attributes.extend_from_slice(values.body());
        Ok(())
    }

    /// Adds the stub of an attribute whose values are in the `values` table.
    pub fn push_large(&mut self, desc: DescId, stub: LargeStub) -> Result<(), StoreError> {
        if stub.count == 0 {
            return Ok(());
        }
        self.once(desc)?;
        varint::put(&mut self.attributes, u64::from(desc.0) << 1 | 1);
        varint::put(&mut self.attributes, stub.count);
        varint::put(&mut self.attributes, stub.bytes);
        Ok(())
    }

    /// The record.
    pub fn finish(&self) -> Result<Vec<u8>, StoreError> {
        let mut out = Vec::new();
        self.finish_into(&mut out)?;
        Ok(out)
    }

    /// Replaces `out` by the record.
    pub fn finish_into(&self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let bytes = self.attributes.len() + self.rdn.len() + HEADER_BYTES_MAX;
        if bytes > RECORD_BYTES_MAX {
            return Err(StoreError::RecordTooLarge { bytes, limit: RECORD_BYTES_MAX });
        }
        out.clear();
        out.reserve(bytes);
        Header { parent: self.parent, rdn: &self.rdn, ..self.header }.write(out);
        out.extend_from_slice(&self.attributes);
        Ok(())
    }

    fn once(&mut self, desc: DescId) -> Result<(), StoreError> {
        if self.seen.contains(&desc) {
            return Err(StoreError::Misuse("attribute stored twice in one record"));
        }
        self.seen.push(desc);
        Ok(())
    }

    fn header_takes(&mut self, desc: DescId, values: Values<'_>, interner: &mut impl Interner) -> bool {
        if desc == DescId::OBJECT_CLASS {
            self.header.class_set = interner.class_set(values);
            return self.header.class_set.is_some();
        }
        let mut iter = values.iter();
        let (Some(value), None) = (iter.next(), iter.next()) else { return false };
        match desc {
            DescId::CREATORS_NAME => {
                self.header.creator = interner.name(value);
                self.header.creator.is_some()
            }
            DescId::MODIFIERS_NAME => {
                self.header.modifier = interner.name(value);
                self.header.modifier.is_some()
            }
            desc => self.header.accept(desc, value),
        }
    }
}

/// Every part of the header at its largest, the RDN apart.
const HEADER_BYTES_MAX: usize = 2 + 16 + 11 * varint::VARINT_BYTES_MAX;
