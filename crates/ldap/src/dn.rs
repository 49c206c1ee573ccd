//! Distinguished names in their string form (RFC 4514), with the tolerance for older forms that clients still rely on:
//! spaces around separators, `;` between RDNs, quoted values, `OID.` before a numeric type.
//!
//! Attribute types and values stay as they were written; comparing names is the schema's business.

use std::borrow::Cow;
use std::fmt;

/// Most RDNs accepted in one name; real ones have fewer than twenty.
pub const RDNS_MAX: usize = 256;

/// Most attribute values accepted in one RDN.
pub const AVAS_MAX: usize = 32;

const ESCAPE_MISSING: &str = "this character must be escaped in a value";

/// Why text is no distinguished name; `position` counts bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the distinguished name is wrong at character {position}: {reason}")]
pub struct DnError {
    /// Byte offset.
    pub position: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

/// One attribute value assertion of an RDN.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ava<'a> {
    /// Attribute type as it was written, without an `OID.` prefix.
    pub attribute: &'a str,
    /// The value, unescaped; of a `#hex` value, the content of the BER element.
    pub value: Cow<'a, [u8]>,
}

/// A relative distinguished name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rdn<'a> {
    avas: Vec<Ava<'a>>,
}

/// A distinguished name, leaf first as it is written; borrows from its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dn<'a> {
    rdns: Vec<Rdn<'a>>,
}

impl<'a> Dn<'a> {
    /// Parses a name; the empty string is the root.
    pub fn parse(text: &'a str) -> Result<Self, DnError> {
        let mut parser = Parser { text, at: 0 };
        let mut rdns = Vec::new();
        parser.skip_spaces();
        while parser.at < text.len() {
            if rdns.len() == RDNS_MAX {
                return parser.fault("the name has too many parts");
            }
            rdns.push(parser.rdn()?);
            parser.skip_spaces();
            match parser.peek() {
                None => break,
                Some(b',' | b';') => parser.at += 1,
                Some(_) => return parser.fault("a comma is missing"),
            }
            parser.skip_spaces();
            if parser.at == text.len() {
                return parser.fault("the name ends with a comma");
            }
        }
        Ok(Self { rdns })
    }

    /// The RDNs, leaf first.
    pub fn rdns(&self) -> &[Rdn<'a>] {
        &self.rdns
    }

    /// The leaf RDN; none of the root.
    pub fn rdn(&self) -> Option<&Rdn<'a>> {
        self.rdns.first()
    }

    /// The name without its leaf RDN; none of the root.
    pub fn parent(&self) -> Option<Dn<'a>> {
        self.rdns.split_first().map(|(_, parents)| Dn { rdns: parents.to_vec() })
    }

    /// Whether this is the empty name.
    pub fn is_root(&self) -> bool {
        self.rdns.is_empty()
    }
}

impl<'a> Rdn<'a> {
    /// Parses exactly one RDN.
    pub fn parse(text: &'a str) -> Result<Self, DnError> {
        let mut parser = Parser { text, at: 0 };
        parser.skip_spaces();
        let rdn = parser.rdn()?;
        parser.skip_spaces();
        if parser.at == text.len() { Ok(rdn) } else { parser.fault("an RDN has no comma") }
    }

    /// Its assertions; at least one.
    pub fn avas(&self) -> &[Ava<'a>] {
        &self.avas
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rdn(&mut self) -> Result<Rdn<'a>, DnError> {
        let mut avas = Vec::with_capacity(1);
        loop {
            if avas.len() == AVAS_MAX {
                return self.fault("the RDN has too many values");
            }
            avas.push(self.ava()?);
            self.skip_spaces();
            if self.peek() != Some(b'+') {
                return Ok(Rdn { avas });
            }
            self.at += 1;
            self.skip_spaces();
        }
    }

    fn ava(&mut self) -> Result<Ava<'a>, DnError> {
        let attribute = self.attribute_type()?;
        self.skip_spaces();
        if self.peek() != Some(b'=') {
            return self.fault("an equals sign is missing after the attribute type");
        }
        self.at += 1;
        self.skip_spaces();
        let value = match self.peek() {
            Some(b'#') => self.hex_value()?,
            Some(b'"') => self.quoted_value()?,
            _ => self.plain_value()?,
        };
        Ok(Ava { attribute, value })
    }

    fn attribute_type(&mut self) -> Result<&'a str, DnError> {
        let rest = &self.text[self.at..];
        if rest.get(..4).is_some_and(|p| p.eq_ignore_ascii_case("oid.")) {
            self.at += 4;
        }
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|b| is_type_byte(*b)).count();
        if length == 0 {
            return self.fault("an attribute type is missing");
        }
        let name = &rest[..length];
        if !has_type_form(name) {
            return self.fault("an attribute type is a word that begins with a letter, or an OID");
        }
        self.at += length;
        Ok(name)
    }

    /// Up to an unescaped separator; escapes resolved, spaces around it dropped unless escaped.
    fn plain_value(&mut self) -> Result<Cow<'a, [u8]>, DnError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut owned: Option<Vec<u8>> = None;
        // Length up to and including the last byte that is no trailing space.
        let mut kept = 0;
        while let Some(byte) = self.peek() {
            match byte {
                b',' | b';' | b'+' => break,
                b'"' | b'<' | b'>' => return self.fault(ESCAPE_MISSING),
                0 => return self.fault("a null character must be escaped in a value"),
                b'\\' => {
                    let value = owned.get_or_insert_with(|| bytes[start..self.at].to_vec());
                    let unescaped = self.escape()?;
                    value.push(unescaped);
                    kept = value.len();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
            if let Some(value) = &mut owned {
                value.push(byte);
            }
            if byte != b' ' {
                kept = owned.as_ref().map_or(self.at - start, Vec::len);
            }
        }
        Ok(match owned {
            Some(mut value) => {
                value.truncate(kept);
                Cow::Owned(value)
            }
            None => Cow::Borrowed(&bytes[start..start + kept]),
        })
    }

    /// RFC 2253 §4: the value in quotation marks.
    fn quoted_value(&mut self) -> Result<Cow<'a, [u8]>, DnError> {
        self.at += 1;
        let mut value = Vec::new();
        loop {
            match self.peek() {
                None => return self.fault("the closing quotation mark is missing"),
                Some(b'"') => break,
                Some(b'\\') => value.push(self.escape()?),
                Some(byte) => {
                    value.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Ok(Cow::Owned(value))
    }

    /// `#` and the hexadecimal BER form; gives the content of the element.
    fn hex_value(&mut self) -> Result<Cow<'a, [u8]>, DnError> {
        let digits = &self.text.as_bytes()[self.at + 1..];
        let length = digits.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let element: Option<Vec<u8>> = digits[..length].chunks(2).map(byte_of).collect();
        let content = element.filter(|e| !e.is_empty()).and_then(|element| {
            let mut reader = ber::Reader::new(&element);
            let (_, content) = reader.element().ok()?;
            reader.finish().ok()?;
            Some(content.to_vec())
        });
        let Some(content) = content else { return self.fault("the value after # is no hexadecimal BER element") };
        self.at += 1 + length;
        Ok(Cow::Owned(content))
    }

    /// `\` and a special character or two hexadecimal digits.
    fn escape(&mut self) -> Result<u8, DnError> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        if let Some(byte) = rest.get(..2).and_then(byte_of) {
            self.at += 3;
            return Ok(byte);
        }
        match rest.first() {
            Some(&special) if b" \"#+,;<=>\\".contains(&special) => {
                self.at += 2;
                Ok(special)
            }
            _ => self.fault("a backslash must be followed by a special character or two hexadecimal digits"),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn fault<T>(&self, reason: &'static str) -> Result<T, DnError> {
        Err(DnError { position: self.at, reason })
    }
}

/// The bytes that a piece of a value stands for: escapes resolved, every space kept. What may not stand in a value
/// without an escape is refused.
///
/// # Errors
/// Says where, counted from the start of the piece.
pub fn unescaped(piece: &str) -> Result<Vec<u8>, DnError> {
    let mut parser = Parser { text: piece, at: 0 };
    let mut value = Vec::with_capacity(piece.len());
    while let Some(byte) = parser.peek() {
        match byte {
            b'\\' => value.push(parser.escape()?),
            b',' | b';' | b'+' | b'"' | b'<' | b'>' | 0 => return parser.fault(ESCAPE_MISSING),
            _ => {
                value.push(byte);
                parser.at += 1;
            }
        }
    }
    Ok(value)
}

/// Whether `name` is `descr` or `numericoid` of RFC 4512 §1.4; underscores are letters.
#[must_use]
pub fn is_attribute_type(name: &str) -> bool {
    name.bytes().all(is_type_byte) && has_type_form(name)
}

fn is_type_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

/// Of bytes of a type: whether they are in the order of one.
fn has_type_form(name: &str) -> bool {
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return !name.contains('.');
    }
    name.contains('.') && name.split('.').all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()))
}

fn byte_of(pair: &[u8]) -> Option<u8> {
    match pair {
        [a, b] => Some((char::from(*a).to_digit(16)? << 4 | char::from(*b).to_digit(16)?) as u8),
        _ => None,
    }
}

impl fmt::Display for Dn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, rdn) in self.rdns.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            rdn.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Rdn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, ava) in self.avas.iter().enumerate() {
            if i > 0 {
                f.write_str("+")?;
            }
            write!(f, "{}=", ava.attribute)?;
            write_escaped(f, &ava.value)?;
        }
        Ok(())
    }
}

/// Escapes a value as RFC 4514 §2.4 asks; bytes that are no UTF-8 become `\xx`.
pub fn write_escaped(out: &mut impl fmt::Write, value: &[u8]) -> fmt::Result {
    let last = value.len().saturating_sub(1);
    let mut at = 0;
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            let edge_space = c == ' ' && (at == 0 || at == last);
            match c {
                '"' | '+' | ',' | ';' | '<' | '>' | '\\' => write!(out, "\\{c}")?,
                '#' if at == 0 => out.write_str("\\#")?,
                ' ' if edge_space => out.write_str("\\ ")?,
                c if (c as u32) < 0x20 || c == '\u{7f}' => write!(out, "\\{:02X}", c as u32)?,
                c => out.write_char(c)?,
            }
            at += c.len_utf8();
        }
        for byte in chunk.invalid() {
            write!(out, "\\{byte:02X}")?;
            at += 1;
        }
    }
    Ok(())
}
