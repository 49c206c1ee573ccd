//! The list of controls, and the value of every control that is spoken. The first byte chooses.
#![no_main]

use ldap::controls::*;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let value = Some(rest);
    match choice % 10 {
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
        7 => drop(PersistentSearch::decode(value)),
        8 => drop(decode_proxied_authorization_v1(value)),
        _ => drop(VlvRequest::decode(value)),
    }
});
