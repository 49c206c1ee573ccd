//! Changes as they are told to whom not every entry shows.

use super::*;
use crate::search::tests::by_mark::ByMark;

const CAT: &str = "uid=cat,dc=example,dc=com";

fn fixture_of_marks() -> Fixture {
    let ldif = "dn: dc=example,dc=com\nobjectClass: domain\nobjectClass: extensibleObject\nemployeeType: seen\n\n\
                dn: ou=Dark,dc=example,dc=com\nobjectClass: organizationalUnit\n\n\
                dn: uid=cat,dc=example,dc=com\nobjectClass: account\nobjectClass: extensibleObject\n\
                description: cat\n\n";
    Fixture::new(&[BASE], config::default_indexes(), ldif)
}

fn mark(fixture: &Fixture, dn: &str, marks: &[&str]) {
    let values: Vec<&[u8]> = marks.iter().map(|mark| mark.as_bytes()).collect();
    let change = (ModifyOperation::Replace, &b"employeeType"[..], values);
    update(fixture, |out| client::modify(out, 1, dn, [change], &[]));
}

#[test]
fn an_entry_that_comes_into_sight_is_added_and_hidden_ones_are_not_told() {
    let mut fixture = fixture_of_marks();
    let (all, added, root) = (Client::default(), Client::default(), Client::default());
    let identity = ByMark::identity;
    for (client, types) in [(&all, 15), (&added, 1)] {
        let controls = control(types, true);
        watch(
            &mut fixture,
            &Asked { identity: identity(), controls: &controls, ..Asked::new(BASE, "(uid=*)") },
            client,
        );
    }
    let controls = control(15, true);
    watch(&mut fixture, &Asked { controls: &controls, ..Asked::new(BASE, "(uid=*)") }, &root);
    add(&fixture, "uid=hidden,dc=example,dc=com", "never");
    delete(&fixture, "uid=hidden,dc=example,dc=com");
    replace(&fixture, CAT, "still hidden");
    mark(&fixture, CAT, &["seen"]);
    replace(&fixture, CAT, "in sight");
    rename(&fixture, CAT, "uid=cat2", None);
    let dark = "uid=cat2,ou=Dark,dc=example,dc=com";
    rename(&fixture, "uid=cat2,dc=example,dc=com", "uid=cat2", Some("ou=Dark,dc=example,dc=com"));
    mark(&fixture, dark, &[]);
    replace(&fixture, dark, "out of sight");
    mark(&fixture, dark, &["seen"]);
    delete(&fixture, dark);
    let seen = brief(&all.told(6));
    assert_eq!(
        seen,
        [
            "1 uid=cat,dc=example,dc=com still hidden",
            "4 uid=cat,dc=example,dc=com in sight",
            "8 uid=cat2,dc=example,dc=com in sight",
            "8 uid=cat2,ou=Dark,dc=example,dc=com in sight",
            "1 uid=cat2,ou=Dark,dc=example,dc=com out of sight",
            "2 uid=cat2,ou=Dark,dc=example,dc=com out of sight",
        ]
    );
    assert_eq!(root.told(11).len(), 11);
    let only_added = added.told(2);
    assert_eq!(only_added.iter().map(|it| it.change_type).collect::<Vec<_>>(), [1, 1]);
    // Numbers count changes of entries that do not show.
    assert!(only_added.iter().all(|it| it.number == 0 && it.previous_dn.is_none()));
}
