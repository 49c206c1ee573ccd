//! Requests: what is accepted can be walked, and its raw operation says the same again.
#![no_main]

use ldap::{EntryRequest, Message, Operation, SearchRequest, Update};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::decode(bytes) else { return };
    assert!(message.id > 0);
    match &message.operation {
        Operation::Search(search) => {
            let again = SearchRequest::decode(search.encoded()).unwrap();
            assert_eq!(format!("{search:?}"), format!("{again:?}"));
            let _ = search.filter.to_string();
            assert!(search.attributes.iter().count() <= bytes.len());
        }
        Operation::Update(Update::Entry(update)) => {
            let again = EntryRequest::decode(update.encoded()).unwrap();
            assert_eq!(format!("{:?}", update.request()), format!("{again:?}"));
            match update.request() {
                EntryRequest::Add(add) => assert!(add.attributes.iter().all(|a| a.values.iter().count() > 0)),
                EntryRequest::Modify(modify) => {
                    let values: usize = modify.changes.iter().map(|c| c.attribute.values.iter().count()).sum();
                    assert!(values <= bytes.len());
                }
                EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => {}
            }
        }
        Operation::Update(Update::EndTransaction(end)) => {
            assert_eq!(ldap::transaction::EndTransaction::decode(Some(&end.encode())), Ok(*end));
        }
        _ => {}
    }
    assert!(message.controls.iter().count() <= ldap::controls::CONTROLS_MAX);
});
