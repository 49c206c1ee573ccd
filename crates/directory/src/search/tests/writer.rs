//! Entries of a search taken without LDAP messages, as a REST front or a replica takes them.

use std::ops::ControlFlow;

use ldap::{DerefAliases, LdapResult};

use super::fixture::{Asked, Fixture};
use crate::search::EntryWriter;
use query::encode::{EncodeError, ShownEntry};

/// Makes lines of text of what it takes.
#[derive(Default)]
struct Lines(Vec<String>);

impl EntryWriter for Lines {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        let mut dn = Vec::new();
        entry.dn().put(&mut dn);
        let mut line = String::from_utf8(dn).unwrap();
        for attribute in entry.attributes() {
            line.push_str(&format!(" {}=", std::str::from_utf8(attribute.description()).unwrap()));
            attribute.each_value(&mut |value| {
                line.push_str(&format!("[{}]", std::str::from_utf8(value).unwrap()));
                ControlFlow::Continue(())
            })?;
        }
        self.0.push(line);
        Ok(ControlFlow::Continue(()))
    }

    fn reference(&mut self, urls: &[String]) -> ControlFlow<()> {
        self.0.push(urls.join(" "));
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// Records, computed attributes, large attributes, references and entries of the server itself come through the same
/// writer.
#[test]
fn entries_are_taken_without_messages() {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
                    dn: ou=Away,dc=example,dc=com\nobjectClass: referral\nobjectClass: extensibleObject\nou: Away\n\
                    ref: ldap://other.example.com/ou=Away,dc=example,dc=com\n\n\
                    dn: cn=All,dc=example,dc=com\nobjectClass: groupOfNames\ncn: All\n"
        .to_owned();
    for at in 0..1_000 {
        ldif.push_str(&format!("member: uid=u{at},dc=example,dc=com\n"));
    }
    let mut it = Fixture::new(&["dc=example,dc=com"], config::default_indexes(), &ldif);
    let mut run = |base: &str, filter: &str, attributes: &[&str], scope| {
        let asked = Asked { attributes, scope, deref: DerefAliases::Never, ..Asked::new(base, filter) };
        let mut plan = it.plan(&asked);
        let mut lines = Lines::default();
        let done = plan.run(&mut it.worker, &mut lines);
        assert_eq!(done.result, LdapResult::success());
        assert_eq!(done.entries_sent + done.references_sent, lines.0.len() as u64);
        lines.0
    };
    let sub = ldap::Scope::WholeSubtree;
    assert_eq!(
        run("dc=example,dc=com", "(objectClass=domain)", &["dc", "numSubordinates"], sub),
        [
            "dc=example,dc=com dc=[example] numSubordinates=[2]",
            "ldap://other.example.com/ou=Away,dc=example,dc=com??sub"
        ]
    );
    let group = run("cn=All,dc=example,dc=com", "(cn=all)", &["member"], ldap::Scope::BaseObject);
    assert_eq!(group.len(), 1);
    assert!(group[0].starts_with("cn=All,dc=example,dc=com member=["), "{}", &group[0][..60]);
    assert_eq!(group[0].matches("[uid=").count(), 1_000);
    let root = run("", "(objectClass=*)", &["namingContexts"], ldap::Scope::BaseObject);
    assert_eq!(root, [" namingContexts=[dc=example,dc=com]"]);
}
