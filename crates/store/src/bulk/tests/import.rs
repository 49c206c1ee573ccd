//! Imports of valid and of invalid files.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::varint;

#[test]
fn a_small_file_becomes_entries_tree_and_indexes() {
    let directory = tempfile::tempdir().unwrap();
    let summary = import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    assert_eq!((summary.processed, summary.imported, summary.rejected, summary.skipped.total()), (6, 6, 0, 0));
    let db = Opened::new(directory.path());
    assert_eq!(db.problems(), Vec::<String>::new());
    assert_eq!(
        db.dns(),
        [
            "dc=example,dc=com",
            "ou=People,dc=example,dc=com",
            "ou=Groups,dc=example,dc=com",
            "uid=maria,ou=People,dc=example,dc=com",
            "uid=noah,ou=People,dc=example,dc=com",
            "uid=ida,ou=People,dc=example,dc=com",
        ]
    );
    assert_eq!(db.ids("uid.caseIgnoreMatch", "noah"), [5]);
    assert_eq!(db.ids("sn.caseIgnoreMatch", "meier"), [4, 5]);
    assert_eq!(db.ids("cn.caseIgnoreMatch", "maria meier"), [4]);
    assert_eq!(db.ids("cn.caseIgnoreMatch", "mary meier"), [4], "options are indexed with their type");
    assert_eq!(db.ids("cn.caseIgnoreSubstringsMatch:6", "a meie"), [4]);
    assert_eq!(db.ids("cn.caseIgnoreSubstringsMatch:6", "a"), [6], "tails are keys");
    assert_eq!(db.postings(IndexId::ALL)[&b""[..]], [1, 2, 3, 4, 5, 6]);
    let children: Vec<Vec<u64>> = db.postings(IndexId::CHILDREN).into_values().collect();
    assert_eq!(children, [vec![1], vec![2, 3], vec![4, 5, 6]]);
    assert_eq!(env::read_next_entry(db.env.dbs(), &db.txn).unwrap(), EntryId(7));
}

#[test]
fn what_ldif_may_leave_out_is_added() {
    let directory = tempfile::tempdir().unwrap();
    let text = "dn: dc=example,dc=com\nobjectClass: domain\n\n\
        dn: cn=a+sn=b,dc=example,dc=com\nobjectClass: inetOrgPerson\nsn: x\nentryDN: cn=wrong\n";
    import_with(directory.path(), text, |_| {}).unwrap();
    let db = Opened::new(directory.path());
    let text = db.export_text();
    let lines: BTreeSet<&str> = text.lines().collect();
    for line in [
        "dc: example",
        "objectClass: top",
        "objectClass: organizationalPerson",
        "objectClass: person",
        "cn: a",
        "sn: b",
        "sn: x",
    ] {
        assert!(lines.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("entryDN"), "what the server computes is not stored");
    assert_eq!(text.matches("entryUUID: ").count(), 2);
    // The same names give the same UUIDs.
    let again = tempfile::tempdir().unwrap();
    import_with(
        again.path(),
        &text.lines().filter(|line| !line.starts_with("entryUUID")).map(|line| format!("{line}\n")).collect::<String>(),
        |_| {},
    )
    .unwrap();
    assert_eq!(Opened::new(again.path()).export_text(), text);
}

#[test]
fn a_bad_entry_stops_the_import_with_line_and_reason_and_the_old_data_stays() {
    let person = |dn: &str, rest: &str| format!("{PEOPLE}\ndn: {dn}\nobjectClass: inetOrgPerson\n{rest}");
    let below = "uid=x,ou=People,dc=example,dc=com";
    let lines = PEOPLE.lines().count() as u64 + 2;
    for (text, line, words) in [
        (person("uid=x,ou=Nobody,dc=example,dc=com", "cn: x\nsn: x\n"), lines, "parent"),
        (person("UID=Maria,ou=people,dc=example,dc=com", "cn: x\nsn: x\n"), lines, "same name"),
        (person(below, "cn: x\n"), lines, "sn"),
        (person(below, "cn: x\nsn: x\nou:x\nmember: cn=a\n"), lines, "member"),
        (person(below, "cn: x\nsn: x\ncn: X\n"), lines, "twice"),
        (person(below, "cn: x\nsn: x\nblueness: 3\n"), lines, "blueness"),
        (person(below, "cn: x\nsn: x\nmail;binary: x\n"), lines + 4, "no binary form"),
        (
            person(below, "cn: x\nsn: x\nobjectClass: posixAccount\ngidNumber: 1\nhomeDirectory: /\nuidNumber: 007\n"),
            lines,
            "uidNumber",
        ),
        (person(below, "cn: x\nsn: x\nobjectClass: blue\n"), lines, "blue"),
        (person(below, "cn: x\nsn: x\nseeAlso: nonsense\n"), lines, "seeAlso"),
        (person(below, "cn: x\nsn: x\npreferredLanguage: de\npreferredLanguage: fr\n"), lines, "preferredLanguage"),
        (person("uid=x,,dc=com", "cn: x\nsn: x\n"), lines, "DN"),
        (person(below, "cn: x\nsn x\n"), lines + 3, "attribute: value"),
        (person(below, "cn: x\nsn:: *\n"), lines + 3, "base64"),
        (person(&format!("{below}\nchangetype: delete"), "cn: x\n"), lines + 1, "change record"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        import_with(directory.path(), "dn: dc=example,dc=com\nobjectClass: domain\n", |_| {}).unwrap();
        let error = import_with(directory.path(), &text, |_| {}).unwrap_err();
        let BulkError::Entry { name, line: at, reason } = &error else { panic!("{error}") };
        assert_eq!((name.as_str(), *at), ("test.ldif", line), "{error}");
        assert!(reason.contains(words), "{reason} does not say {words}");
        let db = Opened::new(directory.path());
        assert_eq!(db.dns(), ["dc=example,dc=com"], "the old data serves on");
        assert!(!new_directory(&database_path(directory.path())).exists());
    }
}

#[test]
fn rejects_go_to_their_file_with_the_reason_and_the_rest_is_imported() {
    let directory = tempfile::tempdir().unwrap();
    let (rejected, skipped) = (directory.path().join("rejected.ldif"), directory.path().join("skipped.ldif"));
    let text = format!(
        "{PEOPLE}\ndn: uid=x,ou=Nobody,dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: x\nsn: x\n\n\
         dn: dc=example,dc=org\nobjectClass: domain\n\ndn: uid=y,ou=People,dc=example,dc=com\nobjectClass: nothing\n"
    );
    let summary = import_with(directory.path(), &text, |options| {
        options.reject_file = Some(rejected.clone());
        options.skip_file = Some(skipped.clone());
    });
    let summary = summary.unwrap();
    assert_eq!((summary.processed, summary.imported, summary.rejected, summary.skipped.total()), (9, 6, 2, 1));
    assert_eq!(std::fs::read_to_string(skipped).unwrap(), "dn: dc=example,dc=org\nobjectClass: domain\n\n");
    let rejected = std::fs::read_to_string(rejected).unwrap();
    let unfolded = rejected.replace("\n ", "");
    assert!(
        unfolded.starts_with("# test.ldif:42: entry \"uid=x,ou=Nobody,dc=example,dc=com\" has no parent"),
        "{rejected}"
    );
    assert!(rejected.ends_with("\ndn: uid=y,ou=People,dc=example,dc=com\nobjectClass: nothing\n\n"), "{rejected}");
    assert_eq!(Opened::new(directory.path()).problems(), Vec::<String>::new());
    // Counted only.
    let again = import_with(directory.path(), &text, |options| options.continue_on_error = true).unwrap();
    assert_eq!(again.rejected, 2);
}

#[test]
fn an_interrupted_import_leaves_the_old_data() {
    let directory = tempfile::tempdir().unwrap();
    import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    let error = import_with(directory.path(), "dn: dc=example,dc=com\nobjectClass: domain\n", |options| {
        options.cancel.cancel()
    });
    assert!(matches!(error, Err(BulkError::Cancelled)));
    // Killed half-way: the directory under construction is still there.
    let place = database_path(directory.path());
    std::fs::create_dir_all(new_directory(&place)).unwrap();
    std::fs::write(new_directory(&place).join("data.mdb"), b"half a database").unwrap();
    recover(&place).unwrap();
    let db = Opened::new(directory.path());
    assert_eq!(db.dns().len(), 6);
    db.close();
    std::fs::create_dir_all(new_directory(&place)).unwrap();
    std::fs::write(new_directory(&place).join("data.mdb"), b"half a database").unwrap();
    import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    assert_eq!(Opened::new(directory.path()).problems(), Vec::<String>::new());
}

#[test]
fn a_backend_in_use_is_not_imported_into() {
    let directory = tempfile::tempdir().unwrap();
    let _lock = crate::InstanceLock::take(directory.path()).unwrap();
    let error = import_with(directory.path(), PEOPLE, |_| {}).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
}

#[test]
fn branches_attributes_and_filters_select() {
    let directory = tempfile::tempdir().unwrap();
    let summary = import_with(directory.path(), PEOPLE, |options| {
        options.selection.exclude_branches = vec!["OU=groups,dc=example,dc=com".to_owned()];
        options.selection.exclude_attributes = vec!["description".to_owned(), "cn;lang-en".to_owned()];
        options.selection.exclude_filters = vec![Arc::new(|entry: &SelectedEntry<'_>| {
            entry.attributes.iter().any(|(name, values)| *name == "uid" && values.iter().any(|value| value == b"noah"))
        })];
    });
    let summary = summary.unwrap();
    assert_eq!((summary.imported, summary.skipped.total()), (4, 2));
    let db = Opened::new(directory.path());
    let text = db.export_text();
    assert!(!text.contains("Groups") && !text.contains("noah") && !text.contains("description"), "{text}");
    assert!(text.contains("cn: Maria  Meier") && !text.contains("lang-en"), "{text}");
    assert_eq!(db.problems(), Vec::<String>::new());
}

#[test]
fn passwords_are_hashed_by_the_hook_and_bad_ones_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = PEOPLE.replace("cn: Ida\n", "cn: Ida\nuserPassword: secret\nuserPassword: {X}done\n");
    let hook: PasswordHook = Arc::new(|value| match value {
        b"forbidden" => Err("too simple".to_owned()),
        value if value.starts_with(b"{") => Ok(None),
        value => Ok(Some([b"{X}", value].concat())),
    });
    import_with(directory.path(), &text, |options| options.hash_password = Some(hook.clone())).unwrap();
    let db = Opened::new(directory.path());
    assert!(db.export_text().contains("userPassword: {X}secret\nuserPassword: {X}done\n"));
    db.close();
    let bad = text.replace("secret", "forbidden");
    let error = import_with(directory.path(), &bad, |options| options.hash_password = Some(hook)).unwrap_err();
    assert!(error.to_string().contains("too simple"), "{error}");
}

#[test]
fn schema_checks_can_be_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("{PEOPLE}\ndn: uid=x,ou=People,dc=example,dc=com\nobjectClass: mystery\nblueness: 3\n");
    import_with(directory.path(), &text, |options| options.skip_schema_validation = true).unwrap();
    let db = Opened::new(directory.path());
    assert!(db.export_text().contains("blueness: 3\n"));
    assert_eq!(db.problems(), Vec::<String>::new());
}

const MORE: &str = "dn: uid=kim,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: kim
cn: Kim
sn: Kim

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
ou: People
description: replaced

dn: uid=kim2,uid=kim,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Kim
sn: Kim
";

#[test]
fn appending_keeps_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    // Old entries are not checked against the present schema.
    let text = format!("{PEOPLE}\ndn: cn=odd,dc=example,dc=com\nobjectClass: odd\nblueness: 3\n");
    import_with(directory.path(), &text, |options| options.skip_schema_validation = true).unwrap();
    let append =
        |replace_existing| move |options: &mut ImportOptions| options.mode = ImportMode::Append { replace_existing };
    let error = import_with(directory.path(), MORE, append(false)).unwrap_err();
    assert!(matches!(&error, BulkError::Entry { line: 7, .. }), "{error}");
    let rejecting = import_with(directory.path(), MORE, |options| {
        append(false)(options);
        options.continue_on_error = true;
    });
    let rejecting = rejecting.unwrap();
    assert_eq!((rejecting.migrated, rejecting.imported, rejecting.rejected), (7, 2, 1));
    let db = Opened::new(directory.path());
    assert_eq!(db.problems(), Vec::<String>::new());
    assert!(db.export_text().contains("blueness: 3\n") && !db.export_text().contains("replaced"));
    db.close();
}

#[test]
fn what_the_rules_keep_stays_with_entries_that_stay() {
    let directory = tempfile::tempdir().unwrap();
    import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    let rows = || {
        let env = Env::open_read_only(&database_path(directory.path())).unwrap();
        let txn = env.read().unwrap();
        let rows = env::read_rules_rows(env.dbs(), &txn).unwrap();
        drop(txn);
        env.close();
        rows
    };
    assert_eq!(rows(), []);
    let env = Env::open(&database_path(directory.path()), [0; 16]).unwrap();
    let mut txn = env.write().unwrap();
    let kept = [b"waiting 1", b"waiting 2"].map(|key| (env::meta::rules(key), b"a name to clean up".to_vec()));
    kept.iter().for_each(|(key, value)| env.dbs().meta.put(&mut txn, key, value).unwrap());
    txn.commit().unwrap();
    env.close();
    // The waiting clean-up of the groups that stay must be kept, else they name deleted entries for ever.
    let append = |options: &mut ImportOptions| options.mode = ImportMode::Append { replace_existing: true };
    import_with(directory.path(), MORE, append).unwrap();
    assert_eq!(rows(), kept);
    import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    assert_eq!(rows(), [], "nothing stays");
}

#[test]
fn appending_may_replace_entries_and_keeps_what_is_below_them() {
    let directory = tempfile::tempdir().unwrap();
    import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    let replace = |options: &mut ImportOptions| options.mode = ImportMode::Append { replace_existing: true };
    let summary = import_with(directory.path(), MORE, replace).unwrap();
    assert_eq!((summary.migrated, summary.imported, summary.processed), (5, 3, 3));
    let db = Opened::new(directory.path());
    assert_eq!(db.problems(), Vec::<String>::new());
    let mut dns = db.dns();
    dns.sort();
    let mut expected: Vec<String> =
        PEOPLE.lines().chain(MORE.lines()).filter_map(|line| line.strip_prefix("dn: ")).map(str::to_owned).collect();
    expected.sort();
    expected.dedup();
    assert_eq!(dns, expected);
    assert!(db.export_text().contains("description: replaced\n"));
    db.close();
    // A replacement that is not valid is reported with its own line.
    let bad = MORE.replace("description: replaced", "blueness: 3");
    let error = import_with(directory.path(), &bad, replace).unwrap_err();
    assert!(matches!(&error, BulkError::Entry { line: 7, name, .. } if name == "test.ldif"), "{error}");
    let bad = MORE.replace("sn: Kim\n", "");
    let error = import_with(directory.path(), &bad, replace).unwrap_err();
    assert!(matches!(&error, BulkError::Entry { line: 1, .. }), "{error}");
}

#[test]
fn replacing_a_branch_leaves_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!(
        "{PEOPLE}\ndn: uid=x,uid=maria,ou=People,dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: x\nsn: x\n"
    );
    import_with(directory.path(), &text, |_| {}).unwrap();
    let new = "dn: dc=example,dc=com\nobjectClass: domain\n\n\
        dn: ou=People,dc=example,dc=com\nobjectClass: organizationalUnit\n\n\
               dn: uid=maria,ou=People,dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: new\nsn: new\n";
    let summary = import_with(directory.path(), new, |options| {
        options.selection.include_branches = vec!["ou=People,dc=example,dc=com".to_owned()];
        options.selection.exclude_branches = vec!["uid=x,uid=maria,ou=People,dc=example,dc=com".to_owned()];
    });
    let summary = summary.unwrap();
    assert_eq!((summary.imported, summary.skipped.total(), summary.migrated), (2, 1, 3));
    let db = Opened::new(directory.path());
    assert_eq!(db.problems(), Vec::<String>::new());
    assert_eq!(
        db.dns(),
        [
            "dc=example,dc=com",
            "ou=Groups,dc=example,dc=com",
            "ou=People,dc=example,dc=com",
            "uid=maria,ou=People,dc=example,dc=com",
            "uid=x,uid=maria,ou=People,dc=example,dc=com",
        ]
    );
    assert!(db.export_text().contains("cn: new\n"));
}

/// The keys that a model without normalisation, sorting and front-coding would make of entries named `uid=N`.
fn model(people: &[(String, Vec<String>)]) -> BTreeMap<(String, Vec<u8>), Vec<u64>> {
    let mut model: BTreeMap<(String, Vec<u8>), BTreeSet<u64>> = BTreeMap::new();
    for (id, (sn, cns)) in (2u64..).zip(people) {
        let mut add = |index: &str, key: &[u8]| {
            model.entry((index.to_owned(), key.to_vec())).or_default().insert(id);
        };
        add("uid.caseIgnoreMatch", format!("{id}").as_bytes());
        for (attribute, values) in [("sn", std::slice::from_ref(sn)), ("cn", cns.as_slice())] {
            for value in values {
                add(&format!("{attribute}.caseIgnoreMatch"), value.as_bytes());
                for start in 0..value.len() {
                    let window = &value.as_bytes()[start..value.len().min(start + 6)];
                    add(&format!("{attribute}.caseIgnoreSubstringsMatch:6"), window);
                }
            }
        }
    }
    model.into_iter().map(|(key, ids)| (key, ids.into_iter().collect())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn indexes_are_those_of_a_plain_model(
        people in prop::collection::vec(
            ("[ab]{1,9}", prop::collection::btree_set("[abc]{1,12}( [ab]{1,3})?", 1..4)),
            0..120,
        ),
        small in any::<bool>(),
    ) {
        let people: Vec<(String, Vec<String>)> =
            people.into_iter().map(|(sn, cns)| (sn, cns.into_iter().collect())).collect();
        let mut text = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
        for (id, (sn, cns)) in (2..).zip(&people) {
            let sn = sn.to_uppercase();
            text.push_str(&format!("dn: uid={id},dc=example,dc=com\nobjectClass: inetOrgPerson\nsn: {sn}\n"));
            cns.iter().for_each(|cn| text.push_str(&format!("cn: {cn}\n")));
            text.push('\n');
        }
        let directory = tempfile::tempdir().unwrap();
        import_with(directory.path(), &text, |options| options.memory_bytes = usize::from(small)).unwrap();
        let db = Opened::new(directory.path());
        prop_assert_eq!(db.problems(), Vec::<String>::new());
        let mut found = BTreeMap::new();
        for index in [
            "uid.caseIgnoreMatch",
            "sn.caseIgnoreMatch",
            "sn.caseIgnoreSubstringsMatch:6",
            "cn.caseIgnoreMatch",
            "cn.caseIgnoreSubstringsMatch:6",
        ] {
            found.extend(db.postings(db.index(index)).into_iter().map(|(key, ids)| ((index.to_owned(), key), ids)));
        }
        prop_assert_eq!(found, model(&people));
        let mut below = Vec::new();
        varint::put_ordered(&mut below, 1);
        let children = db.postings(IndexId::CHILDREN).remove(&below).unwrap_or_default();
        prop_assert_eq!(children, (2..people.len() as u64 + 2).collect::<Vec<_>>());
    }
}
