//! Tests of [`super`]: what `rule` must accept, refuse and give back.

use proptest::prelude::*;

use super::matching_rule::Form;
use super::*;
use crate::SchemaOptions;
use crate::schema::Schema;

fn form(rule: &str, value: &[u8]) -> Result<Vec<u8>, InvalidValue> {
    let mut out = b"kept".to_vec();
    let rule = MatchingRule::find(rule).unwrap();
    let result = rule.normalize(&Schema::standard(), value, &mut out);
    assert!(out.starts_with(b"kept"));
    if result.is_err() {
        assert_eq!(out, b"kept");
    }
    result.map(|()| out.split_off(4))
}

fn asserted(rule: &str, assertion: &[u8], now: i64) -> Result<Assertion, InvalidValue> {
    let rule = MatchingRule::find(rule).unwrap();
    rule.assertion(&Schema::standard(), assertion, MatchContext { now_unix_seconds: now })
}

/// Whether the assertion matches the value.
fn matches(rule: &str, assertion: &str, value: &str) -> bool {
    asserted(rule, assertion.as_bytes(), 0).unwrap().matches(&form(rule, value.as_bytes()).unwrap())
}

#[test]
fn the_table_is_consistent() {
    let schema = Schema::standard();
    for rule in RULES {
        assert!(schema.syntax(rule.syntax.as_bytes()).is_some(), "{}", rule.name());
        assert_eq!(schema.matching_rule(rule.oid.as_bytes()), Some(rule));
        for name in rule.names {
            assert_eq!(schema.matching_rule(name.to_uppercase().as_bytes()), Some(rule), "{name}");
        }
    }
}

#[test]
fn equality() {
    let equal = [
        ("caseIgnoreMatch", " Foo  Bar ", "foo bar"),
        ("caseExactMatch", " Foo  Bar ", "Foo Bar"),
        ("caseIgnoreIA5Match", "A@Example.COM", "a@example.com"),
        ("numericStringMatch", "1 2 3", "123"),
        ("telephoneNumberMatch", "+1 (555) 010-0199", "+1(555)0100199"),
        // Values of these forms are refused now, but older versions have stored them.
        ("integerMatch", "7", "007"),
        ("integerMatch", "0", "-0"),
        ("booleanMatch", "true", "TRUE"),
        ("generalizedTimeMatch", "199412161032Z", "199412160532-0500"),
        ("uTCTimeMatch", "9412161032Z", "941216103200Z"),
        ("distinguishedNameMatch", "CN=a, DC=b", "cn=A,dc=B"),
        ("uniqueMemberMatch", "CN=a#'0101'B", "cn=A#'0101'B"),
        ("uniqueMemberMatch", "CN=a#b", "cn=A#B"),
        ("objectIdentifierMatch", "inetOrgPerson", "2.16.840.1.113730.3.2.2"),
        ("objectIdentifierMatch", "SURNAME", "2.5.4.4"),
        ("caseIgnoreListMatch", "1 Main St.$Anytown$\\24 5C", "1  main st.$ANYTOWN$\\24 5c"),
        ("uuidMatch", "597AE2F6-16A6-1027-98F4-D28B5365DC14", "597ae2f6-16a6-1027-98f4-d28b5365dc14"),
        ("CSNMatch", "20200101000000.000000Z#000000#00A#000000", "20200101000000.000000z#000000#00a#000000"),
        ("authPasswordExactMatch", "SHA1 $ abc $ def", "sha1$abc$def"),
        ("ds-mr-double-metaphone-approx", "Jon Smyth", "John Smith"),
        ("ds-mr-double-metaphone-approx", "M\u{fc}ller", "Muller"),
        ("bitStringMatch", "'0101'B", "'0101'B"),
    ];
    for (rule, one, two) in equal {
        assert_eq!(form(rule, one.as_bytes()), form(rule, two.as_bytes()), "{rule} {one} {two}");
        assert!(matches(rule, one, two), "{rule} {one} {two}");
    }
    let different = [
        ("caseIgnoreMatch", "foobar", "foo bar"),
        ("caseExactMatch", "foo", "Foo"),
        ("integerMatch", "1", "-1"),
        ("uniqueMemberMatch", "cn=a#'0101'B", "cn=a"),
        ("caseIgnoreListMatch", "a$b", "a b"),
        ("octetStringMatch", "a", "A"),
        ("authPasswordExactMatch", "SHA1$abc$def", "SHA1$abc$DEF"),
        ("ds-mr-double-metaphone-approx", "Smith", "Jones"),
        ("ds-mr-double-metaphone-approx", "12", "34"),
        ("bitStringMatch", "'0101'B", "'01010'B"),
    ];
    for (rule, one, two) in different {
        assert_ne!(form(rule, one.as_bytes()), form(rule, two.as_bytes()), "{rule} {one} {two}");
        assert!(!matches(rule, one, two), "{rule} {one} {two}");
    }
}

#[test]
fn invalid_values_have_no_form() {
    for (rule, value) in [
        ("integerMatch", "x"),
        ("integerMatch", ""),
        ("integerMatch", "-"),
        ("integerMatch", "+1"),
        ("booleanMatch", "maybe"),
        ("generalizedTimeMatch", "now"),
        ("distinguishedNameMatch", "nobody"),
        ("uuidMatch", "597ae2f6-16a6-1027-98f4"),
        ("uuidMatch", "597ae2f6x16a6-1027-98f4-d28b5365dc14"),
        ("bitStringMatch", "'012'B"),
        ("authPasswordExactMatch", "a$b"),
        ("certificateExactMatch", "x"),
        ("objectIdentifierFirstComponentMatch", "cn"),
        ("caseIgnoreMatch", "\u{fffd}"),
    ] {
        assert!(form(rule, value.as_bytes()).is_err(), "{rule} {value}");
    }
    assert!(form("caseIgnoreMatch", b"\xff").is_err());
    assert!(form("integerMatch", "9".repeat(400).as_bytes()).is_err());
}

#[test]
fn assertion_values_are_of_the_syntax_of_the_rule() {
    for (rule, value) in [
        ("integerMatch", "007"),
        ("integerMatch", "-0"),
        ("integerMatch", " 7"),
        ("integerOrderingMatch", "7 "),
        ("integerFirstComponentMatch", "02"),
        ("integerBitAndMatch", "010"),
        ("objectIdentifierMatch", "NoSuchName"),
        ("objectIdentifierMatch", " person"),
        ("objectIdentifierMatch", "1..2"),
        ("objectIdentifierFirstComponentMatch", "nosuchname"),
        ("caseIgnoreMatch", ""),
        ("caseExactOrderingMatch", ""),
        ("directoryStringFirstComponentMatch", ""),
        ("caseIgnoreIA5Match", "\u{fc}"),
        ("caseExactIA5SubstringsMatch", "a*\u{fc}*"),
        ("numericStringMatch", "12a"),
        ("numericStringSubstringsMatch", "1*a*"),
        ("telephoneNumberMatch", ""),
        ("caseIgnoreListMatch", "a\\b"),
        ("CSNMatch", "20200101"),
    ] {
        assert!(asserted(rule, value.as_bytes(), 0).is_err(), "{rule} {value}");
    }
    for (rule, value) in [
        ("objectIdentifierMatch", "1.2.3.4"),
        ("caseIgnoreIA5Match", ""),
        ("octetStringMatch", ""),
        ("distinguishedNameMatch", ""),
        ("booleanMatch", "yes"),
    ] {
        assert!(asserted(rule, value.as_bytes(), 0).is_ok(), "{rule} {value}");
    }
    let strict = crate::SchemaBuilder::new(SchemaOptions { strict_format_booleans: true, ..SchemaOptions::default() });
    let strict = strict.build().unwrap();
    let rule = MatchingRule::find("booleanMatch").unwrap();
    for (value, is_good) in [("TRUE", true), ("FALSE", true), ("true", false), ("1", false)] {
        assert_eq!(rule.normalize_assertion(&strict, value.as_bytes(), &mut Vec::new()).is_ok(), is_good, "{value}");
    }
}

#[test]
fn first_components() {
    let value = "( 2.5.4.3 NAME 'cn' SUP name )";
    for assertion in ["2.5.4.3", "cn", "COMMONNAME"] {
        assert!(matches("objectIdentifierFirstComponentMatch", assertion, value), "{assertion}");
    }
    assert!(!matches("objectIdentifierFirstComponentMatch", "sn", value));
    assert!(matches("integerFirstComponentMatch", "2", "( 2 FORM x )"));
    assert!(matches("integerFirstComponentMatch", "2", "(02 FORM x)"));
    assert!(matches("directoryStringFirstComponentMatch", "A B", "( 'a  b' c )"));
}

#[test]
fn certificates_are_found_by_serial_and_issuer() {
    for assertion in [
        "{ serialNumber 1234, issuer rdnSequence:\"CN=Example CA,O=Example\" }",
        "{serialNumber 1234,issuer rdnSequence:\"cn=example ca, o=EXAMPLE\"}",
        "1234$cn=Example CA,o=Example",
    ] {
        let out = form("certificateExactMatch", assertion.as_bytes()).unwrap();
        assert_eq!(out, b"\x82\x04\xd2o=example\0cn=example ca\0", "{assertion}");
    }
    let quoted = form("certificateExactMatch", b"{ issuer rdnSequence:\"cn=a\"\"b\", serialNumber -1 }");
    assert!(quoted.is_err(), "a quote must be escaped in a DN");
}

#[test]
fn a_certificate_and_its_assertion_have_one_form() {
    // A self-made certificate: version 3, serial number 1234, issuer and subject O=Example, CN=Example CA.
    let der = certificate();
    let out = form("certificateExactMatch", &der).unwrap();
    assert_eq!(out, b"\x82\x04\xd2o=example\0cn=example ca\0");
}

/// DER by hand, so that the test depends on nothing.
fn certificate() -> Vec<u8> {
    fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let body = parts.concat();
        let mut out = vec![tag];
        if body.len() < 128 {
            out.push(body.len() as u8);
        } else {
            out.extend([0x82, (body.len() >> 8) as u8, body.len() as u8]);
        }
        out.extend(body);
        out
    }
    let attribute =
        |oid: &[u8], value: &str| tlv(0x31, &[&tlv(0x30, &[&tlv(0x06, &[oid]), &tlv(0x0C, &[value.as_bytes()])])]);
    let name = tlv(0x30, &[&attribute(&[0x55, 4, 10], "Example"), &attribute(&[0x55, 4, 3], "Example CA")]);
    let algorithm = tlv(0x30, &[&tlv(0x06, &[&[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2]])]);
    let validity = tlv(0x30, &[&tlv(0x17, &[b"240101000000Z"]), &tlv(0x17, &[b"340101000000Z"])]);
    let key = tlv(0x30, &[&algorithm, &tlv(0x03, &[&[0, 1, 2, 3]])]);
    let version = tlv(0xA0, &[&[2, 1, 2]]);
    let serial = tlv(0x02, &[&[0x04, 0xD2]]);
    let body = tlv(0x30, &[&version, &serial, &algorithm, &name, &validity, &name, &key]);
    tlv(0x30, &[&body, &algorithm, &tlv(0x03, &[&[0, 9, 9]])])
}

#[test]
fn bits_words_and_keywords() {
    for (rule, assertion, value, expected) in [
        ("1.2.840.113556.1.4.803", "6", "7", true),
        ("1.2.840.113556.1.4.803", "6", "2", false),
        ("1.2.840.113556.1.4.804", "6", "2", true),
        ("1.2.840.113556.1.4.804", "6", "8", false),
        ("1.2.840.113556.1.4.803", "2", "-1", true),
        ("wordMatch", "example", "An Example, truly", true),
        ("wordMatch", "exam", "An Example, truly", false),
        ("wordMatch", "TRULY", "An Example, truly", true),
        ("keywordMatch", "example", "An Example, truly", false),
        ("keywordMatch", "an  example", "An Example, truly", true),
    ] {
        assert_eq!(matches(rule, assertion, value), expected, "{rule} {assertion} {value}");
    }
    assert!(asserted("1.2.840.113556.1.4.803", b"x", 0).is_err());
}

#[test]
fn relative_and_partial_times() {
    // 2024-02-29T12:00:00Z
    let now = 1_709_208_000;
    let value = form("generalizedTimeMatch", b"20240301120000Z").unwrap();
    let test = |rule: &str, assertion: &str| asserted(rule, assertion.as_bytes(), now).unwrap().matches(&value);
    assert!(test("relativeTimeGTOrderingMatch", "0"));
    assert!(test("relativeTimeGTOrderingMatch", "23h"));
    assert!(!test("relativeTimeGTOrderingMatch", "1d"));
    assert!(!test("relativeTimeLTOrderingMatch", "+1d"));
    assert!(test("relativeTimeLTOrderingMatch", "86401s"));
    assert!(!test("1.3.6.1.4.1.26027.1.4.6", "-1w"));
    for (assertion, expected) in [("2024Y", true), ("1D3M", true), ("12h0m0s", true), ("2D3M", false), ("4M", false)] {
        assert_eq!(test("partialDateAndTimeMatchingRule", assertion), expected, "{assertion}");
    }
    for bad in ["", "5", "M", "13M", "1D1D", "1X", "99999Y"] {
        assert!(asserted("partialDateAndTimeMatchingRule", bad.as_bytes(), now).is_err(), "{bad}");
    }
    for bad in ["", "d", "1y", "--1d", "99999999999999999999d", "9223372036854775807w"] {
        assert!(asserted("relativeTimeLTOrderingMatch", bad.as_bytes(), now).is_err(), "{bad}");
    }
}

#[test]
fn historical_csns_order_by_csn() {
    let a = form("historicalCsnOrderingMatch", b"zz:0000012345:del").unwrap();
    let b = form("historicalCsnOrderingMatch", b"aa:0000012346:add:x").unwrap();
    assert!(a < b);
    let at_least = asserted("historicalCsnOrderingMatch", b"0000012346", 0).unwrap();
    assert!(at_least.matches(&a) && !at_least.matches(&b));
    assert!(matches("CSNSIDMatch", "00a", "20200101000000.000000Z#000000#00A#000000"));
}

#[test]
fn substrings_of_lists_do_not_span_lines() {
    let rule = MatchingRule::find("caseIgnoreListSubstringsMatch").unwrap();
    let value = form("caseIgnoreListSubstringsMatch", b"1 Main St.$Anytown").unwrap();
    let test = |assertion: &str| Substrings::parse(rule, assertion.as_bytes()).unwrap().matches(&value);
    assert!(test("*main*town"));
    assert!(test("1 MAIN*"));
    assert!(!test("*st. any*"));
    assert!(!test("*st.any*"));
}

#[test]
fn integers_order_as_numbers() {
    let numbers = [
        "-340282366920938463463374607431768211456",
        "-18446744073709551616",
        "-18446744073709551615",
        "-256",
        "-255",
        "-1",
        "0",
        "1",
        "255",
        "256",
        "18446744073709551615",
        "18446744073709551616",
        "340282366920938463463374607431768211456",
    ];
    for pair in numbers.windows(2) {
        let [one, two] = [pair[0], pair[1]].map(|number| form("integerMatch", number.as_bytes()).unwrap());
        assert!(one < two, "{pair:?}");
    }
    // DER and decimal digits agree.
    for (bytes, digits) in [(&[0x00, 0xFF][..], "255"), (&[0xFF], "-1"), (&[0xFF, 0x00], "-256"), (&[0], "0")] {
        let mut out = Vec::new();
        number::push_signed_bytes(bytes, &mut out).unwrap();
        assert_eq!(out, form("integerMatch", digits.as_bytes()).unwrap(), "{digits}");
    }
}

proptest! {
    #[test]
    fn integer_forms_keep_the_order(a in any::<i128>(), b in any::<i128>(), small in any::<i64>()) {
        let normal = |number: i128| form("integerMatch", number.to_string().as_bytes()).unwrap();
        prop_assert_eq!(normal(a).cmp(&normal(b)), a.cmp(&b));
        prop_assert_eq!(
            number::integer_of_normal_form(&normal(i128::from(small))),
            Some(small).filter(|it| *it > i64::MIN),
        );
    }

    /// Whatever the rule: forms of forms of text are stable, and an assertion equal to the value matches it.
    #[test]
    fn equality_is_reflexive_and_stable(value in "\\PC{0,12}", at in 0..RULES.len()) {
        let rule = &RULES[at];
        let schema = Schema::standard();
        let mut once = Vec::new();
        if rule.normalize(&schema, value.as_bytes(), &mut once).is_ok() {
            let mut again = Vec::new();
            rule.normalize(&schema, value.as_bytes(), &mut again).unwrap();
            prop_assert_eq!(&once, &again);
            if rule.form == Form::CaseIgnore || rule.form == Form::CaseExact || rule.form == Form::Telephone {
                let mut twice = Vec::new();
                rule.normalize(&schema, &once, &mut twice).unwrap();
                prop_assert_eq!(&once, &twice);
            }
        }
    }

    /// Where a partial date is a range, it is the one of what it matches.
    #[test]
    fn partial_dates_are_ranges(
        given in 1usize..7,
        asked in (2019i64..2022, 1i64..13, 1i64..32, 0i64..24, 0i64..60, 0i64..61),
        stored in (2019i64..2022, 1i64..13, 1i64..29, 0i64..24, 0i64..60, 0i64..61),
        alike in 0usize..7,
        fraction in prop::option::of("[0-9]{1,3}"),
    ) {
        let asked = [asked.0, asked.1, asked.2, asked.3, asked.4, asked.5];
        let mut stored = [stored.0, stored.1, stored.2, stored.3, stored.4, stored.5];
        for (stored, asked) in stored.iter_mut().zip(asked).take(alike) {
            *stored = asked;
        }
        let [year, month, day, hour, minute, second] = stored;
        let fraction = fraction.map(|digits| format!(".{digits}")).unwrap_or_default();
        let value = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}{fraction}Z");
        let Ok(form) = form("generalizedTimeMatch", value.as_bytes()) else { return Ok(()) };
        let units = asked.iter().zip("YMDhms".chars()).take(given);
        let text: String = units.map(|(n, unit)| format!("{n}{unit}")).collect();
        let assertion = asserted("partialDateAndTimeMatchingRule", text.as_bytes(), 0).unwrap();
        if let Some((from, to)) = assertion.key_range() {
            let is_in = std::ops::RangeBounds::<[u8]>::contains(&(from, to), form.as_slice());
            prop_assert_eq!(is_in, assertion.matches(&form), "{} {}", text, value);
        } else {
            prop_assert!(given > 2 && !assertion.matches(&form), "no such day");
        }
    }

    /// A piece cut out of a value is found in it.
    #[test]
    fn cut_pieces_match(text in "[a-zA-Z \u{e9}\u{301}\u{df}]{1,16}", from in 0usize..16, length in 1usize..8) {
        let rule = MatchingRule::find("caseIgnoreSubstringsMatch").unwrap();
        let value = form("caseIgnoreSubstringsMatch", text.as_bytes()).unwrap();
        let normal = String::from_utf8(value.clone()).unwrap();
        let chars: Vec<char> = normal.chars().collect();
        let from = from.min(chars.len() - 1);
        let piece: String = chars.iter().skip(from).take(length).collect();
        // A piece that begins with a mark composes with nothing.
        if !piece.starts_with('\u{301}') && !text.contains('\u{301}') {
            let it = Substrings::new(rule, [(Position::Any, piece.as_bytes())]).unwrap();
            prop_assert!(it.matches(&value), "{:?} in {:?}", piece, normal);
        }
    }

    /// No rule panics, whatever the bytes.
    #[test]
    fn rules_never_panic(value in prop::collection::vec(prop_oneof![
        any::<u8>(),
        prop::sample::select(b"(){}'\"$#\\=,;:.+-*0123456789 abcxyzABC".to_vec()),
    ], 0..40)) {
        let schema = Schema::standard();
        for rule in RULES {
            let mut out = Vec::new();
            let _ = rule.normalize(&schema, &value, &mut out);
            let context = MatchContext { now_unix_seconds: i64::MAX };
            if let Ok(assertion) = rule.assertion(&schema, &value, context) {
                assertion.matches(&out);
                assertion.matches(&value);
            }
            for position in [Position::Initial, Position::Any, Position::Final] {
                let _ = rule.normalize_piece(&value, position, &mut out);
            }
        }
    }

    /// The phonetic encoder is somebody else's code; it gets letters only.
    #[test]
    fn sounds_of_any_letters(value in "[a-z]{1,20}") {
        prop_assert!(form("ds-mr-double-metaphone-approx", value.as_bytes()).is_ok());
    }
}

#[test]
fn only_telephone_numbers_have_another_substring_form() {
    let form =
        |rule: &str, normal: &'static [u8]| MatchingRule::find(rule).unwrap().substring_form(normal).into_owned();
    assert_eq!(form("telephoneNumberSubstringsMatch", b"+15551+2"), b"155512");
    assert_eq!(form("caseIgnoreSubstringsMatch", b"a+b"), b"a+b");
}
