//! Roles through whole searches and compares: each kind, each kind of question; then random updates against a
//! computation from scratch.

mod kinds;
mod random;

use std::fmt::Write;

use config::{IndexConfig, IndexKind, default_indexes};
use ldap::Scope;

use crate::search::tests::fixture::{Asked, Fixture, root, user};
use crate::tests::computed::{BASE, matching};
use crate::tests::groups::{modify, notices};

/// The indexes that filters on roles are planned with: those of `setup`, and of what the filters of the roles here ask
/// for.
fn indexes() -> Vec<IndexConfig> {
    let mut all = default_indexes();
    for attribute in ["nsRoleDN", "description"] {
        if all.iter().all(|index| index.attribute != attribute) {
            all.push(IndexConfig::new(attribute, &[IndexKind::Equality]));
        }
    }
    all
}

/// Two branches, `ou=sales` and `ou=lab` with `ou=annex` below it, and whatever follows.
fn ldif(rest: &str) -> String {
    let mut text = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    for dn in ["ou=sales", "ou=lab", "ou=annex,ou=lab"] {
        write!(text, "dn: {dn},{BASE}\nobjectClass: organizationalUnit\n\n").unwrap();
    }
    text + rest
}

/// `uid=NAME,PLACE`
fn person(name: &str, place: &str, lines: &[&str]) -> String {
    entry(&format!("uid={name},{place}"), &["inetOrgPerson"], &[&["cn: x", "sn: x"], lines].concat())
}

/// `cn=NAME,PLACE`, of the class `nsKINDRoleDefinition`.
fn role(name: &str, place: &str, kind: &str, lines: &[&str]) -> String {
    let classes = ["LDAPsubentry", "nsRoleDefinition", &format!("ns{kind}RoleDefinition")];
    entry(&format!("cn={name},{place}"), &classes, lines)
}

fn entry(dn: &str, classes: &[&str], lines: &[&str]) -> String {
    let mut text = format!("dn: {dn}\n");
    classes.iter().for_each(|class| writeln!(text, "objectClass: {class}").unwrap());
    lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
    text + "\n"
}

/// The roles that one entry shows, as they are sent.
fn roles_of(it: &mut Fixture, dn: &str) -> Vec<String> {
    let asked = Asked { scope: Scope::BaseObject, attributes: &["nsRole"], ..Asked::new(dn, "(objectClass=*)") };
    let mut found = it.search(&asked).unwrap().entries;
    found.pop().unwrap_or_else(|| panic!("no {dn}")).1.remove("nsRole").unwrap_or_default()
}
