//! Names and patterns in LDAP URLs.

use std::borrow::Cow;

use ldap::dn::{AVAS_MAX, RDNS_MAX, is_attribute_type, unescaped};
use ldap::url::percent_decode;
use ldap::{DnError, LdapUrl, Rdn};

use crate::dn_pattern::{AttributePattern, AvaPattern, DnPattern, DnText, RdnPattern, ValuePattern};
use crate::error::AciError;
use crate::parse::item::Item;

const SCHEME: &str = "ldap:///";

/// What follows `ldap:///`.
pub(super) fn url_path(item: Item<'_>) -> Result<Item<'_>, AciError> {
    let Some(path) = item.after(SCHEME) else {
        let found = format!("{:?}", crate::error::excerpt(item.text));
        let expected = match item.after("ldap://").or_else(|| item.after("ldaps://")) {
            Some(_) => "ldap:/// with three slashes: a URL in an instruction names no server",
            None => "a URL of the form ldap:///DN",
        };
        return Err(AciError::unexpected(item.at, found, expected));
    };
    Ok(path)
}

/// The whole of `item` as a URL; it has been seen to begin with `ldap:///`.
pub(super) fn url(item: Item<'_>) -> Result<LdapUrl, AciError> {
    LdapUrl::parse(item.text).map_err(|error| AciError::url(item.at, item.text, error))
}

/// A name as it stands in a URL.
pub(super) fn dn_text(item: Item<'_>) -> Result<DnText, AciError> {
    let text = decoded(item)?;
    DnText::parse(&text).map_err(|error| name_error(item, &text, error))
}

/// A name or a pattern as it stands in a URL.
pub(super) fn dn_pattern(item: Item<'_>) -> Result<DnPattern, AciError> {
    let text = decoded(item)?;
    DnPattern::parse(&text).map_err(|error| name_error(item, &text, error))
}

impl DnPattern {
    /// Reads a name or a pattern, as other servers write them outside of instructions.
    ///
    /// # Errors
    /// Says where it is neither.
    pub fn parse(text: &str) -> Result<DnPattern, DnError> {
        match text.contains('*') {
            true => pattern(text).map(DnPattern::Pattern),
            false => DnText::parse(text).map(DnPattern::Exact),
        }
    }
}

/// A place in a name that holds percent-encoded characters is not a place in the text: there, its beginning is told.
fn name_error(item: Item<'_>, text: &str, error: DnError) -> AciError {
    let position = if text.len() == item.text.len() { error.position } else { 0 };
    AciError::name(item.at, text, DnError { position, ..error })
}

fn decoded(item: Item<'_>) -> Result<Cow<'_, str>, AciError> {
    if !item.text.contains('%') {
        return Ok(Cow::Borrowed(item.text));
    }
    let text = percent_decode(item.text).and_then(|bytes| String::from_utf8(bytes).ok()).map(Cow::Owned);
    text.ok_or_else(|| {
        let reason = "% is followed by two hexadecimal digits; the character itself is written %25";
        AciError::name(item.at, item.text, DnError { position: 0, reason })
    })
}

fn pattern(text: &str) -> Result<Vec<RdnPattern>, DnError> {
    let mut rdns = Vec::new();
    let mut at = 0;
    for part in unescaped_split(text, |byte| matches!(byte, b',' | b';')) {
        if rdns.len() == RDNS_MAX {
            return Err(DnError { position: at, reason: "the name has too many parts" });
        }
        rdns.push(match part.trim_ascii() {
            "*" => RdnPattern::AnyRdn,
            "**" => RdnPattern::AnyRdns,
            _ => RdnPattern::Avas(avas(part).map_err(|error| later(error, at))?),
        });
        at += part.len() + 1;
    }
    Ok(rdns)
}

fn avas(text: &str) -> Result<Vec<AvaPattern>, DnError> {
    let mut found = Vec::new();
    let mut at = 0;
    for part in unescaped_split(text, |byte| byte == b'+') {
        if found.len() == AVAS_MAX {
            return Err(DnError { position: at, reason: "the RDN has too many values" });
        }
        found.push(ava(part).map_err(|error| later(error, at))?);
        at += part.len() + 1;
    }
    Ok(found)
}

fn ava(text: &str) -> Result<AvaPattern, DnError> {
    let fault = |position, reason| Err(DnError { position, reason });
    let Some((attribute, value)) = text.split_once('=') else {
        return fault(0, "an RDN of a pattern is *, ** or an attribute type, an equals sign and a value");
    };
    let place = attribute.len() + 1;
    let attribute = match attribute.trim_ascii() {
        "*" => AttributePattern::Any,
        name if is_attribute_type(name) => AttributePattern::Named(name.to_owned()),
        name if name.contains('*') => return fault(0, "a wildcard stands for a whole attribute type"),
        _ => return fault(0, "an attribute type is a word that begins with a letter, or an OID"),
    };
    let value = value_pattern(value).map_err(|error| later(error, place))?;
    Ok(AvaPattern { attribute, value })
}

fn value_pattern(text: &str) -> Result<ValuePattern, DnError> {
    if !text.contains('*') {
        // As any value of a name: with a type before it, one mechanism reads hexadecimal values, too.
        let rdn = format!("x={text}");
        let rdn = Rdn::parse(&rdn).map_err(|e| DnError { position: e.position.saturating_sub(2), ..e })?;
        return Ok(ValuePattern::Exact(rdn.avas().first().map(|ava| ava.value.to_vec()).unwrap_or_default()));
    }
    let start = text.trim_ascii_start();
    let end = start.trim_ascii_end();
    // A space that is escaped belongs to the value.
    let backslashes = end.len() - end.trim_end_matches('\\').len();
    let end = if backslashes % 2 == 1 && end.len() < start.len() { &start[..=end.len()] } else { end };
    let mut at = text.len() - start.len();
    let mut pieces = Vec::new();
    for piece in end.split('*') {
        pieces.push(unescaped(piece).map_err(|error| later(error, at))?);
        at += piece.len() + 1;
    }
    let last = pieces.pop().unwrap_or_default();
    let mut pieces = pieces.into_iter();
    let initial = pieces.next().unwrap_or_default();
    Ok(ValuePattern::Wildcard { initial, any: pieces.filter(|piece| !piece.is_empty()).collect(), last })
}

/// Pieces between separators that no backslash precedes.
fn unescaped_split(text: &str, is_separator: impl Fn(u8) -> bool) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    text.split(move |c: char| {
        let is_end = !is_escaped && u8::try_from(c).is_ok_and(&is_separator);
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })
}

fn later(error: DnError, bytes: usize) -> DnError {
    DnError { position: error.position + bytes, ..error }
}
