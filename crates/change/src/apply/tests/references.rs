//! Referential integrity: what follows a name, at once, in slices and after a delay.

use ldap::ResultCode;

use super::bed::{Bed, SUFFIX, With};
use crate::proposal::{Flags, Kind};

/// seeAlso has no index here: what is found must be the same.
const AT_ONCE: &str = "[plugin.\"Referential Integrity\"]\ntype = \"referential-integrity\"\n\
                       attribute-type = [\"member\", \"uniqueMember\", \"seeAlso\"]\n";
const DELAYED: &str = "[plugin.ri]\ntype = \"referential-integrity\"\nupdate-interval = \"3 m\"\n";
const MODIFIER: &str = "cn=Referential Integrity,cn=plugins,cn=config";

fn person(uid: &str) -> String {
    format!("uid={uid},ou=people,{SUFFIX}")
}

fn group(cn: &str) -> String {
    format!("cn={cn},ou=groups,{SUFFIX}")
}

fn with_people(plugins: &str, people: &[&str]) -> Bed {
    let mut bed = Bed::with_plugins(plugins);
    people.iter().for_each(|uid| bed.person(uid));
    bed
}

fn add_group(bed: &mut Bed, cn: &str, members: &[&str]) {
    let members: String = members.iter().map(|uid| format!("member: {}\n", person(uid))).collect();
    bed.add(&group(cn), &format!("objectClass: groupOfNames\n{members}")).ok();
}

fn subtree() -> With<'static> {
    let mut flags = Flags::default();
    flags.set(Flags::SUBTREE_DELETE);
    With { flags, ..With::default() }
}

#[test]
fn values_that_name_a_deleted_entry_go_with_it() {
    // S2-10
    let mut bed = with_people(AT_ONCE, &["ann", "ben"]);
    add_group(&mut bed, "both", &["ann", "ben"]);
    add_group(&mut bed, "one", &["ann"]);
    let ann = person("ann");
    let unique = format!(
        "objectClass: groupOfUniqueNames\nuniqueMember: {ann}\nuniqueMember: UID=Ann,ou=people,{SUFFIX}#'01'B\n\
         uniqueMember: {SUFFIX}"
    );
    bed.add(&group("unique"), &unique).ok();
    bed.modify(&person("ben"), &format!("add seeAlso: {ann}\nadd description: {ann}")).ok();
    let before = bed.values(&group("both"), "entryCSN");
    let report = bed.delete(&ann).ok().references.unwrap();
    assert_eq!((report.jobs[0].entries, report.jobs[0].references, report.is_queued), (4, 5, false));
    assert_eq!(report.names, [ann.as_str()]);
    assert_eq!(bed.values(&group("both"), "member"), [person("ben")]);
    // As in OpenDJ a group may lose its last member: the delete must not fail for it.
    assert_eq!(bed.values(&group("one"), "member"), Vec::<String>::new());
    assert_eq!(bed.values(&group("unique"), "uniqueMember"), [SUFFIX]);
    assert_eq!(bed.values(&person("ben"), "seeAlso"), Vec::<String>::new());
    assert_eq!(bed.values(&person("ben"), "description"), [ann.as_str()], "not one of the attributes");
    assert_eq!(bed.values(&group("both"), "modifiersName"), [MODIFIER]);
    assert_ne!(bed.values(&group("both"), "entryCSN"), before);
    bed.verify();
    assert_eq!(bed.replayed().picture(), bed.picture());
}

#[test]
fn a_delete_without_references_changes_nothing_else() {
    // S3-27
    let mut bed = with_people(AT_ONCE, &["ann", "ben"]);
    add_group(&mut bed, "g", &["ben"]);
    let before = bed.entry(&group("g"));
    assert_eq!(bed.delete(&person("ann")).ok().references, None);
    assert_eq!(bed.entry(&group("g")), before);
    assert!(bed.waiting().is_none());
}

#[test]
fn values_follow_a_renamed_entry_and_a_refused_rename_changes_none() {
    let mut bed = with_people(AT_ONCE, &["ann", "ben"]);
    add_group(&mut bed, "g", &["ann", "ben"]);
    let unique = format!("objectClass: groupOfUniqueNames\nuniqueMember: {}#'01'B", person("ann"));
    bed.add(&group("u"), &unique).ok();
    bed.rename(&person("ann"), "uid=ben", true, None).refused(ResultCode::ENTRY_ALREADY_EXISTS, "exists");
    assert_eq!(bed.values(&group("g"), "member"), [person("ann"), person("ben")]);
    bed.rename(&person("ann"), "uid=Anna", true, None).ok();
    assert_eq!(bed.values(&group("g"), "member"), [person("ben"), person("Anna")]);
    assert_eq!(bed.values(&group("u"), "uniqueMember"), [format!("{}#'01'B", person("Anna"))]);
    // Another spelling of the same name is no other name.
    let before = bed.entry(&group("g"));
    bed.rename(&person("Anna"), "uid=ANNA", true, None).ok();
    assert_eq!(bed.entry(&group("g")), before);
    bed.verify();
}

#[test]
fn values_follow_entries_below_a_moved_one() {
    let mut bed = with_people(AT_ONCE, &["ann"]);
    bed.add(&format!("cn=Pots+sn=Pans,{}", person("ann")), "objectClass: person").ok();
    let spelled = format!("SN = Pans + CN=Pots , {}", person("ann"));
    bed.add(&group("g"), &format!("objectClass: groupOfNames\nmember: {spelled}\nmember: ou=people,{SUFFIX}")).ok();
    bed.add(&format!("ou=staff,{SUFFIX}"), "objectClass: organizationalUnit").ok();
    let report = bed.rename(&format!("ou=people,{SUFFIX}"), "ou=Folk", true, Some(&format!("ou=staff,{SUFFIX}"))).ok();
    assert_eq!(report.references.unwrap().jobs[0].references, 2);
    let mut members = bed.values(&group("g"), "member");
    members.sort();
    let folk = format!("ou=Folk,ou=staff,{SUFFIX}");
    assert_eq!(members, [format!("SN=Pans+CN=Pots,uid=ann,{folk}"), folk]);
    bed.verify();
    assert_eq!(bed.replayed().picture(), bed.picture());
}

/// Members of a large group are rows of their own; the group's other members are not touched.
#[test]
fn values_of_large_attributes_go_one_by_one() {
    let mut bed = with_people(AT_ONCE, &["ann", "ben"]);
    let others: String = (0..600).map(|n| format!("member: cn=x{n},dc=elsewhere\n")).collect();
    let lines = format!("objectClass: groupOfNames\n{others}member: {}\nmember: {}", person("ann"), person("ben"));
    bed.add(&group("big"), &lines).ok();
    bed.rename(&person("ben"), "uid=Benny", true, None).ok();
    bed.delete(&person("ann")).ok();
    let members = bed.values(&group("big"), "member");
    assert_eq!(members.len(), 601);
    assert!(members.contains(&person("Benny")) && !members.contains(&person("ann")));
    bed.verify();
}

#[test]
fn much_work_is_done_in_slices_that_outlive_a_restart() {
    let mut bed = with_people(AT_ONCE, &["ann", "ben"]);
    for n in 0..300 {
        add_group(&mut bed, &format!("g{n}"), &["ann", "ben"]);
    }
    let report = bed.delete(&person("ann")).ok().references.unwrap();
    assert!(report.is_queued);
    assert_eq!(report.jobs[0].entries, 128, "the first slice goes with the delete");
    let still = |bed: &Bed| (0..300).filter(|n| bed.values(&group(&format!("g{n}")), "member").len() == 2).count();
    assert_eq!(still(&bed), 172);
    // Meanwhile the other name changes, too: it waits behind.
    bed.rename(&person("ben"), "uid=Benny", true, None).ok();
    let slice = bed.waiting().unwrap();
    assert_eq!(slice.jobs.len(), 2);
    let report = bed.propose(Kind::CleanReferences, &slice.encode(), With::default()).ok();
    assert!(report.has_more);
    // S0-22: a stop in the middle loses nothing and does nothing twice.
    let mut bed = bed.reopen();
    assert!(bed.clean_references() > 0);
    for n in 0..300 {
        assert_eq!(bed.values(&group(&format!("g{n}")), "member"), [person("Benny")]);
    }
    assert!(bed.waiting().is_none());
    bed.verify();
    assert_eq!(bed.replayed().picture(), bed.picture());
}

#[test]
fn a_subtree_move_with_many_references_is_done_in_slices() {
    let mut bed = Bed::with_plugins(AT_ONCE);
    for n in 0..700 {
        bed.person(&format!("u{n}"));
    }
    let members: String = (0..700).map(|n| format!("member: {}\n", person(&format!("u{n}")))).collect();
    bed.add(&group("big"), &format!("objectClass: groupOfNames\n{members}")).ok();
    bed.add(&group("small"), &format!("objectClass: groupOfNames\nmember: {}", person("u699"))).ok();
    let report = bed.rename(&format!("ou=people,{SUFFIX}"), "ou=folk", true, None).ok().references.unwrap();
    assert!(report.is_queued);
    let mut bed = bed.reopen();
    bed.clean_references();
    let members = bed.values(&group("big"), "member");
    assert_eq!(members.len(), 700);
    assert!(members.iter().all(|member| member.ends_with(&format!(",ou=folk,{SUFFIX}"))));
    assert_eq!(bed.values(&group("small"), "member"), [format!("uid=u699,ou=folk,{SUFFIX}")]);
    bed.verify();
}

#[test]
fn a_subtree_delete_takes_the_references_to_all_that_goes() {
    let mut bed = Bed::with_plugins(AT_ONCE);
    for n in 0..150 {
        bed.person(&format!("u{n}"));
    }
    add_group(&mut bed, "g", &["u0", "u77", "u149"]);
    bed.modify(&group("g"), &format!("add member: ou=groups,{SUFFIX}")).ok();
    let people = format!("ou=people,{SUFFIX}");
    assert!(bed.delete_with(&people, subtree()).ok().has_more);
    bed.delete_with(&people, subtree()).ok();
    assert_eq!(bed.values(&group("g"), "member"), [format!("ou=groups,{SUFFIX}")]);
    bed.verify();
}

#[test]
fn with_a_delay_all_that_waits_is_done_together() {
    // S3-22, S3-23
    let mut bed = with_people(DELAYED, &["ann", "ben", "cid"]);
    for n in 0..7 {
        add_group(&mut bed, &format!("g{n}"), &["ann", "ben", "cid"]);
    }
    assert!(bed.delete(&person("ann")).ok().references.unwrap().is_queued);
    bed.delete(&person("ben")).ok();
    assert_eq!(bed.values(&group("g0"), "member").len(), 3, "nothing goes before its time");
    let slice = bed.waiting().unwrap();
    assert_eq!(slice.jobs.len(), 2);
    assert!(slice.jobs.iter().all(|job| job.due_us == job.time_us + 180_000_000));
    let report = bed.propose(Kind::CleanReferences, &slice.encode(), With::default()).ok().references.unwrap();
    assert!(report.jobs.iter().all(|tally| (tally.entries, tally.references) == (7, 7)));
    for n in 0..7 {
        assert_eq!(bed.values(&group(&format!("g{n}")), "member"), [person("cid")]);
    }
    assert!(bed.waiting().is_none());
    // Nobody refers to it: nothing waits.
    bed.person("dan");
    assert_eq!(bed.delete(&person("dan")).ok().references, None);
}

#[test]
fn only_entries_below_the_base_are_cleaned() {
    let mut bed = with_people(&format!("{AT_ONCE}base-dn = \"ou=groups,{SUFFIX}\"\n"), &["ann", "ben"]);
    add_group(&mut bed, "g", &["ann"]);
    bed.modify(&person("ben"), &format!("add seeAlso: {}", person("ann"))).ok();
    bed.delete(&person("ann")).ok();
    assert_eq!(bed.values(&group("g"), "member"), Vec::<String>::new());
    assert_eq!(bed.values(&person("ben"), "seeAlso"), [person("ann")]);
}

#[test]
fn references_that_lead_nowhere_are_refused() {
    let plugin = format!(
        "{AT_ONCE}check-references = true\ncheck-references-filter-criteria = \"member:(objectClass=person)\"\n"
    );
    let mut bed = with_people(&plugin, &["ann", "ben"]);
    add_group(&mut bed, "g", &["ann"]);
    let refused = |bed: &mut Bed, changes: &str, word: &str| {
        bed.modify(&group("g"), changes).refused(ResultCode::CONSTRAINT_VIOLATION, word);
    };
    let none = person("none");
    refused(&mut bed, &format!("add member: {none}"), &format!("\"{none}\" of member: there is no such entry"));
    refused(&mut bed, "add seeAlso: dc=elsewhere", "no suffix holds it");
    refused(&mut bed, &format!("add member: {SUFFIX}"), "does not match");
    bed.modify(&group("g"), &format!("add seeAlso: {SUFFIX}")).ok();
    bed.modify(&group("g"), &format!("add member: {none}\ndelete member: {none}")).ok();
    let lines = format!("objectClass: groupOfNames\nmember: {none}");
    bed.add(&group("h"), &lines).refused(ResultCode::CONSTRAINT_VIOLATION, "no such entry");
    // What was wrong before the rule came is nobody's fault now.
    bed.configure(AT_ONCE).ok();
    bed.modify(&group("g"), &format!("add member: {none}")).ok();
    bed.configure(&plugin).ok();
    bed.modify(&group("g"), &format!("add member: {}", person("ben"))).ok();
}

#[test]
fn a_value_that_names_its_entry_stays() {
    let mut bed = with_people(AT_ONCE, &["ann"]);
    let odd = format!("seeAlso=uid\\=ann\\,ou\\=people\\,dc\\=example\\,dc\\=com,ou=groups,{SUFFIX}");
    bed.add(&odd, &format!("objectClass: applicationProcess\nobjectClass: top\ncn: odd\nseeAlso: {SUFFIX}")).ok();
    bed.delete(&person("ann")).ok();
    assert_eq!(bed.values(&odd, "seeAlso").len(), 2);
    bed.verify();
}

/// Keys of more than 239 bytes are not kept whole: the entries decide.
#[test]
fn long_names_are_followed_too() {
    let mut bed = Bed::with_plugins(AT_ONCE);
    let long = |letter: &str| format!("ou={},ou=people,{SUFFIX}", letter.repeat(200));
    let (a, b) = (long("a"), long("b"));
    bed.add(&a, "objectClass: organizationalUnit").ok();
    let child = |n: usize| format!("cn={}{n},{a}", "x".repeat(60));
    for n in 0..3 {
        bed.add(&child(n), "objectClass: person\nsn: Example").ok();
    }
    let names: Vec<String> = (0..3).map(child).chain([a.clone()]).collect();
    let lines = |attribute: &str| names.iter().map(|name| format!("{attribute}: {name}\n")).collect::<String>();
    bed.add(&group("g"), &format!("objectClass: groupOfNames\n{}", lines("member"))).ok();
    bed.add(
        &group("u"),
        &format!("objectClass: groupOfUniqueNames\n{}uniqueMember: {}#'1'B", lines("uniqueMember"), child(1)),
    )
    .ok();
    bed.delete(&child(1)).ok();
    assert_eq!((bed.values(&group("g"), "member").len(), bed.values(&group("u"), "uniqueMember").len()), (3, 3));
    bed.rename(&a, &format!("ou={}", "b".repeat(200)), true, None).ok();
    for (dn, attribute) in [(group("g"), "member"), (group("u"), "uniqueMember")] {
        let values = bed.values(&dn, attribute);
        assert_eq!(values.len(), 3);
        assert!(values.iter().all(|value| value.ends_with(&b)), "{values:?}");
    }
    bed.verify();
    assert_eq!(bed.replayed_with(Vec::new()).records(), bed.records());
}

/// What is found does not depend on indexes: a log may be replayed after one was taken out of the configuration.
#[test]
fn without_indexes_the_same_is_done() {
    let mut bed = with_people(AT_ONCE, &["ann", "ben", "cid"]);
    for n in 0..140 {
        add_group(&mut bed, &format!("g{n}"), &["ann", "ben"]);
    }
    bed.delete(&person("ann")).ok();
    bed.rename(&format!("ou=people,{SUFFIX}"), "ou=folk", true, None).ok();
    bed.clean_references();
    assert_eq!(bed.values(&group("g139"), "member"), [format!("uid=ben,ou=folk,{SUFFIX}")]);
    assert!(bed.replayed_with(Vec::new()).records() == bed.records());
}
