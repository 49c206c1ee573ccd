//! Names: what is accepted has one canonical form.
#![no_main]

use ldap::{Dn, Rdn};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Rdn::parse(text);
    let Ok(dn) = Dn::parse(text) else { return };
    let canonical = dn.to_string();
    let again = Dn::parse(&canonical).unwrap();
    assert_eq!(again, dn, "{canonical:?}");
    assert_eq!(again.to_string(), canonical);
    assert!(dn.parent().is_none_or(|parent| parent.rdns().len() + 1 == dn.rdns().len()));
});
