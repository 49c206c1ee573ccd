//! Checks of the syntaxes whose values are a line of text or carry a signature of bytes.

use x509_parser::prelude::{FromDer, X509Certificate};

/// RFC 4517 §3.2: letters, digits and some punctuation.
pub(super) fn is_printable(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(|byte| is_printable_byte(*byte))
}

fn is_printable_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'\'' | b'(' | b')' | b'+' | b',' | b'-' | b'.' | b'=' | b'/' | b':' | b'?' | b' ')
}

/// Strict: two letters (RFC 4517 §3.3.4). Lenient: any printable text, since directories contain `USA`.
pub(super) fn is_country(value: &[u8], strict: bool) -> bool {
    if strict { value.len() == 2 && value.iter().all(u8::is_ascii_alphabetic) } else { is_printable(value) }
}

/// Words separated by `$`.
pub(super) fn is_delivery_method(value: &[u8]) -> bool {
    const METHODS: [&str; 10] =
        ["any", "mhs", "physical", "telex", "teletex", "g3fax", "g4fax", "ia5", "videotex", "telephone"];
    value.split(|byte| *byte == b'$').all(|word| {
        let word = word.trim_ascii();
        METHODS.iter().any(|method| word.eq_ignore_ascii_case(method.as_bytes()))
    })
}

/// A printable number and, after `$`, the parameters of RFC 4517 §3.3.11.
pub(super) fn is_facsimile_number(value: &[u8]) -> bool {
    const PARAMETERS: [&str; 7] =
        ["twoDimensional", "fineResolution", "unlimitedLength", "b4Length", "a3Width", "b4Width", "uncompressed"];
    let mut parts = value.split(|byte| *byte == b'$').map(<[u8]>::trim_ascii);
    parts.next().is_some_and(is_printable)
        && parts.all(|part| PARAMETERS.iter().any(|known| part.eq_ignore_ascii_case(known.as_bytes())))
}

/// Strict: E.123, `+` and digits. Lenient, as OpenDJ: anything that is not empty.
pub(super) fn is_telephone(value: &[u8], strict: bool) -> bool {
    if !strict {
        return !value.is_empty() && std::str::from_utf8(value).is_ok();
    }
    let Some(rest) = value.strip_prefix(b"+") else { return false };
    rest.iter().any(u8::is_ascii_digit)
        && rest.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'(' | b')'))
}

/// `id$key:value…` (RFC 4517 §3.3.32).
pub(super) fn is_teletex(value: &[u8]) -> bool {
    const KEYS: [&str; 5] = ["graphic", "control", "misc", "page", "private"];
    let mut parts = value.split(|byte| *byte == b'$');
    parts.next().is_some_and(is_printable)
        && parts.all(|part| {
            let key = part.split(|byte| *byte == b':').next().unwrap_or_default();
            part.contains(&b':') && KEYS.iter().any(|known| key.eq_ignore_ascii_case(known.as_bytes()))
        })
}

/// `number$country$answerback` (RFC 4517 §3.3.33).
pub(super) fn is_telex(value: &[u8]) -> bool {
    value.split(|byte| *byte == b'$').count() == 3 && value.split(|byte| *byte == b'$').all(is_printable)
}

/// Lines separated by `$`, each with text; only `\24` and `\5C` are escapes (RFC 4517 §3.3.28).
pub(super) fn is_postal_address(value: &[u8]) -> bool {
    let line = |line: &[u8]| {
        let mut rest = line;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
            match rest.get(at + 1..at + 3) {
                Some(b"24" | b"5C" | b"5c") => rest = rest.get(at + 3..).unwrap_or_default(),
                _ => return false,
            }
        }
        true
    };
    // The RFC wants a character in each line; directories have empty ones, which slapd takes, too.
    !value.is_empty() && std::str::from_utf8(value).is_ok() && value.split(|byte| *byte == b'$').all(line)
}

/// `type$mailbox` (RFC 4517 §3.3.27).
pub(super) fn is_other_mailbox(value: &[u8]) -> bool {
    let Some(dollar) = value.iter().position(|byte| *byte == b'$') else { return false };
    let (kind, mailbox) = value.split_at(dollar);
    is_printable(kind) && mailbox.is_ascii()
}

/// A numeric OID or a short name (RFC 4512 §1.4).
pub(super) fn is_oid(value: &[u8], name_exceptions: bool) -> bool {
    is_numeric_oid(value) || is_descriptor(value, name_exceptions)
}

/// At least two numbers without leading zeros.
pub(crate) fn is_numeric_oid(value: &[u8]) -> bool {
    let number = |part: &[u8]| {
        !part.is_empty() && part.iter().all(u8::is_ascii_digit) && (part.len() == 1 || part.first() != Some(&b'0'))
    };
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(number)
}

/// A letter, then letters, digits and hyphens. The exceptions that OpenDJ can allow: underscores, and a digit in front.
pub(crate) fn is_descriptor(value: &[u8], exceptions: bool) -> bool {
    let Some((first, rest)) = value.split_first() else { return false };
    let lead = first.is_ascii_alphabetic() || (exceptions && (first.is_ascii_digit() || *first == b'_'));
    let key = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || (exceptions && *byte == b'_');
    lead && rest.iter().all(key)
}

/// `YYYYmmddHHMMSS.ffffffZ#cccccc#sss#mmmmmm` of OpenLDAP, or the 28 to 32 hexadecimal digits of OpenDJ.
pub(super) fn is_csn(value: &[u8]) -> bool {
    let hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    if matches!(value.len(), 28..=32) && hex(value) {
        return true;
    }
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b'#').collect();
    let [time, count, sid, modification] = parts.as_slice() else { return false };
    let time_good = matches!(time.len(), 15 | 22) && crate::rule::is_generalized_time(time);
    time_good
        && count.len() == 6
        && matches!(sid.len(), 2 | 3)
        && modification.len() == 6
        && [*count, *sid, *modification].into_iter().all(hex)
}

/// `(host,user,domain)`, each part possibly empty (RFC 2307 §2.4).
pub(super) fn is_netgroup_triple(value: &[u8]) -> bool {
    let inside = value.trim_ascii().strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")"));
    inside.is_some_and(|inside| inside.is_ascii() && inside.split(|byte| *byte == b',').count() == 3)
}

/// `key=server:path` (RFC 2307 §2.4).
pub(super) fn is_boot_parameter(value: &[u8]) -> bool {
    let Some(equals) = value.iter().position(|byte| *byte == b'=') else { return false };
    let (key, rest) = value.split_at(equals);
    !key.is_empty() && value.is_ascii() && rest.contains(&b':')
}

pub(super) fn is_certificate(value: &[u8]) -> bool {
    X509Certificate::from_der(value).is_ok_and(|(rest, _)| rest.is_empty())
}

/// The outer shape of DER: a sequence that fills the value.
pub(super) fn is_der_sequence(value: &[u8]) -> bool {
    let Some((0x30, rest)) = value.split_first() else { return false };
    let Some((length, content)) = rest.split_first() else { return false };
    if *length < 0x80 {
        return content.len() == usize::from(*length);
    }
    let count = usize::from(length & 0x7F);
    match content.split_at_checked(count) {
        Some((bytes, content)) if (1..=4).contains(&count) => {
            bytes.iter().fold(0usize, |length, byte| length << 8 | usize::from(*byte)) == content.len()
        }
        _ => false,
    }
}

/// Start of image, and the marker that must follow.
pub(super) fn is_jpeg(value: &[u8]) -> bool {
    value.starts_with(&[0xFF, 0xD8, 0xFF])
}
