//! Filters: decoded, written, parsed, refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Tree, tree};
use ldap::filter::{FILTER_DEPTH_MAX, FILTER_NODES_MAX, parse};
use ldap::{DecodeError, Filter, FilterBuf};
use proptest::prelude::*;

fn shown(text: &str) -> String {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

fn nested(tag: u8, depth: usize) -> Vec<u8> {
    (1..depth).fold(Tree::Present("cn".into()).to_ber(), |inner, _| {
        let mut out = Vec::new();
        ber::Writer::new(&mut out).octets(tag, &inner);
        out
    })
}

#[test]
fn what_people_write() {
    // RFC 4515 §4 and what clients send beside it.
    for (text, canonical) in [
        ("(cn=Babs Jensen)", "(cn=Babs Jensen)"),
        ("(!(cn=Tim Howes))", "(!(cn=Tim Howes))"),
        ("(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))", "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))"),
        ("(o=univ*of*mich*)", "(o=univ*of*mich*)"),
        ("(seeAlso=)", "(seeAlso=)"),
        ("(cn:caseExactMatch:=Fred Flintstone)", "(cn:caseExactMatch:=Fred Flintstone)"),
        ("(cn:=Betty Rubble)", "(cn:=Betty Rubble)"),
        ("(sn:dn:2.4.6.8.10:=Barney Rubble)", "(sn:dn:2.4.6.8.10:=Barney Rubble)"),
        ("(o:dn:=Ace Industry)", "(o:dn:=Ace Industry)"),
        ("(:1.2.3:=Wilma Flintstone)", "(:1.2.3:=Wilma Flintstone)"),
        ("(:DN:2.4.6.8.10:=Dino)", "(:dn:2.4.6.8.10:=Dino)"),
        (
            "(o=Parens R Us \\28for all your parenthetical needs\\29)",
            "(o=Parens R Us \\28for all your parenthetical needs\\29)",
        ),
        ("(cn=*\\2A*)", "(cn=*\\2a*)"),
        ("(filename=C:\\5cMyFile)", "(filename=C:\\5cMyFile)"),
        ("(bin=\\00\\00\\00\\04)", "(bin=\\00\\00\\00\\04)"),
        ("(sn=Lu\\c4\\8di\\c4\\87)", "(sn=Lu\u{10d}i\u{107})"),
        ("(1.3.6.1.4.1.1466.0=\\04\\02\\48\\69)", "(1.3.6.1.4.1.1466.0=\\04\\02Hi)"),
        ("(&)", "(&)"),
        ("(|)", "(|)"),
        ("cn=a", "(cn=a)"),
        (" ( & ( cn = a ) ( sn>=b) ) ", "(&(cn= a )(sn>=b))"),
        ("(cn=a**b)", "(cn=a*b)"),
        ("(cn~=x=y)", "(cn~=x=y)"),
        ("(cn;lang-de<=\u{e4})", "(cn;lang-de<=\u{e4})"),
    ] {
        assert_eq!(shown(text), canonical, "{text}");
    }
}

#[test]
fn mistakes_have_a_place() {
    for (text, position) in [
        ("", 0),
        ("(", 1),
        ("()", 1),
        ("(cn=a", 5),
        ("(cn=a))", 6),
        ("(cn)", 1),
        ("(&(cn=a)", 8),
        ("(!(cn=a)(sn=b))", 8),
        ("(!)", 2),
        ("(cn=a(b)", 4),
        ("(cn=a\\2)", 5),
        ("(cn=\\zz)", 4),
        ("(cn=**)", 4),
        ("(c n=a)", 1),
        ("(=a)", 1),
        ("(:=a)", 3),
        ("(cn:dn:a:b:=x)", 12),
        ("(cn=a)x", 6),
        ("cn=a)", 5),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error.position, position, "{text}: {error}");
    }
}

#[test]
fn depth_is_bounded_the_same_way_in_both_forms() {
    for (open, tag) in [("(&", 0xa0), ("(|", 0xa1), ("(!", 0xa2)] {
        // As many sets as allowed, and an item inside.
        let text = format!("{}(cn=*){}", open.repeat(FILTER_DEPTH_MAX), ")".repeat(FILTER_DEPTH_MAX));
        let buffer = parse(&text).unwrap();
        assert_eq!(buffer.as_ber(), nested(tag, FILTER_DEPTH_MAX + 1));
        assert_eq!(buffer.filter().to_string(), text);
        assert!(parse(&format!("{open}{text})")).is_err());
        let deeper = nested(tag, FILTER_DEPTH_MAX + 2);
        assert_eq!(Filter::decode(&mut ber::Reader::new(&deeper)), Err(DecodeError::FilterTooDeep));
        // Far beyond: neither the stack nor time may suffer.
        let far = nested(tag, 20_000);
        assert_eq!(Filter::decode(&mut ber::Reader::new(&far)), Err(DecodeError::FilterTooDeep));
        assert!(parse(&open.repeat(200_000)).is_err());
    }
}

#[test]
fn size_is_bounded_the_same_way_in_both_forms() {
    let text = |items: usize| format!("(|{})", "(a=*)".repeat(items));
    let most = parse(&text(FILTER_NODES_MAX - 1)).unwrap();
    assert_eq!(most.filter().nodes().len(), FILTER_NODES_MAX);
    assert!(parse(&text(FILTER_NODES_MAX)).is_err());
    let over = Tree::Or(vec![Tree::Present("a".into()); FILTER_NODES_MAX]).to_ber();
    assert_eq!(Filter::decode(&mut ber::Reader::new(&over)), Err(DecodeError::FilterTooLong));
}

#[test]
fn what_is_no_filter() {
    let decoded = |bytes: &[u8]| Filter::decode(&mut ber::Reader::new(bytes)).map(|filter| filter.to_string());
    assert_eq!(decoded(b"\xa2\x00"), Err(DecodeError::BadNot));
    assert_eq!(decoded(b"\xa2\x06\x87\x01a\x87\x01b"), Err(DecodeError::BadNot));
    assert_eq!(decoded(b"\xa2\x02\xa0\x00"), Ok("(!(&))".into()));
    assert_eq!(decoded(b"\xaa\x00"), Err(DecodeError::UnknownFilter { tag: 0xaa }));
    assert_eq!(decoded(b"\xa7\x01a"), Err(DecodeError::UnknownFilter { tag: 0xa7 }), "presence is primitive");
    assert_eq!(decoded(b"\xa9\x03\x83\x01x"), Err(DecodeError::BadExtensible));
    for pieces in [
        &b""[..],
        b"\x81\x01a\x80\x01b",
        b"\x82\x01a\x81\x01b",
        b"\x82\x01a\x82\x01b",
        b"\x80\x01a\x80\x01b",
        b"\x81\x00",
        b"\x83\x01a",
    ] {
        let mut bytes = Vec::new();
        let mut w = ber::Writer::new(&mut bytes);
        let mark = w.begin(0xa4);
        w.octets(4, b"cn");
        w.octets(0x30, pieces);
        w.end(mark);
        assert_eq!(decoded(&bytes), Err(DecodeError::BadSubstrings), "{pieces:x?}");
    }
    assert!(FilterBuf::from_ber(b"\x87\x01a\x00").is_err(), "something follows");
}

#[test]
fn components_are_written_alone() {
    let buffer = parse("(&(a=1)(|(b=2)(!(c=*)))(d>=4))").unwrap();
    let filter = buffer.filter();
    let component = |at: usize| filter.component(at).to_string();
    assert_eq!(component(0), filter.to_string());
    assert_eq!(component(1), "(a=1)");
    assert_eq!(component(2), "(|(b=2)(!(c=*)))");
    assert_eq!(component(4), "(!(c=*))");
    assert_eq!(component(6), "(d>=4)");
    assert_eq!(component(7), "");
}

#[test]
fn shapes_hide_values_and_the_length_of_lists() {
    for (text, shape) in [
        ("(&(objectClass=person)(mail=*foo*))", "(&(objectClass=?)(mail=*?*))"),
        ("(cn=a*b*c)", "(cn=?*?*?)"),
        ("(cn=*)", "(cn=*)"),
        ("(|(uid=a)(uid=b)(uid=c)(cn=d)(uid=e))", "(|(uid=?)(cn=?)(uid=?))"),
        ("(|(uid=a)(!(uid=b))(uid=c))", "(|(uid=?)(!(uid=?))(uid=?))"),
        ("(&(a>=1)(a<=2)(b~=c)(o:dn:2.5.13.2:=x))", "(&(a>=?)(a<=?)(b~=?)(o:dn:2.5.13.2:=?))"),
        ("(&)", "(&)"),
    ] {
        assert_eq!(parse(text).unwrap().filter().shape(1000), shape);
    }
    let long = "(|(aaaaaaaaaa=1)(bbbbbbbbbb=2)(cccccccccc=3))";
    assert_eq!(parse(long).unwrap().filter().shape(20), "(|(aaaaaaaaaa=?)(bbb…");
}

proptest! {
    #[test]
    fn decoded_as_encoded(tree in tree()) {
        let bytes = tree.to_ber();
        let mut reader = ber::Reader::new(&bytes);
        let filter = Filter::decode(&mut reader).unwrap();
        prop_assert!(reader.is_empty());
        prop_assert_eq!(Tree::of(&filter), tree);
    }

    #[test]
    fn text_round_trips(tree in tree()) {
        let bytes = tree.to_ber();
        let parsed = parse(&tree.to_text()).unwrap();
        prop_assert_eq!(parsed.as_ber(), &bytes[..], "all escaped");
        let text = parsed.to_string();
        prop_assert!(!text.contains('\n'));
        let again = parse(&text).unwrap();
        prop_assert_eq!(again.as_ber(), &bytes[..], "{}", text);
    }

    #[test]
    fn no_text_panics(text in "[()&|!=*<>~:\\\\a-c0 \\PC]{0,30}") {
        if let Ok(filter) = parse(&text) {
            // What is accepted is canonical after one turn.
            let shown = filter.to_string();
            let again = parse(&shown).unwrap();
            prop_assert_eq!(&again, &filter, "{} {}", text, shown);
        }
    }

    #[test]
    fn no_changed_bytes_panic(tree in tree(), at: prop::sample::Index, byte: u8) {
        let mut bytes = tree.to_ber();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(filter) = Filter::decode(&mut ber::Reader::new(&bytes)) {
            let _ = filter.to_string();
        }
    }
}
