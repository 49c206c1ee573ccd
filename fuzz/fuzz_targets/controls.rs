//! The list of controls, and the value of every control that is spoken, of requests and of responses, and of the
//! extended operations that are about accounts and transactions. The first byte chooses.
#![no_main]

use ldap::client::controls as client;
use ldap::controls::*;
use ldap::password_policy_state::PasswordPolicyState;
use ldap::transaction::{EndTransaction, decode_failed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let value = Some(rest);
    match choice % 17 {
        0 => {
            if let Ok(list) = Controls::decode(rest) {
                assert!(list.iter().count() <= CONTROLS_MAX);
                let _ = list.find("1.2");
            }
        }
        1 => {
            if let Ok(page) = PagedResults::decode(value) {
                assert_eq!(PagedResults::decode(Some(&page.encode())), Ok(page));
            }
        }
        2 => drop(decode_sort_keys(value)),
        3 => drop(decode_assertion(value).map(|filter| filter.to_string())),
        4 => drop(decode_read_entry(value).map(|list| list.iter().count())),
        5 => drop(decode_matched_values(value)),
        6 => drop(decode_subentries(value)),
        7 => {
            if let Ok(search) = PersistentSearch::decode(value) {
                let again = client::persistent_search(search);
                assert_eq!(PersistentSearch::decode(again.value.as_deref()), Ok(search));
            }
        }
        8 => drop(VlvRequest::decode(value)),
        9 => {
            if let Ok(change) = client::EntryChange::decode(value) {
                let dn = change.previous_dn.map(std::str::from_utf8).transpose();
                let Ok(dn) = dn else { return };
                let again = encode_entry_change(change.change_type, dn, change.change_number);
                assert_eq!(client::EntryChange::decode(Some(&again)), Ok(change));
            }
        }
        10 => drop(client::VlvResponse::decode(value)),
        11 => drop(client::decode_sort_response(value)),
        12 => drop(client::decode_read_entry(value).map(|entry| entry.attributes.iter().count())),
        13 => {
            if let Ok(response) = PasswordPolicyResponse::decode(value) {
                assert_eq!(PasswordPolicyResponse::decode(Some(&response.encode())), Ok(response));
                let _ = response.netscape_control();
            }
        }
        14 => {
            if let Ok(usability) = AccountUsability::decode(value) {
                assert_eq!(AccountUsability::decode(Some(&usability.encode())), Ok(usability));
            }
        }
        15 => {
            if let Ok(state) = PasswordPolicyState::decode(value) {
                assert_eq!(PasswordPolicyState::decode(Some(&state.encode())), Ok(state));
            }
        }
        _ => {
            if let Ok(end) = EndTransaction::decode(value) {
                assert_eq!(EndTransaction::decode(Some(&end.encode())), Ok(end));
            }
            let _ = decode_failed(rest);
        }
    }
});
