//! Normal form of `certificateExactMatch` (RFC 4523 §2.5): serial number, then issuer.

use x509_parser::prelude::{FromDer, X509Certificate};

use super::invalid_value::InvalidValue;
use super::number;
use crate::dn::{self, NormalizedDn};
use crate::schema::Schema;

type Result<T> = std::result::Result<T, InvalidValue>;

const ASSERTION: InvalidValue =
    InvalidValue::NotA("a certificate exact assertion: { serialNumber N, issuer rdnSequence:\"DN\" }");

/// A stored certificate, in DER; an assertion is accepted too, so that normal forms of assertions can be compared.
pub(super) fn normalize(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let Ok((_, certificate)) = X509Certificate::from_der(value) else {
        return normalize_assertion(schema, value, out).map_err(|_| InvalidValue::NotA("an X.509 certificate"));
    };
    let serial = certificate.tbs_certificate.raw_serial();
    number::push_signed_bytes(serial, out)?;
    for rdn in certificate.tbs_certificate.issuer.iter_rdn() {
        let avas: Vec<(String, &[u8])> =
            rdn.iter().map(|ava| (ava.attr_type().to_id_string(), ava.attr_value().data)).collect();
        dn::push_rdn(schema, avas.iter().map(|(name, value)| (name.as_str(), *value)), out);
    }
    Ok(())
}

/// The assertion in GSER, or `serial$issuer` as older clients send it.
pub(super) fn normalize_assertion(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let text = std::str::from_utf8(value).map_err(|_| ASSERTION)?.trim();
    let (serial, issuer) = match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(inside) => gser(inside).ok_or(ASSERTION)?,
        None => {
            let (serial, issuer) = text.split_once('$').ok_or(ASSERTION)?;
            (serial, issuer.to_owned())
        }
    };
    number::normalize_integer(serial.as_bytes(), out)?;
    let issuer = NormalizedDn::parse(schema, issuer.as_bytes()).map_err(|_| ASSERTION)?;
    out.extend_from_slice(issuer.as_bytes());
    Ok(())
}

/// `serialNumber N, issuer [rdnSequence:]"DN"`, in either order; a quote in the DN is doubled.
fn gser(inside: &str) -> Option<(&str, String)> {
    let mut serial = None;
    let mut issuer = None;
    let mut rest = inside.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("serialNumber") {
            let end = after.find(',').unwrap_or(after.len());
            serial = Some(after.get(..end)?.trim());
            rest = after.get(end..)?;
        } else {
            let after = rest.strip_prefix("issuer")?.trim_start();
            let after = after.strip_prefix("rdnSequence:").unwrap_or(after).trim_start().strip_prefix('"')?;
            let (text, end) = quoted(after)?;
            issuer = Some(text);
            rest = after.get(end..)?;
        }
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Some((serial?, issuer?))
}

/// Text up to the closing quote, and the offset behind that.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut plain = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '"' {
            plain.push(c);
        } else if chars.next_if(|(_, next)| *next == '"').is_some() {
            plain.push('"');
        } else {
            return Some((plain, at + 1));
        }
    }
    None
}

/// Whether the value is an assertion of `certificateExactMatch`.
pub(crate) fn is_certificate_assertion(schema: &Schema, value: &[u8]) -> bool {
    normalize_assertion(schema, value, &mut Vec::new()).is_ok()
}
