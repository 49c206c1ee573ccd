//! What the values of a property look like, and how that is said to people.
//!
//! Knows no property; [`crate::value`] reads the values.

use crate::privileges::PRIVILEGES;
use crate::units::{Unit, duration_text, size_text};

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub enum Syntax {
    /// Any text.
    Text,
    /// A regular expression.
    Pattern,
    /// A distinguished name (RFC 4514) of an entry.
    Dn,
    /// The same, or the empty name.
    BaseDn,
    /// A whole number within bounds.
    Integer {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A number of bytes with a unit: `64 kb`, `5 mib`.
    Size {
        /// Least number of bytes.
        min: u64,
        /// Greatest number of bytes.
        max: u64,
    },
    /// A length of time with a unit: `60 seconds`, `1 d 12 h`.
    Duration {
        /// What a bare number counts.
        unit: Unit,
        /// Least length in milliseconds.
        min_ms: u64,
        /// Greatest length in milliseconds.
        max_ms: u64,
    },
    /// `true` or `false`.
    Boolean,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Name or OID of an attribute type.
    AttributeType,
    /// Name or OID of an object class.
    ObjectClass,
    /// An LDAP URL that names a server and nothing else.
    ServerUrl,
    /// An IP address.
    Address,
    /// An IP address, a network (`10.0.0.0/8`) or an IPv4 pattern (`10.0.*.*`).
    AddressMask,
    /// A file or directory; a relative one starts at the instance directory.
    Path,
    /// Permission bits in octal: `640`.
    Mode,
    /// Hour and minute: `0230`.
    TimeOfDay,
    /// `CATEGORY=SEVERITY,…`
    SeverityOverride,
    /// An access control instruction (attribute `aci`).
    Aci,
    /// The name of a privilege, or `-` and the name.
    PrivilegeChange,
    /// An encoded or clear password.
    Password,
    /// The name of an object of this class.
    Reference(&'static str),
}

/// Of a longer list, those are shown that look like what was written.
const CHOICES_SHOWN: usize = 10;

impl Syntax {
    /// What is allowed instead of a wrong text, as the end of "must be …": of many names those that look like it.
    #[must_use]
    pub fn allowed_instead_of(&self, wrong: &str) -> String {
        let (what, known): (String, &[&str]) = match self {
            Syntax::PrivilegeChange => ("the name of a privilege".to_owned(), &PRIVILEGES),
            Syntax::Integer { min, max } => return format!("a whole number from {min} to {max}"),
            Syntax::Text => return "a text that is not empty".to_owned(),
            Syntax::Choice(words) if words.len() > CHOICES_SHOWN => (format!("one of {} words", words.len()), words),
            _ => return self.allowed(),
        };
        let close = nearest::nearest(wrong.trim().trim_start_matches('-'), known.iter().copied());
        match close.is_empty() {
            true => self.allowed(),
            false => format!("{what}: did you mean {}?", close.join(", ")),
        }
    }

    /// What is allowed, as the end of "must be …".
    #[must_use]
    pub fn allowed(&self) -> String {
        match self {
            Syntax::Text => "a text".into(),
            Syntax::Pattern => "a regular expression such as \"^uid=[^,]+,ou=People,\"".into(),
            Syntax::Dn => "a DN such as \"dc=example,dc=com\"".into(),
            Syntax::BaseDn => {
                "a DN such as \"dc=example,dc=com\", or \"\" for all names that no other backend holds".into()
            }
            Syntax::Integer { min, max } if *max == i64::from(i32::MAX) => format!("a whole number, at least {min}"),
            Syntax::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Syntax::Size { min, max } => bounded(
                "a size such as \"64 kb\" or \"5 mib\" (units b, kb, mb, gb, tb, kib, mib, gib, tib)",
                (*min > 1).then(|| size_text(*min)),
                (*max < u64::MAX).then(|| size_text(*max)),
            ),
            Syntax::Duration { unit, min_ms, max_ms } => {
                let bare = match unit {
                    Unit::Milliseconds => "milliseconds",
                    Unit::Seconds => "seconds",
                };
                bounded(
                    &format!(
                        "a duration such as \"60 seconds\" (units ms, s, m, h, d, w; a bare number counts {bare})"
                    ),
                    (*min_ms > 0).then(|| duration_text(*min_ms)),
                    (*max_ms < u64::MAX).then(|| duration_text(*max_ms)),
                )
            }
            Syntax::Boolean => "true or false".into(),
            Syntax::Choice(words) => format!("one of {}", words.join(", ")),
            Syntax::AttributeType => "the name or OID of an attribute type".into(),
            Syntax::ObjectClass => "the name or OID of an object class".into(),
            Syntax::ServerUrl => {
                "the LDAP URL of a server, without a name, such as \"ldap://ldap.example.com:1389\"".into()
            }
            Syntax::Address => "an IP address such as \"127.0.0.1\" or \"::\"".into(),
            Syntax::AddressMask => {
                "an IP address, a network such as \"10.0.0.0/8\" or a pattern such as \"10.0.*.*\"".into()
            }
            Syntax::Path => "a path; a relative one starts at the instance directory".into(),
            Syntax::Mode => "permission bits in octal such as \"640\"".into(),
            Syntax::TimeOfDay => "an hour and minute such as \"0230\"".into(),
            Syntax::SeverityOverride => "CATEGORY=SEVERITY[,SEVERITY…]".into(),
            Syntax::Aci => {
                "an access control instruction such as '(targetattr=\"cn\")(version 3.0; acl \"read names\"; \
                 allow (read) userdn=\"ldap:///all\";)'"
                    .into()
            }
            Syntax::PrivilegeChange => {
                format!("the name of a privilege, with \"-\" before it to take it away: {}", PRIVILEGES.join(", "))
            }
            Syntax::Password => "a password, in the clear (the server hashes it) or encoded as \"{SCHEME}…\"".into(),
            Syntax::Reference(class) => format!("the name of a {class}"),
        }
    }
}

fn bounded(what: &str, min: Option<String>, max: Option<String>) -> String {
    match (min, max) {
        (None, None) => what.to_owned(),
        (Some(min), None) => format!("{what}, at least {min}"),
        (None, Some(max)) => format!("{what}, at most {max}"),
        (Some(min), Some(max)) => format!("{what}, from {min} to {max}"),
    }
}
