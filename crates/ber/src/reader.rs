//! Reads BER elements from a byte slice without copying or recursing.

use crate::Tag;

/// Why a byte sequence is not the element that was asked for; `offset` counts from the start of the outermost slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The slice ends inside an element.
    #[error("the element at byte {offset} is longer than what holds it")]
    Truncated {
        /// Where the element begins.
        offset: usize,
    },
    /// Indefinite, reserved or oversized length octets, or a tag of more than one byte (RFC 4511 §5.1 needs neither).
    #[error("the header at byte {offset} is not of the form that LDAP uses")]
    BadHeader {
        /// Where the element begins.
        offset: usize,
    },
    /// Another tag than the one that the grammar asks for.
    #[error("tag {found:#04x} at byte {offset} where {expected:#04x} should be")]
    UnexpectedTag {
        /// Where the element begins.
        offset: usize,
        /// The tag that the grammar asks for.
        expected: Tag,
        /// The tag that is there.
        found: Tag,
    },
    /// An INTEGER of no bytes or more than eight, or a BOOLEAN of other than one byte.
    #[error("the value at byte {offset} is not of its type's length")]
    BadValue {
        /// Where the element begins.
        offset: usize,
    },
    /// Something follows where nothing may.
    #[error("the element should end at byte {offset} and has more (bytes: {remaining})")]
    TrailingBytes {
        /// Where the rest begins.
        offset: usize,
        /// How many bytes are left.
        remaining: usize,
    },
}

/// A cursor over the elements of a slice. Copying it is cheap and keeps the position.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Of `rest`'s first byte in the outermost slice; for messages only.
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, offset: 0 }
    }

    /// Whether all is read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What is not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Bytes read so far, counted from the start of the outermost slice.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The tag of the next element.
    #[inline]
    pub fn peek_tag(&self) -> Option<Tag> {
        self.rest.first().copied()
    }

    /// The next element, whatever its tag: tag and content.
    #[inline]
    pub fn element(&mut self) -> Result<(Tag, &'a [u8]), Error> {
        let (tag, content, _) = self.split()?;
        Ok((tag, content))
    }

    /// The next element with its header: tag and all its bytes.
    #[inline]
    pub fn raw_element(&mut self) -> Result<(Tag, &'a [u8]), Error> {
        let whole = self.rest;
        let (tag, content, header) = self.split()?;
        Ok((tag, &whole[..header + content.len()]))
    }

    /// The content of the next element, which must have `tag`.
    #[inline]
    pub fn expect(&mut self, tag: Tag) -> Result<&'a [u8], Error> {
        let offset = self.offset;
        match self.peek_tag() {
            Some(found) if found == tag => self.split().map(|(_, content, _)| content),
            Some(found) => Err(Error::UnexpectedTag { offset, expected: tag, found }),
            None => Err(Error::Truncated { offset }),
        }
    }

    /// The content of the next element if it has `tag`; otherwise nothing is read.
    #[inline]
    pub fn optional(&mut self, tag: Tag) -> Result<Option<&'a [u8]>, Error> {
        if self.peek_tag() == Some(tag) { self.expect(tag).map(Some) } else { Ok(None) }
    }

    /// A reader over the content of the next element, which must have `tag`.
    #[inline]
    pub fn enter(&mut self, tag: Tag) -> Result<Reader<'a>, Error> {
        let content = self.expect(tag)?;
        Ok(Reader { rest: content, offset: self.offset - content.len() })
    }

    /// A SEQUENCE.
    #[inline]
    pub fn sequence(&mut self) -> Result<Reader<'a>, Error> {
        self.enter(crate::SEQUENCE)
    }

    /// An OCTET STRING.
    #[inline]
    pub fn octets(&mut self) -> Result<&'a [u8], Error> {
        self.expect(crate::OCTET_STRING)
    }

    /// An INTEGER of at most eight bytes.
    #[inline]
    pub fn integer(&mut self) -> Result<i64, Error> {
        self.integer_tagged(crate::INTEGER)
    }

    /// An ENUMERATED.
    #[inline]
    pub fn enumerated(&mut self) -> Result<i64, Error> {
        self.integer_tagged(crate::ENUMERATED)
    }

    /// An integer under an implicit tag.
    #[inline]
    pub fn integer_tagged(&mut self, tag: Tag) -> Result<i64, Error> {
        let offset = self.offset;
        let content = self.expect(tag)?;
        integer_value(content).ok_or(Error::BadValue { offset })
    }

    /// A BOOLEAN; any byte but 0 is true on reading (RFC 4511 §5.1 restricts writing only).
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, Error> {
        self.boolean_tagged(crate::BOOLEAN)
    }

    /// A boolean under an implicit tag.
    #[inline]
    pub fn boolean_tagged(&mut self, tag: Tag) -> Result<bool, Error> {
        let offset = self.offset;
        match self.expect(tag)? {
            [byte] => Ok(*byte != 0),
            _ => Err(Error::BadValue { offset }),
        }
    }

    /// Fails when something is left.
    #[inline]
    pub fn finish(self) -> Result<(), Error> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Error::TrailingBytes { offset: self.offset, remaining: self.rest.len() })
        }
    }

    /// Ends a SEQUENCE that later versions may extend: well-formed context-specific elements are passed over, since
    /// they may be components that this version does not know (RFC 4511 §4). Those of the `known` tags are second
    /// copies, and refused.
    #[inline]
    pub fn finish_extensible(mut self, known: &[Tag]) -> Result<(), Error> {
        while let Some(tag) = self.peek_tag() {
            if tag & 0xc0 != 0x80 || known.contains(&tag) {
                return self.finish();
            }
            self.split()?;
        }
        Ok(())
    }

    /// Tag, content and header length of the next element; moves past it.
    #[inline]
    fn split(&mut self) -> Result<(Tag, &'a [u8], usize), Error> {
        let offset = self.offset;
        let truncated = Error::Truncated { offset };
        let [tag, first, ..] = *self.rest else { return Err(truncated) };
        if tag & 0x1f == 0x1f {
            return Err(Error::BadHeader { offset });
        }
        let (header, length) = match first {
            0..=0x7f => (2, usize::from(first)),
            0x81..=0x84 => {
                let count = usize::from(first & 0x7f);
                let octets = self.rest.get(2..2 + count).ok_or(truncated)?;
                (2 + count, octets.iter().fold(0usize, |n, &b| n << 8 | usize::from(b)))
            }
            _ => return Err(Error::BadHeader { offset }),
        };
        let content = self.rest.get(header..).and_then(|r| r.get(..length)).ok_or(truncated)?;
        self.rest = &self.rest[header + length..];
        self.offset += header + length;
        Ok((tag, content, header))
    }
}

/// The value of an INTEGER's content octets: two's complement, one to eight bytes.
#[inline]
pub fn integer_value(content: &[u8]) -> Option<i64> {
    let (&first, rest) = content.split_first()?;
    if rest.len() > 7 {
        return None;
    }
    Some(rest.iter().fold(i64::from(first as i8), |n, &b| n << 8 | i64::from(b)))
}
