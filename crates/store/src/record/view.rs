//! A record, read in place.

use super::format::{DAMAGED, FORMAT_PLAIN};
use super::header::Header;
use super::values::Values;
use crate::posting::Damaged;
use crate::tables::Tables;
use crate::varint;
use crate::{DescId, EntryId};

/// A record, read in place.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    header: Header<'a>,
    attributes: &'a [u8],
    tables: &'a Tables,
}

impl<'a> RecordView<'a> {
    /// Reads the header; the attributes are read when asked for.
    #[inline]
    pub fn parse(bytes: &'a [u8], tables: &'a Tables) -> Result<RecordView<'a>, Damaged> {
        let (header, attributes) = Header::parse(bytes, FORMAT_PLAIN).ok_or(DAMAGED)?;
        Ok(RecordView { header, attributes, tables })
    }

    /// The entry above; [`EntryId::ROOT`] for a base entry.
    #[inline]
    pub fn parent(&self) -> EntryId {
        self.header.parent
    }

    /// The RDN as the user wrote it; the whole DN for a base entry.
    #[inline]
    pub fn rdn(&self) -> &'a [u8] {
        self.header.rdn
    }

    /// The operational values of the header, undecoded.
    #[inline]
    pub fn header(&self) -> &Header<'a> {
        &self.header
    }

    /// The tables the numbers in this record belong to.
    pub fn tables(&self) -> &'a Tables {
        self.tables
    }

    /// The object classes, wherever they are stored.
    #[inline]
    pub fn object_classes(&self) -> Values<'a> {
        match self.header.class_set.and_then(|id| self.tables.class_set(id)) {
            Some(set) => set.values(),
            None => match self.stored(DescId::OBJECT_CLASS).map(|attribute| attribute.content) {
                Some(Content::Inline(values)) => values,
                _ => Values::default(),
            },
        }
    }

    /// The attributes outside the header, in stored order. Damage ends the iteration; [`RecordView::check`] reports it.
    #[inline]
    pub fn attributes(&self) -> AttributeIter<'a> {
        AttributeIter::new(self.attributes)
    }

    /// An attribute outside the header.
    #[inline]
    pub fn stored(&self, desc: DescId) -> Option<Attribute<'a>> {
        self.attributes().find(|attribute| attribute.desc == desc)
    }

    /// Any attribute. A value of the header is written to `scratch` in wire form.
    pub fn attribute<'s>(&self, desc: DescId, scratch: &'s mut Vec<u8>) -> Option<Attribute<'s>>
    where
        'a: 's,
    {
        if desc == DescId::OBJECT_CLASS
            && let Some(set) = self.header.class_set.and_then(|id| self.tables.class_set(id))
        {
            return Some(Attribute { desc, content: Content::Inline(set.values()) });
        }
        scratch.clear();
        if self.header.put_value(desc, self.tables, scratch) {
            return Some(Attribute { desc, content: Content::Inline(Values::new(1, scratch)) });
        }
        self.stored(desc)
    }

    /// Calls `each` for every attribute: object classes, the header's, then the others in stored order.
    pub fn for_each<'s>(&self, scratch: &'s mut Vec<u8>, mut each: impl FnMut(Attribute<'_>))
    where
        'a: 's,
    {
        if let Some(set) = self.header.class_set.and_then(|id| self.tables.class_set(id)) {
            each(Attribute { desc: DescId::OBJECT_CLASS, content: Content::Inline(set.values()) });
        }
        for desc in Header::DESCRIPTIONS {
            scratch.clear();
            if self.header.put_value(desc, self.tables, scratch) {
                each(Attribute { desc, content: Content::Inline(Values::new(1, scratch)) });
            }
        }
        self.attributes().for_each(each);
    }

    /// Whether the whole record is readable and its numbers are known; for `verify`.
    pub fn check(&self) -> Result<(), Damaged> {
        let mut iter = self.attributes();
        let mut seen = Vec::new();
        for attribute in iter.by_ref() {
            let known = self.tables.description(attribute.desc).is_some();
            if !known || seen.contains(&attribute.desc) {
                return Err(DAMAGED);
            }
            seen.push(attribute.desc);
            if let Content::Inline(values) = attribute.content {
                values.check()?;
            }
        }
        let names = [self.header.creator, self.header.modifier];
        let names_known = names.iter().flatten().all(|id| self.tables.name(*id).is_some());
        let classes_known = self.header.class_set.is_none_or(|id| self.tables.class_set(id).is_some());
        if iter.rest.is_empty() && names_known && classes_known { Ok(()) } else { Err(DAMAGED) }
    }
}

/// One attribute of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Which.
    pub desc: DescId,
    /// Its values, or where they are.
    pub content: Content<'a>,
}

/// Where the values of an attribute are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Here.
    Inline(Values<'a>),
    /// In the `values` table.
    Large(LargeStub),
}

/// What a record keeps of an attribute in the `values` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LargeStub {
    /// Exact number of values.
    pub count: u64,
    /// Their sizes added up.
    pub bytes: u64,
}

/// Iterator of [`RecordView::attributes`].
#[derive(Clone, Debug)]
pub struct AttributeIter<'a> {
    rest: &'a [u8],
}

impl<'a> AttributeIter<'a> {
    /// Of the bytes behind a header.
    #[inline]
    pub(super) fn new(rest: &'a [u8]) -> AttributeIter<'a> {
        AttributeIter { rest }
    }

    /// The bytes not read yet.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// The three numbers in front of an attribute's values, and what follows them.
#[inline(never)]
fn long_numbers(mut rest: &[u8]) -> Option<(u64, u64, u64, &[u8])> {
    Some((varint::take(&mut rest)?, varint::take(&mut rest)?, varint::take(&mut rest)?, rest))
}

impl<'a> Iterator for AttributeIter<'a> {
    type Item = Attribute<'a>;

    #[inline]
    fn next(&mut self) -> Option<Attribute<'a>> {
        let (head, count, bytes, mut rest) = match self.rest {
            // Mostly each of the three is one byte.
            [head, count, bytes, rest @ ..] if (head | count | bytes) < 0x80 => {
                (u64::from(*head), u64::from(*count), u64::from(*bytes), rest)
            }
            rest => long_numbers(rest)?,
        };
        let desc = DescId(u32::try_from(head >> 1).ok()?);
        let content = if head & 1 == 1 {
            Content::Large(LargeStub { count, bytes })
        } else {
            let body = varint::take_bytes(&mut rest, usize::try_from(bytes).ok()?)?;
            Content::Inline(Values::new(u32::try_from(count).ok()?, body))
        };
        self.rest = rest;
        Some(Attribute { desc, content })
    }
}
