//! Requests: what is accepted can be walked, and its raw operation says the same again.
#![no_main]

use ldap::{Message, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::decode(bytes) else { return };
    assert!(message.id > 0);
    let mut body = ber::Reader::new(bytes).sequence().unwrap();
    body.integer().unwrap();
    let (_, raw) = body.raw_element().unwrap();
    let again = Request::decode_op(raw).unwrap();
    assert_eq!(format!("{:?}", message.op), format!("{again:?}"));
    match &message.op {
        Request::Search(search) => {
            let _ = search.filter.to_string();
            assert!(search.attributes.iter().count() <= bytes.len());
        }
        Request::Add(add) => assert!(add.attributes.iter().all(|a| a.values.iter().count() > 0)),
        Request::Modify(modify) => {
            let values: usize = modify.changes.iter().map(|c| c.attribute.values.iter().count()).sum();
            assert!(values <= bytes.len());
        }
        Request::Extended(extended) => {
            let _ = ldap::extended::PasswordModify::decode(extended.value);
            if let Ok(end) = ldap::transaction::EndTransaction::decode(extended.value) {
                assert_eq!(ldap::transaction::EndTransaction::decode(Some(&end.encode())), Ok(end));
            }
        }
        _ => {}
    }
    assert!(message.controls.iter().count() <= ldap::controls::CONTROLS_MAX);
});
