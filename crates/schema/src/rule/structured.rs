//! Normal forms of values that have parts: DNs, OIDs, lists of lines, definitions, passwords; and phonetic keys.

use rphonetic::{DoubleMetaphone, Encoder};
use unicode_normalization::UnicodeNormalization;

use super::invalid_value::InvalidValue;
use super::matching_rule::Form;
use super::number;
use crate::dn::NormalizedDn;
use crate::prep::{self, Case, Edges, WHOLE};
use crate::schema::Schema;

type Result<T> = std::result::Result<T, InvalidValue>;

/// Stands between the lines of a list; string preparation leaves no such byte in a line.
const LINE_BREAK: u8 = b'\n';
/// Longest code of a word, as in OpenDJ.
const PHONETIC_CODE_MAX: usize = 4;

pub(super) fn normalize_dn(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let dn = NormalizedDn::parse(schema, value).map_err(|_| InvalidValue::NotA("a distinguished name"))?;
    out.extend_from_slice(dn.as_bytes());
    Ok(())
}

/// Splits `dn#'0101'B`; the bits are there only if they are well-formed, else the `#` belongs to the DN.
#[must_use]
pub fn split_unique_member(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    let hash = value.iter().rposition(|byte| *byte == b'#');
    let split = hash.and_then(|at| Some((value.get(..at)?, number::bit_string(value.get(at + 1..)?)?)));
    match split {
        Some((dn, bits)) => (dn, Some(bits)),
        None => (value, None),
    }
}

pub(super) fn normalize_unique_member(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (dn, bits) = split_unique_member(value);
    normalize_dn(schema, dn, out)?;
    if let Some(bits) = bits {
        // A DN's form ends with its last RDN, so nothing of it can be mistaken for this.
        out.push(b'#');
        out.extend_from_slice(bits);
    }
    Ok(())
}

/// The numeric OID of whatever has this name; an unknown name in lower case.
pub(super) fn normalize_oid(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let name = value.trim_ascii();
    if name.is_empty() || !name.is_ascii() {
        return Err(InvalidValue::NotA("a name or an OID"));
    }
    match schema.oid_of(name) {
        Some(oid) => out.extend_from_slice(oid.as_bytes()),
        None => out.extend(name.iter().map(u8::to_ascii_lowercase)),
    }
    Ok(())
}

/// Lines separated by `$`, with `\24` and `\5C` (RFC 4517 §3.3.28).
pub(super) fn normalize_list(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    for (at, line) in value.split(|byte| *byte == b'$').enumerate() {
        if at > 0 {
            out.push(LINE_BREAK);
        }
        prep::prepare(&unescape_line(line), Case::Ignore, out)?;
    }
    Ok(())
}

pub(super) fn normalize_list_piece(piece: &[u8], edges: Edges, out: &mut Vec<u8>) -> Result<()> {
    Ok(prep::prepare_edges(&unescape_line(piece), Case::Ignore, edges, out)?)
}

fn unescape_line(line: &[u8]) -> Vec<u8> {
    unescape(line, b"24", b'$')
}

/// Reads `\\5C` as a backslash, and a backslash with `digits` as `character`; others stay (RFC 4517 §3.3.28 and
/// §3.3.30).
pub(super) fn unescape(text: &[u8], digits: &[u8; 2], character: u8) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let escaped = match after.get(..2) {
            Some(found) if *first == b'\\' && found.eq_ignore_ascii_case(digits) => Some(character),
            Some(b"5C" | b"5c") if *first == b'\\' => Some(b'\\'),
            _ => None,
        };
        plain.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    plain
}

/// The first component of `( component …`, which is how definitions are found by their OID, number or name.
pub(super) fn normalize_first_component(form: Form, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    const WHAT: InvalidValue = InvalidValue::NotA("a list in parentheses");
    let inside = value.trim_ascii_start().strip_prefix(b"(").ok_or(WHAT)?.trim_ascii_start();
    let component = match inside.strip_prefix(b"'") {
        Some(quoted) => quoted.split(|byte| *byte == b'\'').next(),
        None => inside.split(|byte| matches!(byte, b' ' | b')' | b'$' | b'\t' | b'\r' | b'\n')).next(),
    };
    let component = component.filter(|component| !component.is_empty()).ok_or(WHAT)?;
    match form {
        Form::FirstOid => normalize_oid(schema, component, out),
        Form::FirstInteger => number::normalize_integer(component, out),
        _ => Ok(prep::prepare_edges(component, Case::Ignore, WHOLE, out)?),
    }
}

/// `scheme $ info $ value`: the scheme has no case, the rest does; spaces around `$` do not count (RFC 3112 §3.1).
pub(super) fn normalize_auth_password(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let [scheme, info, secret] =
        auth_password(value).ok_or(InvalidValue::NotA("an authentication password (scheme$info$value)"))?;
    out.extend(scheme.iter().map(u8::to_ascii_uppercase));
    for part in [info, secret] {
        out.push(b'$');
        out.extend_from_slice(part);
    }
    Ok(())
}

/// The three parts of an authentication password.
pub(crate) fn auth_password(value: &[u8]) -> Option<[&[u8]; 3]> {
    let mut parts = value.split(|byte| *byte == b'$').map(<[u8]>::trim_ascii);
    let parts = [parts.next()?, parts.next()?, parts.next()?].into_iter().chain(parts).collect::<Vec<_>>();
    let [scheme, info, secret] = parts.as_slice() else { return None };
    let scheme_byte = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'/' | b'_');
    let printable = |part: &[u8]| !part.is_empty() && part.iter().all(|byte| (0x21..=0x7E).contains(byte));
    let good = !scheme.is_empty() && scheme.iter().all(scheme_byte) && printable(info) && printable(secret);
    good.then_some([scheme, info, secret])
}

/// The Double Metaphone code of each word. Letters with marks sound like their base letters; a word without a code,
/// such as a number or one in another script, stands for itself.
pub(super) fn normalize_phonetic(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut prepared = Vec::with_capacity(value.len());
    prep::prepare(value, Case::Ignore, &mut prepared)?;
    let text = String::from_utf8_lossy(&prepared);
    let encoder = DoubleMetaphone::new(Some(PHONETIC_CODE_MAX));
    for (at, word) in text.split_ascii_whitespace().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        let letters: String = word.nfd().filter(char::is_ascii_alphabetic).collect();
        let code = if letters.is_empty() { String::new() } else { encoder.encode(&letters) };
        out.extend_from_slice(if code.is_empty() { word.as_bytes() } else { code.as_bytes() });
    }
    if out.is_empty() {
        out.push(b' ');
    }
    Ok(())
}
