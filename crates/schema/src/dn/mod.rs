//! Normal forms of distinguished names: byte strings, root first, so that an ancestor is a prefix of its descendants.
//!
//! Form: for each RDN, from the root on, `name=value` and a zero byte; several pairs of one RDN are sorted and joined
//! by the byte 2. The name is the primary name of the type in lower case, the value its normal form under the type's
//! equality rule. In values the bytes 0, 1 and 2 are written as two bytes, so the separators stand for themselves, and
//! the order of the bytes is: a parent before its children, the children of one parent together.
//!
//! It knows nothing of entries: whether a DN exists is not its question.

use std::fmt;

use ldap::{Dn, DnError, Rdn};
use smallvec::SmallVec;
use thiserror::Error;

use crate::display_text::display_text;
use crate::prep::{self, Case};
use crate::schema::Schema;

const RDN_END: u8 = 0;
const ESCAPE: u8 = 1;
const AVA_SEPARATOR: u8 = 2;
/// After `ESCAPE`: the value has no normal form and follows as it was written.
const RAW: u8 = 0x7F;

/// The normal form of a DN. Two DNs match iff these are equal.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NormalizedDn {
    bytes: Vec<u8>,
}

/// Why bytes are no DN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DnSyntaxError {
    /// Not UTF-8.
    #[error("the distinguished name is not UTF-8")]
    NotUtf8,
    /// Not the grammar.
    #[error(transparent)]
    Malformed(#[from] DnError),
}

/// The normal form of one RDN, without the end mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NormalizedRdn<'a>(&'a [u8]);

impl NormalizedDn {
    /// The empty DN: the root.
    pub fn root() -> NormalizedDn {
        NormalizedDn::default()
    }

    /// Parses the string form and normalizes it.
    pub fn parse(schema: &Schema, text: &[u8]) -> Result<NormalizedDn, DnSyntaxError> {
        let mut dn = NormalizedDn::root();
        dn.parse_into(schema, text)?;
        Ok(dn)
    }

    /// The same into a buffer that is used again; after an error it is the root.
    pub fn parse_into(&mut self, schema: &Schema, text: &[u8]) -> Result<(), DnSyntaxError> {
        self.bytes.clear();
        let text = std::str::from_utf8(text).map_err(|_| DnSyntaxError::NotUtf8)?;
        push_dn(schema, &Dn::parse(text)?, &mut self.bytes);
        Ok(())
    }

    /// The normal form of a parsed DN.
    pub fn of(schema: &Schema, dn: &Dn<'_>) -> NormalizedDn {
        let mut bytes = Vec::new();
        push_dn(schema, dn, &mut bytes);
        NormalizedDn { bytes }
    }

    /// Takes bytes that [`NormalizedDn::as_bytes`] gave.
    pub fn from_bytes(bytes: Vec<u8>) -> NormalizedDn {
        NormalizedDn { bytes }
    }

    /// The form itself.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// No RDN at all.
    pub fn is_root(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many RDNs it has.
    pub fn len(&self) -> usize {
        self.bytes.iter().filter(|byte| **byte == RDN_END).count()
    }

    /// The same as [`NormalizedDn::is_root`].
    pub fn is_empty(&self) -> bool {
        self.is_root()
    }

    /// The RDNs, the one nearest to the root first.
    pub fn rdns(&self) -> impl DoubleEndedIterator<Item = NormalizedRdn<'_>> {
        let body = self.bytes.strip_suffix(&[RDN_END]).unwrap_or(&self.bytes);
        let count = if self.is_root() { 0 } else { usize::MAX };
        // Splitting nothing gives one empty part, which the root must not have.
        let parts: SmallVec<[&[u8]; 8]> = body.split(|byte| *byte == RDN_END).take(count).collect();
        parts.into_iter().map(NormalizedRdn)
    }

    /// The RDN farthest from the root.
    pub fn rdn(&self) -> Option<NormalizedRdn<'_>> {
        let body = self.bytes.strip_suffix(&[RDN_END])?;
        let start = body.iter().rposition(|byte| *byte == RDN_END).map_or(0, |at| at + 1);
        body.get(start..).map(NormalizedRdn)
    }

    /// Everything but the last RDN; none for the root.
    pub fn parent(&self) -> Option<NormalizedDn> {
        let rdn = self.rdn()?;
        let length = self.bytes.len() - rdn.0.len() - 1;
        self.bytes.get(..length).map(|bytes| NormalizedDn { bytes: bytes.to_vec() })
    }

    /// The DN of the entry with that RDN below this one.
    pub fn child(&self, rdn: NormalizedRdn<'_>) -> NormalizedDn {
        let mut bytes = Vec::with_capacity(self.bytes.len() + rdn.0.len() + 1);
        bytes.extend_from_slice(&self.bytes);
        bytes.extend_from_slice(rdn.0);
        bytes.push(RDN_END);
        NormalizedDn { bytes }
    }

    /// The DN that is `relative` as seen from this one.
    pub fn join(&self, relative: &NormalizedDn) -> NormalizedDn {
        NormalizedDn { bytes: [self.bytes.as_slice(), &relative.bytes].concat() }
    }

    /// Whether `other` is below this DN.
    pub fn is_ancestor_of(&self, other: &NormalizedDn) -> bool {
        self.bytes.len() < other.bytes.len() && other.bytes.starts_with(&self.bytes)
    }

    /// Whether `other` is this DN or below it.
    pub fn is_ancestor_or_equal(&self, other: &NormalizedDn) -> bool {
        other.bytes.starts_with(&self.bytes)
    }
}

impl<'a> NormalizedRdn<'a> {
    /// Takes bytes that [`NormalizedRdn::as_bytes`] gave.
    pub fn from_bytes(bytes: &'a [u8]) -> NormalizedRdn<'a> {
        NormalizedRdn(bytes)
    }

    /// The form itself.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl AsRef<[u8]> for NormalizedDn {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// For people: the RDNs as LDAP writes them, leaf first, in their normal form.
impl fmt::Display for NormalizedDn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rdn) in self.rdns().rev().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            rdn.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for NormalizedRdn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, pair) in self.0.split(|byte| *byte == AVA_SEPARATOR).enumerate() {
            if at > 0 {
                f.write_str("+")?;
            }
            let name_end = pair.iter().position(|byte| *byte == b'=').map_or(pair.len(), |at| at + 1);
            let (name, value) = pair.split_at(name_end);
            f.write_str(&display_text(name))?;
            f.write_str(&display_text(&unescaped(value)).replace(',', "\\,").replace('+', "\\+"))?;
        }
        Ok(())
    }
}

/// The value of a pair without what [`escape_from`] and [`push_ava`] put in.
fn unescaped(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        if *byte == ESCAPE {
            out.extend(bytes.next().filter(|next| **next != RAW).map(|next| next.wrapping_sub(1)));
        } else {
            out.push(*byte);
        }
    }
    out
}

impl fmt::Debug for NormalizedDn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes.escape_ascii())
    }
}

impl fmt::Debug for NormalizedRdn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// Appends the normal form of a DN.
fn push_dn(schema: &Schema, dn: &Dn<'_>, out: &mut Vec<u8>) {
    for rdn in dn.rdns().iter().rev() {
        push_rdn(schema, pairs(rdn), out);
    }
}

fn pairs<'a>(rdn: &'a Rdn<'a>) -> impl ExactSizeIterator<Item = (&'a str, &'a [u8])> {
    rdn.avas().iter().map(|ava| (ava.attribute, &*ava.value))
}

impl Schema {
    /// The normal form of a parsed DN.
    pub fn normalize_dn(&self, dn: &Dn<'_>) -> NormalizedDn {
        NormalizedDn::of(self, dn)
    }

    /// Appends the normal form of an RDN: the bytes of a [`NormalizedRdn`].
    pub fn normalize_rdn(&self, rdn: &Rdn<'_>, out: &mut Vec<u8>) {
        push_rdn_body(self, pairs(rdn), out);
    }
}

/// Appends the normal form of an RDN and its end mark.
pub(crate) fn push_rdn<'a>(
    schema: &Schema,
    avas: impl ExactSizeIterator<Item = (&'a str, &'a [u8])>,
    out: &mut Vec<u8>,
) {
    push_rdn_body(schema, avas, out);
    out.push(RDN_END);
}

/// The same without the end mark.
fn push_rdn_body<'a>(schema: &Schema, mut avas: impl ExactSizeIterator<Item = (&'a str, &'a [u8])>, out: &mut Vec<u8>) {
    if avas.len() == 1 {
        if let Some((name, value)) = avas.next() {
            push_ava(schema, name, value, out);
        }
        return;
    }
    let mut pairs: Vec<Vec<u8>> = avas
        .map(|(name, value)| {
            let mut pair = Vec::with_capacity(name.len() + value.len() + 1);
            push_ava(schema, name, value, &mut pair);
            pair
        })
        .collect();
    pairs.sort_unstable();
    for (at, pair) in pairs.iter().enumerate() {
        if at > 0 {
            out.push(AVA_SEPARATOR);
        }
        out.extend_from_slice(pair);
    }
}

fn push_ava(schema: &Schema, name: &str, value: &[u8], out: &mut Vec<u8>) {
    let attribute = schema.attribute_type(name.as_bytes());
    match attribute {
        Some(attribute) => out.extend_from_slice(attribute.normal_name.as_bytes()),
        None => out.extend(name.bytes().map(|byte| byte.to_ascii_lowercase())),
    }
    out.push(b'=');
    let start = out.len();
    let known = match attribute {
        Some(attribute) => attribute.equality.is_some_and(|rule| rule.normalize(schema, value, out).is_ok()),
        None => prep::prepare(value, Case::Ignore, out).is_ok(),
    };
    if !known {
        out.truncate(start);
        out.extend_from_slice(value);
    }
    escape_from(start, out);
    if !known {
        out.splice(start..start, [ESCAPE, RAW]);
    }
}

/// Escapes the separators in what was appended since `start`; normal forms of text have none.
fn escape_from(start: usize, out: &mut Vec<u8>) {
    let is_separator = |byte: &u8| *byte <= AVA_SEPARATOR;
    let Some(first) = out.get(start..).and_then(|tail| tail.iter().position(is_separator)) else { return };
    let tail = out.split_off(start + first);
    for byte in tail {
        if is_separator(&byte) {
            out.extend_from_slice(&[ESCAPE, byte + 1]);
        } else {
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests;
