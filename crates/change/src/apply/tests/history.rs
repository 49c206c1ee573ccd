//! The history says what happened: replayed from the first change it gives the directory, and what it says was there
//! before, was.

use std::collections::BTreeMap;

use config::ChangelogConfig;
use proptest::collection::vec;
use proptest::prelude::*;

use super::bed::{Bed, With, add_op, delete_op, modify_op, rename_op};
use super::random::{any_op, run};
use crate::history::{Bounds, Cause, Change, ChangeKind, ChangeNumbers, History, LogSource};
use crate::parts::join;
use crate::proposal::{Authority, Flags, Kind, Proposal};

type Entry = BTreeMap<String, Vec<String>>;

/// Entries by number, as the changes say: name in lower case, values sorted.
#[derive(Default)]
struct Mirror {
    entries: BTreeMap<u64, (String, Entry)>,
    next: u64,
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

fn listed<'v>(values: impl Iterator<Item = &'v [u8]>) -> Vec<String> {
    let mut list: Vec<String> = values.map(text).collect();
    list.sort();
    list
}

impl Mirror {
    /// Takes all changes that came since the last time.
    fn follow(&mut self, bed: &Bed) {
        let mut reader = bed.history.from(self.next);
        while let Some(change) = reader.next_change().unwrap() {
            assert!(change.number >= self.next, "{} after {}", change.number, self.next);
            self.next = change.number + 1;
            self.apply(&change);
        }
        assert_eq!(self.next, bed.history.bounds().last + 1);
    }

    fn apply(&mut self, change: &Change<'_>) {
        let dn = change.dn.to_lowercase();
        if change.kind == ChangeKind::Add {
            let attributes = change.attributes().map(|it| (it.description.to_owned(), listed(it.added()))).collect();
            assert!(change.attributes().all(|it| it.removed().next().is_none()));
            assert!(self.entries.insert(change.entry.0, (dn, attributes)).is_none());
            return;
        }
        let (name, entry) = self.entries.get_mut(&change.entry.0).unwrap();
        assert_eq!(*name, dn, "the name before");
        if change.kind == ChangeKind::Delete {
            let before: Entry =
                change.attributes().map(|it| (it.description.to_owned(), listed(it.removed()))).collect();
            assert_eq!(before, *entry, "all that it had");
            self.entries.remove(&change.entry.0);
            return;
        }
        for attribute in change.attributes() {
            let values = entry.entry(attribute.description.to_owned()).or_default();
            for removed in attribute.removed().map(text) {
                let at = values.iter().position(|value| *value == removed);
                values.remove(at.unwrap_or_else(|| panic!("{removed} was not in {}", attribute.description)));
            }
            for added in attribute.added().map(text) {
                assert!(!values.contains(&added), "{added} was in {}", attribute.description);
                values.push(added);
            }
            values.sort();
            if values.is_empty() {
                entry.remove(attribute.description);
            }
        }
        assert_eq!(change.rename.is_some(), change.kind == ChangeKind::ModifyDn);
        if let Some(rename) = &change.rename {
            let (old, new) = (name.clone(), rename.new_dn.to_lowercase());
            for (name, _) in self.entries.values_mut() {
                if let Some(below) = name.strip_suffix(&old).filter(|below| below.is_empty() || below.ends_with(',')) {
                    *name = format!("{below}{new}");
                }
            }
        }
    }

    fn compare(&self, bed: &Bed) {
        let snapshot = bed.backend.snapshot().unwrap();
        let view = snapshot.view();
        assert_eq!(self.entries.len() as u64, view.entry_count().unwrap());
        for (id, (name, entry)) in &self.entries {
            let dn = view.dn_of(store::EntryId(*id)).unwrap().unwrap();
            assert_eq!(dn.to_lowercase(), *name);
            let mut stored = bed.entry(&dn).unwrap();
            stored.values_mut().for_each(|values| values.sort());
            assert_eq!(stored, *entry, "{name}");
        }
    }
}

/// Kind, name, and attributes as `description -removed +added`, stamps aside.
fn told(bed: &Bed, from: u64) -> Vec<String> {
    const STAMPS: [&str; 6] =
        ["entryUUID", "createTimestamp", "modifyTimestamp", "creatorsName", "modifiersName", "entryCSN"];
    let mut reader = bed.history.from(from);
    let mut lines = Vec::new();
    while let Some(change) = reader.next_change().unwrap() {
        let mut line = format!("{:?} {}", change.kind, change.dn);
        for attribute in change.attributes().filter(|attribute| !STAMPS.contains(&attribute.description)) {
            line.push_str(&format!(" {}", attribute.description));
            listed(attribute.removed()).iter().for_each(|value| line.push_str(&format!(" -{value}")));
            listed(attribute.added()).iter().for_each(|value| line.push_str(&format!(" +{value}")));
        }
        lines.push(line);
    }
    lines
}

const PEOPLE: &str = "ou=people,dc=example,dc=com";

#[test]
fn each_operation_tells_before_and_after() {
    let mut bed = Bed::new();
    let first = bed.history.bounds().last + 1;
    bed.person("ann");
    let ann = &format!("uid=ann,{PEOPLE}");
    bed.modify(ann, "replace sn: Other | example\nadd description: x | y\ndelete description: y").ok();
    bed.modify(ann, "replace sn: Other | example").ok();
    bed.rename(ann, "uid=anna", true, None).ok();
    let anna = &format!("uid=anna,{PEOPLE}");
    bed.modify(anna, "add cn: ann example").refused(ldap::ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, "ann");
    bed.delete(anna).ok();
    assert_eq!(
        told(&bed, first),
        [
            format!(
                "Add {ann} objectClass +inetOrgPerson +organizationalPerson +person +top cn +ann Example sn +Example \
                 uid +ann"
            ),
            format!("Modify {ann} sn -Example +Other +example description +x"),
            format!("Modify {ann}"),
            format!("ModifyDn {ann} uid -ann +anna"),
            format!(
                "Delete {anna} objectClass -inetOrgPerson -organizationalPerson -person -top cn -ann Example \
                 sn -Other -example uid -anna description -x"
            ),
        ]
    );
    let mut reader = bed.history.from(first + 3);
    let change = reader.next_change().unwrap().unwrap();
    let rename = change.rename.clone().unwrap();
    assert_eq!((rename.new_rdn, rename.delete_old_rdn, &*rename.new_dn), ("uid=anna", true, &**anna));
    assert_eq!((change.number, change.dn_now()), (first + 3, &**anna));
    assert_eq!(change.authority, Authority::Root { dn: "cn=Directory Manager" });
    assert_eq!((change.connection, change.operation, change.cause), (1, 1, Cause::Request));
    let mut csn = Vec::new();
    change.csn.write(&mut csn);
    let stamp = change.attribute("entrycsn").unwrap();
    assert_eq!(stamp.added().collect::<Vec<_>>(), [&csn[..]]);
    assert_eq!(stamp.removed().count(), 1);
    assert_ne!(change.entry_uuid, [0; 16]);
}

#[test]
fn one_member_more_in_a_large_group_is_one_value() {
    let mut bed = Bed::new();
    let group = "cn=all,ou=groups,dc=example,dc=com";
    let members: String = (0..3000).map(|at| format!("member: uid=u{at},{PEOPLE}\n")).collect();
    bed.add(group, &format!("objectClass: groupOfNames\ncn: all\n{members}")).ok();
    let first = bed.history.bounds().last + 1;
    bed.modify(group, &format!("add member: uid=new,{PEOPLE}\ndelete member: uid=u7,{PEOPLE}")).ok();
    bed.modify(group, &format!("delete member: uid=u9,{PEOPLE}\nadd member: UID=u9,{PEOPLE}")).ok();
    bed.modify(group, &format!("delete member: uid=u8,{PEOPLE}\nadd member: uid=u8,{PEOPLE}")).ok();
    assert_eq!(
        told(&bed, first),
        [
            format!("Modify {group} member -uid=u7,{PEOPLE} +uid=new,{PEOPLE}"),
            format!("Modify {group} member -uid=u9,{PEOPLE} +UID=u9,{PEOPLE}"),
            format!("Modify {group}"),
        ]
    );
    let mut mirror = Mirror::default();
    bed.modify(group, &format!("replace member: uid=u1,{PEOPLE} | uid=only,{PEOPLE}")).ok();
    bed.delete(group).ok();
    mirror.follow(&bed);
    mirror.compare(&bed);
}

#[test]
fn what_is_too_much_to_keep_is_left_out_and_said() {
    let mut bed = Bed::new();
    let group = "cn=all,ou=groups,dc=example,dc=com";
    let long = "x".repeat(900);
    bed.add(group, "objectClass: groupOfNames\ncn: all").ok();
    for part in 0..3 {
        let members: Vec<String> = (0..2000).map(|at| format!("cn={long}{part}-{at},{PEOPLE}")).collect();
        bed.modify(group, &format!("add member: {}", members.join(" | "))).ok();
    }
    let first = bed.history.bounds().last + 1;
    bed.modify(group, &format!("replace member: uid=only,{PEOPLE}")).ok();
    let mut reader = bed.history.from(first);
    let change = reader.next_change().unwrap().unwrap();
    let member = change.attribute("member").unwrap();
    assert!(!member.is_complete);
    assert_eq!((member.removed().count(), listed(member.added())), (0, vec![format!("uid=only,{PEOPLE}")]));
    assert!(change.attribute("entryCSN").unwrap().is_complete);
}

#[test]
fn parts_of_a_transaction_are_changes_of_one_record() {
    let mut bed = Bed::new();
    let first = bed.history.bounds().last + 1;
    let (ann, ben) = (format!("uid=ann,{PEOPLE}"), format!("uid=ben,{PEOPLE}"));
    let lines = "objectClass: account\nuid: ann";
    let operations = [
        (Kind::Add, add_op(&ann, lines)),
        (Kind::Modify, modify_op(&ann, "add description: x")),
        (Kind::ModifyDn, rename_op(&ann, "uid=ben", false, None)),
        (Kind::Delete, delete_op(&ben)),
    ];
    let parts = operations.iter().map(|(kind, operation)| bed.encoded(*kind, operation, With::default()));
    let joined = join(parts.collect::<Vec<_>>());
    let transaction = bed.encoded(Kind::Transaction, &joined, With::default());
    assert!(bed.backend.submit_and_wait(transaction).unwrap().accepted);
    assert_eq!(
        told(&bed, first),
        [
            format!("Add {ann} objectClass +account +top uid +ann"),
            format!("Modify {ann} description +x"),
            format!("ModifyDn {ann} uid +ben"),
            format!("Delete {ben} objectClass -account -top uid -ann -ben description -x"),
        ]
    );
    let mut reader = bed.history.from(first + 1);
    let sequence = reader.next_change().unwrap().unwrap().sequence;
    assert_eq!(reader.next_change().unwrap().unwrap().sequence, sequence);
}

#[test]
fn plugins_and_subtree_deletes_name_each_entry() {
    let mut bed = Bed::with_plugins("[plugin.refs]\ntype = \"referential-integrity\"\nattribute-type = [\"member\"]\n");
    bed.person("ann");
    let ann = format!("uid=ann,{PEOPLE}");
    bed.add("cn=few,ou=groups,dc=example,dc=com", &format!("objectClass: groupOfNames\ncn: few\nmember: {ann}")).ok();
    let first = bed.history.bounds().last + 1;
    let mut flags = Flags::default();
    flags.set(Flags::SUBTREE_DELETE);
    bed.delete_with(PEOPLE, With { flags, ..With::default() }).ok();
    assert_eq!(
        told(&bed, first),
        [
            format!(
                "Delete {ann} objectClass -inetOrgPerson -organizationalPerson -person -top cn -ann Example \
                 sn -Example uid -ann"
            ),
            format!("Delete {PEOPLE} objectClass -organizationalUnit -top ou -people"),
            format!("Modify cn=few,ou=groups,dc=example,dc=com member -{ann}"),
        ]
    );
    let mut reader = bed.history.from(first + 2);
    let change = reader.next_change().unwrap().unwrap();
    assert_eq!(change.initiator(), "cn=Referential Integrity,cn=plugins,cn=config");
    assert_eq!((change.connection, change.operation), (1, 1));
}

#[test]
fn a_reader_goes_on_when_there_is_more() {
    let mut bed = Bed::new();
    let mut reader = bed.history.from(1);
    while reader.next_change().unwrap().is_some() {}
    let before = bed.history.bounds().last;
    assert!(!bed.history.wait_beyond(before, std::time::Duration::ZERO));
    let (sender, receiver) = std::sync::mpsc::channel();
    let follower = bed.history.follow(std::sync::Arc::new(move || sender.send(()).unwrap()));
    bed.person("ann");
    assert!(bed.history.wait_beyond(before, std::time::Duration::ZERO));
    receiver.recv().unwrap();
    assert_eq!(reader.next_change().unwrap().unwrap().number, before + 1);
    assert!(reader.next_change().unwrap().is_none());
    drop(follower);
    bed.person("ben");
    assert!(receiver.recv().is_err());
    assert_eq!(reader.next_change().unwrap().unwrap().dn, format!("uid=ben,{PEOPLE}"));
}

#[test]
fn proposals_that_are_replayed_get_no_new_numbers() {
    let mut bed = Bed::new();
    bed.person("ann");
    let (bounds, lines) = (bed.history.bounds(), told(&bed, 1));
    let mut bed = bed.reopen();
    assert_eq!((bed.history.bounds(), told(&bed, 1)), (bounds, lines));
    bed.person("ben");
    assert_eq!(bed.history.bounds().last, bounds.last + 1);
    let since = Proposal::decode(&bed.encoded(Kind::Delete, b"", With::default())).unwrap().csn.time_us - 1_000;
    let mut reader = bed.history.since(since);
    let mut last = None;
    while let Some(change) = reader.next_change().unwrap() {
        last = Some(change.dn.to_owned());
    }
    assert_eq!(last, Some(format!("uid=ben,{PEOPLE}")));
}

/// Changes in several segments of the log, all of them folded.
pub(super) fn long_history() -> Bed {
    let mut bed = Bed::new();
    let text = "x".repeat(2_000);
    for at in 0..100 {
        bed.modify(PEOPLE, &format!("replace description: {at} {text}")).ok();
    }
    bed.reopen()
}

pub(super) fn numbers(bed: &Bed) -> Vec<u64> {
    let mut reader = bed.history.from(0);
    let mut numbers = Vec::new();
    while let Some(change) = reader.next_change().unwrap() {
        numbers.push(change.number);
    }
    numbers
}

fn segment_count(bed: &Bed) -> usize {
    bed.backend.log().segments().len()
}

#[test]
fn what_is_too_much_or_too_old_is_let_go_and_numbers_go_on() {
    let bed = long_history();
    let (last, segments) = (bed.history.bounds().last, segment_count(&bed));
    assert_eq!(numbers(&bed), (1..=last).collect::<Vec<_>>());
    assert!(segments > 4, "{segments}");
    let config = ChangelogConfig { max_bytes: 3 * (64 << 10), ..bed.history.settings() };
    assert!(bed.history.set(config).unwrap());
    assert!(!bed.history.set(config).unwrap());
    let first = bed.history.bounds().first;
    assert_eq!(segment_count(&bed), 3);
    assert!(first > 1 && first < last, "{first}");
    assert_eq!(numbers(&bed), (first..=last).collect::<Vec<_>>());
    let mut bed = bed.reopen();
    assert_eq!((bed.history.bounds().first, numbers(&bed).len() as u64), (first, last + 1 - first));
    // When the next change would be proposed.
    let time_us = Proposal::decode(&bed.encoded(Kind::Delete, b"", With::default())).unwrap().csn.time_us;
    let age_us = u64::try_from(bed.history.settings().max_age.as_micros()).unwrap();
    bed.history.prune_at(time_us + age_us / 2).unwrap();
    assert_eq!(bed.history.bounds().first, first);
    bed.history.prune_at(time_us + age_us + 2_000_000).unwrap();
    assert_eq!((bed.history.bounds().first, bed.history.bounds().last), (last + 1, last));
    assert!(numbers(&bed).is_empty());
    let mut bed = bed.reopen();
    assert_eq!(segment_count(&bed), 1, "the one that was begun at the start");
    bed.person("ann");
    assert_eq!(numbers(&bed), [last + 1]);
}

#[test]
fn nobody_takes_a_history_with_a_hole_for_a_whole_one() {
    let mut bed = long_history();
    let (last, config) = (bed.history.bounds().last, bed.history.settings());
    bed.history.set(ChangelogConfig { enabled: false, ..config }).unwrap();
    bed.person("unseen");
    assert_eq!(bed.history.bounds(), Bounds { first: last + 1, last });
    bed.history.set(config).unwrap();
    bed.person("seen");
    assert_eq!(numbers(&bed), [last + 1]);
    // A log that begins later than it was left, as after a full disk.
    let mut bed = long_history();
    let (last, segments) = (bed.history.bounds().last, bed.backend.log().segments());
    assert!(bed.backend.log().relieve());
    bed.history.prune_at(0).unwrap();
    let first = bed.history.bounds().first;
    assert!(first > 1 && first < last, "{first}");
    assert_eq!(numbers(&bed)[0], first);
    assert_eq!(bed.backend.log().segments()[0], segments[1]);
    assert!(bed.backend.log().relieve());
    bed = bed.reopen();
    let later = bed.history.bounds().first;
    assert!(later > first && numbers(&bed)[0] == later, "{later} {first}");
    // Other data: an import after a clean stop.
    bed.history.end().unwrap();
    let path = bed.folder.path().join("numbers");
    let source = LogSource { id: "test".to_owned(), data: [9; 16], log: bed.backend.log().clone() };
    let after_import = History::open(ChangeNumbers::new(1), vec![source], config, Some(path)).unwrap();
    assert_eq!(after_import.bounds(), Bounds { first: last + 1, last });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_history_gives_the_directory(ops in vec(any_op(), 1..60), reopen_after in 0usize..60) {
        let mut bed = Bed::empty();
        bed.add("dc=example,dc=com", "objectClass: domain\ndc: example").ok();
        let mut mirror = Mirror::default();
        for (at, op) in ops.iter().enumerate() {
            run(&mut bed, op);
            mirror.follow(&bed);
            if at == reopen_after {
                bed = bed.reopen();
            }
        }
        mirror.compare(&bed);
        // The same again from the beginning.
        let mut again = Mirror::default();
        again.follow(&bed.reopen());
        prop_assert_eq!(mirror.entries, again.entries);
    }
}
