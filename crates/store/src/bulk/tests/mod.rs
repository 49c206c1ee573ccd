//! Imports, exports, verifications and rebuilds of small databases, compared with results worked out by hand.

mod damage;
mod import;
mod kinds;
mod live;
mod outcome;
mod round_trip;

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex};

use schema::{NormalizedDn, Schema};

use super::export::export_view;
use super::import as run_import;
use super::verify::{State, verify_view};
use super::*;
use crate::backend::database_path;
use crate::env::{self, Env, ReadTxn};
use crate::index::{IndexConfigs, IndexSet, IndexStates, Indexer, SchemaTypes, default_indexes};
use crate::tables::Tables;
use crate::view::View;
use crate::{EntryId, IndexId};

/// A base, two branches and three people.
pub const PEOPLE: &str = "version: 1

dn: dc=example,dc=com
objectClass: top
objectClass: domain
dc: example

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
objectClass: top
ou: People

dn: ou=Groups,dc=example,dc=com
objectClass: top
objectClass: organizationalUnit
ou: Groups

dn: uid=maria,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: maria
cn: Maria  Meier
cn;lang-en: Mary Meier
sn: Meier
description: first of the three
createTimestamp: 20240229123456Z
creatorsName: cn=Directory Manager

# a comment in between
dn: uid=noah,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: noah
cn: Noah
sn:: TWVpZXI=
entryUUID: 0e2a0c0e-0000-4000-8000-00000000abcd

dn: uid=ida,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: ida
cn: Ida
sn: Schmidt
";

/// Imports text into `directory`.
pub fn import_with(
    directory: &Path,
    text: &str,
    set: impl FnOnce(&mut ImportOptions),
) -> Result<ImportSummary, BulkError> {
    let source = LdifSource::from_reader("test.ldif", Box::new(Cursor::new(text.as_bytes().to_vec())), None).unwrap();
    let base = vec!["dc=example,dc=com".to_owned()];
    let mut options = ImportOptions::new(directory.to_owned(), base, default_indexes(), Schema::standard());
    options.threads = 2;
    set(&mut options);
    run_import(vec![source], &options, &mut |_| {})
}

/// An imported database, opened for reading.
pub struct Opened {
    pub env: Env,
    pub txn: ReadTxn,
    pub tables: Tables,
    pub states: IndexStates,
    pub indexer: Indexer,
}

impl Opened {
    pub fn new(directory: &Path) -> Opened {
        Opened::with(directory, default_indexes())
    }

    pub fn with(directory: &Path, configs: impl Into<IndexConfigs>) -> Opened {
        let env = Env::open(&database_path(directory), [7; 16]).unwrap();
        let txn = env.read().unwrap();
        let schema = Schema::standard();
        let tables = env::read_tables(env.dbs(), &txn, SchemaTypes::shared(&schema)).unwrap();
        let mut states = env::read_index_states(env.dbs(), &txn).unwrap();
        let set = Arc::new(IndexSet::new(&schema, &configs.into(), &mut states).unwrap());
        Opened { env, txn, tables, states, indexer: Indexer::new(schema, set) }
    }

    pub fn view(&self) -> View<'_> {
        View::of_base(&self.txn, self.env.dbs(), &self.tables)
    }

    /// Closes the environment, which must happen before it is opened again.
    pub fn close(self) {
        drop(self.txn);
        self.env.close();
    }

    /// All keys of an index with their ids.
    pub fn postings(&self, index: IndexId) -> BTreeMap<Vec<u8>, Vec<u64>> {
        let mut scan = self.view().scan(index, Bound::Unbounded, Bound::Unbounded).unwrap();
        let mut all = BTreeMap::new();
        while let Some((key, postings)) = scan.next().unwrap() {
            all.insert(key.to_vec(), postings.iter().map(|id| id.0).collect::<Vec<u64>>());
        }
        all
    }

    pub fn index(&self, name: &str) -> IndexId {
        self.indexer.indexes().by_name(name).unwrap_or_else(|| panic!("no index {name}")).id
    }

    /// The ids under a textual key.
    pub fn ids(&self, name: &str, key: &str) -> Vec<u64> {
        self.postings(self.index(name)).remove(key.as_bytes()).unwrap_or_default()
    }

    pub fn dns(&self) -> Vec<String> {
        let entries = self.view().entries(EntryId(1)).unwrap();
        entries.map(|entry| self.view().dn_of(entry.unwrap().0).unwrap().unwrap()).collect()
    }

    /// The problems that verify-index reports.
    pub fn problems(&self) -> Vec<String> {
        self.problems_in(&[])
    }

    pub fn problems_in(&self, indexes: &[&str]) -> Vec<String> {
        self.verify(indexes, &[])
    }

    /// Beside other backends with these base DNs.
    pub fn problems_beside(&self, other_base_dns: &[NormalizedDn]) -> Vec<String> {
        self.verify(&[], other_base_dns)
    }

    fn verify(&self, indexes: &[&str], other_base_dns: &[NormalizedDn]) -> Vec<String> {
        let temporary = tempfile::tempdir().unwrap();
        let options = VerifyOptions {
            indexes: indexes.iter().map(|name| (*name).to_owned()).collect(),
            threads: 2,
            memory_bytes: 0,
            other_base_dns: other_base_dns.to_vec(),
            temporary_directory: temporary.path().to_owned(),
            cancel: Cancel::default(),
        };
        let state = State {
            dbs: self.env.dbs(),
            txn: &self.txn,
            next_entry: env::read_next_entry(self.env.dbs(), &self.txn).unwrap(),
            index_states: &self.states,
        };
        let mut found = Vec::new();
        let mut building = 0;
        let report = &mut |problem: &Problem| {
            building += u64::from(matches!(problem, Problem::Building { .. }));
            found.push(problem.to_string());
        };
        let summary = verify_view(self.view(), &state, &self.indexer, &options, &mut |_| {}, report).unwrap();
        assert_eq!(summary.problems + building, found.len() as u64);
        found
    }

    pub fn export(&self, options: &ExportOptions) -> Vec<u8> {
        let out = SharedOutput::default();
        export_view(self.view(), &Schema::standard(), options, Box::new(out.clone()), &mut |_| {}).unwrap();
        std::mem::take(&mut *out.0.lock().unwrap())
    }

    pub fn export_text(&self) -> String {
        String::from_utf8(self.export(&ExportOptions::default())).unwrap()
    }
}

#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
