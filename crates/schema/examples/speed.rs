//! Measures the hot paths: `cargo run --release -p schema --example speed`.

use std::hint::black_box;
use std::time::Instant;

use schema::check::{AttributeKey, Checker, ClassSet, EntryAttributes, Leniency};
use schema::{AttributeDescription, MatchingRule, NormalizedDn, Position, Schema, Substrings, TypeIndex};

const ROUNDS: u32 = 1_000_000;

struct Entry(Vec<(TypeIndex, &'static [u8])>);

impl EntryAttributes for Entry {
    type Values<'v> = std::iter::Once<&'v [u8]>;

    fn attributes(&self) -> impl Iterator<Item = (AttributeKey<'_>, Self::Values<'_>)> {
        self.0.iter().map(|(index, value)| (AttributeKey::Known(*index), std::iter::once(*value)))
    }
}

fn measure(what: &str, mut work: impl FnMut()) {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        work();
    }
    println!("{what:48} {:8.1} ns", start.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
}

fn main() {
    let start = Instant::now();
    let schema = Schema::standard();
    println!("standard schema: {} types, {:?}", schema.attribute_types().len(), start.elapsed());
    let mut out = Vec::with_capacity(256);
    for name in ["cn", "telephoneNumber", "nosuchattribute"] {
        measure(&format!("attribute_type({name})"), || {
            black_box(schema.attribute_type(black_box(name.as_bytes())));
        });
    }
    for (rule, value) in [
        ("caseIgnoreMatch", "Ada Example"),
        ("caseIgnoreIA5Match", "user.12345@example.com"),
        ("caseIgnoreMatch", "M\u{fc}ller"),
        ("telephoneNumberMatch", "+1 225 216 5900"),
        ("distinguishedNameMatch", "uid=user.1,ou=People,dc=example,dc=com"),
        ("integerMatch", "12345"),
        ("generalizedTimeMatch", "20240131235959Z"),
        ("objectIdentifierMatch", "inetOrgPerson"),
        ("ds-mr-double-metaphone-approx", "Ada Example"),
    ] {
        let Some(it) = MatchingRule::find(rule) else { return };
        measure(&format!("{rule} {value}"), || {
            out.clear();
            let _ = black_box(it.normalize(&schema, black_box(value.as_bytes()), &mut out));
        });
    }
    let mut dn = NormalizedDn::root();
    measure("parse_into(uid=user.1,ou=People,…)", || {
        let _ = black_box(dn.parse_into(&schema, black_box(b"uid=user.1,ou=People,dc=example,dc=com")));
    });
    measure("AttributeDescription::parse(mail)", || {
        let _ = black_box(AttributeDescription::parse(&schema, black_box(b"mail")));
    });
    if let Some(Ok(pieces)) = MatchingRule::find("caseIgnoreSubstringsMatch")
        .map(|rule| Substrings::new(rule, [(Position::Initial, &b"ada"[..]), (Position::Any, b"amp")]))
    {
        measure("substrings ada*amp*", || {
            black_box(pieces.matches(black_box(b"ada example")));
        });
    }
    entry_check(schema);
}

fn entry_check(schema: std::sync::Arc<Schema>) {
    let values: [(&str, &'static [u8]); 20] = [
        ("objectClass", b"inetOrgPerson"),
        ("cn", b"Ada Example"),
        ("sn", b"Example"),
        ("givenName", b"Ada"),
        ("initials", b"AXE"),
        ("uid", b"user.1"),
        ("mail", b"user.1@example.com"),
        ("userPassword", b"{SSHA}1jyhI4HBdRtqJzDQgkKpBNjW6B8r8B3nBNtJtA=="),
        ("telephoneNumber", b"+1 225 216 5900"),
        ("homePhone", b"+1 251 201 1234"),
        ("pager", b"+1 779 041 6341"),
        ("mobile", b"+1 010 154 3228"),
        ("employeeNumber", b"1"),
        ("street", b"90263 Cedar Street"),
        ("l", b"Panama City"),
        ("st", b"NE"),
        ("postalCode", b"50369"),
        ("postalAddress", b"Ada Example$90263 Cedar Street$Panama City, NE  50369"),
        ("description", b"This is the description for Ada Example."),
        ("manager", b"uid=user.0,ou=People,dc=example,dc=com"),
    ];
    let known = values.iter().filter_map(|(name, value)| Some((schema.attribute_type(name.as_bytes())?.index, *value)));
    let entry = Entry(known.collect());
    let checker = Checker::new(schema.clone(), Leniency::default());
    let classes: [&[u8]; 4] = [b"top", b"person", b"organizationalPerson", b"inetOrgPerson"];
    measure("ClassSet::of_values, 4 classes", || {
        let _ = black_box(ClassSet::of_values(&schema, classes.into_iter()));
    });
    measure("check, 20 attributes, classes by name", || {
        let _ = black_box(checker.check(classes.into_iter(), &[], &entry, &mut |_| ()));
    });
    let Ok(set) = ClassSet::of_values(&schema, classes.into_iter()) else { return };
    let requirement = checker.requirement(&set);
    measure("check_with, 20 attributes", || {
        let _ = black_box(checker.check_with(&requirement, &[], &entry, &mut |_| ()));
    });
}
