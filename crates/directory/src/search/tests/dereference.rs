//! The dereference control: what comes with an entry of those that it names, and what is refused.

use std::ops::ControlFlow;

use ldap::client::controls;
use ldap::{ControlBuf, LdapResult, ResultCode};

use super::fixture::{Asked, Fixture, user};
use crate::Identity;
use crate::search::EntryWriter;
use query::encode::{EncodeError, ShownEntry};

const BASE: &str = "dc=example,dc=com";

const LDIF: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: uid=ann,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann
cn: Annie
sn: Abel
userPassword: {CLEAR}secret12

dn: cn=Staff,dc=example,dc=com
objectClass: groupOfNames
cn: Staff
member: UID=Ann, dc=example,dc=com
member: uid=nobody,dc=example,dc=com
member: uid=far,dc=example,dc=org
owner: uid=ann,dc=example,dc=com

dn: cn=Unique,dc=example,dc=com
objectClass: groupOfUniqueNames
cn: Unique
uniqueMember: uid=ann,dc=example,dc=com#'01'B

####
dn: dc=example,dc=org
objectClass: domain
dc: example

dn: uid=far,dc=example,dc=org
objectClass: account
uid: far
";

fn fixture() -> Fixture {
    Fixture::with(&[BASE], config::default_indexes(), LDIF, |config| {
        let mut other = config.backends[0].clone();
        other.id = "other".to_owned();
        other.directory = other.directory.with_file_name("other");
        other.base_dns = vec!["dc=example,dc=org".to_owned()];
        config.backends.push(other);
    })
}

/// Makes a line of each value that was dereferenced.
#[derive(Default)]
struct Lines(Vec<String>);

impl EntryWriter for Lines {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        for found in entry.dereferenced {
            let mut line = format!("{} {}", found.attribute, text(&found.value));
            for (name, values) in &found.attributes {
                line.push_str(&format!(" {}={:?}", text(name), values.iter().map(|it| text(it)).collect::<Vec<_>>()));
            }
            self.0.push(line);
        }
        // The form of LDAP comes of the same.
        let mut message = Vec::new();
        entry.put_message(7, &mut message)?;
        let message = ldap::client::ServerMessage::decode(&message).unwrap();
        let control = message.controls.find(ldap::oids::control::DEREFERENCE);
        assert_eq!(control.is_some(), !entry.dereferenced.is_empty());
        Ok(ControlFlow::Continue(()))
    }

    fn reference(&mut self, _urls: &[String]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

fn lines(it: &mut Fixture, filter: &str, control: ControlBuf, identity: Identity) -> Result<Vec<String>, LdapResult> {
    let controls = [control];
    let asked = Asked { controls: &controls, attributes: &["1.1"], identity, ..Asked::new(BASE, filter) };
    let mut plan = it.plan(&asked);
    let mut lines = Lines::default();
    let done = plan.run(&mut it.worker, &mut lines);
    if done.result.is_success() { Ok(lines.0) } else { Err(done.result) }
}

#[test]
fn entries_that_are_named_come_with_those_that_name_them() {
    let mut it = fixture();
    let mut found = |filter: &str, specs: &[(&str, &[&str])], identity| {
        lines(&mut it, filter, controls::dereference(specs), identity).unwrap()
    };
    assert_eq!(
        found("(cn=staff)", &[("member", &["uid", "CN"]), ("owner", &["sn"])], user()),
        [
            "member UID=Ann, dc=example,dc=com uid=[\"ann\"] cn=[\"Ann\", \"Annie\"]",
            "member uid=nobody,dc=example,dc=com",
            "member uid=far,dc=example,dc=org uid=[\"far\"]",
            "owner uid=ann,dc=example,dc=com sn=[\"Abel\"]",
        ]
    );
    // What the asker may not read of the entry itself is not shown here either.
    let password: &[(&str, &[&str])] = &[("owner", &["userPassword", "entryDN"])];
    assert_eq!(
        found("(cn=staff)", password, user()),
        ["owner uid=ann,dc=example,dc=com entryDN=[\"uid=ann,dc=example,dc=com\"]"]
    );
    // The part behind the name names no entry.
    assert_eq!(
        found("(cn=unique)", &[("uniqueMember", &["uid"])], user()),
        ["uniqueMember uid=ann,dc=example,dc=com#'01'B uid=[\"ann\"]"]
    );
    // Names that the server computes are followed, too.
    assert_eq!(
        found("(uid=ann)", &[("isMemberOf", &["cn"])], user()),
        ["isMemberOf cn=Staff,dc=example,dc=com cn=[\"Staff\"]"]
    );
    assert!(found("(uid=ann)", &[("member", &["cn"])], user()).is_empty());
    assert!(found("(cn=staff)", &[], user()).is_empty());
}

#[test]
fn what_cannot_be_dereferenced_is_refused() {
    let mut it = fixture();
    let mut code = |specs: &[(&str, &[&str])], is_critical: bool| {
        let control = controls::dereference(specs);
        let controls = [if is_critical { control.critical() } else { control }];
        let asked = Asked { controls: &controls, ..Asked::new(BASE, "(cn=staff)") };
        it.search(&asked).map_or_else(|result| result.code, |found| found.done.result.code)
    };
    assert_eq!(code(&[("member", &["cn", "nosuch"])], true), ResultCode::SUCCESS, "unknown attributes select nothing");
    assert_eq!(code(&[("nosuch", &["cn"])], false), ResultCode::PROTOCOL_ERROR);
    assert_eq!(code(&[("member", &["cn"]), ("MEMBER", &["sn"])], false), ResultCode::PROTOCOL_ERROR);
    assert_eq!(code(&[("member", &[])], false), ResultCode::PROTOCOL_ERROR);
    assert_eq!(code(&[("cn", &["sn"])], true), ResultCode::PROTOCOL_ERROR);
    assert_eq!(code(&[("cn", &["sn"])], false), ResultCode::SUCCESS);
    let twice = [controls::dereference(&[("member", &["cn"])]), controls::dereference(&[("owner", &["cn"])])];
    let refused = it.search(&Asked { controls: &twice, ..Asked::new(BASE, "(cn=staff)") }).unwrap_err();
    assert_eq!(refused.code, ResultCode::PROTOCOL_ERROR);
}

/// Each entry that is named counts as one looked at.
#[test]
fn the_lookthrough_limit_holds_for_entries_that_are_named() {
    let mut it = Fixture::with(&[BASE], config::default_indexes(), LDIF.split("####").next().unwrap(), |config| {
        config.global.lookthrough_limit = Some(3);
    });
    let ask = |it: &mut Fixture, attribute: &str| {
        lines(it, "(cn=staff)", controls::dereference(&[(attribute, &["cn"])]), user()).map(|lines| lines.len())
    };
    assert_eq!(ask(&mut it, "owner"), Ok(1));
    assert_eq!(ask(&mut it, "member").map_err(|result| result.code), Err(ResultCode::ADMIN_LIMIT_EXCEEDED));
}
