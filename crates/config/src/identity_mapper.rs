//! `[identity-mapper.NAME]`: how the entry of a user is found by what the user is called (OpenDJ: identity-mapper).
//!
//! The struct that the server reads; does not know any schema.

use crate::object::Object;
use crate::value::Value;

/// `[identity-mapper.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityMapper {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// `match-attribute`
    pub attributes: Vec<String>,
    /// `match-base-dn`; empty is all backends.
    pub base_dns: Vec<String>,
    /// What type `regular-expression` makes of the name first.
    pub rewriting: Option<Rewriting>,
}

/// What a regular expression makes of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewriting {
    /// `match-pattern`
    pub pattern: String,
    /// `replace-pattern`, in which a group is `${1}`.
    pub replacement: String,
}

impl IdentityMapper {
    /// What is used where no mapper is named: the entry whose `uid` is the name, in all backends.
    #[must_use]
    pub fn by_uid() -> IdentityMapper {
        IdentityMapper {
            name: String::new(),
            enabled: true,
            attributes: vec!["uid".to_owned()],
            base_dns: Vec::new(),
            rewriting: None,
        }
    }
}

pub(crate) fn read(object: &Object) -> IdentityMapper {
    let texts = |name: &str| object.values(name).iter().map(ToString::to_string).collect::<Vec<_>>();
    let text = |name: &str| texts(name).into_iter().next().unwrap_or_default();
    let rewrites = object.variant.property("match-pattern").is_some();
    IdentityMapper {
        name: object.name.clone(),
        enabled: object.values("enabled") == [Value::Boolean(true)],
        attributes: texts("match-attribute"),
        base_dns: texts("match-base-dn"),
        rewriting: rewrites
            .then(|| Rewriting { pattern: text("match-pattern"), replacement: replacement(&text("replace-pattern")) }),
    }
}

/// A replacement in Java's notation (`$1x`, `\$`) in that of the crate `regex` (`${1}x`, `$$`).
fn replacement(java: &str) -> String {
    let mut out = String::new();
    let mut rest = java.chars().peekable();
    while let Some(sign) = rest.next() {
        match sign {
            '\\' => match rest.next() {
                Some('$') => out.push_str("$$"),
                Some(sign) => out.push(sign),
                None => out.push('\\'),
            },
            '$' => match rest.next_if(char::is_ascii_digit) {
                Some(digit) => out.push_str(&format!("${{{digit}}}")),
                None => out.push_str("$$"),
            },
            sign => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_those_of_java() {
        for (name, pattern, java, made) in [
            ("ann@example.com", "^([^@]+)@.+$", "$1", "ann"),
            ("ann@example.com", "^([^@]+)@.+$", "$1x", "annx"),
            ("ann", "^(.)(.*)$", "$2$1", "nna"),
            ("ann", "n", "\\$", "a$$"),
            ("ann", "n$", "$", "an$"),
            ("ann", "^a", "", "nn"),
            ("ann", "n$", "\\\\", "an\\"),
        ] {
            let pattern = regex::Regex::new(pattern).unwrap();
            assert_eq!(pattern.replace_all(name, replacement(java)), made, "{java}");
        }
    }
}
