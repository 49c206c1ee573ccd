//! Two other implementations read what is written here and write what is read here: `rasn-ldap` as messages, `lber` as
//! BER.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Asked, Tree, asked, controls, octets};
use ldap::{ControlBuf, LdapResult, Message, ResultCode, encode};
use proptest::prelude::*;
use rasn_ldap::{Filter as RasnFilter, LdapMessage, ProtocolOp};

fn rasn(bytes: &[u8]) -> LdapMessage {
    rasn::ber::decode(bytes).unwrap_or_else(|error| panic!("rasn cannot read {bytes:x?}: {error}"))
}

/// The tree that `lber` makes of it, written again.
fn through_lber(bytes: &[u8]) -> Vec<u8> {
    let (rest, tree) = lber::parse::parse_tag(bytes).unwrap_or_else(|error| panic!("lber cannot read: {error:?}"));
    assert!(rest.is_empty());
    let mut out = Default::default();
    lber::write::encode_into(&mut out, tree).unwrap();
    out.to_vec()
}

#[test]
fn the_same_message_says_the_same() {
    let filter = Tree::And(vec![
        Tree::Assertion(0xa3, "cn".into(), b"a".to_vec()),
        Tree::Substring("sn".into(), vec![(0x80, b"x".to_vec()), (0x82, b"y".to_vec())]),
        Tree::Extensible(Some("r".into()), None, b"v".to_vec(), true),
    ]);
    let search = Asked::Search(
        "dc=example".into(),
        ldap::Scope::WholeSubtree,
        ldap::DerefAliases::Always,
        10,
        20,
        true,
        filter,
        vec!["cn".into(), "+".into()],
    );
    let control = ControlBuf::new("1.2.840.113556.1.4.319", Some(vec![1])).critical();
    let message = rasn(&search.encode(77, &[control]));
    assert_eq!(message.message_id, 77);
    let controls = message.controls.unwrap();
    assert_eq!(&controls[0].control_type[..], b"1.2.840.113556.1.4.319");
    assert!(controls[0].criticality);
    assert_eq!(controls[0].control_value.as_deref(), Some(&[1u8][..]));
    let ProtocolOp::SearchRequest(search) = message.protocol_op else { panic!("no search") };
    assert_eq!((search.base_object.as_str(), search.size_limit, search.time_limit), ("dc=example", 10, 20));
    assert!(search.types_only);
    assert_eq!(search.scope, rasn_ldap::SearchRequestScope::WholeSubtree);
    assert_eq!(search.deref_aliases, rasn_ldap::SearchRequestDerefAliases::DerefAlways);
    assert_eq!(search.attributes.iter().map(|a| a.as_str()).collect::<Vec<_>>(), ["cn", "+"]);
    let RasnFilter::And(members) = search.filter else { panic!("no and") };
    assert_eq!(members.to_vec().len(), 3);
}

/// Whether `rasn-ldap` knows everything that is in the request.
fn is_known_to_rasn(asked: &Asked) -> bool {
    match asked {
        // The scope of a draft; the operation of RFC 4525; versions of later RFCs.
        Asked::Search(_, scope, ..) => *scope != ldap::Scope::SubordinateSubtree,
        Asked::Modify(_, changes) => changes.iter().all(|change| change.0 != ldap::ModifyOperation::Increment),
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn requests(asked in asked(), id in 1i32.., controls in controls()) {
        let bytes = asked.encode(id, &controls);
        prop_assert_eq!(&through_lber(&bytes), &bytes);
        if is_known_to_rasn(&asked) {
            let again = rasn::ber::encode(&rasn(&bytes)).unwrap();
            let message = Message::decode(&again).unwrap();
            prop_assert_eq!(message.id, id);
            prop_assert_eq!(Asked::of(&message.operation).sorted(), asked.clone().decoded().sorted());
            if asked != Asked::Unbind {
                let found: Vec<_> = message
                    .controls
                    .iter()
                    .map(|c| (c.oid.to_vec(), c.critical, c.value.map(<[u8]>::to_vec)))
                    .collect();
                let sent: Vec<_> =
                    controls.iter().map(|c| (c.oid.clone().into_bytes(), c.critical, c.value.clone())).collect();
                prop_assert_eq!(found, sent);
            }
        }
    }

    #[test]
    fn results(
        code in prop::sample::select(vec![0, 1, 2, 10, 14, 32, 34, 49, 53, 80]),
        dn in "\\PC{0,20}",
        text in "\\PC{0,20}",
        referrals in prop::collection::vec("\\PC{0,20}", 0..3), id in 0i32.., value in prop::option::of(octets()),
        tag in prop::sample::select(vec![0x65u8, 0x67, 0x69, 0x6b, 0x6d, 0x6f]),
    ) {
        let result = LdapResult::new(ResultCode::from_i32(code), &*text);
        let result = result.with_matched_dn(&*dn).with_referrals(referrals.clone());
        let mut out = Vec::new();
        encode::result(&mut out, id, tag, &result, &[]);
        let message = rasn(&out);
        prop_assert_eq!(message.message_id, id as u32);
        let found = match message.protocol_op {
            ProtocolOp::SearchResDone(done) => done.0,
            ProtocolOp::ModifyResponse(done) => done.0,
            ProtocolOp::AddResponse(done) => done.0,
            ProtocolOp::DelResponse(done) => done.0,
            ProtocolOp::ModDnResponse(done) => done.0,
            ProtocolOp::CompareResponse(done) => done.0,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(
            (found.result_code as i32, found.matched_dn.as_str(), found.diagnostic_message.as_str()),
            (code, &*dn, &*text),
        );
        let urls: Vec<String> = found.referral.into_iter().flatten().map(|url| url.to_string()).collect();
        prop_assert_eq!(urls, referrals);

        out.clear();
        encode::bind_response(&mut out, id, &result, value.as_deref(), &[]);
        let ProtocolOp::BindResponse(bind) = rasn(&out).protocol_op else { panic!("no bind response") };
        prop_assert_eq!(bind.server_sasl_creds.as_deref(), value.as_deref());

        out.clear();
        encode::extended_response(&mut out, id, &result, Some("1.2.3"), value.as_deref(), &[]);
        let ProtocolOp::ExtendedResp(extended) = rasn(&out).protocol_op else { panic!("no extended response") };
        prop_assert_eq!(extended.response_name.as_deref(), Some(&b"1.2.3"[..]));
        prop_assert_eq!(extended.response_value.as_deref(), value.as_deref());
        prop_assert_eq!(&through_lber(&out), &out);

        out.clear();
        encode::intermediate(&mut out, id, Some("1.2.3"), value.as_deref(), &[]);
        let ProtocolOp::IntermediateResponse(intermediate) = rasn(&out).protocol_op else { panic!("no intermediate \
            response") };
        prop_assert_eq!(intermediate.response_value.as_deref(), value.as_deref());
    }

    #[test]
    fn entries(
        dn in "\\PC{0,20}",
        attributes in prop::collection::vec(("[a-z]{1,5}", prop::collection::vec(octets(), 0..4)), 0..4),
        url in "ldap://[a-z]{1,9}/",
    ) {
        let mut out = Vec::new();
        let borrowed = attributes.iter().map(|(d, v)| (d.as_bytes(), v.iter().map(Vec::as_slice)));
        encode::search_entry(&mut out, 9, &dn, borrowed, &[]);
        prop_assert_eq!(&through_lber(&out), &out);
        let ProtocolOp::SearchResEntry(entry) = rasn(&out).protocol_op else { panic!("no entry") };
        prop_assert_eq!(entry.object_name.as_str(), &*dn);
        for (found, (description, values)) in entry.attributes.iter().zip(&attributes) {
            prop_assert_eq!(found.r#type.as_str(), description.as_str());
            let mut found: Vec<Vec<u8>> = found.vals.to_vec().iter().map(|value| value.to_vec()).collect();
            let mut values = values.clone();
            found.sort();
            found.dedup();
            values.sort();
            values.dedup();
            prop_assert_eq!(found, values);
        }
        prop_assert_eq!(entry.attributes.len(), attributes.len());

        out.clear();
        encode::search_reference(&mut out, 9, [&*url], &[]);
        let ProtocolOp::SearchResRef(reference) = rasn(&out).protocol_op else { panic!("no reference") };
        prop_assert_eq!(reference.0[0].as_str(), &*url);
    }
}
