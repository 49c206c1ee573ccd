//! The changes from one set of entries to another, made by `ldifmodify`, give the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use ldap::ldif::{LdifEntry, LdifOperation, Reader, Record};
use proptest::prelude::*;

use super::Options;
use crate::tools::ldif::ldifmodify;

#[derive(Parser)]
struct DiffLine {
    #[command(flatten)]
    options: Options,
}

#[derive(Parser)]
struct ModifyLine {
    #[command(flatten)]
    options: ldifmodify::Options,
}

fn diff(words: &[&Path]) {
    let line = DiffLine::try_parse_from([Path::new("ldifdiff")].iter().chain(words)).unwrap();
    super::compare_all(None, &line.options).unwrap();
}

fn modify(words: &[&Path]) {
    let line = ModifyLine::try_parse_from([Path::new("ldifmodify")].iter().chain(words)).unwrap();
    ldifmodify::run(None, &line.options).unwrap();
}

/// Values of the sorts that schemas tell apart: case, spaces, names, no equality, a number, an unknown attribute.
fn line() -> impl Strategy<Value = String> {
    let text = prop_oneof![Just("one"), Just("ONE"), Just("two  words"), Just("Two words"), Just("größer")];
    prop_oneof![
        text.clone().prop_map(|value| format!("description: {value}")),
        text.clone().prop_map(|value| format!("Description;lang-en: {value}")),
        text.clone().prop_map(|value| format!("unheardOf: {value}")),
        prop_oneof![Just("cn=a,dc=x"), Just("CN=A, dc=X"), Just("cn=b,dc=x")].prop_map(|dn| format!("seeAlso: {dn}")),
        prop_oneof![Just("AAEC"), Just("AAED"), Just("/+7d")].prop_map(|value| format!("jpegPhoto:: {value}")),
        (0..3).prop_map(|number| format!("uidNumber: {number}")),
        Just("createTimestamp: 20260101000000Z".to_owned()),
    ]
}

/// Entries by name: a tree of which every entry has its parent.
fn entries() -> impl Strategy<Value = String> {
    let names = ["", "ou=a,", "OU=B,", "cn=x,ou=a,", "cn=y,OU=A,", "cn=z\\,z,ou=b,", "cn=deep,cn=x,ou=a,"];
    let one = (0..names.len(), prop::collection::vec(line(), 0..6));
    prop::collection::vec(one, 0..8).prop_map(move |wanted| {
        let mut all: BTreeMap<usize, Vec<String>> = wanted.into_iter().collect();
        if all.contains_key(&6) {
            all.entry(3).or_default();
        }
        if all.keys().any(|at| [3, 4].contains(at)) {
            all.entry(1).or_default();
        }
        if all.contains_key(&5) {
            all.entry(2).or_default();
        }
        if !all.is_empty() {
            all.entry(0).or_default();
        }
        // Not in the order of the names.
        let records = all.iter().rev().map(|(at, lines)| {
            // No value twice, in whatever spelling: no server would take that.
            let plain = |line: &String| line.to_lowercase().replace(' ', "");
            let lines: BTreeMap<String, &String> = lines.iter().map(|line| (plain(line), line)).collect();
            let lines: Vec<&str> = lines.values().map(|line| line.as_str()).collect();
            format!("dn: {}dc=x\nobjectClass: extensibleObject\n{}\n", names[*at], lines.join("\n"))
        });
        records.map(|record| format!("{}\n\n", record.trim_end())).collect()
    })
}

fn records(file: &Path) -> Vec<Record> {
    let text = fs::read(file).unwrap();
    let mut reader = Reader::new(text.as_slice());
    std::iter::from_fn(|| reader.next_record().unwrap()).collect()
}

fn names(file: &Path) -> Vec<String> {
    let mut reader = Reader::new(fs::File::open(file).map(std::io::BufReader::new).unwrap());
    let mut entry = LdifEntry::default();
    let mut names = Vec::new();
    while reader.next_into(&mut entry).unwrap() {
        names.push(entry.dn.clone());
    }
    names
}

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(source: &str, target: &str) -> Files {
        let files = Files { folder: tempfile::tempdir().unwrap() };
        fs::write(files.path("source"), source).unwrap();
        fs::write(files.path("target"), target).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the changes from one file to another.
    fn diff(&self, from: &str, to: &str, changes: &str, more: &[&str]) {
        let (from, to, changes) = (self.path(from), self.path(to), self.path(changes));
        let mut words = vec![from.as_path(), &to, Path::new("-o"), &changes, Path::new("--serverAttributes")];
        words.extend(more.iter().map(Path::new));
        diff(&words);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_changes_make_the_source_the_target(source in entries(), target in entries(), is_exact: bool) {
        let files = Files::new(&source, &target);
        let more: &[&str] = if is_exact { &["-x"] } else { &[] };
        files.diff("source", "target", "changes", more);
        modify(&[&files.path("source"), &files.path("changes"), Path::new("-o"), &files.path("made")]);
        files.diff("made", "target", "rest", more);
        prop_assert!(records(&files.path("rest")).is_empty(), "{}", fs::read_to_string(files.path("rest")).unwrap());
        prop_assert_eq!(names(&files.path("made")).len(), names(&files.path("target")).len());
    }

    /// As a server needs it: no deletion of an entry that has children, no addition without a parent.
    #[test]
    fn the_changes_can_be_made_one_by_one(source in entries(), target in entries()) {
        let files = Files::new(&source, &target);
        files.diff("source", "target", "changes", &[]);
        let normal = |dn: &str| dn.to_lowercase();
        let mut there: Vec<String> = names(&files.path("source")).iter().map(|dn| normal(dn)).collect();
        for record in records(&files.path("changes")) {
            let Record::Change(change) = record else { panic!("{record:?}") };
            let dn = normal(&change.dn);
            match change.operation {
                LdifOperation::Delete => {
                    there.retain(|name| *name != dn);
                    prop_assert!(!there.iter().any(|name| name.ends_with(&format!(",{dn}"))), "{dn}");
                }
                LdifOperation::Add(_) => {
                    let parent = dn.split_once(",").map_or("", |(_, parent)| parent.trim_start_matches("z,"));
                    prop_assert!(dn == "dc=x" || there.iter().any(|name| name == parent), "{dn}");
                    there.push(dn);
                }
                _ => prop_assert!(there.contains(&dn)),
            }
        }
    }
}
