//! Posting lists that cannot be read to their end: whoever asks for that is told, at every place.

use super::harness::{EQUALITY, Op, Store};
use crate::env::{Dbs, Env};
use crate::{EntryId, IndexKey, Postings, StoreError, database_path};

/// Entries with one value in common: more than an inline list holds.
const MANY: u64 = 700;

/// A store in which a long list was folded, after `damage` was done to its files.
fn store(damage: impl FnOnce(&Dbs, &mut heed::RwTxn<'_>)) -> Store {
    let mut store = Store::new();
    let add = |at: u64| {
        let values = vec![("cn".to_owned(), "common".to_owned())];
        Op::Add { parent: 0, name: format!("user.{at}"), values }
    };
    assert!(store.submit_all(&(0..MANY).map(add).collect::<Vec<_>>()).iter().all(Result::is_ok));
    store.fold();
    store.close();
    let env = Env::open(&database_path(store.folder.path()), [0; 16]).unwrap();
    let mut txn = env.write().unwrap();
    damage(env.dbs(), &mut txn);
    txn.commit().unwrap();
    env.close();
    store.open().unwrap();
    store
}

/// All ids that are given, and whether an error is.
fn read(postings: &Postings<'_>, from: u64) -> (usize, bool) {
    let mut ids = postings.checked(EntryId(from));
    let (mut given, mut failed) = (0, false);
    for id in &mut ids {
        match id {
            Ok(_) => given += 1,
            Err(error) => {
                assert!(matches!(error, StoreError::Damaged(_)));
                failed = true;
            }
        }
    }
    assert!(ids.next().is_none(), "nothing comes after the end");
    (given, failed)
}

fn chunk_keys(dbs: &Dbs, txn: &heed::RwTxn<'_>) -> Vec<Vec<u8>> {
    dbs.chunks.iter(txn).unwrap().map(|row| row.unwrap().0.to_vec()).collect()
}

#[test]
fn a_sound_list_is_read_to_its_end() {
    let mut store = store(|_, _| ());
    store.submit(&Op::Delete { id: 5 }).unwrap();
    let snapshot = store.backend().snapshot().unwrap();
    let postings = snapshot.postings(&IndexKey::new(EQUALITY, b"common")).unwrap();
    assert_eq!(read(&postings, 0), (MANY as usize - 1, false));
    assert_eq!(read(&postings, 690), (11, false));
    assert_eq!(read(&snapshot.postings(&IndexKey::new(EQUALITY, b"nobody")).unwrap(), 0), (0, false));
}

#[test]
fn a_part_that_is_damaged_or_gone_is_an_error() {
    let is_damaged: [fn(&Dbs, &mut heed::RwTxn<'_>, &[u8]); 2] = [
        |dbs, txn, key| dbs.chunks.put(txn, key, &[0xff]).unwrap(),
        |dbs, txn, key| assert!(dbs.chunks.delete(txn, key).unwrap()),
    ];
    for damage in is_damaged {
        let store = store(|dbs, txn| {
            for key in chunk_keys(dbs, txn) {
                damage(dbs, txn, &key);
            }
        });
        let snapshot = store.backend().snapshot().unwrap();
        let postings = snapshot.postings(&IndexKey::new(EQUALITY, b"common")).unwrap();
        assert_eq!(postings.count(), MANY);
        assert_eq!(postings.iter().count(), 0, "looks like an empty list to whoever does not ask");
        assert_eq!(read(&postings, 0), (0, true));
    }
}
