//! Managed roles. Their definitions are no part of the world: searches show no subentries.

use std::fmt::Write;

pub const ROLES: [&str; 2] = ["cn=crew,dc=example,dc=com", "cn=guard,dc=example,dc=com"];

/// Their definitions.
pub fn ldif() -> String {
    let mut text = String::new();
    for role in ROLES {
        writeln!(text, "dn: {role}\nobjectClass: ldapSubEntry\nobjectClass: nsManagedRoleDefinition\n").unwrap();
    }
    text
}
