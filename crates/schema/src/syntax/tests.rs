//! Tests of [`super`]: what `syntax` must accept, refuse and give back.

use std::sync::Arc;

use super::*;
use crate::builder::SchemaBuilder;
use crate::schema::{Schema, SchemaOptions};

fn syntax(schema: &Schema, name: &str) -> Arc<Syntax> {
    let found = schema.syntaxes().iter().find(|it| it.description() == name || it.oid() == name);
    Arc::clone(found.unwrap_or_else(|| panic!("{name}")))
}

/// Syntax, values that are good, values that are not.
const VALUES: &[(&str, &[&str], &[&str])] = &[
    (
        "Sun-defined Access Control Information",
        &["(targetattr=\"cn\")(version 3.0; acl \"\"; allow (read) userdn=\"ldap:///all\";)"],
        &["", "(targetattr=cn)(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";)", "\u{e9}"],
    ),
    ("Attribute Type Description", &["( 1.2.3 NAME 'x' )"], &["", "1.2.3", "( 1.2.3 MUST x )"]),
    ("Bit String", &["'0101'B", "''B"], &["0101", "'012'B", "'01'b"]),
    ("Boolean", &["TRUE", "FALSE", "true"], &["", "maybe", "T"]),
    ("Country String", &["US", "de"], &["", "USA", "1A", "\u{e9}"]),
    ("Delivery Method", &["telephone", "telephone $ videotex", "any"], &["", "pigeon", "telephone$"]),
    ("Directory String", &["This is a value", "\u{65e5}\u{672c}"], &[""]),
    ("DIT Content Rule Description", &["( 2.5.6.4 NOT ( x $ y ) )"], &["( 2.5.6.4 OC x )"]),
    ("DIT Structure Rule Description", &["( 2 FORM x SUP 1 )"], &["( 2 )", "( x FORM y )"]),
    ("DN", &["cn=x", "", "UID=a,DC=b"], &["x", "cn=x,", "cn=\"x"]),
    (
        "Enhanced Guide",
        &["person#(sn$EQ)#oneLevel", "2.5.6.6#!(cn$SUBSTR|(sn$GE&x$LE))#baseobject"],
        &["person#sn$EQ", "person#sn#oneLevel", "person#(sn$EQ#oneLevel"],
    ),
    ("Facsimile Telephone Number", &["+61 3 9896 7801", "+81 3 347 7418$fineResolution"], &["", "+1$fast"]),
    ("Generalized Time", &["199412161032Z", "199412160532-0500"], &["", "1994", "19941301103200Z"]),
    ("Guide", &["person#sn$EQ", "sn$APPROX|?true"], &["", "sn$XX", "person#"]),
    ("IA5 String", &["", "plain"], &["\u{e9}"]),
    ("INTEGER", &["1321", "-1", "0"], &["", "1.5", "x", " 23 ", "007", "-0", "-", "+1", "-07", "0 "]),
    ("LDAP Syntax Description", &["( 1.3.6 DESC 'x' )"], &["1.3.6"]),
    ("Matching Rule Description", &["( 2.5.13.2 NAME 'x' SYNTAX 1.2 )"], &["( 2.5.13.2 NAME 'x' )"]),
    ("Matching Rule Use Description", &["( 2.5.13.16 APPLIES ( a $ b ) )"], &["( 2.5.13.16 )"]),
    (
        "Name And Optional UID",
        &["1.3.6.1.4.1.1466.0=#04024869,O=Test,C=GB#'0101'B", "cn=x"],
        &["#'0101'B x", "x#'01'B"],
    ),
    ("Name Form Description", &["( 1.2.3 OC x MUST y )"], &["( 1.2.3 OC x )"]),
    ("Numeric String", &["15 079 672 281"], &["", "1x"]),
    ("Object Class Description", &["( 2.5.6.2 SUP top STRUCTURAL MUST c )"], &["( 2.5.6.2 SUP"]),
    ("OID", &["1.2.3.4", "cn", "a-b"], &["", "1", "1..2", "1.02", "-a", "a_b", "a b"]),
    ("Other Mailbox", &["internet$x@example.com"], &["x@example.com", "$x"]),
    ("Postal Address", &["1234 Main St.$Anytown, CA 12345$USA", "\\241,000,000 Sweepstakes$PO Box 1"], &["", "a\\x"]),
    ("Printable String", &["This is a PrintableString."], &["", "a*b", "a@b"]),
    ("Substring Assertion", &["*a*", "a*b"], &["", "a"]),
    ("Subtree Specification", &["{}", "{ base \"ou=x\", minimum 1 }"], &["", "{ x }"]),
    ("Telephone Number", &["+1 512 315 0280", "whatever"], &[""]),
    ("Teletex Terminal Identifier", &["abc", "abc$control:x"], &["", "abc$x", "abc$foo:x"]),
    ("Telex Number", &["12345$023$ABCDE"], &["12345", "1$2$"]),
    ("UTC Time", &["9412161032Z", "941216103212-0500"], &["94121610Z", "x"]),
    ("UUID", &["597ae2f6-16a6-1027-98f4-d28b5365dc14"], &["", "597ae2f616a6102798f4d28b5365dc14"]),
    ("Authentication Password Syntax", &["SHA1$abc$def", "MD5 $ x $ y"], &["x", "a$b$", "a$b$c$d"]),
    (
        "Change Sequence Number",
        &["20200101000000.123456Z#000000#00a#000000", "0000014ac2a8b9e60001000000ff"],
        &["", "20200101000000Z", "2020#0#0#0"],
    ),
    ("RFC 2307 NIS Netgroup Triple", &["(host,user,domain)", "(,-,)"], &["host,user,domain", "(a,b)"]),
    ("RFC 2307 Boot Parameter", &["root=server:/export"], &["root", "=a:b"]),
    (
        "X.509 Certificate Exact Assertion",
        &["{ serialNumber 1, issuer rdnSequence:\"cn=x\" }"],
        &["{ serialNumber 1 }"],
    ),
    (
        "Json",
        &["{}", " [1, -0.5e+3, true, null, \"\\u00e9\\n\"] ", "{\"a\": {\"b\": []}}", "0", "\"x\""],
        &["", "{", "[1,]", "{\"a\"}", "01", "1 2", "'x'", "{a:1}", "\"\\x\"", "nul"],
    ),
    ("User Password", &["{SSHA}abc", "clear"], &[]),
    ("Octet String", &["", "\u{0}"], &[]),
];

#[test]
fn good_and_bad_values() {
    let schema = Schema::standard();
    for (name, good, bad) in VALUES {
        let syntax = syntax(&schema, name);
        for value in *good {
            assert_eq!(syntax.validate(&schema, value.as_bytes()), Ok(()), "{name} {value:?}");
        }
        for value in *bad {
            assert!(syntax.validate(&schema, value.as_bytes()).is_err(), "{name} {value:?}");
        }
    }
}

#[test]
fn bytes_are_checked_too() {
    let schema = Schema::standard();
    let check = |name: &str, value: &[u8]| syntax(&schema, name).validate(&schema, value).is_ok();
    assert!(!check("Directory String", b"\xff"));
    assert!(!check("Certificate", b"x"));
    assert!(check("Certificate List", b"\x30\x02\x05\x00"));
    assert!(!check("Certificate List", b"\x30\x03\x05\x00"));
    assert!(check("Certificate Pair", &[&[0x30, 0x81, 0x80][..], &[0; 128]].concat()));
    assert!(check("JPEG", b"anything"));
    assert!(!syntax(&schema, "JPEG").human_readable && syntax(&schema, "DN").human_readable);
}

#[test]
fn every_rfc_4517_syntax_is_there() {
    let schema = Schema::empty();
    let numbers = [
        3, 6, 7, 11, 14, 15, 16, 17, 12, 21, 22, 23, 24, 25, 26, 27, 28, 54, 30, 31, 34, 35, 36, 37, 40, 38, 39, 41,
        44, 58, 50, 51, 52, 53,
    ];
    for number in numbers {
        let oid = format!("1.3.6.1.4.1.1466.115.121.1.{number}");
        assert!(schema.syntax(oid.as_bytes()).is_some(), "{oid}");
    }
}

#[test]
fn strictness_is_an_option() {
    let build = |options: SchemaOptions| SchemaBuilder::standard(options).build().unwrap();
    let strict = build(SchemaOptions {
        strict_format_telephone_numbers: true,
        strict_format_jpeg_photos: true,
        strict_format_booleans: true,
        ..SchemaOptions::default()
    });
    let lenient = build(SchemaOptions {
        strict_format_country_string: false,
        strict_format_certificates: false,
        allow_zero_length_values_directory_string: true,
        allow_attribute_name_exceptions: true,
        ..SchemaOptions::default()
    });
    for (name, value, in_strict, in_lenient) in [
        ("Telephone Number", &b"whatever"[..], false, true),
        ("Telephone Number", b"+1 (512) 315-0280", true, true),
        ("Boolean", b"TRUE", true, true),
        ("Boolean", b"true", false, true),
        ("Boolean", b"1", false, true),
        ("JPEG", b"x", false, true),
        ("JPEG", b"\xff\xd8\xff\xe0", true, true),
        ("Country String", b"USA", false, true),
        ("Certificate", b"x", false, true),
        ("Directory String", b"", false, true),
        ("OID", b"a_b", false, true),
    ] {
        assert_eq!(syntax(&strict, name).validate(&strict, value).is_ok(), in_strict, "{name}");
        assert_eq!(syntax(&lenient, name).validate(&lenient, value).is_ok(), in_lenient, "{name}");
    }
}

#[test]
fn syntaxes_of_users() {
    let mut builder = SchemaBuilder::standard(SchemaOptions::default());
    let text = "dn: cn=schema
ldapSyntaxes: ( 1.3.6.1.4.1.99999.1 DESC 'Color' X-ENUM ( 'red' 'dark green' ) )
ldapSyntaxes: ( 1.3.6.1.4.1.99999.2 DESC 'Plate' X-PATTERN '[A-Z]{2}-[0-9]+' )
ldapSyntaxes: ( 1.3.6.1.4.1.99999.3 DESC 'Count' X-SUBST '1.3.6.1.4.1.1466.115.121.1.27' )
";
    builder.add_ldif("99-user.ldif", text);
    let schema = builder.build().unwrap();
    let check = |name: &str, value: &str| match syntax(&schema, name).validate(&schema, value.as_bytes()) {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    };
    assert_eq!(check("Color", "Dark  Green"), "");
    assert_eq!(check("Color", "blue"), "is not one of red, dark green");
    assert_eq!(check("Plate", "AB-12"), "");
    assert_eq!(check("Plate", "xAB-12"), "does not match the pattern ^(?:[A-Z]{2}-[0-9]+)$");
    assert_eq!(check("Count", "12"), "");
    assert_eq!(check("Count", "x"), "is not a valid Count");
}

#[test]
fn deep_json_is_refused_without_harm() {
    let schema = Schema::empty();
    let json = syntax(&schema, "Json");
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(json.validate(&schema, nested(60).as_bytes()).is_ok());
    assert!(json.validate(&schema, nested(100_000).as_bytes()).is_err());
}

proptest::proptest! {
    /// No syntax panics, whatever the bytes; half of the bytes are such as grammars look for.
    #[test]
    fn validation_never_panics(value in proptest::collection::vec(proptest::prop_oneof![
        proptest::prelude::any::<u8>(),
        proptest::sample::select(b"(){}[]'\"$#\\=,;:.+-0123456789 abcABC?&|!".to_vec()),
    ], 0..40)) {
        let schema = Schema::standard();
        for syntax in schema.syntaxes() {
            let _ = syntax.validate(&schema, &value);
        }
    }
}

/// What the client of a refused update is told names the place and what may stand there.
#[test]
fn a_refused_access_control_instruction_is_explained() {
    let schema = Schema::standard();
    let instructions = syntax(&schema, "Sun-defined Access Control Information");
    let error = instructions.validate(&schema, b"(targetatr=\"cn\")").unwrap_err();
    assert_eq!(
        error.to_string(),
        "is not a valid access control instruction: at character 2: \"targetatr\" is not the keyword of a \
         target, or version; did you mean targetattr, target_to, target?"
    );
}
