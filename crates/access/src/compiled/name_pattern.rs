//! Patterns of names, matched against normal forms.

use aci::{AttributePattern, AvaPattern, DnPattern, RdnPattern, ValuePattern};
use query::locate::rdns;
use schema::{MatchingRule, NormalizedDn, Position, Schema, Substrings};

/// A name, or a pattern of names; the parts from the root on.
#[derive(Debug)]
pub(crate) enum NamePattern {
    Exact(Box<[u8]>),
    Parts(Box<[Part]>),
}

/// One part of a pattern.
#[derive(Debug)]
pub(crate) enum Part {
    AnyRdn,
    AnyRdns,
    Rdn(Box<[Pair]>),
}

/// One attribute and value of a part.
#[derive(Debug)]
pub(crate) struct Pair {
    /// Primary name of the type in lower case; none: any type.
    name: Option<Box<str>>,
    value: PairValue,
}

#[derive(Debug)]
enum PairValue {
    Any,
    /// The whole pair in its normal form.
    Equal(Box<[u8]>),
    /// A value for any type.
    Written(Box<[u8]>),
    Substrings(Box<Substrings>),
    /// Pieces for any type, or such as no value of the type has.
    Pieces(Box<[(Position, Box<[u8]>)]>),
}

/// In normal forms: ends an RDN; begins an escaped byte; separates pairs; behind an escape, that no form was made.
const ESCAPE: u8 = 1;
const PAIR_SEPARATOR: u8 = 2;
const RAW: u8 = 0x7F;

impl NamePattern {
    pub fn of(schema: &Schema, pattern: &DnPattern) -> NamePattern {
        match pattern {
            DnPattern::Exact(dn) => {
                let name = NormalizedDn::parse(schema, dn.as_str().as_bytes()).unwrap_or_default();
                NamePattern::Exact(name.as_bytes().into())
            }
            DnPattern::Pattern(parts) => {
                NamePattern::Parts(parts.iter().rev().map(|it| Part::of(schema, it)).collect())
            }
        }
    }

    /// Whether it is the name with that normal form, or matches it.
    pub fn is(&self, schema: &Schema, name: &[u8]) -> bool {
        match self {
            NamePattern::Exact(exact) => **exact == *name,
            NamePattern::Parts(parts) => reached(schema, parts, name).last() == Some(&true),
        }
    }

    /// Whether it is, or matches, that name or one above it.
    pub fn is_at_or_above(&self, schema: &Schema, name: &[u8]) -> bool {
        match self {
            NamePattern::Exact(exact) => name.starts_with(exact),
            NamePattern::Parts(parts) => reached(schema, parts, name).contains(&true),
        }
    }
}

/// For each number of RDNs from the root on, whether the pattern matches a name of just these.
fn reached(schema: &Schema, parts: &[Part], name: &[u8]) -> Vec<bool> {
    let names: Vec<&[u8]> = rdns(name).collect();
    let mut now = vec![false; names.len() + 1];
    if let Some(first) = now.first_mut() {
        *first = true;
    }
    for part in parts {
        let mut next = vec![false; now.len()];
        let mut seen = false;
        for (at, rdn) in names.iter().enumerate() {
            let before = now.get(at).copied().unwrap_or_default();
            seen |= before;
            let matches = match part {
                Part::AnyRdns => seen,
                Part::AnyRdn => before,
                Part::Rdn(pairs) => before && matches_rdn(schema, pairs, rdn),
            };
            if let Some(place) = next.get_mut(at + 1) {
                *place = matches;
            }
        }
        now = next;
    }
    now
}

fn matches_rdn(schema: &Schema, pairs: &[Pair], rdn: &[u8]) -> bool {
    let mut left: Vec<&[u8]> = rdn.split(|byte| *byte == PAIR_SEPARATOR).collect();
    left.len() == pairs.len()
        && pairs.iter().all(|pair| match left.iter().position(|it| pair.matches(schema, it)) {
            Some(at) => {
                left.swap_remove(at);
                true
            }
            None => false,
        })
}

impl Part {
    fn of(schema: &Schema, part: &RdnPattern) -> Part {
        match part {
            RdnPattern::AnyRdn => Part::AnyRdn,
            RdnPattern::AnyRdns => Part::AnyRdns,
            RdnPattern::Avas(pairs) => Part::Rdn(pairs.iter().map(|it| Pair::of(schema, it)).collect()),
        }
    }
}

impl Pair {
    fn of(schema: &Schema, pair: &AvaPattern) -> Pair {
        let name = match &pair.attribute {
            AttributePattern::Any => None,
            AttributePattern::Named(name) => Some(name.as_str()),
        };
        let value = match &pair.value {
            ValuePattern::Exact(value) => match name {
                Some(name) => PairValue::Equal(normal_pair(schema, name, value).into()),
                None => PairValue::Written(value.as_slice().into()),
            },
            ValuePattern::Wildcard { initial, any, last } => {
                let initial = (!initial.is_empty()).then_some((Position::Initial, initial));
                let last = (!last.is_empty()).then_some((Position::Final, last));
                let any = any.iter().map(|piece| (Position::Any, piece));
                let pieces: Vec<_> = initial.into_iter().chain(any).chain(last).collect();
                let own: Box<[_]> = pieces.iter().map(|(at, piece)| (*at, Box::from(piece.as_slice()))).collect();
                match name.and_then(|name| substrings(schema, name, &own)) {
                    _ if own.is_empty() => PairValue::Any,
                    Some(substrings) => PairValue::Substrings(Box::new(substrings)),
                    None => PairValue::Pieces(own),
                }
            }
        };
        Pair { name: name.map(|name| normal_name(schema, name).into()), value }
    }

    fn matches(&self, schema: &Schema, pair: &[u8]) -> bool {
        let Some(end) = pair.iter().position(|byte| *byte == b'=') else { return false };
        let (name, value) = (pair.get(..end).unwrap_or_default(), pair.get(end + 1..).unwrap_or_default());
        if self.name.as_ref().is_some_and(|own| own.as_bytes() != name) {
            return false;
        }
        let named = || std::str::from_utf8(name).unwrap_or_default();
        match &self.value {
            PairValue::Any => true,
            PairValue::Equal(form) => **form == *pair,
            PairValue::Written(written) => normal_pair(schema, named(), written) == pair,
            PairValue::Substrings(substrings) => substrings.matches(&unescaped(value)),
            PairValue::Pieces(pieces) => {
                substrings(schema, named(), pieces).is_some_and(|it| it.matches(&unescaped(value)))
            }
        }
    }
}

fn normal_name(schema: &Schema, name: &str) -> String {
    let pair = normal_pair(schema, name, b"x");
    let end = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
    String::from_utf8_lossy(pair.get(..end).unwrap_or_default()).into_owned()
}

fn normal_pair(schema: &Schema, name: &str, value: &[u8]) -> Vec<u8> {
    let mut text = format!("{name}=");
    // Writing to a String does not fail.
    let _ = ldap::dn::write_escaped(&mut text, value);
    let name = NormalizedDn::parse(schema, text.as_bytes()).unwrap_or_default();
    name.rdn().map(|rdn| rdn.as_bytes().to_vec()).unwrap_or_default()
}

fn substrings(schema: &Schema, name: &str, pieces: &[(Position, Box<[u8]>)]) -> Option<Substrings> {
    let attribute = schema.attribute_type(name.as_bytes());
    let rule = match attribute {
        Some(attribute) => attribute.substring.or(attribute.equality)?,
        None => MatchingRule::find("caseIgnoreMatch")?,
    };
    Substrings::new(rule, pieces.iter().map(|(at, piece)| (*at, &**piece))).ok()
}

/// A value without what the normal form of a name escapes.
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

#[cfg(test)]
mod tests {
    use aci::DnText;

    use super::*;

    fn named(attribute: &str, value: &str) -> RdnPattern {
        let parts: Vec<&str> = value.split('*').collect();
        let value = match parts.as_slice() {
            [exact] => ValuePattern::Exact(exact.as_bytes().to_vec()),
            [initial, any @ .., last] => ValuePattern::Wildcard {
                initial: initial.as_bytes().to_vec(),
                any: any.iter().map(|it| it.as_bytes().to_vec()).collect(),
                last: last.as_bytes().to_vec(),
            },
            [] => unreachable!(),
        };
        let attribute = match attribute {
            "*" => AttributePattern::Any,
            name => AttributePattern::Named(name.to_owned()),
        };
        RdnPattern::Avas(vec![AvaPattern { attribute, value }])
    }

    // Section 3, `target`: patterns as OpenDJ matches them.
    #[test]
    fn patterns_match_as_opendj_does() {
        let schema = Schema::standard();
        let base = || vec![named("dc", "example"), named("dc", "com")];
        let pattern = |parts: Vec<RdnPattern>| NamePattern::of(&schema, &DnPattern::Pattern([parts, base()].concat()));
        let name = |dn: &str| NormalizedDn::parse(&schema, format!("{dn},dc=example,dc=com").as_bytes()).unwrap();
        for (parts, dn, is, at_or_above) in [
            (vec![named("uid", "a*")], "uid=ann", true, true),
            (vec![named("uid", "a*")], "uid=ann,ou=People", false, false),
            (vec![named("UID", "*N*")], "uid=anna", true, true),
            (vec![named("uid", "*lic*"), named("ou", "People")], "cn=sub,uid=alice,OU=people", false, true),
            (vec![RdnPattern::AnyRdn], "ou=People", true, true),
            (vec![RdnPattern::AnyRdn], "uid=x,ou=People", false, true),
            (vec![named("cn", "*"), RdnPattern::AnyRdns, named("ou", "People")], "cn=x,ou=People", false, false),
            (vec![named("cn", "*"), RdnPattern::AnyRdns, named("ou", "People")], "cn=x,uid=a,ou=People", true, true),
            (
                vec![named("cn", "*"), RdnPattern::AnyRdns, named("ou", "People")],
                "cn=x,uid=a,uid=b,ou=People",
                true,
                true,
            ),
            (vec![named("*", "ann")], "cn=Ann", true, true),
            (vec![named("*", "*")], "cn=Ann+sn=x", false, false),
        ] {
            let (pattern, name) = (pattern(parts), name(dn));
            assert_eq!(pattern.is(&schema, name.as_bytes()), is, "{pattern:?} {dn}");
            assert_eq!(pattern.is_at_or_above(&schema, name.as_bytes()), at_or_above, "{pattern:?} {dn}");
        }
        let exact = NamePattern::of(&schema, &DnPattern::Exact(DnText::parse("OU=People, dc=example,dc=com").unwrap()));
        assert!(exact.is_at_or_above(&schema, name("uid=ann,ou=people").as_bytes()));
        assert!(!exact.is(&schema, name("uid=ann,ou=people").as_bytes()));
    }
}
