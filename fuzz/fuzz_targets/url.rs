//! URLs: what is accepted is written in a form that says the same.
#![no_main]

use ldap::LdapUrl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(url) = LdapUrl::parse(text) else { return };
    let shown = url.to_string();
    assert_eq!(LdapUrl::parse(&shown).as_ref(), Ok(&url), "{shown}");
});
