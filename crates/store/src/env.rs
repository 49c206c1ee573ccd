//! The LMDB environment of one backend: its five tables and what `meta` holds.
//!
//! Only the fold and the import write here. It knows rows as bytes; what they mean is `rows`, `posting` and `record`.
//!
//! Invariants:
//! (1) Never NOSYNC, never WRITEMAP on a serving environment: a commit is on disk when it returns.
//! (2) `meta.folded` and everything folded up to it change in the same transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};

use crate::error::StoreError;
use crate::index::{ConfiguredIndexes, IndexStates};
use crate::log::LogHeld;
use crate::record::Values;
use crate::tables::{Tables, TypeResolver};
use crate::{ClassSetId, DescId, EntryId, NameId};

/// Address space to reserve; halved until the system grants it. The file grows only as pages are used.
const MAP_BYTES_MAX: usize = 1 << 40;
/// The least address space that is accepted; with less the database would soon be full.
const MAP_BYTES_MIN: usize = 1 << 30;
/// Snapshots at one time: event loops, pool threads and tools.
const READERS_MAX: u32 = 4_096;
/// Name of the data file in the folder of an environment.
pub(crate) const DATA_FILE: &str = "data.mdb";
/// Format of the tables.
pub const FORMAT: u32 = 2;
/// The format before it, without packed records: it is read, and becomes the other when it is opened for writing.
/// Others are refused.
const FORMAT_WITHOUT_PACKED: u32 = 1;

/// A table: bytes to bytes.
pub type Table = Database<'static, Bytes, Bytes>;
/// A read transaction that may move between threads.
pub type ReadTxn = RoTxn<'static, WithoutTls>;

/// The tables.
#[derive(Clone, Copy)]
pub struct Dbs {
    /// Entry rows.
    pub entries: Table,
    /// Packed blocks.
    pub postings: Table,
    /// Containers of long lists.
    pub chunks: Table,
    /// Large values.
    pub values: Table,
    /// Everything else.
    pub meta: Table,
}

/// How much of the file a table uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSize {
    /// The table.
    pub name: &'static str,
    /// Rows.
    pub rows: u64,
    /// Branch pages.
    pub branch_pages: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Pages of rows too large for one; the store makes none.
    pub overflow_pages: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

/// An open environment. Clones share it.
#[derive(Clone)]
pub struct Env {
    env: heed::Env<WithoutTls>,
    dbs: Dbs,
    path: PathBuf,
}

/// Keys of `meta`.
pub mod meta {
    use super::{ClassSetId, DescId, NameId};

    /// Format of the tables, `u32` BE.
    pub const FORMAT: &[u8] = b"format";
    /// Identity of this data, 16 bytes: the log names it, an import gives a new one.
    pub const UUID: &[u8] = b"uuid";
    /// Highest sequence number of the log that is folded in, `u64` BE.
    pub const FOLDED: &[u8] = b"folded";
    /// Next entry id, `u64` BE.
    pub const NEXT_ENTRY: &[u8] = b"next-entry";
    /// Next list number, `u64` BE.
    pub const NEXT_LIST: &[u8] = b"next-list";
    /// What is known of the indexes.
    pub const INDEXES: &[u8] = b"indexes";

    /// What the log held when this was noted last: generation `u64` BE, last sequence number `u64` BE, 1 when the
    /// backend was closed. Not there in databases of older versions, and in new ones until they are opened.
    pub const LOG_HELD: &[u8] = b"log-held";

    /// The indexes that the backend is configured with.
    pub const CONFIGURED: &[u8] = b"configured-indexes";

    /// Row of an attribute description.
    pub fn description(id: DescId) -> [u8; 6] {
        numbered(b'd', id.0)
    }

    /// Row of a name.
    pub fn name(id: NameId) -> [u8; 6] {
        numbered(b'n', id.0)
    }

    /// Row of a class set.
    pub fn class_set(id: ClassSetId) -> [u8; 6] {
        numbered(b'c', id.0)
    }

    /// Row of something the rules keep.
    pub fn rules(key: &[u8]) -> Vec<u8> {
        [b"r:", key].concat()
    }

    /// `d:`, `n:` or `c:` and the number: together they are the [`Tables`](crate::Tables).
    fn numbered(kind: u8, number: u32) -> [u8; 6] {
        let [a, b, c, d] = number.to_be_bytes();
        [kind, b':', a, b, c, d]
    }
}

impl Env {
    /// Opens the environment in `path`, making it (with identity `new_uuid`) when there is none.
    pub fn open(path: &Path, new_uuid: [u8; 16]) -> Result<Env, StoreError> {
        durable::make_folder(path).map_err(|error| StoreError::io("database folder", &error))?;
        let env = open_env(path, EnvFlags::empty())?;
        env.clear_stale_readers()?;
        let txn = env.write_txn()?;
        let opened = env.create_databases_and_commit(txn, |opener, txn| {
            let mut table = |name| opener.create_database::<Bytes, Bytes>(txn, Some(name));
            let [entries, postings, chunks, values, meta] = Dbs::NAMES;
            let tables = [table(entries)?, table(postings)?, table(chunks)?, table(values)?, table(meta)?];
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(tables))
        })?;
        let dbs = Dbs::of(opened.commit())?;
        let mut txn = env.write_txn()?;
        if dbs.meta.get(&txn, meta::FORMAT)?.is_none() {
            dbs.meta.put(&mut txn, meta::FORMAT, &FORMAT.to_be_bytes())?;
            dbs.meta.put(&mut txn, meta::UUID, &new_uuid)?;
        }
        if check_format(&dbs, &txn)? != FORMAT {
            dbs.meta.put(&mut txn, meta::FORMAT, &FORMAT.to_be_bytes())?;
        }
        txn.commit()?;
        Ok(Env { env, dbs, path: path.to_owned() })
    }

    /// Opens an existing environment for reading, beside a server that writes it.
    pub fn open_read_only(path: &Path) -> Result<Env, StoreError> {
        if !path.join(DATA_FILE).exists() {
            return Err(StoreError::Io { what: "database", detail: format!("{} has no database", path.display()) });
        }
        let env = open_env(path, EnvFlags::READ_ONLY)?;
        let txn = env.read_txn()?;
        let opened = env.open_databases_and_commit(txn, |opener, txn| {
            let table = |name| opener.open_database::<Bytes, Bytes>(txn, Some(name));
            let [entries, postings, chunks, values, meta] = Dbs::NAMES;
            let tables = (table(entries)?, table(postings)?, table(chunks)?, table(values)?, table(meta)?);
            Ok::<_, heed::Error>(match tables {
                (Some(a), Some(b), Some(c), Some(d), Some(e)) => CommitOrAbort::Commit([a, b, c, d, e]),
                _ => CommitOrAbort::Abort(()),
            })
        })?;
        let dbs = Dbs::of(opened.commit())?;
        let env = Env { env, dbs, path: path.to_owned() };
        let txn = env.read()?;
        check_format(&dbs, &txn)?;
        Ok(env)
    }

    /// The environment beneath.
    pub(crate) fn lmdb(&self) -> &heed::Env<WithoutTls> {
        &self.env
    }

    /// The tables.
    pub fn dbs(&self) -> &Dbs {
        &self.dbs
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A read transaction on what is committed now.
    #[inline]
    pub fn read(&self) -> Result<ReadTxn, StoreError> {
        Ok(self.env.clone().static_read_txn()?)
    }

    /// The one write transaction.
    pub fn write(&self) -> Result<RwTxn<'_>, StoreError> {
        Ok(self.env.write_txn()?)
    }

    /// For a new environment that nobody reads yet: commits stop waiting for the disk, until [`Env::sync`].
    pub(crate) fn defer_sync(&self) -> Result<(), StoreError> {
        // SAFETY: NOSYNC endangers what a crash leaves in the file; the import discards a file that it did not finish.
        #[allow(unsafe_code)]
        Ok(unsafe { self.env.set_flags(EnvFlags::NO_SYNC, heed::FlagSetMode::Enable) }?)
    }

    /// Makes everything committed durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        Ok(self.env.force_sync()?)
    }

    /// Bytes of the file in use, and the size of the map.
    pub fn bytes(&self) -> (u64, u64) {
        let info = self.env.info();
        ((info.last_page_number as u64 + 1) * 4096, info.map_size as u64)
    }

    /// Snapshots open at this moment, and the slots ever used.
    pub fn readers(&self) -> u32 {
        self.env.info().number_of_readers
    }

    /// Frees the slots of readers whose process died.
    pub fn clear_stale_readers(&self) -> Result<usize, StoreError> {
        Ok(self.env.clear_stale_readers()?)
    }

    /// Waits until every clone and transaction is gone and the files are closed.
    pub fn close(self) {
        self.env.prepare_for_closing().wait();
    }
}

fn check_format(dbs: &Dbs, txn: &RoTxn<'_>) -> Result<u32, StoreError> {
    match read_u32(dbs, txn, meta::FORMAT)?.unwrap_or_default() {
        found @ (FORMAT | FORMAT_WITHOUT_PACKED) => Ok(found),
        found => Err(StoreError::Format { what: "database", found, ours: FORMAT }),
    }
}

fn open_env(path: &Path, flags: EnvFlags) -> Result<heed::Env<WithoutTls>, StoreError> {
    let mut map_bytes = MAP_BYTES_MAX;
    loop {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(map_bytes).max_dbs(8).max_readers(READERS_MAX);
        // SAFETY: `open` is unsafe because the file is mapped: nobody may change it but LMDB. Every process of this
        // program goes through this module, the folder is the instance's own, and it is opened once per process (heed
        // checks). `flags` are none or READ_ONLY, neither of which weakens LMDB's guarantees.
        #[allow(unsafe_code)]
        let opened = unsafe { options.flags(flags).open(path) };
        match opened {
            Err(heed::Error::Io(error)) if is_no_memory(&error) && map_bytes > MAP_BYTES_MIN => map_bytes /= 2,
            other => return Ok(other?),
        }
    }
}

fn is_no_memory(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM) || error.kind() == std::io::ErrorKind::OutOfMemory
}

impl Dbs {
    const NAMES: [&'static str; 5] = ["entries", "postings", "chunks", "values", "meta"];

    /// How much of the file the tables use; changes that are not folded yet do not count.
    pub fn sizes(&self, txn: &RoTxn<'_>) -> Result<[TableSize; 5], StoreError> {
        let [entries, postings, chunks, values, meta] = Self::NAMES;
        let size = |name, table: &Table| {
            let stat = table.stat(txn)?;
            Ok::<_, StoreError>(TableSize {
                name,
                rows: stat.entries as u64,
                branch_pages: stat.branch_pages as u64,
                leaf_pages: stat.leaf_pages as u64,
                overflow_pages: stat.overflow_pages as u64,
                page_bytes: u64::from(stat.page_size),
            })
        };
        Ok([
            size(entries, &self.entries)?,
            size(postings, &self.postings)?,
            size(chunks, &self.chunks)?,
            size(values, &self.values)?,
            size(meta, &self.meta)?,
        ])
    }

    fn of(tables: Option<[Table; 5]>) -> Result<Dbs, StoreError> {
        let [entries, postings, chunks, values, meta] =
            tables.ok_or_else(|| StoreError::Damaged("tables are missing".to_owned()))?;
        Ok(Dbs { entries, postings, chunks, values, meta })
    }
}

/// Reads a number of `meta`.
pub fn read_u64(dbs: &Dbs, txn: &RoTxn<'_>, key: &[u8]) -> Result<Option<u64>, StoreError> {
    let Some(bytes) = dbs.meta.get(txn, key)? else { return Ok(None) };
    let bytes = bytes.try_into().map_err(|_| StoreError::Damaged("number in meta".to_owned()))?;
    Ok(Some(u64::from_be_bytes(bytes)))
}

fn read_u32(dbs: &Dbs, txn: &RoTxn<'_>, key: &[u8]) -> Result<Option<u32>, StoreError> {
    let Some(bytes) = dbs.meta.get(txn, key)? else { return Ok(None) };
    let bytes = bytes.try_into().map_err(|_| StoreError::Damaged("number in meta".to_owned()))?;
    Ok(Some(u32::from_be_bytes(bytes)))
}

/// Identity of the data.
pub fn read_uuid(dbs: &Dbs, txn: &RoTxn<'_>) -> Result<[u8; 16], StoreError> {
    let bytes = dbs.meta.get(txn, meta::UUID)?.unwrap_or_default();
    bytes.try_into().map_err(|_| StoreError::Damaged("identity in meta".to_owned()))
}

/// What the log held when that was noted last.
pub fn read_log_held(dbs: &Dbs, txn: &RoTxn<'_>) -> Result<Option<LogHeld>, StoreError> {
    let Some(bytes) = dbs.meta.get(txn, meta::LOG_HELD)? else { return Ok(None) };
    let held = bytes.split_first_chunk::<8>().and_then(|(generation, rest)| {
        let (last, rest) = rest.split_first_chunk::<8>()?;
        let [is_closed @ 0..=1] = rest else { return None };
        let (generation, last) = (u64::from_be_bytes(*generation), u64::from_be_bytes(*last));
        Some(LogHeld { generation, last, is_closed: *is_closed == 1 })
    });
    held.map(Some).ok_or_else(|| StoreError::Damaged("state of the log in meta".to_owned()))
}

/// Notes what the log holds.
pub fn write_log_held(dbs: &Dbs, txn: &mut RwTxn<'_>, held: LogHeld) -> Result<(), StoreError> {
    let mut bytes = [held.generation.to_be_bytes(), held.last.to_be_bytes()].concat();
    bytes.push(u8::from(held.is_closed));
    Ok(dbs.meta.put(txn, meta::LOG_HELD, &bytes)?)
}

/// Rows of `meta`: key and value.
pub type MetaRows = Vec<(Vec<u8>, Vec<u8>)>;

/// What the rules keep, as it is stored.
pub fn read_rules_rows(dbs: &Dbs, txn: &RoTxn<'_>) -> Result<MetaRows, StoreError> {
    let rows = dbs.meta.prefix_iter(txn, &meta::rules(b""))?;
    rows.map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())).map_err(StoreError::from)).collect()
}

/// Next entry id to give.
pub fn read_next_entry(dbs: &Dbs, txn: &RoTxn<'_>) -> Result<EntryId, StoreError> {
    Ok(EntryId(read_u64(dbs, txn, meta::NEXT_ENTRY)?.unwrap_or(1)))
}

/// What is known of the indexes.
pub fn read_index_states(dbs: &Dbs, txn: &RoTxn<'_>) -> Result<IndexStates, StoreError> {
    match dbs.meta.get(txn, meta::INDEXES)? {
        None => Ok(IndexStates::default()),
        Some(bytes) => {
            IndexStates::from_bytes(bytes).ok_or_else(|| StoreError::Damaged("index states in meta".to_owned()))
        }
    }
}

/// The indexes that the backend is configured with; none before they were ever noted.
pub fn read_configured_indexes(dbs: &Dbs, txn: &RoTxn<'_>) -> Result<Option<ConfiguredIndexes>, StoreError> {
    let Some(bytes) = dbs.meta.get(txn, meta::CONFIGURED)? else { return Ok(None) };
    let configured = ConfiguredIndexes::from_bytes(bytes);
    configured.map(Some).ok_or_else(|| StoreError::Damaged("configured indexes in meta".to_owned()))
}

/// Replaces what is known of the indexes.
pub fn write_index_states(dbs: &Dbs, txn: &mut RwTxn<'_>, states: &IndexStates) -> Result<(), StoreError> {
    Ok(dbs.meta.put(txn, meta::INDEXES, &states.to_bytes())?)
}

/// Notes which indexes the backend is configured with.
pub fn write_configured_indexes(
    dbs: &Dbs,
    txn: &mut RwTxn<'_>,
    configured: &ConfiguredIndexes,
) -> Result<(), StoreError> {
    Ok(dbs.meta.put(txn, meta::CONFIGURED, &configured.to_bytes())?)
}

/// Reads the number tables.
pub fn read_tables(dbs: &Dbs, txn: &RoTxn<'_>, resolver: Arc<dyn TypeResolver>) -> Result<Tables, StoreError> {
    let mut tables = Tables::new(resolver);
    for number in DescId::WELL_KNOWN.len() as u32.. {
        let Some(row) = dbs.meta.get(txn, &meta::description(DescId(number)))? else { break };
        let name = std::str::from_utf8(row).map_err(|_| StoreError::Damaged("attribute description".to_owned()))?;
        tables.push_description(name.into());
    }
    for number in 0.. {
        let Some(row) = dbs.meta.get(txn, &meta::name(NameId(number)))? else { break };
        tables.push_name(row.into());
    }
    for number in 0.. {
        let Some(row) = dbs.meta.get(txn, &meta::class_set(ClassSetId(number)))? else { break };
        tables.push_class_set(class_set_values(row)?);
    }
    Ok(tables)
}

/// Writes the number tables; rows that are there already stay as they are.
pub fn write_tables(dbs: &Dbs, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
    for (id, name) in tables.descriptions().skip(DescId::WELL_KNOWN.len()) {
        dbs.meta.put(txn, &meta::description(id), name.as_bytes())?;
    }
    for (number, name) in (0..).zip(tables.names()) {
        dbs.meta.put(txn, &meta::name(NameId(number)), name)?;
    }
    for (number, set) in (0..).zip(tables.class_sets()) {
        dbs.meta.put(txn, &meta::class_set(ClassSetId(number)), set.values().body())?;
    }
    Ok(())
}

/// A class set as stored: its values in wire form, counted anew.
pub(crate) fn class_set_values(row: &[u8]) -> Result<Values<'_>, StoreError> {
    let values = Values::new(Values::new(0, row).iter().count() as u32, row);
    values.check()?;
    Ok(values)
}
