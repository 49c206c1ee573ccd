//! The socket for administrators: who gets in, and what they may have done.

use std::os::unix::net::UnixStream;

use ldap::administration::{IndexChoice, RebuildIndexes, ReloadResponse, SetAccountClock, decode_name_list};
use ldap::oids::extended as oids;

use super::over_directory::Real;
use super::*;

impl Real {
    fn administrator(&self) -> Client<UnixStream> {
        let path = self.directory.config().instance.administration_socket();
        let stream = runtime::local_socket::connect(&path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client::new(stream)
    }
}

fn rebuild(backend: &str, which: IndexChoice, wait: bool) -> Vec<u8> {
    RebuildIndexes { backend: backend.to_owned(), which, wait }.encode()
}

/// The last of the parts of an extended response is its value.
fn value(response: &Response) -> Option<&[u8]> {
    response.rest.last().map(Vec::as_slice)
}

#[test]
fn the_servers_own_user_needs_no_password() {
    let real = Real::start();
    let mut own = real.administrator();
    own.send(&extended(1, oids::WHO_AM_I, None));
    assert_eq!(value(&own.expect()), Some(&b"dn:cn=local administrator"[..]));
    assert_eq!(own.bind(2, "cn=Directory Manager", "wrong").code, 49);
    own.send(&extended(3, oids::WHO_AM_I, None));
    assert_eq!(value(&own.expect()), Some(&b""[..]), "a failed bind takes the rights away");
    own.send(&extended(4, oids::RELOAD_CONFIGURATION, None));
    assert_eq!(own.expect().code, 50);
}

#[test]
fn only_root_may_have_the_server_do_anything() {
    let real = Real::start();
    let mut client = real.client();
    let request = rebuild("userRoot", IndexChoice::All, false);
    for who in ["", "cn=Directory Manager"] {
        let password = if who.is_empty() { "" } else { "secret12" };
        let expected = if who.is_empty() { 50 } else { 0 };
        assert_eq!(client.bind(1, who, password).code, 0);
        client.send(&extended(2, oids::REBUILD_INDEXES, Some(&request)));
        assert_eq!(client.expect().code, expected);
    }
    for (oid, value) in [(oids::REBUILD_INDEXES, None), (oids::REBUILD_INDEXES, Some(&b"0"[..]))] {
        client.send(&extended(3, oid, value));
        assert_eq!(client.expect().code, 2, "{value:?}");
    }
    client.send(&extended(4, oids::RELOAD_CONFIGURATION, Some(b"")));
    assert_eq!(client.expect().code, 2);
}

#[test]
fn a_reload_is_answered_with_its_verdict() {
    let real = Real::start();
    let file = real.directory.config().instance.config_file();
    let good = over_directory::configuration_text();
    let mut own = real.administrator();
    let mut reload = |text: &str| {
        std::fs::write(&file, text).unwrap();
        own.send(&extended(1, oids::RELOAD_CONFIGURATION, None));
        own.expect()
    };
    let taken = reload(&good);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(ReloadResponse::decode(value(&taken)), Ok(ReloadResponse::default()));
    let taken = reload(&good.replace("[global]", "[global]\ncheck-schema = false\nsize-limit = 7"));
    let verdict = ReloadResponse::decode(value(&taken)).unwrap();
    assert_eq!(verdict.changed, ["The limits of operations changed"]);
    assert_eq!(verdict.at_restart, ["[global] check-schema takes effect after a restart"]);
    let refused = reload(&good.replace("[global]", "[global]\nno-such-thing = 1"));
    assert_eq!(refused.code, 53);
    assert!(refused.message.contains("no-such-thing"), "{refused:?}");
}

#[test]
fn who_waits_for_a_rebuild_is_told_of_its_end() {
    let real = Real::start();
    let mut own = real.administrator();
    own.send(&extended(1, oids::REBUILD_INDEXES, Some(&rebuild("userRoot", IndexChoice::All, true))));
    let mut reports = 0;
    let done = loop {
        let response = own.expect();
        if response.tag != encode::tags::INTERMEDIATE {
            break response;
        }
        reports += 1;
    };
    assert_eq!((done.code, done.id), (0, 1), "{done:?} after {reports} reports");
    let names = decode_name_list(value(&done)).unwrap();
    assert!(names.contains(&"cn.caseIgnoreMatch".to_owned()), "{names:?}");
    let indexes = real.directory.backends()[0].store.indexes();
    assert!(indexes.untrusted().is_empty());
    for (backend, index) in [("nosuch", "cn"), ("userRoot", "nosuch"), ("userRoot", "dn2id")] {
        let which = IndexChoice::Named(vec![index.to_owned()]);
        own.send(&extended(2, oids::REBUILD_INDEXES, Some(&rebuild(backend, which, true))));
        assert_eq!(own.expect().code, 32, "{backend} {index}");
    }
}

#[test]
fn only_the_local_administrator_sets_the_clock_of_accounts() {
    let real = Real::start();
    let request = SetAccountClock { ahead_ms: 86_400_000 }.encode();
    let mut client = real.client();
    assert_eq!(client.bind(1, "cn=Directory Manager", "secret12").code, 0);
    client.send(&extended(2, oids::SET_ACCOUNT_CLOCK, Some(&request)));
    assert_eq!((client.expect().code, real.directory.account_clock().ahead_ms()), (50, 0));
    let mut own = real.administrator();
    own.send(&extended(1, oids::SET_ACCOUNT_CLOCK, Some(&request)));
    assert_eq!((own.expect().code, real.directory.account_clock().ahead_ms()), (0, 86_400_000));
}
