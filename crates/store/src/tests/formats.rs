//! Databases of the format before are read, and become databases of this one; others are refused.

use heed::RwTxn;

use super::harness::Store;
use crate::env::{Env, FORMAT, meta};
use crate::record::{RecordBuilder, RecordView};
use crate::rows::{ENTRY_PIECE_BYTES_MAX, cut, entry_key};
use crate::tables::{Interner, NoTypes, Tables};
use crate::{EntryId, ReadOnlyBackend, StoreError};

fn set_format(txn: &mut RwTxn<'_>, env: &Env, format: u32) {
    env.dbs().meta.put(txn, meta::FORMAT, &format.to_be_bytes()).unwrap();
}

fn change(store: &Store, change: impl FnOnce(&mut RwTxn<'_>, &Env)) {
    let env = Env::open(&crate::backend::database_path(store.folder.path()), [0; 16]).unwrap();
    let mut txn = env.write().unwrap();
    change(&mut txn, &env);
    txn.commit().unwrap();
    env.close();
}

fn format_of(store: &Store) -> u32 {
    let env = Env::open_read_only(&crate::backend::database_path(store.folder.path())).unwrap();
    let txn = env.read().unwrap();
    let found = env.dbs().meta.get(&txn, meta::FORMAT).unwrap().unwrap().try_into().map(u32::from_be_bytes);
    drop(txn);
    env.close();
    found.unwrap()
}

#[test]
fn a_database_without_packed_records_is_read() {
    let mut store = Store::new();
    store.close();
    let mut tables = Tables::new(std::sync::Arc::new(NoTypes));
    let mut builder = RecordBuilder::new(EntryId::ROOT, b"cn=old");
    let failed = Interner::description(&mut tables, "failed").unwrap();
    builder.push(failed, [&b"20260101000000.100Z"[..], b"20260101000001.100Z"], &mut tables).unwrap();
    let record = builder.finish().unwrap();
    change(&store, |txn, env| {
        set_format(txn, env, 1);
        env.dbs().meta.put(txn, &meta::description(failed), b"failed").unwrap();
        cut::<StoreError>(&record, ENTRY_PIECE_BYTES_MAX, |_, piece| {
            Ok(env.dbs().entries.put(txn, &entry_key(EntryId(1)), piece)?)
        })
        .unwrap();
    });
    let mut reader = ReadOnlyBackend::open(Store::options(store.folder.path(), &store.disk), store.rules()).unwrap();
    assert_eq!(reader.snapshot().unwrap().entry(EntryId(1)).unwrap().unwrap().bytes(), record);
    drop(reader);
    assert_eq!(format_of(&store), 1);
    store.open().unwrap();
    let snapshot = store.backend().snapshot().unwrap();
    let found = snapshot.entry(EntryId(1)).unwrap().unwrap();
    assert_eq!(found.bytes(), record);
    assert_eq!(RecordView::parse(&record, snapshot.tables()).unwrap().check(), Ok(()));
    drop(found);
    drop(snapshot);
    store.close();
    assert_eq!(format_of(&store), FORMAT);
}

#[test]
fn a_database_of_an_unknown_format_is_refused() {
    let mut store = Store::new();
    store.close();
    change(&store, |txn, env| set_format(txn, env, FORMAT + 1));
    let refused = StoreError::Format { what: "database", found: FORMAT + 1, ours: FORMAT };
    assert_eq!(store.open().err(), Some(refused));
}
