//! The string form of DNs straight to the normal form.
//!
//! Search bases, `member` values and references are normalized far more often than they are looked at, so this reads
//! the text once and builds no tree; `ldap::Dn` is for those who want the parts.

use std::borrow::Cow;

use smallvec::SmallVec;
use thiserror::Error;

use super::push_rdn;
use crate::schema::Schema;
use crate::syntax::{is_descriptor, is_numeric_oid};

/// Why a text is no DN; `at` is the byte offset.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DnSyntaxError {
    /// No attribute name before `=`.
    #[error("no attribute name and '=' at character {at} of the DN")]
    NoName {
        /// Byte offset.
        at: usize,
    },
    /// A backslash followed by neither two hexadecimal digits nor a character that may be escaped.
    #[error("bad escape at character {at} of the DN")]
    BadEscape {
        /// Byte offset.
        at: usize,
    },
    /// `"` without its partner, or text behind it.
    #[error("unbalanced quotes at character {at} of the DN")]
    BadQuotes {
        /// Byte offset.
        at: usize,
    },
    /// `#` followed by something else than pairs of hexadecimal digits.
    #[error("bad hexadecimal value at character {at} of the DN")]
    BadHex {
        /// Byte offset.
        at: usize,
    },
    /// A character that must be escaped.
    #[error("unescaped special character at character {at} of the DN")]
    Unescaped {
        /// Byte offset.
        at: usize,
    },
    /// Not UTF-8.
    #[error("the DN is not UTF-8")]
    NotUtf8,
}

type Result<T> = std::result::Result<T, DnSyntaxError>;

struct Ava<'a> {
    /// Number of its RDN, counted from the leaf.
    rdn: usize,
    name: &'a str,
    value: Cow<'a, [u8]>,
}

pub(super) fn normalize(schema: &Schema, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let text = std::str::from_utf8(text).map_err(|_| DnSyntaxError::NotUtf8)?;
    let exceptions = schema.options().allow_attribute_name_exceptions;
    let mut avas: SmallVec<[Ava<'_>; 8]> = SmallVec::new();
    let mut parser = Parser { text: text.as_bytes(), at: 0 };
    parser.skip_spaces();
    let mut rdn = 0;
    while parser.peek().is_some() || !avas.is_empty() {
        let name_at = parser.at;
        let name = parser.name(exceptions).ok_or(DnSyntaxError::NoName { at: name_at })?;
        let value = parser.value()?;
        avas.push(Ava { rdn, name, value });
        match parser.next() {
            None => break,
            Some(b'+') => {}
            Some(_) => rdn += 1,
        }
        parser.skip_spaces();
    }
    for rdn in avas.chunk_by(|one, two| one.rdn == two.rdn).rev() {
        push_rdn(schema, rdn.iter().map(|ava| (ava.name, &*ava.value)), out);
    }
    Ok(())
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// The name and its `=`; `oid.` in front of a numeric OID is old style.
    fn name(&mut self, exceptions: bool) -> Option<&'a str> {
        let rest = self.text.get(self.at..)?;
        let equals = memchr::memchr(b'=', rest)?;
        let name = rest.get(..equals)?.trim_ascii();
        self.at += equals + 1;
        let bare = match name.get(..4) {
            Some(prefix) if prefix.eq_ignore_ascii_case(b"oid.") => name.get(4..)?,
            _ => name,
        };
        let good = is_numeric_oid(bare) || is_descriptor(bare, exceptions);
        std::str::from_utf8(bare).ok().filter(|_| good)
    }

    /// Up to the next separator, which stays.
    fn value(&mut self) -> Result<Cow<'a, [u8]>> {
        self.skip_spaces();
        let value = match self.peek() {
            Some(b'#') => self.hexadecimal()?,
            Some(b'"') => self.quoted()?,
            _ => return self.plain(),
        };
        self.skip_spaces();
        match self.peek() {
            None | Some(b',' | b';' | b'+') => Ok(value),
            Some(_) => Err(DnSyntaxError::BadQuotes { at: self.at }),
        }
    }

    fn plain(&mut self) -> Result<Cow<'a, [u8]>> {
        let start = self.at;
        let mut end = start;
        let mut owned: Option<Vec<u8>> = None;
        // Length of `owned` without the spaces that may turn out to be trailing ones.
        let mut kept = 0;
        loop {
            match self.peek() {
                None | Some(b',' | b';' | b'+') => break,
                Some(b'\\') => {
                    let value = owned.get_or_insert_with(|| self.text.get(start..self.at).unwrap_or_default().to_vec());
                    let byte = escaped(self.text, &mut self.at)?;
                    value.push(byte);
                    kept = value.len();
                    end = self.at;
                }
                Some(b'"' | b'<' | b'>') => return Err(DnSyntaxError::Unescaped { at: self.at }),
                Some(byte) => {
                    self.at += 1;
                    if let Some(value) = &mut owned {
                        value.push(byte);
                        if byte != b' ' {
                            kept = value.len();
                        }
                    }
                    if byte != b' ' {
                        end = self.at;
                    }
                }
            }
        }
        Ok(match owned {
            Some(mut value) => {
                value.truncate(kept);
                Cow::Owned(value)
            }
            None => Cow::Borrowed(self.text.get(start..end).unwrap_or_default()),
        })
    }

    fn quoted(&mut self) -> Result<Cow<'a, [u8]>> {
        let start = self.at;
        self.at += 1;
        let mut value = Vec::new();
        loop {
            match self.peek() {
                None => return Err(DnSyntaxError::BadQuotes { at: start }),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(value));
                }
                Some(b'\\') => value.push(escaped(self.text, &mut self.at)?),
                Some(byte) => {
                    self.at += 1;
                    value.push(byte);
                }
            }
        }
    }

    /// `#` and the BER encoding of the value; its contents are the value.
    fn hexadecimal(&mut self) -> Result<Cow<'a, [u8]>> {
        let start = self.at;
        self.at += 1;
        let mut bytes = Vec::new();
        while let Some(high) = self.peek().and_then(hex_digit) {
            let low = self.text.get(self.at + 1).copied().and_then(hex_digit);
            bytes.push(high << 4 | low.ok_or(DnSyntaxError::BadHex { at: self.at })?);
            self.at += 2;
        }
        if bytes.is_empty() {
            return Err(DnSyntaxError::BadHex { at: start });
        }
        Ok(Cow::Owned(ber_contents(&bytes).unwrap_or(&bytes).to_vec()))
    }
}

/// The byte that a backslash at `at` stands for.
fn escaped(text: &[u8], at: &mut usize) -> Result<u8> {
    let error = DnSyntaxError::BadEscape { at: *at };
    let Some(first) = text.get(*at + 1).copied() else { return Err(error) };
    if let Some(high) = hex_digit(first) {
        let low = text.get(*at + 2).copied().and_then(hex_digit).ok_or(error)?;
        *at += 3;
        return Ok(high << 4 | low);
    }
    let special = [b',', b'=', b'+', b'<', b'>', b'#', b';', b'\\', b'"', b' '];
    if !special.contains(&first) {
        return Err(error);
    }
    *at += 2;
    Ok(first)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The contents of one primitive element that fills `bytes`.
fn ber_contents(bytes: &[u8]) -> Option<&[u8]> {
    let (_tag, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    if *length < 0x80 {
        return (rest.len() == usize::from(*length)).then_some(rest);
    }
    let (length, contents) = rest.split_at_checked(usize::from(length & 0x7F))?;
    let length = length.iter().try_fold(0usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)))?;
    (contents.len() == length).then_some(contents)
}
