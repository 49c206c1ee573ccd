//! Unique values and constraints.

use ldap::ResultCode;

use super::bed::{Bed, SUFFIX, With, add_op};
use crate::judged::{Judged, JudgedEntry};
use crate::proposal::{Authority, Flags, Kind};

const REFUSED: ResultCode = ResultCode::CONSTRAINT_VIOLATION;

fn person(uid: &str) -> String {
    format!("uid={uid},ou=people,{SUFFIX}")
}

fn relaxed() -> With<'static> {
    let mut flags = Flags::default();
    flags.set(Flags::RELAX);
    With { flags, ..With::default() }
}

fn with_people(plugins: &str) -> Bed {
    let mut bed = Bed::with_plugins(plugins);
    bed.person("ann");
    bed.person("ben");
    bed
}

#[test]
fn no_two_entries_have_a_unique_value() {
    // S2-11
    let mut bed =
        with_people("[plugin.mails]\ntype = \"unique-attribute\"\nattribute-type = [\"mail\", \"description\"]\n");
    bed.modify(&person("ann"), "add mail: ann@example.com").ok();
    let refused = bed.modify(&person("ben"), "add mail: ANN@example.com").refused(REFUSED, "\"mails\" wants mail");
    assert!(refused.result.message.contains(&person("ann")), "{}", refused.result.message);
    bed.modify(&person("ben"), "add description: Ann@Example.com").refused(REFUSED, "description");
    // The final state counts, and an entry's own values are not in its way.
    bed.modify(&person("ben"), "add mail: ann@example.com\nreplace mail: ben@example.com").ok();
    bed.modify(&person("ann"), "replace mail: ann@example.com | ann.two@example.com").ok();
    bed.modify(&person("ann"), "add description: ann@example.com").ok();
    bed.modify(&person("ann"), "delete mail\ndelete description").ok();
    bed.modify(&person("ben"), "add mail: ann@example.com").ok();
    bed.modify_with(&person("ann"), "add mail: ann@example.com", relaxed()).ok();
    bed.verify();
}

#[test]
fn who_has_a_unique_value_is_told_to_root_only() {
    let mut bed = with_people("[plugin.p]\ntype = \"unique-attribute\"\nattribute-type = \"userPassword\"\n");
    bed.modify(&person("ann"), "add userPassword: {CLEAR}same").ok();
    let dn = person("ben");
    let id = {
        let snapshot = bed.backend.snapshot().unwrap();
        let view = snapshot.view();
        view.entries(store::EntryId(1)).unwrap().map(|entry| entry.unwrap().0).last().unwrap()
    };
    let judged = Judged::Entry(JudgedEntry::whatever_it_contains(id));
    let ben = Authority::User { dn: &dn, entry: id.0, judged };
    let with = With { authority: Some(ben), ..With::default() };
    let report = bed.modify_with(&dn, "add userPassword: {CLEAR}same", with).refused(REFUSED, "another entry");
    assert!(!report.result.message.contains("uid=ann") && !report.result.message.contains("same"));
}

/// Two adds with the same value in one batch: one wins, whichever comes first.
#[test]
fn of_two_racing_adds_exactly_one_wins() {
    let mut bed = Bed::with_plugins("[plugin.mails]\ntype = \"unique-attribute\"\nattribute-type = \"mail\"\n");
    for round in 0..20 {
        let add = |uid: String| {
            let lines = format!("objectClass: inetOrgPerson\ncn: a\nsn: b\nmail: m{round}@example.com");
            add_op(&person(&uid), &lines)
        };
        let adds = [format!("a{round}"), format!("b{round}")].map(|name| (Kind::Add, add(name)));
        let codes = bed.propose_together(&adds);
        assert_eq!(codes, [ResultCode::SUCCESS.as_i32(), REFUSED.as_i32()]);
    }
    bed.verify();
}

#[test]
fn uniqueness_holds_below_its_bases_and_among_those_that_match() {
    let plugin = format!(
        "[plugin.mails]\ntype = \"unique-attribute\"\nattribute-type = \"mail\"\nbase-dn = \"ou=people,{SUFFIX}\"\n\
         filter = \"(employeeType=staff)\"\n"
    );
    let mut bed = with_people(&plugin);
    bed.modify(&person("ann"), "add mail: a@example.com\nadd employeeType: staff").ok();
    bed.modify(&person("ben"), "add mail: a@example.com").ok();
    // Coming to match the filter is judged like a new value.
    bed.modify(&person("ben"), "add employeeType: staff").refused(REFUSED, "mail");
    let outside = format!("uid=cid,ou=groups,{SUFFIX}");
    bed.add(&outside, "objectClass: inetOrgPerson\ncn: a\nsn: b\nmail: a@example.com\nemployeeType: staff").ok();
    let people = format!("ou=people,{SUFFIX}");
    bed.rename(&outside, "uid=cid", false, Some(&people)).refused(REFUSED, "mail");
    bed.modify(&outside, "replace mail: c@example.com").ok();
    bed.rename(&outside, "uid=cid", false, Some(&people)).ok();
}

#[test]
fn how_many_how_long_and_of_which_form_values_are() {
    // S2-12
    let plugins = "[plugin.one]\ntype = \"constraint\"\nattribute-type = \"userPassword\"\ncount = 1\n\
        [plugin.size]\ntype = \"constraint\"\nattribute-type = \"jpegPhoto\"\nsize = 8\n\
        [plugin.form]\ntype = \"constraint\"\nattribute-type = \"mail\"\npattern = \"^[^@]+@example\\\\.com$\"\n\
        forbidden-pattern = \"^root@\"\n\
        [plugin.words]\ntype = \"constraint\"\nattribute-type = \"employeeType\"\nvalue = [\"staff\", \"Guest\"]\n";
    let mut bed = with_people(plugins);
    let ann = person("ann");
    bed.modify(&ann, "add userPassword: {CLEAR}a").ok();
    let report = bed.modify(&ann, "add userPassword: {CLEAR}b").refused(REFUSED, "\"one\", userPassword may have 1");
    assert!(!report.result.message.contains("CLEAR"));
    bed.modify(&ann, "add userPassword: {CLEAR}b\ndelete userPassword: {CLEAR}a").ok();
    bed.modify(&ann, "add jpegPhoto: 12345678").ok();
    bed.modify(&ann, "add jpegPhoto: 123456789").refused(REFUSED, "9 bytes, and 8");
    bed.modify(&ann, "add mail: a@example.com | b@example.com").ok();
    bed.modify(&ann, "add mail: a@example.org").refused(REFUSED, "\"a@example.org\": it does not match");
    bed.modify(&ann, "add mail: root@example.com").refused(REFUSED, "it matches ^root@");
    bed.modify(&ann, "add employeeType: STAFF | guest").ok();
    bed.modify(&ann, "add employeeType: boss").refused(REFUSED, "none of those");
    let lines = "objectClass: inetOrgPerson\ncn: a\nsn: b\nmail: x";
    bed.add(&person("cid"), lines).refused(REFUSED, "\"form\", mail");
    assert!(bed.entry(&person("cid")).is_none());
    bed.rename(&ann, "mail=x", false, None).refused(REFUSED, "\"form\", mail");
    // What is there already is not judged, going is allowed, and root may lift it all.
    bed.modify_with(&ann, "add userPassword: {CLEAR}c | {CLEAR}d\nadd mail: bad", relaxed()).ok();
    bed.modify(&ann, "add mail: c@example.com\ndelete userPassword: {CLEAR}c").ok();
    bed.modify(&ann, "add userPassword: {CLEAR}e").refused(REFUSED, "not 3");
    bed.verify();
}

#[test]
fn values_come_from_entries_that_a_url_finds() {
    // S2-12: by index, and by walking where there is none.
    for attribute in ["cn", "l"] {
        let plugin = format!(
            "[plugin.words]\ntype = \"constraint\"\nattribute-type = \"employeeType\"\n\
             filter = \"(objectClass=person)\"\n\
             value-uri = \"ldap:///ou=groups,{SUFFIX}?{attribute}?one?(objectClass=organizationalRole)\"\n"
        );
        let mut bed = with_people(&plugin);
        let lines = format!("objectClass: organizationalRole\ncn: word\n{attribute}: student");
        bed.add(&format!("cn=word,ou=groups,{SUFFIX}"), &lines).ok();
        bed.add(&format!("cn=below,cn=word,ou=groups,{SUFFIX}"), &lines.replace("student", "hidden")).ok();
        bed.modify(&person("ann"), "add employeeType: Student").ok();
        bed.modify(&person("ann"), "add employeeType: hidden").refused(REFUSED, "nothing that ldap:///ou=groups");
        bed.modify(&person("ben"), "add employeeType: teacher").refused(REFUSED, "finds has it");
        // Only where the filter says so.
        bed.add(
            &format!("cn=odd,ou=groups,{SUFFIX}"),
            "objectClass: organizationalRole\nobjectClass: extensibleObject\nemployeeType: any",
        )
        .ok();
    }
}

/// By walking, for `l` has no index.
#[test]
fn a_url_finds_what_is_in_its_scope_at_every_depth() {
    let found = [("base", "0"), ("one", "1"), ("sub", "0123"), ("subordinates", "123")];
    for (scope, allowed) in found {
        let plugin = format!(
            "[plugin.words]\ntype = \"constraint\"\nattribute-type = \"employeeType\"\n\
             value-uri = \"ldap:///ou=groups,{SUFFIX}?l?{scope}\"\n"
        );
        let mut bed = with_people(&plugin);
        bed.modify(&format!("ou=groups,{SUFFIX}"), "add l: 0").ok();
        let unit = |value: &str| format!("objectClass: organizationalUnit\nou: x\nl: {value}");
        // At each depth the value is behind one that has others below it.
        let mut above = format!("ou=groups,{SUFFIX}");
        for depth in 1..=3 {
            bed.add(&format!("ou=first,{above}"), &unit("none")).ok();
            bed.add(&format!("ou=second,ou=first,{above}"), &unit("none")).ok();
            bed.add(&format!("ou=way,{above}"), &unit(&depth.to_string())).ok();
            above = format!("ou=way,{above}");
        }
        for depth in 0..=3 {
            let outcome = bed.modify(&person("ann"), &format!("replace employeeType: {depth}"));
            match allowed.contains(&depth.to_string()) {
                true => drop(outcome.ok()),
                false => drop(outcome.refused(REFUSED, "employeeType")),
            }
        }
    }
}

#[test]
fn rules_stay_what_they_are_over_a_restart() {
    let mut bed = with_people("[plugin.one]\ntype = \"constraint\"\nattribute-type = \"mail\"\ncount = 1\n").reopen();
    bed.modify(&person("ann"), "add mail: a@x | b@x").refused(REFUSED, "\"one\"");
    assert_eq!(bed.replayed().picture(), bed.picture());
    bed.configure("").ok();
    bed.modify(&person("ann"), "add mail: a@x | b@x").ok();
    let with = With { authority: Some(Authority::Anonymous { judged: Judged::Missing }), ..With::default() };
    bed.propose(Kind::ConfigurePlugins, b"\0", with).refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "plugins");
}
