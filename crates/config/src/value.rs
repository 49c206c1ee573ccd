//! Values: from the text of a setting to a checked value, and back to text.
//!
//! Knows the syntaxes of [`crate::syntax`]. Does not know which property a value belongs to, nor where it stood.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::mask::AddressMask;
use crate::privileges::PRIVILEGES;
use crate::secret::Secret;
use crate::syntax::Syntax;
use crate::units::{duration_text, parse_duration, parse_size, size_text};

/// A checked value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text, a DN, an attribute type, a reference.
    Text(String),
    /// A password.
    Secret(Secret),
    /// A whole number.
    Integer(i64),
    /// Permission bits.
    Mode(u32),
    /// Bytes.
    Size(u64),
    /// Milliseconds.
    Duration(u64),
    /// Yes or no.
    Boolean(bool),
    /// A word of the declaration, in its spelling.
    Choice(&'static str),
    /// An address.
    Address(IpAddr),
    /// Some addresses.
    Mask(AddressMask),
    /// A path as written.
    Path(PathBuf),
    /// (hour, minute)
    TimeOfDay(u8, u8),
}

/// Reads `text` as a value of `syntax`; `None` says only that it is not valid: [`Syntax::allowed`] says what is.
pub(crate) fn parse(syntax: Syntax, text: &str) -> Option<Value> {
    let trimmed = text.trim();
    match syntax {
        Syntax::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
        Syntax::Password => (!text.is_empty()).then(|| Value::Secret(Secret::new(text))),
        Syntax::Pattern => (!text.is_empty() && is_pattern(text)).then(|| Value::Text(text.to_owned())),
        Syntax::Reference(_) => (!trimmed.is_empty()).then(|| Value::Text(trimmed.to_owned())),
        Syntax::Dn => crate::dn::is_dn(trimmed).then(|| Value::Text(trimmed.to_owned())),
        Syntax::BaseDn => (trimmed.is_empty() || crate::dn::is_dn(trimmed)).then(|| Value::Text(trimmed.to_owned())),
        Syntax::AttributeType | Syntax::ObjectClass => is_name_or_oid(trimmed).then(|| Value::Text(trimmed.to_owned())),
        Syntax::Integer { min, max } => {
            trimmed.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Integer)
        }
        Syntax::Size { min, max } => parse_size(trimmed).filter(|bytes| (min..=max).contains(bytes)).map(Value::Size),
        Syntax::Duration { unit, min_ms, max_ms } => {
            parse_duration(trimmed, unit).filter(|ms| (min_ms..=max_ms).contains(ms)).map(Value::Duration)
        }
        Syntax::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(Value::Boolean(true)),
            "false" | "no" | "off" => Some(Value::Boolean(false)),
            _ => None,
        },
        Syntax::Choice(words) => {
            words.iter().find(|word| word.eq_ignore_ascii_case(trimmed)).map(|word| Value::Choice(word))
        }
        Syntax::ServerUrl => is_server_url(trimmed).then(|| Value::Text(trimmed.to_owned())),
        Syntax::Address => trimmed.parse().ok().map(Value::Address),
        Syntax::AddressMask => AddressMask::parse(trimmed).map(Value::Mask),
        Syntax::Path => (!trimmed.is_empty() && !trimmed.contains('\0')).then(|| Value::Path(PathBuf::from(trimmed))),
        Syntax::Mode => (matches!(trimmed.len(), 3 | 4) && trimmed.bytes().all(|b| (b'0'..=b'7').contains(&b)))
            .then(|| u32::from_str_radix(trimmed, 8).ok().map(Value::Mode))
            .flatten(),
        Syntax::TimeOfDay => parse_time_of_day(trimmed),
        // Whether it can be parsed is checked with its place, in `crate::check`.
        Syntax::Aci => (!trimmed.is_empty()).then(|| Value::Text(trimmed.to_owned())),
        Syntax::PrivilegeChange => privilege_change(trimmed).map(Value::Text),
        Syntax::SeverityOverride => is_severity_override(trimmed).then(|| Value::Text(trimmed.to_owned())),
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Secret(secret) => write!(f, "{secret}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Mode(bits) => write!(f, "{bits:03o}"),
            Value::Size(bytes) => f.write_str(&size_text(*bytes)),
            Value::Duration(ms) => f.write_str(&duration_text(*ms)),
            Value::Boolean(yes) => write!(f, "{yes}"),
            Value::Choice(word) => f.write_str(word),
            Value::Address(address) => write!(f, "{address}"),
            Value::Mask(mask) => write!(f, "{mask}"),
            Value::Path(path) => write!(f, "{}", path.display()),
            Value::TimeOfDay(hour, minute) => write!(f, "{hour:02}{minute:02}"),
        }
    }
}

/// Bytes that one compiled regular expression may take.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Whether it is an LDAP URL with a host and, at most, a port.
fn is_server_url(text: &str) -> bool {
    ldap::LdapUrl::parse(text).is_ok_and(|url| {
        let asks_nothing = url.attributes.is_empty() && url.scope.is_none() && url.filter.is_none();
        url.host.is_some() && url.dn.is_empty() && asks_nothing && url.extensions.is_empty()
    })
}

fn privilege_change(text: &str) -> Option<String> {
    let (sign, name) = text.strip_prefix('-').map_or(("", text), |name| ("-", name));
    let known = PRIVILEGES.iter().find(|known| known.eq_ignore_ascii_case(name))?;
    Some(format!("{sign}{known}"))
}

fn parse_time_of_day(text: &str) -> Option<Value> {
    let digits: String = text.chars().filter(|c| *c != ':').collect();
    if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (hour, minute) = digits.split_at(2);
    let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60).then_some(Value::TimeOfDay(hour, minute))
}

/// Whether it is a regular expression of reasonable size.
fn is_pattern(text: &str) -> bool {
    regex::RegexBuilder::new(text).case_insensitive(true).size_limit(PATTERN_BYTES_MAX).build().is_ok()
}

/// Whether the schema could call something so.
fn is_name_or_oid(text: &str) -> bool {
    let mut bytes = text.bytes();
    match bytes.next() {
        Some(first) if first.is_ascii_alphabetic() => {
            bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        }
        Some(first) if first.is_ascii_digit() => {
            text.split('.').all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()))
        }
        _ => false,
    }
}

/// Severities of the error log.
pub const SEVERITIES: [&str; 7] = ["all", "none", "error", "info", "warning", "notice", "debug"];

fn is_severity_override(text: &str) -> bool {
    text.split_once('=').is_some_and(|(category, severities)| {
        !category.trim().is_empty()
            && severities.split(',').all(|word| SEVERITIES.iter().any(|known| known.eq_ignore_ascii_case(word.trim())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_bits_are_octal_and_passwords_are_hidden() {
        for (text, shown) in [("640", "640"), ("0600", "600"), ("007", "007")] {
            assert_eq!(parse(Syntax::Mode, text).unwrap().to_string(), shown);
        }
        let secret = parse(Syntax::Password, "in the open").unwrap();
        assert_eq!((secret.to_string(), format!("{secret:?}")), ("********".into(), "Secret(********)".into()));
    }

    #[test]
    fn the_small_syntaxes_say_no() {
        for (syntax, good, bad) in [
            (Syntax::Mode, "640", "688"),
            (Syntax::TimeOfDay, "02:30", "2460"),
            (Syntax::AttributeType, "2.5.4.3", "2..3"),
            (Syntax::AttributeType, "cn", "c n"),
            (Syntax::SeverityOverride, "TLS=debug,info", "TLS=loud"),
            (Syntax::Address, "::1", "localhost"),
            (Syntax::Boolean, "TRUE", "1"),
            (Syntax::PrivilegeChange, "-Modify-ACL", "--modify-acl"),
            (Syntax::PrivilegeChange, "proxied-auth", "all"),
            (Syntax::Pattern, "^uid=[^,]+,ou=people,", "uid=("),
            (Syntax::Pattern, "a{2}", "(a{1000}){1000}"),
            (Syntax::Integer { min: 1, max: 65_535 }, "65535", "65536"),
            (Syntax::Choice(&["combined", "multi-line"]), "Combined", "single"),
        ] {
            assert!(parse(syntax, good).is_some(), "{good}");
            assert_eq!(parse(syntax, bad), None, "{bad}");
        }
    }
}
