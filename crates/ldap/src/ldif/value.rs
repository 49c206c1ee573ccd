//! `name: value`, `name:: base64`, `name:< url`.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::line::LDIF_URL_VALUE_BYTES_MAX;
use super::{LdifFault, UrlValues};

/// Reads base64 with or without padding: both are found in files.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A value as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spec<'l> {
    Plain(&'l [u8]),
    Base64(&'l [u8]),
    Url(&'l [u8]),
}

/// What may stand in an attribute description: letters, digits, hyphen, dot, semicolon; underscore as many servers let
/// it.
const IS_DESCRIPTION: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b';' | b'_');
        byte += 1;
    }
    table
};

/// Description and value of a line.
#[inline]
pub(super) fn split(line: &[u8]) -> Result<(&[u8], Spec<'_>), LdifFault> {
    let length = line.iter().position(|byte| !IS_DESCRIPTION[usize::from(*byte)]).unwrap_or(line.len());
    let (description, rest) = line.split_at(length);
    match rest {
        [b':', value @ ..] if length > 0 => Ok((description, spec(value))),
        _ if line.first() == Some(&b' ') => Err(LdifFault::NothingToContinue),
        _ => Err(LdifFault::NotAnAttribute),
    }
}

/// What follows the first colon.
#[inline]
pub(super) fn spec(text: &[u8]) -> Spec<'_> {
    match text {
        [b':', base64 @ ..] => Spec::Base64(base64),
        [b'<', url @ ..] => Spec::Url(url),
        plain => Spec::Plain(without_fill(plain)),
    }
}

/// Appends the value that `spec` stands for. `name` is for messages.
pub(super) fn append(spec: Spec<'_>, name: &[u8], urls: UrlValues, out: &mut Vec<u8>) -> Result<(), LdifFault> {
    match spec {
        Spec::Plain(value) => out.extend_from_slice(value),
        Spec::Base64(text) => {
            BASE64.decode_vec(text.trim_ascii(), out).map_err(|_| LdifFault::BadBase64(lossy(name)))?;
        }
        Spec::Url(_) if urls == UrlValues::Refuse => return Err(LdifFault::UrlRefused(lossy(name))),
        Spec::Url(url) => append_file(url.trim_ascii(), out)?,
    }
    Ok(())
}

/// For messages.
pub(super) fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn without_fill(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = text {
        text = rest;
    }
    text
}

fn append_file(url: &[u8], out: &mut Vec<u8>) -> Result<(), LdifFault> {
    use std::io::Read;

    let bad = |reason: String| LdifFault::BadUrl { url: lossy(url), reason };
    let path = file_path(url).ok_or_else(|| bad("only file: URLs of this machine are read".into()))?;
    let file = std::fs::File::open(path).map_err(|error| bad(error.to_string()))?;
    let start = out.len();
    let limit = LDIF_URL_VALUE_BYTES_MAX + 1;
    let result = file.take(limit).read_to_end(out);
    match result {
        Ok(size) if (size as u64) < limit => Ok(()),
        Ok(_) => {
            out.truncate(start);
            Err(bad(format!("it is larger than {LDIF_URL_VALUE_BYTES_MAX} bytes")))
        }
        Err(error) => {
            out.truncate(start);
            Err(bad(error.to_string()))
        }
    }
}

/// `file:///path`, `file://localhost/path`, `file:/path`.
fn file_path(url: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(url).ok()?;
    let (scheme, rest) = text.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    if !path.starts_with('/') {
        return None;
    }
    String::from_utf8(crate::url::percent_decode(path)?).ok()
}
