//! Rules and an extractor simple enough to be obviously right, and a store on a simulated disk that can be crashed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::Backend;
use crate::backend_options::BackendOptions;
use crate::extract::{IndexBinder, KeyExtractor};
use crate::index::{ConfiguredIndexes, IndexStates};
use crate::log::sim::SimDisk;
use crate::record::{Content, LargeStub, RecordBuilder, RecordView};
use crate::rules::{Outcome, Rules};
use crate::tables::{Interner, NoTypes, Tables};
use crate::txn::Txn;
use crate::{DescId, EntryId, FoldLimits, IndexId, Order, StoreError, Submitter, Waker};

/// Index of whole values and of their windows of three.
pub const EQUALITY: IndexId = IndexId(16);
pub const WINDOWS: IndexId = IndexId(17);
const WINDOW: usize = 3;

/// What tests ask the store to do. Serialized as lines of hexadecimal words, first the verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Add {
        parent: u64,
        name: String,
        values: Vec<(String, String)>,
    },
    Modify {
        id: u64,
        values: Vec<(String, String)>,
    },
    Delete {
        id: u64,
    },
    Move {
        id: u64,
        parent: u64,
        name: String,
    },
    AddMember {
        id: u64,
        member: String,
    },
    RemoveMember {
        id: u64,
        member: String,
    },
    SetMeta {
        key: String,
        value: Option<String>,
    },
    /// Sets the indexes; those in `anew` are built again although they exist.
    SetIndexes {
        names: Vec<String>,
        anew: Vec<String>,
    },
    /// A slice of building.
    Build {
        work: u64,
    },
    /// Numbers without rows.
    Forget {
        numbers: Vec<u16>,
    },
    /// Does what the other does, then refuses.
    Refuse(Box<Op>),
    /// Does what the other does, then fails because data cannot be read.
    Unreadable(Box<Op>),
    /// Does what the other does, then panics.
    Panic(Box<Op>),
}

impl Op {
    pub fn encode(&self) -> Vec<u8> {
        format!("{self:?}").into_bytes()
    }
}

/// Attribute whose values are always large.
pub const MEMBER: &str = "member";

#[derive(Default)]
pub struct TestRules {
    /// By proposal bytes: a registry instead of a parser.
    pub known: Arc<std::sync::Mutex<std::collections::HashMap<Vec<u8>, Op>>>,
    pub version: u32,
}

impl Rules for TestRules {
    fn version(&self) -> u32 {
        self.version
    }

    fn apply(&mut self, txn: &mut Txn<'_>, proposal: &[u8]) -> Result<Outcome, StoreError> {
        let op = self.known.lock().unwrap().get(proposal).cloned().expect("an op of this test");
        match run(txn, &op) {
            Ok(accepted) => Ok(Outcome { code: if accepted { 0 } else { 53 }, accepted, ..Outcome::default() }),
            Err(error @ (StoreError::Misuse(_) | StoreError::RecordTooLarge { .. })) => {
                let response = error.to_string().into_bytes();
                Ok(Outcome { code: 80, response, accepted: false, ..Outcome::default() })
            }
            Err(error) => Err(error),
        }
    }

    fn forget(&mut self) {}
}

fn run(txn: &mut Txn<'_>, op: &Op) -> Result<bool, StoreError> {
    match op {
        Op::Add { parent, name, values } => {
            let id = txn.allocate_id();
            let record = record(txn, EntryId(*parent), name, values, LargeStub::default())?;
            txn.put_entry(id, record)?;
            mark(txn, id, values);
        }
        Op::Modify { id, values } => {
            let id = EntryId(*id);
            let before = values_of(txn, id)?;
            mark(txn, id, &before);
            mark(txn, id, values);
            let (parent, name, stub) = place(txn, id)?;
            let record = record(txn, parent, &name, values, stub)?;
            txn.put_entry(id, record)?;
        }
        Op::Delete { id } => {
            let before = values_of(txn, EntryId(*id))?;
            txn.delete_entry(EntryId(*id))?;
            mark(txn, EntryId(*id), &before);
        }
        Op::Move { id, parent, name } => {
            let id = EntryId(*id);
            let values = values_of(txn, id)?;
            let (_, _, stub) = place(txn, id)?;
            let record = record(txn, EntryId(*parent), name, &values, stub)?;
            txn.put_entry(id, record)?;
        }
        Op::AddMember { id, member } => return member_op(txn, EntryId(*id), member, true),
        Op::RemoveMember { id, member } => return member_op(txn, EntryId(*id), member, false),
        Op::SetMeta { key, value } => txn.set_meta(key.as_bytes(), value.as_deref().map(str::as_bytes)),
        Op::SetIndexes { names, anew } => txn.set_indexes(configured(names), anew)?,
        Op::Build { work } => txn.build_indexes(*work)?,
        Op::Forget { numbers } => txn.forget_indexes(&numbers.iter().copied().map(IndexId).collect::<Vec<_>>()),
        Op::Refuse(op) => {
            run(txn, op)?;
            return Ok(false);
        }
        Op::Unreadable(op) => {
            run(txn, op)?;
            return Err(StoreError::Damaged("asked for".to_owned()));
        }
        Op::Panic(op) => {
            let _ = run(txn, op);
            std::panic::resume_unwind(Box::new("asked for"));
        }
    }
    Ok(true)
}

/// Attributes whose entries are marked.
pub const ACCESS: &str = "aci";
pub const GROUP: &str = "group";

/// Marks an entry that has, or had, these values.
fn mark(txn: &mut Txn<'_>, id: EntryId, values: &[(String, String)]) {
    let has = |wanted| values.iter().any(|(name, _)| name == wanted);
    if has(ACCESS) {
        txn.mark_access(id);
    }
    if has(GROUP) {
        txn.mark_membership();
    }
}

fn member_op(txn: &mut Txn<'_>, id: EntryId, member: &str, added: bool) -> Result<bool, StoreError> {
    let (parent, name, mut stub) = place(txn, id)?;
    let values = values_of(txn, id)?;
    let desc = txn.description(MEMBER)?;
    let changed = if added {
        txn.add_large_value(id, desc, &normal(member.as_bytes()), member.as_bytes())?
    } else {
        txn.remove_large_value(id, desc, &normal(member.as_bytes()))?
    };
    if !changed {
        return Ok(false);
    }
    let (count, bytes) = (1, member.len() as u64);
    stub = if added {
        LargeStub { count: stub.count + count, bytes: stub.bytes + bytes }
    } else {
        LargeStub { count: stub.count - count, bytes: stub.bytes - bytes }
    };
    let record = record(txn, parent, &name, &values, stub)?;
    txn.put_entry(id, record)?;
    Ok(true)
}

fn place(txn: &Txn<'_>, id: EntryId) -> Result<(EntryId, String, LargeStub), StoreError> {
    let view = txn.view();
    let entry = view.entry(id)?.ok_or(StoreError::Misuse("no such entry"))?;
    let record = entry.view()?;
    let stub = record.attributes().find_map(|attribute| match attribute.content {
        Content::Large(stub) => Some(stub),
        Content::Inline(_) => None,
    });
    Ok((record.parent(), String::from_utf8(record.rdn().to_vec()).unwrap(), stub.unwrap_or_default()))
}

fn values_of(txn: &Txn<'_>, id: EntryId) -> Result<Vec<(String, String)>, StoreError> {
    let view = txn.view();
    let entry = view.entry(id)?.ok_or(StoreError::Misuse("no such entry"))?;
    Ok(inline_values(&entry.view()?))
}

/// The values outside `member`, with their descriptions.
pub fn inline_values(record: &RecordView<'_>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    record.for_each(&mut Vec::new(), |attribute| {
        if let Content::Inline(values) = attribute.content {
            let name = record.tables().description(attribute.desc).unwrap().to_owned();
            all.extend(values.iter().map(|value| (name.clone(), String::from_utf8(value.to_vec()).unwrap())));
        }
    });
    all
}

fn record(
    txn: &mut Txn<'_>,
    parent: EntryId,
    name: &str,
    values: &[(String, String)],
    stub: LargeStub,
) -> Result<Vec<u8>, StoreError> {
    let mut builder = RecordBuilder::new(parent, name.as_bytes());
    let mut names: Vec<&String> = values.iter().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    for name in names {
        let desc = txn.description(name)?;
        let own = values.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_bytes());
        builder.push(desc, own, txn)?;
    }
    let desc = txn.description(MEMBER)?;
    builder.push_large(desc, stub)?;
    builder.finish()
}

/// Normal form of everything in these tests.
pub fn normal(bytes: &[u8]) -> Vec<u8> {
    bytes.to_ascii_lowercase()
}

/// The keys of one value: itself, and windows near its beginning.
pub fn keys_of(value: &[u8]) -> Vec<(IndexId, Vec<u8>)> {
    let value = normal(value);
    let mut keys = vec![(EQUALITY, value.clone())];
    keys.extend((0..value.len().min(1_000)).map(|at| (WINDOWS, value[at..value.len().min(at + WINDOW)].to_vec())));
    keys
}

/// Names of the two indexes, with the numbers that they have at first.
pub const NAMES: [(IndexId, &str); 2] = [(EQUALITY, "equality"), (WINDOWS, "windows")];

pub fn configured(names: &[String]) -> ConfiguredIndexes {
    ConfiguredIndexes { names: names.to_vec(), ..ConfiguredIndexes::default() }
}

pub struct TestBinder;

impl IndexBinder for TestBinder {
    fn bind(&self, _configured: &ConfiguredIndexes, states: &IndexStates) -> Arc<dyn KeyExtractor> {
        let number = |wanted: &str| states.iter().find(|(name, _)| *name == wanted).map(|(_, state)| state.id);
        Arc::new(TestExtractor(NAMES.map(|(first, name)| (first, number(name)))))
    }
}

/// Both indexes: number at first, number now.
pub struct TestExtractor([(IndexId, Option<IndexId>); 2]);

impl TestExtractor {
    fn keys(&self, record: Option<&RecordView<'_>>) -> std::collections::BTreeSet<(IndexId, Vec<u8>)> {
        let values = record.map(inline_values).unwrap_or_default();
        values.iter().flat_map(|(_, value)| self.keys_of(value.as_bytes())).collect()
    }

    fn keys_of(&self, value: &[u8]) -> Vec<(IndexId, Vec<u8>)> {
        let now = |first| self.0.iter().find(|(own, _)| *own == first).and_then(|(_, now)| *now);
        keys_of(value).into_iter().filter_map(|(first, key)| Some((now(first)?, key))).collect()
    }
}

impl KeyExtractor for TestExtractor {
    fn changes(
        &self,
        old: Option<&RecordView<'_>>,
        new: Option<&RecordView<'_>>,
        change: &mut dyn FnMut(bool, IndexId, &[u8]),
    ) {
        let (old, new) = (self.keys(old), self.keys(new));
        old.difference(&new).for_each(|(index, key)| change(false, *index, key));
        new.difference(&old).for_each(|(index, key)| change(true, *index, key));
    }

    fn value_keys(&self, _tables: &Tables, _desc: DescId, value: &[u8], key: &mut dyn FnMut(IndexId, &[u8], bool)) {
        for (index, own) in self.keys_of(value) {
            key(index, &own, Some(index) == self.0[0].1);
        }
    }

    fn indexes(&self) -> Arc<crate::index::IndexSet> {
        Arc::default()
    }

    fn feeds(&self, _tables: &Tables, _desc: DescId, _index: IndexId) -> bool {
        true
    }

    fn normalize_rdn(&self, rdn: &[u8], _is_whole_dn: bool, out: &mut Vec<u8>) -> bool {
        out.extend(normal(rdn));
        true
    }
}

/// A store in a folder with its log on a simulated disk.
pub struct Store {
    pub backend: Option<Backend>,
    pub disk: SimDisk,
    pub folder: tempfile::TempDir,
    known: Arc<std::sync::Mutex<std::collections::HashMap<Vec<u8>, Op>>>,
    count: u64,
}

impl Store {
    pub fn new() -> Store {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store { backend: None, disk: SimDisk::default(), folder, known: Arc::default(), count: 0 };
        store.open().unwrap();
        store
    }

    pub fn options(path: &Path, disk: &SimDisk) -> BackendOptions {
        let indexes = configured(&NAMES.map(|(_, name)| name.to_owned()));
        let fold = FoldLimits { idle: Duration::from_secs(3600), ..FoldLimits::default() };
        BackendOptions {
            fold,
            segment_bytes: 16 * 4_096,
            log_disk: Some(Arc::new(disk.clone())),
            ..BackendOptions::new(path.to_owned(), Arc::new(NoTypes), Arc::new(TestBinder), indexes)
        }
    }

    pub fn rules(&self) -> Box<TestRules> {
        Box::new(TestRules { known: self.known.clone(), version: 1 })
    }

    pub fn open(&mut self) -> Result<(), StoreError> {
        self.backend = Some(Backend::open(Store::options(self.folder.path(), &self.disk), self.rules())?);
        Ok(())
    }

    /// Opens it with another order than the local one.
    pub fn open_in_order<O: Order + 'static>(&mut self, order: impl FnOnce(Waker) -> O) -> Result<(), StoreError> {
        let options = Store::options(self.folder.path(), &self.disk);
        self.backend = Some(Backend::open_in_order(options, self.rules(), order)?);
        Ok(())
    }

    pub fn backend(&self) -> &Backend {
        self.backend.as_ref().unwrap()
    }

    /// Every proposal is unique, so that its bytes name it.
    pub fn proposal(&mut self, op: &Op) -> Vec<u8> {
        self.count += 1;
        let mut bytes = op.encode();
        bytes.extend_from_slice(&self.count.to_le_bytes());
        self.known.lock().unwrap().insert(bytes.clone(), op.clone());
        bytes
    }

    pub fn submit(&mut self, op: &Op) -> Result<Outcome, StoreError> {
        let proposal = self.proposal(op);
        self.backend().submit_and_wait(proposal)
    }

    /// Submits without waiting in between, so that they meet in batches.
    pub fn submit_all(&mut self, ops: &[Op]) -> Vec<Result<Outcome, StoreError>> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        for (at, op) in ops.iter().enumerate() {
            let (proposal, sender) = (self.proposal(op), sender.clone());
            self.backend().submit(Submitter::SERVER, proposal, Box::new(move |result| drop(sender.send((at, result)))));
        }
        let mut results: Vec<_> = ops.iter().map(|_| receiver.recv().unwrap()).collect();
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// From now on every proposal of before fails because data cannot be read.
    pub fn make_unreadable(&self) {
        for op in self.known.lock().unwrap().values_mut() {
            *op = Op::Unreadable(Box::new(op.clone()));
        }
    }

    /// Folds everything that is there.
    pub fn fold(&self) {
        loop {
            self.backend().fold_soon();
            let stats = self.backend().stats();
            if stats.overlay_ops == 0 && stats.frozen_ops == 0 {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    pub fn close(&mut self) {
        if let Some(backend) = self.backend.take() {
            backend.close().unwrap();
        }
    }

    /// Ends without folding, as `kill -9` does; then the disk of the log loses writes that were not synced.
    pub fn crash(&mut self, random: &mut dyn FnMut(u64) -> u64) {
        if let Some(backend) = self.backend.take() {
            backend.crash();
        }
        self.disk.crash(random);
    }
}
