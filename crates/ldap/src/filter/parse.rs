//! Filters from their string form (RFC 4515), as people and URLs write them.

use std::borrow::Cow;
use std::fmt;

use ber::{OCTET_STRING, Reader, SEQUENCE, Tag, Writer};

use super::{FILTER_DEPTH_MAX, FILTER_NODES_MAX, Filter, tags};

/// A filter that owns its bytes: the BER form, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterBuf {
    encoded: Vec<u8>,
}

/// Why a string is no filter; `position` counts bytes from its start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the filter is wrong at character {position}: {reason}")]
pub struct FilterSyntaxError {
    /// Byte offset.
    pub position: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

impl FilterBuf {
    /// The filter, borrowed.
    pub fn filter(&self) -> Filter<'_> {
        // What `parse` wrote is what `decode` reads; a mistake there would show as a filter that matches nothing.
        Filter::decode(&mut Reader::new(&self.encoded))
            .unwrap_or_else(|_| Filter { nodes: smallvec::smallvec![super::FilterNode::Or { end: 1 }] })
    }

    /// The BER form, as a search request holds it.
    pub fn as_ber(&self) -> &[u8] {
        &self.encoded
    }

    /// `(objectClass=*)`, which every entry matches.
    #[must_use]
    pub fn every_entry() -> FilterBuf {
        const PRESENT: u8 = 0x87;
        let name = *b"objectClass";
        FilterBuf { encoded: [&[PRESENT, name.len() as u8][..], &name].concat() }
    }

    /// Copies a decoded filter's BER form.
    pub fn from_ber(encoded: &[u8]) -> Result<FilterBuf, crate::DecodeError> {
        let mut reader = Reader::new(encoded);
        Filter::decode(&mut reader)?;
        reader.finish()?;
        Ok(FilterBuf { encoded: encoded.to_vec() })
    }

    /// What has all of these values of attributes.
    pub fn all_of<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p [u8])>) -> FilterBuf {
        Self::joined(tags::AND, pairs)
    }

    /// What has one of these values of attributes.
    pub fn one_of<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p [u8])>) -> FilterBuf {
        Self::joined(tags::OR, pairs)
    }

    fn joined<'p>(tag: Tag, pairs: impl IntoIterator<Item = (&'p str, &'p [u8])>) -> FilterBuf {
        let mut encoded = Vec::new();
        let mut writer = Writer::new(&mut encoded);
        let whole = writer.begin(tag);
        for (attribute, value) in pairs {
            let item = writer.begin(tags::EQUALITY);
            writer.octets(OCTET_STRING, attribute.as_bytes());
            writer.octets(OCTET_STRING, value);
            writer.end(item);
        }
        writer.end(whole);
        FilterBuf { encoded }
    }
}

impl fmt::Display for FilterBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filter().fmt(f)
    }
}

/// Reads a filter; the brackets around the whole may be left out, as every client lets them.
pub fn parse(text: &str) -> Result<FilterBuf, FilterSyntaxError> {
    let trimmed = text.trim();
    let mut encoded = Vec::new();
    let bracketed = trimmed.starts_with('(');
    let owned = if bracketed { Cow::Borrowed(trimmed) } else { Cow::Owned(format!("({trimmed})")) };
    let mut parser = Parser { text: owned.as_bytes(), at: 0, nodes: 0 };
    parser.filter(&mut Writer::new(&mut encoded), 0).and_then(|()| parser.end()).map_err(|mut e| {
        e.position = e.position.saturating_sub(usize::from(!bracketed)) + (text.len() - text.trim_start().len());
        e
    })?;
    Ok(FilterBuf { encoded })
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    nodes: usize,
}

type Parsed<T> = Result<T, FilterSyntaxError>;

impl<'t> Parser<'t> {
    /// `( filtercomp )`; the depth is bounded, so the recursion is.
    fn filter(&mut self, out: &mut Writer<'_>, depth: usize) -> Parsed<()> {
        self.nodes += 1;
        if self.nodes > FILTER_NODES_MAX {
            return self.fault("the filter has too many parts");
        }
        self.skip_spaces();
        self.take(b'(', "an opening bracket is missing")?;
        self.skip_spaces();
        match self.peek() {
            Some(b'&') => self.set(out, tags::AND, depth)?,
            Some(b'|') => self.set(out, tags::OR, depth)?,
            Some(b'!') => self.negation(out, depth)?,
            Some(_) => self.item(out)?,
            None => return self.fault("the filter ends too early"),
        }
        self.skip_spaces();
        self.take(b')', "a closing bracket is missing")
    }

    fn set(&mut self, out: &mut Writer<'_>, tag: Tag, depth: usize) -> Parsed<()> {
        self.deeper(depth)?;
        self.at += 1;
        let mark = out.begin(tag);
        self.skip_spaces();
        while self.peek() == Some(b'(') {
            self.filter(out, depth + 1)?;
            self.skip_spaces();
        }
        out.end(mark);
        Ok(())
    }

    fn negation(&mut self, out: &mut Writer<'_>, depth: usize) -> Parsed<()> {
        self.deeper(depth)?;
        self.at += 1;
        let mark = out.begin(tags::NOT);
        self.filter(out, depth + 1)?;
        out.end(mark);
        Ok(())
    }

    fn deeper(&self, depth: usize) -> Parsed<()> {
        if depth >= FILTER_DEPTH_MAX { self.fault("the filter is nested too deeply") } else { Ok(()) }
    }

    /// `attr=value`, `attr=*`, `attr=a*b`, `attr>=value`, `attr<=value`, `attr~=value`, `attr:dn:rule:=value`.
    fn item(&mut self, out: &mut Writer<'_>) -> Parsed<()> {
        let start = self.at;
        let rest = &self.text[start..];
        let equals = rest.iter().position(|&b| b == b'=' || b == b'(' || b == b')').filter(|&i| rest[i] == b'=');
        let Some(equals) = equals else { return self.fault("an equals sign is missing") };
        let (name, tag) = match equals.checked_sub(1).map(|i| rest[i]) {
            Some(b'>') => (&rest[..equals - 1], tags::GREATER_OR_EQUAL),
            Some(b'<') => (&rest[..equals - 1], tags::LESS_OR_EQUAL),
            Some(b'~') => (&rest[..equals - 1], tags::APPROX),
            Some(b':') => (&rest[..equals - 1], tags::EXTENSIBLE),
            _ => (&rest[..equals], tags::EQUALITY),
        };
        let name = name.trim_ascii();
        self.at = start + equals + 1;
        let value_start = self.at;
        let length = self.text[value_start..].iter().position(|&b| b == b')').unwrap_or(self.text.len() - value_start);
        let value = &self.text[value_start..value_start + length];
        if value.contains(&b'(') {
            return self.fault("an opening bracket in a value must be written \\28");
        }
        match tag {
            tags::EXTENSIBLE => self.extensible(out, start, name, value)?,
            tags::EQUALITY if value == b"*" => out.octets(tags::PRESENT, attribute(name, start)?),
            tags::EQUALITY if value.contains(&b'*') => self.substrings(out, attribute(name, start)?, value)?,
            _ => {
                let mark = out.begin(tag);
                out.octets(OCTET_STRING, attribute(name, start)?);
                out.octets(OCTET_STRING, &unescape(value, value_start)?);
                out.end(mark);
            }
        }
        self.at = value_start + length;
        Ok(())
    }

    fn substrings(&mut self, out: &mut Writer<'_>, name: &[u8], value: &[u8]) -> Parsed<()> {
        let start = self.at;
        let mark = out.begin(tags::SUBSTRINGS);
        out.octets(OCTET_STRING, name);
        let pieces = out.begin(SEQUENCE);
        let last = value.iter().filter(|&&b| b == b'*').count();
        let mut any_piece = false;
        for (i, piece) in value.split(|&b| b == b'*').enumerate() {
            if piece.is_empty() {
                continue;
            }
            any_piece = true;
            let tag = if i == 0 {
                tags::INITIAL
            } else if i == last {
                tags::FINAL
            } else {
                tags::ANY
            };
            out.octets(tag, &unescape(piece, start)?);
        }
        out.end(pieces);
        out.end(mark);
        if any_piece { Ok(()) } else { self.fault("only asterisks: write a single one to test for presence") }
    }

    /// `name` is `[attr][:dn][:rule]`, without the `:=`.
    fn extensible(&mut self, out: &mut Writer<'_>, start: usize, name: &[u8], value: &[u8]) -> Parsed<()> {
        let mut parts = name.split(|&b| b == b':');
        let attr = parts.next().unwrap_or_default();
        let mut dn_attributes = false;
        let mut rule: Option<&[u8]> = None;
        for part in parts {
            if part.eq_ignore_ascii_case(b"dn") && !dn_attributes && rule.is_none() {
                dn_attributes = true;
            } else if rule.is_none() && !part.is_empty() {
                rule = Some(part);
            } else {
                return self.fault("an extensible match is written attribute:dn:rule:=value");
            }
        }
        if attr.is_empty() && rule.is_none() {
            return self.fault("an extensible match needs an attribute or a matching rule");
        }
        let mark = out.begin(tags::EXTENSIBLE);
        if let Some(rule) = rule {
            out.octets(tags::RULE, attribute(rule, start)?);
        }
        if !attr.is_empty() {
            out.octets(tags::TYPE, attribute(attr, start)?);
        }
        out.octets(tags::VALUE, &unescape(value, self.at)?);
        if dn_attributes {
            out.boolean(tags::DN_ATTRIBUTES, true);
        }
        out.end(mark);
        Ok(())
    }

    fn end(&mut self) -> Parsed<()> {
        self.skip_spaces();
        if self.at == self.text.len() { Ok(()) } else { self.fault("something follows the last closing bracket") }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8, missing: &'static str) -> Parsed<()> {
        if self.peek() != Some(byte) {
            return self.fault(missing);
        }
        self.at += 1;
        Ok(())
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn fault<T>(&self, reason: &'static str) -> Parsed<T> {
        Err(FilterSyntaxError { position: self.at, reason })
    }
}

/// An attribute description or rule: letters, digits, hyphens, dots, semicolons; underscores as many servers let them.
fn attribute(name: &[u8], position: usize) -> Parsed<&[u8]> {
    let fine = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b';' | b'_');
    if name.is_empty() || !name.iter().all(fine) {
        return Err(FilterSyntaxError { position, reason: "this is not an attribute description" });
    }
    Ok(name)
}

/// Resolves `\xx` escapes.
fn unescape(value: &[u8], position: usize) -> Parsed<Cow<'_, [u8]>> {
    if !value.contains(&b'\\') {
        return Ok(Cow::Borrowed(value));
    }
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let pair = rest.get(..2).and_then(|p| Some(hex(p[0])? << 4 | hex(p[1])?));
        let Some(escaped) = pair else {
            let reason = "a backslash must be followed by two hexadecimal digits";
            return Err(FilterSyntaxError { position: position + value.len() - rest.len() - 1, reason });
        };
        out.push(escaped);
        rest = &rest[2..];
    }
    Ok(Cow::Owned(out))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|d| d as u8)
}
