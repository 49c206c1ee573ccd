//! Values of controls: what they say, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Tree, tree};
use ldap::controls::*;
use ldap::{DecodeError, ResultCode};
use proptest::prelude::*;

#[test]
fn controls_byte_by_byte() {
    assert_eq!(PagedResults { size: 100, cookie: b"c" }.encode(), b"\x30\x06\x02\x01\x64\x04\x01c");
    assert_eq!(encode_sort_response(ResultCode::NO_SUCH_ATTRIBUTE, Some("x")), b"\x30\x06\x0a\x01\x10\x80\x01x");
    assert_eq!(encode_entry_change(8, Some("dc=a"), Some(5)), b"\x30\x0c\x0a\x01\x08\x04\x04dc=a\x02\x01\x05");
    assert_eq!(
        encode_vlv_response(2, 9, ResultCode::SUCCESS, Some(b"k")),
        b"\x30\x0c\x02\x01\x02\x02\x01\x09\x0a\x01\x00\x04\x01k"
    );
    let found = PersistentSearch::decode(Some(b"\x30\x09\x02\x01\x0f\x01\x01\xff\x01\x01\x00")).unwrap();
    assert_eq!(found, PersistentSearch { change_types: 15, changes_only: true, return_controls: false });
    let keys = decode_sort_keys(Some(b"\x30\x0e\x30\x0c\x04\x02sn\x80\x03rul\x81\x01\xff")).unwrap();
    assert_eq!(keys, [SortKey { attribute: b"sn", ordering_rule: Some(b"rul"), reverse: true }]);
    let vlv = VlvRequest::decode(Some(b"\x30\x0e\x02\x01\x01\x02\x01\x02\xa0\x06\x02\x01\x03\x02\x01\x04")).unwrap();
    let target = VlvTarget::Offset { offset: 3, content_count: 4 };
    assert_eq!(vlv, VlvRequest { before: 1, after: 2, target, context: None });
    let vlv = VlvRequest::decode(Some(b"\x30\x0c\x02\x01\x00\x02\x01\x02\x81\x01x\x04\x01y")).unwrap();
    assert_eq!(vlv, VlvRequest { before: 0, after: 2, target: VlvTarget::Assertion(b"x"), context: Some(b"y") });
    assert_eq!(decode_subentries(Some(b"\x01\x01\xff")), Ok(true));
    let attributes = decode_read_entry(Some(b"\x30\x08\x04\x02cn\x04\x02sn")).unwrap();
    assert_eq!(attributes.iter().collect::<Vec<_>>(), [b"cn", b"sn"]);
}

#[test]
fn values_that_are_none() {
    let negative_page = b"\x30\x05\x02\x01\xff\x04\x00";
    assert!(matches!(PagedResults::decode(Some(negative_page)), Err(DecodeError::BadEnumerated { .. })));
    let huge_page = b"\x30\x09\x02\x05\x00\x80\x00\x00\x00\x04\x00";
    assert!(matches!(PagedResults::decode(Some(huge_page)), Err(DecodeError::BadEnumerated { .. })));
    for types in [0, 16, 0xff] {
        let value = [0x30, 9, 2, 1, types, 1, 1, 0xff, 1, 1, 0];
        assert!(matches!(PersistentSearch::decode(Some(&value)), Err(DecodeError::BadEnumerated { .. })), "{types}");
    }
    let negative_count = b"\x30\x09\x02\x01\xff\x02\x01\x02\x81\x01x";
    assert!(matches!(VlvRequest::decode(Some(negative_count)), Err(DecodeError::BadEnumerated { .. })));
    assert_eq!(decode_sort_keys(Some(b"\x30\x00")), Err(DecodeError::Empty("the list of sort keys")));
    let key = b"\x30\x04\x04\x02sn".repeat(SORT_KEYS_MAX + 1);
    let mut many = Vec::new();
    ber::Writer::new(&mut many).octets(0x30, &key);
    assert!(decode_sort_keys(Some(&many)).is_err());
    // None, empty, cut off, followed by something.
    for bad in [None, Some(&b""[..]), Some(b"\x30\x05\x02\x01"), Some(b"\x30\x06\x02\x01\x64\x04\x01c\x00")] {
        assert!(PagedResults::decode(bad).is_err());
        assert!(PersistentSearch::decode(bad).is_err());
        assert!(VlvRequest::decode(bad).is_err());
        assert!(decode_sort_keys(bad).is_err());
        assert!(decode_assertion(bad).is_err());
        assert!(decode_matched_values(bad).is_err());
        assert!(decode_subentries(bad).is_err());
        assert!(decode_dereference(bad).is_err());
        assert!(decode_read_entry(bad).is_err());
    }
}

#[test]
fn matched_values_are_items_only() {
    let list = |filters: &[Tree]| {
        let mut out = Vec::new();
        let mut w = ber::Writer::new(&mut out);
        let mark = w.begin(0x30);
        filters.iter().for_each(|filter| filter.encode(&mut w));
        w.end(mark);
        out
    };
    let item = Tree::Present("cn".into());
    assert_eq!(decode_matched_values(Some(&list(&[item.clone(), item.clone()]))).unwrap().len(), 2);
    for bad in [Tree::And(vec![]), Tree::Or(vec![item.clone()]), Tree::Not(Box::new(item.clone()))] {
        assert!(decode_matched_values(Some(&list(&[item.clone(), bad.clone()]))).is_err(), "{bad:?}");
    }
}

/// The form of draft-masarati-ldap-deref sections 2.2 and 2.3.
#[test]
fn dereference_byte_by_byte() {
    let value = b"\x30\x14\x30\x12\x04\x06member\x30\x08\x04\x02cn\x04\x02sn";
    let specs = decode_dereference(Some(value)).unwrap();
    let [spec] = specs[..] else { panic!("{specs:?}") };
    assert_eq!((spec.attribute, spec.wanted.iter().collect::<Vec<_>>()), (&b"member"[..], vec![&b"cn"[..], b"sn"]));
    let own = ldap::client::controls::dereference(&[("member", &["cn", "sn"])]);
    assert_eq!(own.value.as_deref(), Some(&value[..]));
    assert_eq!(decode_dereference(Some(b"\x30\x00")), Ok(Vec::new()));
    let nothing_wanted = b"\x30\x0c\x30\x0a\x04\x06member\x30\x00";
    let refused = DecodeError::Empty("the list of attributes to return");
    assert_eq!(decode_dereference(Some(nothing_wanted)), Err(refused));
    let mut many = Vec::new();
    ber::Writer::new(&mut many).octets(0x30, &value[2..].repeat(DEREFERENCE_SPECS_MAX + 1));
    let refused = DecodeError::TooMany { what: "attributes to dereference", most: DEREFERENCE_SPECS_MAX };
    assert_eq!(decode_dereference(Some(&many)), Err(refused));
    let shown = [(b"cn".to_vec(), vec![b"A".to_vec(), b"B".to_vec()])];
    let all = [(&b"member"[..], &b"cn=a"[..], &shown[..]), (b"member", b"cn=b", &[])];
    assert_eq!(
        encode_dereferenced(all.into_iter()),
        b"\x30\x30\x30\x1e\x04\x06member\x04\x04cn=a\xa0\x0e\x30\x0c\x04\x02cn\x31\x06\x04\x01A\x04\x01B\
          \x30\x0e\x04\x06member\x04\x04cn=b"
    );
}

proptest! {
    #[test]
    fn round_trips(size in 0u32..=0x7fff_ffff, cookie in prop::collection::vec(any::<u8>(), 0..300), filter in tree()) {
        let page = PagedResults { size, cookie: &cookie };
        let value = page.encode();
        prop_assert_eq!(PagedResults::decode(Some(&value)), Ok(page));
        prop_assert_eq!(Tree::of(&decode_assertion(Some(&filter.to_ber())).unwrap()), filter);
    }

    #[test]
    fn no_bytes_panic(
        noise in prop::collection::vec(any::<u8>(), 0..40),
        front in prop::sample::select(vec![&b""[..], b"\x30", b"\x30\x0a\x02\x01", b"\x30\x0c\x30\x0a\x04\x01"]),
    ) {
        let value = [front, &noise].concat();
        let value = Some(&value[..]);
        let _ = (PagedResults::decode(value), PersistentSearch::decode(value), VlvRequest::decode(value));
        let _ = (decode_sort_keys(value), decode_assertion(value), decode_matched_values(value));
        let _ = (decode_subentries(value), decode_read_entry(value), decode_dereference(value));
        let _ = EffectiveRightsRequest::decode(value).map(|request| request.subject.name().map(<[u8]>::len));
    }
}
