//! Proxied authorization over a real directory: who may act as whom, with which result, and what the log says.

use ::directory::Directory;
use config::Config;
use ldap::{ControlBuf, client};

use super::over_directory::{Real, configuration_text, person, replace};
use super::*;

const V1: &str = "2.16.840.1.113730.3.4.12";
const V2: &str = "2.16.840.1.113730.3.4.18";
const WHO_AM_I: &str = "1.3.6.1.4.1.4203.1.11.3";
const ANN: &str = "dn:uid=ann,dc=example,dc=com";

/// A server whose root user has the privilege proxied-auth, and the users ann and ben.
fn server() -> (Real, Client<TcpStream>) {
    let text = configuration_text().replace("\npassword = ", "\nprivilege-name = \"proxied-auth\"\npassword = ");
    let real = Real::with(|config| {
        let config = Config::parse(&text, &config.instance.config_file()).unwrap();
        Directory::open(&config).unwrap()
    });
    let mut root = real.filled();
    root.send(&person(4, "ben", "secret"));
    assert_eq!(root.expect().code, 0);
    (real, root)
}

fn who_am_i(client: &mut Client<TcpStream>, controls: &[ControlBuf]) -> (i64, String) {
    let mut request = Vec::new();
    client::extended(&mut request, 7, WHO_AM_I, None, controls);
    client.send(&request);
    let answer = client.expect();
    (answer.code, String::from_utf8(answer.rest.concat()).unwrap())
}

fn v2(authorization_id: &str) -> ControlBuf {
    ControlBuf::new(V2, Some(authorization_id.as_bytes().to_vec())).critical()
}

fn v1(dn: &str) -> ControlBuf {
    let mut value = Vec::new();
    let mut writer = Writer::new(&mut value);
    let sequence = writer.begin(SEQUENCE);
    writer.octets(OCTET_STRING, dn.as_bytes());
    writer.end(sequence);
    ControlBuf::new(V1, Some(value)).critical()
}

/// The table of the reference.
#[test]
fn every_form_of_the_control_has_its_result() {
    let (_real, mut root) = server();
    let not_critical = |control: ControlBuf| ControlBuf { critical: false, ..control };
    for (controls, code, who) in [
        (vec![v2(ANN)], 0, ANN),
        (vec![v2("DN:UID=Ann, dc=example,dc=com")], 0, ANN),
        (vec![v2("u:ann")], 0, ANN),
        (vec![v2("dn:")], 0, ""),
        (vec![v2("u:")], 0, ""),
        (vec![v2("")], 0, ""),
        (vec![v2("dn:uid=nobody,dc=example,dc=com")], 123, ""),
        (vec![v2("dn:dc=elsewhere")], 123, ""),
        (vec![v2("u:nobody")], 123, ""),
        (vec![v2("u:*")], 123, ""),
        (vec![v2("garbage")], 2, ""),
        (vec![v2("dn:not a dn")], 123, ""),
        (vec![ControlBuf::new(V2, None).critical()], 2, ""),
        (vec![not_critical(v2(ANN))], 2, ""),
        (vec![not_critical(v1("uid=ann,dc=example,dc=com"))], 2, ""),
        (vec![v2("dn:cn=Directory Manager")], 0, "dn:cn=Directory Manager"),
        (vec![v1("uid=ann,dc=example,dc=com")], 0, ANN),
        (vec![v1("uid=nobody,dc=example,dc=com")], 123, ""),
        (vec![v1("")], 0, ""),
        (vec![ControlBuf::new(V1, Some(b"dn".to_vec())).critical()], 2, ""),
        (vec![v1("uid=ann,dc=example,dc=com"), v2(ANN)], 2, ""),
        (vec![v2(ANN), v2(ANN)], 2, ""),
    ] {
        let (found, name) = who_am_i(&mut root, &controls);
        assert_eq!((found, if found == 0 { name.as_str() } else { "" }), (code, who), "{controls:?}");
    }
}

#[test]
fn only_those_with_the_privilege_act_as_others() {
    let (real, mut root) = server();
    let mut anonymous = real.client();
    assert_eq!(who_am_i(&mut anonymous, &[v2(ANN)]).0, 123);
    assert_eq!(who_am_i(&mut anonymous, &[v2("garbage")]).0, 2);
    let mut ben = real.client();
    assert_eq!(ben.bind(1, "uid=ben,dc=example,dc=com", "secret").code, 0);
    assert_eq!(who_am_i(&mut ben, &[v2(ANN)]).0, 123);
    assert_eq!(who_am_i(&mut ben, &[v2("dn:")]).0, 123);
    assert_eq!(who_am_i(&mut ben, &[v2("dn:cn=Directory Manager")]).0, 123);
    let (code, name) = who_am_i(&mut ben, &[v2("dn:uid=ben,dc=example,dc=com")]);
    assert_eq!((code, name.as_str()), (0, "dn:uid=ben,dc=example,dc=com"), "oneself takes no privilege");
    // The request acts as somebody else, the connection does not.
    assert_eq!(who_am_i(&mut root, &[v2(ANN)]).0, 0);
    assert_eq!(who_am_i(&mut root, &[]).1, "dn:cn=Directory Manager");
}

#[test]
fn an_account_out_of_use_lends_its_name_to_nobody() {
    let (_real, mut root) = server();
    root.send(&replace(5, "uid=ann,dc=example,dc=com", "ds-pwp-account-disabled", &["true"]));
    assert_eq!(root.expect().code, 0);
    assert_eq!(who_am_i(&mut root, &[v2(ANN)]).0, 123);
}

#[test]
fn operations_that_cannot_act_as_others_refuse_the_control() {
    let (_real, mut root) = server();
    let mut request = Vec::new();
    client::bind(&mut request, 8, "cn=Directory Manager", b"secret12", &[v2(ANN)]);
    root.send(&request);
    assert_eq!(root.expect().code, 12);
    assert_eq!(root.bind(9, "cn=Directory Manager", "secret12").code, 0);
    for oid in ["1.3.6.1.1.21.1", "1.3.6.1.4.1.26027.1.6.2"] {
        request.clear();
        client::extended(&mut request, 10, oid, None, &[v2(ANN)]);
        root.send(&request);
        assert_eq!(root.expect().code, 12, "{oid}");
    }
}

/// Users may read but not write: the update of ann is refused though root sends it. The log names both.
#[test]
fn operations_run_with_the_rights_of_the_other_and_the_log_says_so() {
    let (real, mut root) = server();
    let mut request = Vec::new();
    client::delete(&mut request, 8, "uid=ben,dc=example,dc=com", &[v2("")]);
    root.send(&request);
    assert_ne!(root.expect().code, 0, "nobody may delete");
    request.clear();
    client::compare(&mut request, 9, "uid=ben,dc=example,dc=com", "uid", b"ben", &[v2(ANN)]);
    root.send(&request);
    assert_eq!(root.expect().code, 6);
    assert_eq!(who_am_i(&mut root, &[]).0, 0);
    real.server.as_ref().unwrap().flush_logs();
    let lines = lines_of(real.dir.path().join("logs/access"));
    let of = |word: &str| lines.iter().rfind(|line| line.starts_with(word)).unwrap();
    assert!(of("COMPARE RES").contains(" authzDN=\"uid=ann,dc=example,dc=com\" etime="), "{lines:?}");
    assert!(of("DELETE RES").contains(" authzDN=\"\" "), "{lines:?}");
    assert!(!of("EXTENDED RES").contains("authzDN"), "{lines:?}");
}

/// `u:` goes by the mapper of the configuration, which can be changed while the server runs.
#[test]
fn users_are_found_by_the_configured_identity_mapper() {
    let text = configuration_text()
        .replace("\npassword = ", "\nprivilege-name = \"proxied-auth\"\npassword = ")
        .replace("[global]\n", "[global]\nproxied-authorization-identity-mapper = \"mail\"\n");
    let mapper = |settings: &str| format!("{text}\n[identity-mapper.mail]\n{settings}\n");
    let pattern = "type = \"regular-expression\"\nmatch-pattern = '^([^@]+)@example\\.com$'\nreplace-pattern = '$1'";
    let tried = [
        ("type = \"exact-match\"\nmatch-attribute = [\"uid\", \"mail\"]", [0, 0, 19, 123]),
        ("type = \"exact-match\"\nmatch-attribute = [\"uid\", \"mail\"]\nenabled = false", [123; 4]),
        ("type = \"exact-match\"\nmatch-base-dn = \"ou=elsewhere,dc=example,dc=com\"", [123; 4]),
        ("type = \"exact-match\"\nmatch-attribute = \"description\"", [123; 4]),
        (pattern, [123, 123, 123, 0]),
    ];
    let configuration = |settings: &str, directory: &Directory| {
        Config::parse(&mapper(settings), &directory.config().instance.config_file()).unwrap()
    };
    let real = Real::with(|config| {
        let config = Config::parse(&mapper(tried[0].0), &config.instance.config_file()).unwrap();
        Directory::open(&config).unwrap()
    });
    let mut root = real.filled();
    root.send(&person(4, "ben", "secret"));
    assert_eq!(root.expect().code, 0);
    for name in ["ann", "ben"] {
        let own = format!("{name}@example.org");
        root.send(&replace(5, &format!("uid={name},dc=example,dc=com"), "mail", &["both@example.org", &own]));
        assert_eq!(root.expect().code, 0);
    }
    for (settings, codes) in tried {
        real.directory.reconfigure(&configuration(settings, &real.directory)).unwrap();
        let names = ["u:ann", "u:ann@example.org", "u:both@example.org", "u:ann@example.com"];
        let found = names.map(|name| who_am_i(&mut root, &[v2(name)]).0);
        assert_eq!(found, codes, "{settings}");
    }
}
