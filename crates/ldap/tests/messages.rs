//! Requests and responses: round trips, what must be refused, bytes from anywhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use ber::Writer;
use common::{Asked, asked, controls, octets};
use ldap::client::{Response, ServerMessage};
use ldap::encode::{self, tags};
use ldap::{
    ControlBuf, DecodeError, EntryRequest, ExtendedFault, LdapResult, Message, NotExecutable, Operation, ResultCode,
    SearchRequest, Update, oids,
};
use proptest::prelude::*;

/// A message around `op`, without the code under test.
fn message(id: &[u8], op: &[u8], controls: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out);
    let mark = w.begin(0x30);
    w.octets(2, id);
    w.raw(op);
    w.raw(controls);
    w.end(mark);
    out
}

fn error(bytes: &[u8]) -> DecodeError {
    Message::decode(bytes).expect_err("must be refused").error
}

#[test]
fn a_search_byte_by_byte() {
    // RFC 4511 §4.5.1, encoded by hand.
    let bytes = b"\x30\x2f\x02\x01\x02\x63\x2a\x04\x04dc=a\x0a\x01\x02\x0a\x01\x00\x02\x01\x05\x02\x01\x00\x01\x01\x00\
        \xa3\x07\x04\x02sn\x04\x01x\x30\x08\x04\x02cn\x04\x02sn";
    let mut bytes = bytes.to_vec();
    bytes[1] = (bytes.len() - 2) as u8;
    bytes[6] = (bytes.len() - 7) as u8;
    let message = Message::decode(&bytes).unwrap();
    assert_eq!(message.id, 2);
    assert!(message.controls.is_empty());
    let Operation::Search(search) = message.operation else { panic!("no search") };
    assert_eq!((search.base, search.size_limit, search.types_only), (&b"dc=a"[..], 5, false));
    assert_eq!(search.scope, ldap::Scope::WholeSubtree);
    assert_eq!(search.filter.to_string(), "(sn=x)");
    assert_eq!(search.attributes.iter().collect::<Vec<_>>(), [b"cn", b"sn"]);
}

#[test]
fn message_ids_are_positive_and_fit() {
    let unbind = [0x42, 0];
    assert!(Message::decode(&message(&[1], &unbind, &[])).is_ok());
    assert!(Message::decode(&message(&[0x7f, 0xff, 0xff, 0xff], &unbind, &[])).is_ok());
    for (id, value) in [(&[0u8][..], 0), (&[0xff], -1), (&[0, 0x80, 0, 0, 0], 0x8000_0000)] {
        assert_eq!(error(&message(id, &unbind, &[])), DecodeError::BadMessageId(value));
    }
    for id in [&[][..], &[0; 9]] {
        assert!(matches!(error(&message(id, &unbind, &[])), DecodeError::Ber(_)));
    }
}

#[test]
fn an_error_says_what_is_known_of_the_request() {
    let bad_scope = b"\x63\x0a\x04\x00\x0a\x01\x09\x0a\x01\x00\x02\x00";
    let failed = Message::decode(&message(&[7], bad_scope, &[])).unwrap_err();
    assert_eq!((failed.id, failed.op_tag), (Some(7), Some(0x63)));
    assert!(matches!(failed.error, DecodeError::BadEnumerated { value: 9, .. }), "{failed}");
    let failed = Message::decode(&message(&[7], &[0x64, 0], &[])).unwrap_err();
    assert_eq!(failed.error, DecodeError::UnknownOperation { tag: 0x64 });
    assert_eq!(Message::decode(b"\x30\x00").unwrap_err().id, None);
}

#[test]
fn lists_that_must_not_be_empty() {
    let add = b"\x68\x0e\x04\x00\x30\x0a\x30\x08\x04\x02cn\x31\x02\x04\x00";
    assert!(Message::decode(&message(&[1], add, &[])).is_ok(), "an empty value is a value");
    let add = b"\x68\x0c\x04\x00\x30\x08\x30\x06\x04\x02cn\x31\x00";
    assert!(matches!(error(&message(&[1], add, &[])), DecodeError::Empty(_)));
    let modify = b"\x66\x11\x04\x00\x30\x0d\x30\x0b\x0a\x01\x01\x30\x06\x04\x02cn\x31\x00";
    assert!(Message::decode(&message(&[1], modify, &[])).is_ok(), "a deletion needs no value");
    let search = b"\x63\x1a\x04\x00\x0a\x01\x00\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\
        \xa4\x06\x04\x02cn\x30\x00\x30\x00";
    let mut search = search.to_vec();
    search[1] = (search.len() - 2) as u8;
    assert_eq!(error(&message(&[1], &search, &[])), DecodeError::BadSubstrings);
}

#[test]
fn numbers_out_of_their_range() {
    let search = |size: &[u8], time: &[u8], scope: u8, deref: u8| {
        let mut op = Vec::new();
        let mut w = Writer::new(&mut op);
        let mark = w.begin(0x63);
        w.octets(4, b"");
        w.octets(10, &[scope]);
        w.octets(10, &[deref]);
        w.octets(2, size);
        w.octets(2, time);
        w.boolean(1, false);
        w.octets(0x87, b"cn");
        w.octets(0x30, b"");
        w.end(mark);
        message(&[1], &op, &[])
    };
    assert!(Message::decode(&search(&[0x7f, 0xff, 0xff, 0xff], &[0], 3, 3)).is_ok());
    for bad in [
        search(&[0xff], &[0], 0, 0),
        search(&[0], &[0xff], 0, 0),
        search(&[0, 0x80, 0, 0, 0], &[0], 0, 0),
        search(&[0], &[0], 4, 0),
        search(&[0], &[0], 0xff, 0),
        search(&[0], &[0], 0, 4),
    ] {
        assert!(matches!(error(&bad), DecodeError::BadEnumerated { .. }));
    }
}

#[test]
fn hostile_lengths_and_leftovers() {
    let good = Asked::Delete("dc=a".into()).encode(5, &[ControlBuf::new("1.2", None)]);
    assert!(Message::decode(&good).is_ok());
    for bytes in [
        &b"\x30\x80\x02\x01\x01\x42\x00\x00\x00"[..],        // indefinite length
        b"\x30\x85\x00\x00\x00\x00\x05\x02\x01\x01\x42\x00", // five length bytes
        b"\x30\x84\xff\xff\xff\xff\x02\x01\x01\x42\x00",     // longer than what is there
        b"\x30\x05\x02\x01\x01\x42\x01",                     // an element longer than what holds it
        b"\x30\x05\x02\x01\x01\x42\x00\x00",                 // something behind the message
        b"\x30\x07\x02\x01\x01\x42\x00\xa0\x80",             // indefinite length inside
        b"\x31\x05\x02\x01\x01\x42\x00",                     // a set
        b"",
    ] {
        assert!(matches!(error(bytes), DecodeError::Ber(_)), "{bytes:x?}");
    }
    for end in 0..good.len() {
        assert!(Message::decode(&good[..end]).is_err(), "cut at {end}");
    }
    // A list of controls within which nothing is right, and one with too many.
    assert!(Message::decode(&message(&[1], &[0x42, 0], b"\xa0\x02\x04\x00")).is_err());
    let many = vec![ControlBuf::new("1.2", None); ldap::controls::CONTROLS_MAX + 1];
    assert_eq!(error(&Asked::Delete(String::new()).encode(1, &many)), DecodeError::TooManyControls);
    assert!(Message::decode(&Asked::Delete(String::new()).encode(1, &many[1..])).is_ok());
}

#[test]
fn components_of_later_versions_are_passed_over() {
    // RFC 4511 §4: trailing components of unknown tags are ignored, in every SEQUENCE.
    let new = b"\x95\x01x\xb6\x00";
    let delete = b"\x4a\x04dc=a";
    let control = b"\xa0\x09\x30\x07\x04\x03\x31\x2e\x32\x95\x00";
    let decoded =
        |bytes: &[u8]| Message::decode(bytes).map(|m| (format!("{:?}", m.operation), m.controls.iter().count()));
    let expected = decoded(&message(&[1], delete, b"")).unwrap().0;
    assert_eq!(decoded(&message(&[1], delete, new)), Ok((expected.clone(), 0)));
    assert_eq!(decoded(&message(&[1], delete, &[control, &new[..]].concat())), Ok((expected, 1)));
    // A second list of controls could hide the first; what has no context tag is no extension.
    assert!(decoded(&message(&[1], delete, &[&control[..], control].concat())).is_err());
    assert!(decoded(&message(&[1], delete, b"\x04\x00")).is_err());
    for asked in [
        Asked::Bind("cn=a".into(), b"b".to_vec()),
        Asked::Modify("cn=a".into(), Vec::new()),
        Asked::ModifyDn("cn=a".into(), "cn=b".into(), true, None),
        Asked::ModifyDn("cn=a".into(), "cn=b".into(), true, Some("dc=b".into())),
        Asked::Compare("cn=a".into(), "cn".into(), b"a".to_vec()),
        Asked::Extended("1.2".into(), None),
    ] {
        let bytes = asked.encode(1, &[]);
        let mut body = ber::Reader::new(&bytes).sequence().unwrap();
        body.integer().unwrap();
        let (tag, content) = body.element().unwrap();
        let mut extended = Vec::new();
        Writer::new(&mut extended).octets(tag, &[content, new].concat());
        let bytes = message(&[1], &extended, b"");
        assert_eq!(Asked::of(&Message::decode(&bytes).unwrap().operation), asked);
    }
}

#[test]
fn secrets_stay_out_of_debug_output() {
    let bytes = Asked::Bind("cn=a".into(), b"hush-hush".to_vec()).encode(1, &[]);
    assert!(!format!("{:?}", Message::decode(&bytes).unwrap()).contains("hush"));
}

#[test]
fn responses_byte_by_byte() {
    let mut out = Vec::new();
    encode::success(&mut out, 3, tags::ADD);
    assert_eq!(out, b"\x30\x0c\x02\x01\x03\x69\x07\x0a\x01\x00\x04\x00\x04\x00");
    out.clear();
    encode::notice_of_disconnection(&mut out, ResultCode::PROTOCOL_ERROR, "bye");
    let message = ServerMessage::decode(&out).unwrap();
    assert_eq!(message.id, 0);
    let Response::Extended { result, name, value } = message.op else { panic!("no extended response") };
    assert_eq!(result, LdapResult::new(ResultCode::PROTOCOL_ERROR, "bye"));
    assert_eq!((name, value), (Some(&b"1.3.6.1.4.1.1466.20036"[..]), None));
}

#[test]
fn responses_that_are_none() {
    for bytes in [
        &b"\x30\x05\x02\x01\x01\x42\x00"[..],                                // a request
        b"\x30\x05\x02\x01\x01\x73\x00",                                     // a reference to nowhere
        b"\x30\x0c\x02\x01\x03\x69\x07\x0a\x01\x00\x04\x00\x04\x01",         // broken
        b"\x30\x0e\x02\x01\x03\x69\x09\x0a\x01\x0a\x04\x00\x04\x00\xa3\x00", // a referral to nowhere
        b"\x30\x0d\x02\x01\x03\x69\x08\x0a\x01\x00\x04\x01\xff\x04\x00",     // no UTF-8
        b"\x30\x05\x02\x01\xff\x65\x00",
        b"\x30\x03\x02\x01\x01",
    ] {
        assert!(ServerMessage::decode(bytes).is_err(), "{bytes:x?}");
    }
}

/// Every extended operation is known by its OID, and what it is given is checked once.
#[test]
fn extended_operations_are_decoded() {
    use oids::extended as oids;
    let message = |oid: &str, value: Option<&[u8]>| {
        let mut bytes = Vec::new();
        ldap::client::extended(&mut bytes, 1, oid, value, &[]);
        bytes
    };
    let refresh = ldap::extended::Refresh { entry: b"cn=a", ttl_seconds: 60 }.encode();
    let end = ldap::transaction::EndTransaction { commit: true, identifier: b"1" }.encode();
    let rebuild = ldap::administration::RebuildIndexes {
        backend: "userRoot".into(),
        which: ldap::administration::IndexChoice::All,
        wait: false,
    };
    let rebuild = rebuild.encode();
    let clock = ldap::administration::SetAccountClock { ahead_ms: -60_000 }.encode();
    type Value<'v> = Option<&'v [u8]>;
    // OID, a value that is taken, one that is not.
    let cases: [(&str, Value<'_>, Value<'_>); 11] = [
        (oids::PASSWORD_MODIFY, None, Some(b"x")),
        (oids::REFRESH, Some(&refresh), None),
        (oids::END_TRANSACTION, Some(&end), None),
        (oids::CANCEL, Some(b"\x30\x03\x02\x01\x07"), None),
        (oids::REBUILD_INDEXES, Some(&rebuild), Some(b"x")),
        (oids::SET_ACCOUNT_CLOCK, Some(&clock), Some(b"x")),
        (oids::START_TRANSACTION, None, Some(b"")),
        (oids::WHO_AM_I, None, Some(b"")),
        (oids::START_TLS, None, Some(b"")),
        (oids::RELOAD_CONFIGURATION, None, Some(b"")),
        (oids::GET_CONNECTION_ID, None, None),
    ];
    for (oid, taken, refused) in cases {
        let bytes = message(oid, taken);
        let operation = Message::decode(&bytes).unwrap().operation;
        assert!(!matches!(operation, Operation::NotExecutable(_)), "{operation:?}");
        assert_eq!(operation.extended_oid(), Some(oid.as_bytes()));
        assert_eq!(operation.response_tag(), Some(tags::EXTENDED));
        if oid == oids::GET_CONNECTION_ID {
            continue;
        }
        let bytes = message(oid, refused);
        let operation = Message::decode(&bytes).unwrap().operation;
        let Operation::NotExecutable(NotExecutable { fault, .. }) = operation else { panic!("{operation:?}") };
        assert_ne!(fault, ExtendedFault::Unknown);
        assert_eq!(operation.extended_oid(), Some(oid.as_bytes()));
    }
}

fn result() -> impl Strategy<Value = LdapResult> {
    (any::<i32>(), "\\PC{0,20}", "\\PC{0,20}", prop::collection::vec("\\PC{0,20}", 0..3)).prop_map(
        |(code, dn, message, referrals)| {
            LdapResult::new(ResultCode::from_i32(code), message).with_matched_dn(dn).with_referrals(referrals)
        },
    )
}

/// What the controls of a message say.
fn own(controls: ldap::Controls<'_>) -> Vec<ControlBuf> {
    let text = |oid: &[u8]| String::from_utf8(oid.to_vec()).unwrap();
    controls
        .iter()
        .map(|c| ControlBuf { oid: text(c.oid), critical: c.critical, value: c.value.map(<[u8]>::to_vec) })
        .collect()
}

proptest! {
    #[test]
    fn requests_round_trip(asked in asked(), id in 1i32.., controls in controls()) {
        let bytes = asked.encode(id, &controls);
        prop_assert_eq!(ber::frame(&bytes, bytes.len()), Ok(ber::Frame::Complete(bytes.len())));
        let message = Message::decode(&bytes).unwrap();
        prop_assert_eq!(message.id, id);
        prop_assert_eq!(Asked::of(&message.operation), asked.clone().decoded());
        if asked != Asked::Unbind {
            prop_assert_eq!(own(message.controls), controls);
        }
        // The bare operation, as a log keeps it.
        if let Operation::Update(Update::Entry(update)) = message.operation {
            let mut body = ber::Reader::new(&bytes).sequence().unwrap();
            body.integer().unwrap();
            prop_assert_eq!(update.encoded(), body.raw_element().unwrap().1);
            prop_assert!(EntryRequest::decode(&[update.encoded(), &[0]].concat()).is_err());
        }
    }

    #[test]
    fn responses_round_trip(
        result in result(), id in 0i32.., controls in controls(), tag in prop::sample::select(vec![
            tags::SEARCH_DONE, tags::MODIFY, tags::ADD, tags::DELETE, tags::MODIFY_DN, tags::COMPARE]),
        name in prop::option::of("[0-9.]{1,9}"),
        value in prop::option::of(octets()),
        urls in prop::collection::vec("\\PC{1,9}", 1..4),
    ) {
        let mut out = Vec::new();
        encode::result(&mut out, id, tag, &result, &controls);
        let message = ServerMessage::decode(&out).unwrap();
        prop_assert_eq!((message.id, own(message.controls)), (id, controls.clone()));
        prop_assert_eq!(message.op, Response::Done { tag, result: result.clone() });

        out.clear();
        encode::bind_response(&mut out, id, &result, value.as_deref(), &[]);
        let expected = Response::Bind { result: result.clone(), credentials: value.as_deref() };
        prop_assert_eq!(ServerMessage::decode(&out).unwrap().op, expected);

        out.clear();
        encode::extended_response(&mut out, id, &result, name.as_deref(), value.as_deref(), &controls);
        let name_bytes = name.as_deref().map(str::as_bytes);
        let expected = Response::Extended { result, name: name_bytes, value: value.as_deref() };
        prop_assert_eq!(ServerMessage::decode(&out).unwrap().op, expected);

        out.clear();
        encode::intermediate(&mut out, id, name.as_deref(), value.as_deref(), &controls);
        let expected = Response::Intermediate { name: name_bytes, value: value.as_deref() };
        prop_assert_eq!(ServerMessage::decode(&out).unwrap().op, expected);

        out.clear();
        encode::search_reference(&mut out, id, urls.iter().map(String::as_str), &controls);
        let Response::SearchReference(found) = ServerMessage::decode(&out).unwrap().op else { panic!("no reference") };
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), urls.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn entries_round_trip(
        dn in "\\PC{0,20}",
        attributes in prop::collection::vec(("[a-z]{1,5}", prop::collection::vec(octets(), 0..4)), 0..5),
    ) {
        let mut out = Vec::new();
        let borrowed = attributes.iter().map(|(d, v)| (d.as_bytes(), v.iter().map(Vec::as_slice)));
        encode::search_entry(&mut out, 1, &dn, borrowed, &[]);
        let Response::SearchEntry(entry) = ServerMessage::decode(&out).unwrap().op else { panic!("no entry") };
        prop_assert_eq!(entry.dn, dn.as_bytes());
        let found: Vec<(String, Vec<Vec<u8>>)> = entry.attributes.iter()
            .map(|a| {
                let values = a.values.iter().map(<[u8]>::to_vec).collect();
                (String::from_utf8(a.description.to_vec()).unwrap(), values)
            })
            .collect();
        prop_assert_eq!(found, attributes);
    }

    #[test]
    fn no_bytes_panic(noise in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Message::decode(&noise);
        let _ = ServerMessage::decode(&noise);
        let _ = (EntryRequest::decode(&noise), SearchRequest::decode(&noise));
    }

    /// A good message with a few bytes changed gets deeper than noise. Whatever is accepted can be walked to its end.
    #[test]
    fn no_changed_bytes_panic(
        asked in asked(), controls in controls(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = asked.encode(1, &controls);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(message) = Message::decode(&bytes) {
            let _ = own_lossy(&message);
        }
        let _ = ServerMessage::decode(&bytes);
    }
}

/// Walks every list of a request, whatever text it holds.
fn own_lossy(message: &Message<'_>) -> usize {
    let lists = match &message.operation {
        Operation::Search(s) => s.filter.to_string().len() + s.attributes.iter().count(),
        Operation::Update(Update::Entry(update)) => match update.request() {
            EntryRequest::Add(a) => a.attributes.iter().map(|a| a.values.iter().count()).sum(),
            EntryRequest::Modify(m) => m.changes.iter().map(|c| c.attribute.values.iter().count()).sum(),
            EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => 0,
        },
        _ => 0,
    };
    lists + message.controls.iter().count()
}
