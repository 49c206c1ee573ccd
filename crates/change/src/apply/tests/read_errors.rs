//! Rows of the database that cannot be read: the backend answers every proposal as a sound one does, until it stops
//! taking updates.
//!
//! One row after the other is damaged in a copy of the same files, then the same proposals are applied.

use std::fmt::Write;
use std::path::Path;

use store::env::{Env, Table};
use store::{IndexId, StoreError, database_path};

use super::bed::{Bed, SUFFIX, With, add_op, copy, delete_op, modify_op, rename_op};
use crate::proposal::{Flags, Kind};

const PLUGINS: &str = "[plugin.ri]\ntype = \"referential-integrity\"\nattribute-type = [\"member\"]\n\
                       [plugin.unique]\ntype = \"unique-attribute\"\nattribute-type = [\"uid\"]\n";
/// More than a record holds, so that they are large values.
const MEMBERS: usize = 400;
/// Damaged rows of each kind that are tried.
const TRIALS: usize = 10;

/// What a row of the database holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Entry,
    LargeValue,
    /// Of the tree: who has which name.
    Names,
    /// Of any other index.
    Postings,
    /// A part of a long list.
    Chunk,
}

impl Row {
    fn table(self, env: &Env) -> Table {
        match self {
            Row::Entry => env.dbs().entries,
            Row::LargeValue => env.dbs().values,
            Row::Names | Row::Postings => env.dbs().postings,
            Row::Chunk => env.dbs().chunks,
        }
    }

    /// The keys of all rows in which damage is noticed. Further pieces of something large are not among them.
    fn keys(self, files: &Path) -> Vec<Vec<u8>> {
        let env = Env::open(&database_path(files), [0; 16]).unwrap();
        let txn = env.read().unwrap();
        let keys = self.table(&env).iter(&txn).unwrap().map(|row| row.unwrap().0.to_vec());
        let is_of_tree = |key: &[u8]| key.starts_with(&IndexId::DN.0.to_be_bytes());
        let is_first = |key: &Vec<u8>| match self {
            Row::Entry => key.len() == 8,
            Row::LargeValue => key.ends_with(&[0, 0]),
            Row::Names => is_of_tree(key),
            Row::Postings => !is_of_tree(key),
            Row::Chunk => true,
        };
        keys.filter(is_first).collect()
    }

    /// Replaces a row by the beginning of a number that does not end.
    fn damage(self, files: &Path, key: &[u8]) {
        let env = Env::open(&database_path(files), [0; 16]).unwrap();
        let mut txn = env.write().unwrap();
        self.table(&env).put(&mut txn, key, &[0xff]).unwrap();
        txn.commit().unwrap();
    }
}

type Answer = Result<(i32, Vec<u8>), StoreError>;

fn person(uid: &str) -> String {
    format!("uid={uid},ou=people,{SUFFIX}")
}

fn person_lines(uid: &str) -> String {
    format!("objectClass: inetOrgPerson\ncn: {uid} Example\nsn: Example\nuid: {uid}")
}

/// The closed files of a backend, and proposals to be applied to it.
fn prepared() -> (tempfile::TempDir, Vec<Vec<u8>>) {
    let mut bed = Bed::with_plugins(PLUGINS);
    (0..60).for_each(|n| bed.person(&format!("user{n}")));
    let mut group = "objectClass: groupOfNames\n".to_owned();
    (0..MEMBERS).for_each(|n| writeln!(group, "member: {}", person(&format!("user{n}"))).unwrap());
    bed.add(&format!("cn=all,ou=groups,{SUFFIX}"), &group).ok();
    let steps = steps(&mut bed);
    (bed.closed().0, steps)
}

/// Updates that read every kind of row: some entries are looked at twice, some only through an index.
fn steps(bed: &mut Bed) -> Vec<Vec<u8>> {
    let all = format!("cn=all,ou=groups,{SUFFIX}");
    let mut steps = Vec::new();
    let mut step = |kind, operation: &[u8]| steps.push(bed.encoded(kind, operation, With::default()));
    for n in 0..12 {
        let (old, new, gone) = (format!("user{n}"), format!("new{n}"), format!("user{}", n + 12));
        step(Kind::Add, &add_op(&person(&new), &person_lines(&new)));
        step(Kind::Modify, &modify_op(&person(&old), "replace description: again"));
        // Refused, when the index can be read: the uid is taken.
        step(Kind::Add, &add_op(&format!("cn=double,ou=people,{SUFFIX}"), &person_lines(&format!("user{}", n + 40))));
        step(Kind::Modify, &modify_op(&all, &format!("delete member: {}", person(&format!("user{}", n * 9 + 70)))));
        step(Kind::Modify, &modify_op(&all, &format!("add member: {}", person(&new))));
        step(Kind::ModifyDn, &rename_op(&person(&old), &format!("uid=renamed{n}"), true, None));
        step(Kind::Delete, &delete_op(&person(&gone)));
        // Refused, when the tree can be read: no such entry.
        step(Kind::Delete, &delete_op(&person("nobody")));
    }
    step(Kind::ModifyDn, &rename_op(&format!("ou=people,{SUFFIX}"), "ou=persons", true, None));
    step(Kind::Delete, &delete_op(&all));
    steps
}

fn apply_all(bed: &Bed, steps: &[Vec<u8>]) -> Vec<Answer> {
    let answer =
        |step: &Vec<u8>| bed.backend.submit_and_wait(step.clone()).map(|outcome| (outcome.code, outcome.response));
    steps.iter().map(answer).collect()
}

/// A copy of the files in which one row of that kind is damaged.
fn damaged(files: &Path, row: Row, key: &[u8]) -> Bed {
    let copied = tempfile::tempdir().unwrap();
    copy(files, copied.path());
    row.damage(copied.path(), key);
    Bed::of_copy(copied.path())
}

/// Whether updates stopped. Up to there every answer is that of the sound backend, from there on every answer is why
/// they stopped.
fn compare(sound: &[Answer], ours: &[Answer], bed: &Bed) -> bool {
    let equal = sound.iter().zip(ours).take_while(|(sound, ours)| sound == ours).count();
    let Some(stopped) = ours.get(equal) else { return false };
    assert!(matches!(stopped, Err(StoreError::UpdatesStopped { .. })), "{stopped:?} instead of {:?}", sound[equal]);
    assert!(ours[equal..].iter().all(|answer| answer == stopped), "{:?}", &ours[equal..]);
    assert_eq!(bed.backend.updates_stopped(), stopped.as_ref().err());
    true
}

#[test]
fn a_damaged_row_changes_no_answer_but_stops_updates() {
    let (files, steps) = prepared();
    let sound = apply_all(&Bed::of_copy(files.path()), &steps);
    assert!(sound.iter().all(Result::is_ok));
    for row in [Row::Entry, Row::LargeValue, Row::Names, Row::Postings] {
        let keys = row.keys(files.path());
        let mut stops = 0;
        for key in keys.iter().step_by(keys.len().div_ceil(TRIALS)) {
            let bed = damaged(files.path(), row, key);
            stops += usize::from(compare(&sound, &apply_all(&bed, &steps), &bed));
        }
        assert!(stops > 0, "no damaged row of {row:?} was read");
    }
}

/// A list that ends early because a part of it cannot be read would look like a shorter one: references would stay, and
/// a subtree would seem to be empty.
#[test]
fn a_long_list_that_cannot_be_read_to_its_end_is_no_shorter_list() {
    let mut bed = Bed::with_plugins("[plugin.ri]\ntype = \"referential-integrity\"\nattribute-type = [\"member\"]\n");
    bed.person("ann");
    let lines = format!("objectClass: groupOfNames\nmember: {}", person("ann"));
    (0..600).for_each(|n| drop(bed.add(&format!("cn=group{n},ou=groups,{SUFFIX}"), &lines).ok()));
    let mut flags = Flags::default();
    flags.set(Flags::SUBTREE_DELETE);
    let with = With { flags, ..With::default() };
    let steps = [
        bed.encoded(Kind::Delete, &delete_op(&person("ann")), With::default()),
        bed.encoded(Kind::Delete, &delete_op(&format!("ou=groups,{SUFFIX}")), with),
    ];
    let files = bed.closed().0;
    let sound = apply_all(&Bed::of_copy(files.path()), &steps);
    assert!(sound.iter().all(|answer| matches!(answer, Ok((0, _)))));
    let mut stops = 0;
    for key in Row::Chunk.keys(files.path()) {
        let bed = damaged(files.path(), Row::Chunk, &key);
        stops += usize::from(compare(&sound, &apply_all(&bed, &steps), &bed));
    }
    assert!(stops >= 2, "{stops}: one list has who refers, another one the children");
}
