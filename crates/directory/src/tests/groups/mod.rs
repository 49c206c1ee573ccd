//! Membership through whole searches and compares: each kind of group, filters, chains, several backends; then random
//! updates against a computation from scratch.

mod big;
mod kinds;
mod random;

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use config::{BackendConfig, default_indexes};
use ldap::{Message, ModifyOperation, Scope, client};

use crate::search::tests::fixture::{Asked, Fixture};

pub(super) const BASE: &str = "dc=example,dc=com";

/// The entry above all, people and groups of these names, `cn=NAME,ou=groups,BASE`.
pub(super) fn ldif(people: &[&str], groups: &[(&str, &str, &[&str])]) -> String {
    let mut text = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    for name in ["people", "groups"] {
        write!(text, "dn: ou={name},{BASE}\nobjectClass: organizationalUnit\nou: {name}\n\n").unwrap();
    }
    for uid in people {
        write!(text, "dn: {}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: {uid}\n\n", person(uid)).unwrap();
    }
    for (name, class, lines) in groups {
        write!(text, "dn: {}\nobjectClass: {class}\ncn: {name}\n", group(name)).unwrap();
        lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
        text.push('\n');
    }
    text
}

pub(super) fn person(uid: &str) -> String {
    format!("uid={uid},ou=people,{BASE}")
}

pub(super) fn group(name: &str) -> String {
    format!("cn={name},ou=groups,{BASE}")
}

pub(super) fn fixture(ldif: &str) -> Fixture {
    Fixture::new(&[BASE], default_indexes(), ldif)
}

/// The first RDN values of names, sorted.
pub(super) fn short(dns: impl IntoIterator<Item = String>) -> Vec<String> {
    let value = |dn: &str| dn.split(['=', ',']).nth(1).unwrap_or_default().to_owned();
    let mut names: Vec<String> = dns.into_iter().map(|dn| value(&dn)).collect();
    names.sort();
    names
}

/// The groups that an entry says it is in, by that attribute.
pub(super) fn groups_by(it: &mut Fixture, dn: &str, attribute: &str) -> Vec<String> {
    let attributes = [attribute];
    let found = it
        .search(&Asked { scope: Scope::BaseObject, attributes: &attributes, ..Asked::new(dn, "(objectClass=*)") })
        .unwrap();
    let entry = found.entries.first().unwrap_or_else(|| panic!("no {dn}"));
    short(entry.1.get(attribute).cloned().unwrap_or_default())
}

/// Entries that match.
pub(super) fn matching(it: &mut Fixture, filter: &str) -> Vec<String> {
    short(it.dns(&Asked::new(BASE, filter)))
}

pub fn modify(it: &Fixture, dn: &str, operation: ModifyOperation, attribute: &str, value: &str) {
    let mut bytes = Vec::new();
    client::modify(&mut bytes, 1, dn, [(operation, attribute.as_bytes(), [value.as_bytes()])], &[]);
    it.update(&Message::decode(&bytes).unwrap());
}

/// Collects what the directory tells administrators.
pub fn notices(it: &Fixture) -> Arc<Mutex<Vec<String>>> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let keeper = Arc::clone(&told);
    it.directory.set_notices(Box::new(move |_, sentence| keeper.lock().unwrap().push(sentence.to_owned())));
    told
}

/// A second backend for `base` with the default indexes.
pub(crate) fn second_backend(first: &BackendConfig, base: &str) -> BackendConfig {
    BackendConfig {
        id: "second".to_owned(),
        base_dns: vec![base.to_owned()],
        directory: first.directory.with_file_name("second"),
        ..first.clone()
    }
}
