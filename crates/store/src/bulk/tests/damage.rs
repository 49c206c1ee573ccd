//! `verify-index` sees each kind of damage, and `rebuild-index` repairs what can be repaired.

use super::*;
use crate::posting::{BlockWriter, ContainerBuf, InlineList, List, chunk_key, encode_inline, low_of};
use crate::record::{LargeStub, RecordBuilder};
use crate::rows::{cut, entry_key, value_key, value_part_key};
use crate::{IndexKey, ListId, StoreError};

/// Enough people that a substring list is long.
fn many() -> String {
    let mut text = PEOPLE.to_owned();
    for n in 0..600 {
        let dn = format!("uid=user.{n},ou=People,dc=example,dc=com");
        text.push_str(&format!("\ndn: {dn}\nobjectClass: inetOrgPerson\nuid: user.{n}\ncn: User {n}\nsn: Meier\n"));
    }
    text.push_str("\ndn: cn=all,ou=Groups,dc=example,dc=com\nobjectClass: groupOfNames\ncn: all\n");
    (0..300).for_each(|n| text.push_str(&format!("member: uid=user.{n},ou=People,dc=example,dc=com\n")));
    text
}

/// Imports, damages, verifies.
fn problems_after(damage: impl FnOnce(&Opened, &mut heed::RwTxn<'_>)) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    problems_in(directory.path(), damage)
}

fn problems_in(directory: &Path, damage: impl FnOnce(&Opened, &mut heed::RwTxn<'_>)) -> Vec<String> {
    import_with(directory, &many(), |_| {}).unwrap();
    let db = Opened::new(directory);
    let mut txn = db.env.write().unwrap();
    damage(&db, &mut txn);
    txn.commit().unwrap();
    db.close();
    let db = Opened::new(directory);
    let problems = db.problems();
    db.close();
    problems
}

fn check(problems: &[String], expected: &[&str]) {
    for words in expected {
        assert!(problems.iter().any(|problem| problem.contains(words)), "nothing says \"{words}\" in {problems:#?}");
    }
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
}

/// Replaces the list of a key by rewriting its block row, however long that gets; `None` removes the key.
fn set_list(db: &Opened, txn: &mut heed::RwTxn<'_>, key: &IndexKey, ids: Option<&[u64]>) {
    let table = db.env.dbs().postings;
    let (row_key, data) = table.get_lower_than_or_equal_to(&db.txn, key.as_bytes()).unwrap().unwrap();
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut block = crate::posting::BlockView::new(row_key, data).iter();
    let mut writer = BlockWriter::new();
    let mut body = Vec::new();
    if let Some(ids) = ids {
        encode_inline(ids.iter().map(|id| EntryId(*id)), &mut body);
    }
    let mut push = |key: &[u8], list: List<'_>| {
        if !writer.push(key, list) {
            rows.push((writer.row().0.to_vec(), writer.row().1.to_vec()));
            writer.clear();
            assert!(writer.push(key, list));
        }
    };
    while let Some((own, list)) = block.next().unwrap() {
        if own != key.as_bytes() {
            push(own, list);
        } else if ids.is_some() {
            push(own, List::Inline(InlineList::new(&body)));
        }
    }
    rows.push((writer.row().0.to_vec(), writer.row().1.to_vec()));
    table.delete(txn, row_key).unwrap();
    for (key, data) in rows {
        table.put(txn, &key, &data).unwrap();
    }
}

#[test]
fn a_sound_database_has_no_problems() {
    check(&problems_after(|_, _| {}), &[]);
}

#[test]
fn postings_that_miss_or_have_too_much() {
    let key = |db: &Opened, value: &str| IndexKey::new(db.index("uid.caseIgnoreMatch"), value.as_bytes());
    check(
        &problems_after(|db, txn| set_list(db, txn, &key(db, "noah"), None)),
        &["index uid.caseIgnoreMatch: entry 5 is missing under key \"noah\""],
    );
    check(
        &problems_after(|db, txn| set_list(db, txn, &key(db, "noah"), Some(&[5, 6]))),
        &["index uid.caseIgnoreMatch: key \"noah\" names entry 6, which does not have it"],
    );
    check(
        &problems_after(|db, txn| set_list(db, txn, &key(db, "noah"), Some(&[4]))),
        &["key \"noah\" names entry 4", "entry 5 is missing under key \"noah\""],
    );
}

#[test]
fn the_tree() {
    check(
        &problems_after(|db, txn| set_list(db, txn, &IndexKey::children(EntryId(1)), Some(&[2]))),
        &["index id2children: entry 3 is missing"],
    );
    check(
        &problems_after(|db, txn| set_list(db, txn, &IndexKey::dn(EntryId(1), b"ou=people"), Some(&[2, 3]))),
        &["index dn2id: key", "entry 3: has the same name as entry 2"],
    );
}

#[test]
fn records() {
    // An entry is missing: all its keys are superfluous.
    let problems = problems_after(|db, txn| {
        db.env.dbs().entries.delete(txn, &entry_key(EntryId(6))).unwrap();
    });
    assert!(problems.iter().all(|problem| problem.contains("names entry 6")), "{problems:#?}");
    assert!(problems.len() > 10);
    // Bytes that are not a record.
    let problems = problems_after(|db, txn| {
        db.env.dbs().entries.put(txn, &entry_key(EntryId(6)), &[0, 99, 99]).unwrap();
    });
    assert!(problems.iter().any(|problem| problem.starts_with("entry 6: ")), "{problems:#?}");
    // An entry with packed times whose last one is missing.
    let problems = problems_after(|db, txn| {
        let mut tables = db.tables.clone();
        let mut builder = RecordBuilder::new(EntryId(2), b"uid=ida");
        let times = [&b"20260101000000.100Z"[..], b"20260101000001.100Z"];
        let failed = crate::Interner::description(&mut tables, "pwdFailureTime").unwrap();
        builder.push(failed, times, &mut tables).unwrap();
        let record = builder.finish().unwrap();
        let stored = crate::record::packed(&record);
        assert!(stored.len() < record.len());
        let row = [&[0][..], &stored[..stored.len() - 1]].concat();
        db.env.dbs().entries.put(txn, &entry_key(EntryId(6)), &row).unwrap();
    });
    assert!(problems.iter().any(|problem| problem.starts_with("entry 6: ")), "{problems:#?}");
    // A parent that does not exist, and one that is below the entry.
    for (parent, words) in [(EntryId(9_999), "its parent, entry 9999, does not exist"), (EntryId(2), "is below itself")]
    {
        let problems = problems_after(|db, txn| {
            let mut tables = db.tables.clone();
            let mut builder = RecordBuilder::new(parent, b"ou=People");
            builder.push(tables.description_id("ou").unwrap(), [&b"People"[..]], &mut tables).unwrap();
            cut::<StoreError>(&builder.finish().unwrap(), 1900, |_, piece| {
                db.env.dbs().entries.put(txn, &entry_key(EntryId(2)), piece).unwrap();
                Ok(())
            })
            .unwrap();
        });
        assert!(problems.iter().any(|problem| problem.contains(words)), "{problems:#?}");
    }
}

#[test]
fn long_lists() {
    let first_list = |db: &Opened| {
        let (key, _) = db.env.dbs().chunks.first(&db.txn).unwrap().unwrap();
        crate::posting::container::parse_chunk_key(key).unwrap()
    };
    // A container that lost an id: the entry is missing, and the counter is wrong.
    let problems = problems_after(|db, txn| {
        let (list, chunk) = first_list(db);
        let data = db.env.dbs().chunks.get(&db.txn, &chunk_key(list, chunk)).unwrap().unwrap();
        let mut container = ContainerBuf::new();
        container.or(&crate::posting::Container::parse(data).unwrap());
        container.remove(low_of(EntryId(100)));
        let mut bytes = Vec::new();
        container.encode(&mut bytes);
        db.env.dbs().chunks.put(txn, &chunk_key(list, chunk), &bytes).unwrap();
    });
    check(&problems, &["entry 100 is missing", "is counted as", "its key counts"]);
    // A container that no key refers to, and whose number would be given again.
    let problems = problems_after(|db, txn| {
        let mut container = ContainerBuf::new();
        container.insert(7);
        let mut bytes = Vec::new();
        container.encode(&mut bytes);
        db.env.dbs().chunks.put(txn, &chunk_key(ListId(5_000), 0), &bytes).unwrap();
    });
    check(&problems, &["long list 5000: no key refers to it", "long lists: the next one would be"]);
    // Bytes that are not a container.
    let problems = problems_after(|db, txn| {
        let (list, chunk) = first_list(db);
        db.env.dbs().chunks.put(txn, &chunk_key(list, chunk), &[9, 9]).unwrap();
    });
    assert!(problems.iter().any(|problem| problem.contains("is damaged")), "{problems:#?}");
}

#[test]
fn large_values() {
    let member = |db: &Opened| db.tables.description_id("member").unwrap();
    let group = EntryId(607);
    let problems = problems_after(|db, txn| {
        let (key, _) = db.env.dbs().values.first(&db.txn).unwrap().unwrap();
        db.env.dbs().values.delete(txn, key).unwrap();
    });
    check(
        &problems,
        &["entry 607: attribute member: the record counts 300 values", "index member.distinguishedNameMatch"],
    );
    let problems = problems_after(|db, txn| {
        let key = value_key(EntryId(4), member(db), b"x");
        db.env.dbs().values.put(txn, &value_part_key(&key, 0), &[0, b'x']).unwrap();
    });
    check(&problems, &["entry 4: attribute member: has large values, but its record does not say so"]);
    let problems = problems_after(|db, txn| {
        let (key, data) = db.env.dbs().values.first(&db.txn).unwrap().unwrap();
        db.env.dbs().values.delete(txn, key).unwrap();
        let wrong = value_key(group, member(db), b"wrong");
        db.env.dbs().values.put(txn, &value_part_key(&wrong, 0), data).unwrap();
    });
    check(&problems, &["is stored under a wrong key"]);
    assert_ne!(LargeStub::default(), LargeStub { count: 1, bytes: 0 });
}

#[test]
fn counters_and_marks() {
    let problems = problems_after(|db, txn| {
        db.env.dbs().meta.put(txn, env::meta::NEXT_ENTRY, &5u64.to_be_bytes()).unwrap();
    });
    check(&problems, &["entry ids: the next one would be 5, but 607 is in use"]);
    let problems = problems_after(|db, txn| {
        let mut states = db.states.clone();
        states.set_trusted(db.index("sn.caseIgnoreMatch"), false);
        env::write_index_states(db.env.dbs(), txn, &states).unwrap();
    });
    check(&problems, &["index sn.caseIgnoreMatch: needs to be rebuilt"]);
}

#[test]
fn only_the_indexes_named_are_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    problems_in(directory.path(), |db, txn| {
        set_list(db, txn, &IndexKey::new(db.index("uid.caseIgnoreMatch"), b"noah"), None)
    });
    let db = Opened::new(directory.path());
    assert_eq!(db.problems_in(&["cn", "DN2ID"]), Vec::<String>::new());
    assert_eq!(db.problems_in(&["uid"]).len(), 1);
}

pub fn rebuild_options(directory: &Path, indexes: impl Into<IndexConfigs>, which: RebuildWhich) -> RebuildOptions {
    RebuildOptions {
        directory: directory.to_owned(),
        schema: Schema::standard(),
        indexes: indexes.into(),
        which,
        clear_degraded_state: false,
        threads: 2,
        memory_bytes: 0,
        temporary_directory: None,
        cancel: Cancel::default(),
    }
}

#[test]
fn a_rebuild_repairs_indexes_and_the_tree() {
    let directory = tempfile::tempdir().unwrap();
    let problems = problems_in(directory.path(), |db, txn| {
        set_list(db, txn, &IndexKey::new(db.index("uid.caseIgnoreMatch"), b"noah"), None);
        set_list(db, txn, &IndexKey::children(EntryId(1)), Some(&[2]));
        let (key, _) = db.env.dbs().chunks.first(&db.txn).unwrap().unwrap();
        db.env.dbs().chunks.delete(txn, key).unwrap();
    });
    assert!(problems.len() > 2);
    let named = rebuild_options(directory.path(), default_indexes(), RebuildWhich::Named(vec!["uid".to_owned()]));
    let summary = rebuild(&named, &mut |_| {}).unwrap();
    assert_eq!((summary.indexes.as_slice(), summary.entries), (&["uid.caseIgnoreMatch".to_owned()][..], 607));
    let db = Opened::new(directory.path());
    assert_eq!(db.problems_in(&["uid"]), Vec::<String>::new());
    assert!(!db.problems().is_empty());
    let before = db.export_text();
    db.close();
    rebuild(&rebuild_options(directory.path(), default_indexes(), RebuildWhich::All), &mut |_| {}).unwrap();
    let db = Opened::new(directory.path());
    assert_eq!(db.problems(), Vec::<String>::new());
    assert_ne!(db.export_text(), before, "the lost child is back");
}

#[test]
fn a_new_index_is_degraded_until_it_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    import_with(directory.path(), &many(), |_| {}).unwrap();
    let mut configs = default_indexes();
    configs.push(crate::index::IndexConfig::new("description", &[crate::index::IndexKind::Equality]));
    let degraded = Opened::with(directory.path(), configs.clone());
    assert_eq!(degraded.problems(), ["index description.caseIgnoreMatch: invalid (being built: 0 of 607 entries)"]);
    degraded.close();
    rebuild(&rebuild_options(directory.path(), configs.clone(), RebuildWhich::Degraded), &mut |_| {}).unwrap();
    let db = Opened::with(directory.path(), configs.clone());
    assert_eq!(db.problems(), Vec::<String>::new());
    assert_eq!(db.ids("description.caseIgnoreMatch", "first of the three"), [4]);
    db.close();
    // Interrupted: nothing changes.
    let all = rebuild_options(directory.path(), configs.clone(), RebuildWhich::All);
    all.cancel.cancel();
    assert!(matches!(rebuild(&all, &mut |_| {}), Err(BulkError::Cancelled)));
    let unknown = rebuild_options(directory.path(), configs, RebuildWhich::Named(vec!["blue".to_owned()]));
    assert!(matches!(rebuild(&unknown, &mut |_| {}), Err(BulkError::Option(_))));
}
