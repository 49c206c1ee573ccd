//! A backend with the rules under test, and short ways to propose and to look.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ber::{BOOLEAN, OCTET_STRING, Writer};
use ldap::message::tags;
use ldap::{ModifyOperation, ResultCode, client};
use schema::check::Leniency;
use schema::{NormalizedDn, Schema};
use store::bulk::{Problem, VerifyOptions, verify};
use store::index::{ConfiguredIndexes, IndexConfig, Indexer, default_indexes};
use store::{Backend, BackendOptions, ReadOnlyBackend};

use crate::apply::queue::{BATCH_JOBS, Bounds, Slice, bounds, job};
use crate::apply::{Report, UpdateRules, plugins_text, schema_text};
use crate::csn::Csn;
use crate::history::{ChangeNumbers, History, LogSource, Recorder, kept_from};
use crate::judged::JudgedEntry;
use crate::proposal::{Authority, Flags, Kind, Proposal};
use query::backend::Suffix;
use query::entry::EntrySource;
use query::facts::Facts;
use query::locate::locate;

pub const SUFFIX: &str = "dc=example,dc=com";
pub const ROOT: Authority<'static> = Authority::Root { dn: "cn=Directory Manager" };

/// See the module.
pub struct Bed {
    pub folder: tempfile::TempDir,
    schema: Arc<Schema>,
    pub backend: Backend,
    pub history: History,
    proposals: u64,
    /// Number of the operation of the next proposals.
    pub operation: u32,
    /// All that the log has.
    accepted: Vec<Vec<u8>>,
    suffix: &'static str,
}

/// What goes beside the operation.
#[derive(Clone, Copy, Default)]
pub struct With<'a> {
    pub authority: Option<Authority<'a>>,
    pub flags: Flags,
    pub assertion: &'a [u8],
    pub pre_read: &'a [u8],
    pub post_read: &'a [u8],
}

impl Bed {
    /// An empty backend under the standard schema.
    pub fn empty() -> Bed {
        Self::with_schema(Schema::standard())
    }

    pub fn with_schema(schema: Arc<Schema>) -> Bed {
        Self::with(schema, SUFFIX)
    }

    /// An empty backend that holds all names.
    pub fn of_all_names() -> Bed {
        Self::with(Schema::standard(), "")
    }

    fn with(schema: Arc<Schema>, suffix: &'static str) -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let (backend, history) = open(folder.path(), &schema, default_indexes(), suffix);
        let mut bed =
            Bed { folder, schema, backend, history, proposals: 0, operation: 1, accepted: Vec::new(), suffix };
        let text = schema_text(&bed.schema);
        if !text.is_empty() {
            bed.propose(Kind::ModifySchema, &text, With::default()).ok();
        }
        bed
    }

    /// The same under the plugins of these tables of `pando.toml`.
    pub fn with_plugins(tables: &str) -> Bed {
        let mut bed = Bed::new();
        bed.configure(tables).ok();
        bed
    }

    /// Puts the plugins of these tables into force.
    pub fn configure(&mut self, tables: &str) -> Outcome {
        let config = config::Config::parse(tables, Path::new("pando.toml")).unwrap();
        self.propose(Kind::ConfigurePlugins, &plugins_text(&config), With::default())
    }

    /// Does what waits of references, slice after slice; gives how many there were.
    pub fn clean_references(&mut self) -> usize {
        let mut slices = 0;
        while let Some(mut slice) = self.waiting() {
            loop {
                slices += 1;
                let report = self.propose(Kind::CleanReferences, &slice.encode(), With::default()).ok();
                match report.references.unwrap().cursor {
                    Some(cursor) => slice.cursor = cursor,
                    None => break,
                }
            }
        }
        slices
    }

    /// The first slice of what waits.
    pub fn waiting(&self) -> Option<Slice> {
        let snapshot = self.backend.snapshot().unwrap();
        let view = snapshot.view();
        let Bounds { first, next, .. } = bounds(&view).unwrap();
        let mut jobs = Vec::new();
        for number in first..next {
            let job = job(&view, number).unwrap().unwrap();
            let is_alone = job.is_subtree;
            if (is_alone && !jobs.is_empty()) || jobs.len() == BATCH_JOBS {
                break;
            }
            jobs.push(job);
            if is_alone {
                break;
            }
        }
        let finish_before = first + jobs.len() as u64;
        (!jobs.is_empty()).then_some(Slice { finish_before, cursor: Vec::new(), jobs })
    }

    /// With the suffix, `ou=people` and `ou=groups`.
    pub fn new() -> Bed {
        Self::with_schema(Schema::standard()).planted()
    }

    pub fn planted(mut self) -> Bed {
        self.add(SUFFIX, "objectClass: domain\ndc: example").ok();
        self.add("ou=people,dc=example,dc=com", "objectClass: organizationalUnit\nou: people").ok();
        self.add("ou=groups,dc=example,dc=com", "objectClass: organizationalUnit\nou: groups").ok();
        self
    }

    /// Another backend that was given the same proposals in the same order, as a replay of the log from its beginning
    /// gives them.
    pub fn replayed(&self) -> Bed {
        self.replayed_with(default_indexes())
    }

    /// The same with other indexes.
    pub fn replayed_with(&self, indexes: Vec<IndexConfig>) -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let (backend, history) = open(folder.path(), &self.schema, indexes, self.suffix);
        for proposal in &self.accepted {
            let outcome = backend.submit_and_wait(proposal.clone()).unwrap();
            assert!(outcome.accepted);
        }
        let (schema, proposals, suffix) = (Arc::clone(&self.schema), self.proposals, self.suffix);
        Bed { folder, schema, backend, history, proposals, operation: 1, accepted: Vec::new(), suffix }
    }

    /// Closes and opens again.
    pub fn reopen(self) -> Bed {
        self.backend.close().unwrap();
        drop(self.backend);
        let (backend, history) = open(self.folder.path(), &self.schema, default_indexes(), self.suffix);
        Bed { backend, history, ..self }
    }

    /// Closes; gives its files, to be read.
    pub fn closed(self) -> (tempfile::TempDir, ReadOnlyBackend) {
        self.backend.close().unwrap();
        drop((self.history, self.backend));
        let (options, rules) = parts(self.folder.path(), &self.schema, default_indexes(), self.suffix);
        (self.folder, ReadOnlyBackend::open(options, Box::new(rules)).unwrap())
    }

    /// A backend of its own on a copy of a closed one's files.
    pub fn of_copy(files: &Path) -> Bed {
        let folder = tempfile::tempdir().unwrap();
        copy(files, folder.path());
        let schema = Schema::standard();
        let (backend, history) = open(folder.path(), &schema, default_indexes(), SUFFIX);
        Bed { folder, schema, backend, history, proposals: 0, operation: 1, accepted: Vec::new(), suffix: SUFFIX }
    }

    pub fn person(&mut self, uid: &str) {
        let text = format!("objectClass: inetOrgPerson\ncn: {uid} Example\nsn: Example\nuid: {uid}");
        self.add(&format!("uid={uid},ou=people,dc=example,dc=com"), &text).ok();
    }

    pub fn propose(&mut self, kind: Kind, operation: &[u8], with: With<'_>) -> Outcome {
        let proposal = self.encoded(kind, operation, with);
        let outcome = self.backend.submit_and_wait(proposal.clone()).unwrap();
        if outcome.accepted {
            self.accepted.push(proposal);
        }
        let report = Report::decode(&outcome.response).unwrap();
        assert_eq!(report.result.code.as_i32(), outcome.code);
        assert_eq!(outcome.accepted, report.result.is_success());
        Outcome(report)
    }

    /// Hands several proposals over before the first is answered; gives the result codes.
    pub fn propose_together(&mut self, operations: &[(Kind, Vec<u8>)]) -> Vec<i32> {
        let (sender, receiver) = std::sync::mpsc::channel();
        for (kind, operation) in operations {
            let proposal = self.encoded(*kind, operation, With::default());
            let sender = sender.clone();
            self.backend.submit(
                store::Submitter::SERVER,
                proposal,
                Box::new(move |outcome| sender.send(outcome.unwrap().code).unwrap()),
            );
        }
        drop(sender);
        receiver.iter().collect()
    }

    pub fn encoded(&mut self, kind: Kind, operation: &[u8], with: With<'_>) -> Vec<u8> {
        self.proposals += 1;
        let mut entry_uuid = [0; 16];
        entry_uuid[8..].copy_from_slice(&self.proposals.to_be_bytes());
        let proposal = Proposal {
            kind,
            flags: with.flags,
            csn: Csn { time_us: 1_795_256_100_000_000 + self.proposals * 1000, count: 0, replica: 0 },
            entry_uuid,
            connection: 1,
            operation: self.operation,
            authority: with.authority.unwrap_or(ROOT),
            assertion: with.assertion,
            pre_read: with.pre_read,
            post_read: with.post_read,
            operation_bytes: operation,
            password: &[],
        };
        proposal.encode()
    }

    pub fn add(&mut self, dn: &str, lines: &str) -> Outcome {
        self.add_with(dn, lines, With::default())
    }

    pub fn add_with(&mut self, dn: &str, lines: &str, with: With<'_>) -> Outcome {
        self.propose(Kind::Add, &add_op(dn, lines), with)
    }

    pub fn modify(&mut self, dn: &str, changes: &str) -> Outcome {
        self.modify_with(dn, changes, With::default())
    }

    pub fn modify_with(&mut self, dn: &str, changes: &str, with: With<'_>) -> Outcome {
        self.propose(Kind::Modify, &modify_op(dn, changes), with)
    }

    pub fn delete(&mut self, dn: &str) -> Outcome {
        self.delete_with(dn, With::default())
    }

    pub fn delete_with(&mut self, dn: &str, with: With<'_>) -> Outcome {
        self.propose(Kind::Delete, &delete_op(dn), with)
    }

    pub fn rename(&mut self, dn: &str, rdn: &str, delete_old: bool, superior: Option<&str>) -> Outcome {
        self.propose(Kind::ModifyDn, &rename_op(dn, rdn, delete_old, superior), With::default())
    }

    /// The entry's attributes with their values in stored order; operational ones included.
    pub fn entry(&self, dn: &str) -> Option<BTreeMap<String, Vec<String>>> {
        let snapshot = self.backend.snapshot().unwrap();
        let view = snapshot.view();
        let name = NormalizedDn::parse(&self.schema, dn.as_bytes()).unwrap();
        let suffix = NormalizedDn::parse(&self.schema, self.suffix.as_bytes()).unwrap();
        let id = locate(&view, &suffix, name.as_bytes()).unwrap().found()?;
        let record = view.entry(id).unwrap()?;
        let record = record.view().unwrap();
        record.check().unwrap();
        let mut attributes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut scratch = Vec::new();
        record.for_each(&mut scratch, |attribute| {
            let name = view.tables().description(attribute.desc).unwrap().to_owned();
            let values = attributes.entry(name).or_default();
            match attribute.content {
                store::Content::Inline(inline) => {
                    inline.check().unwrap();
                    values.extend(inline.iter().map(|value| String::from_utf8_lossy(value).into_owned()));
                }
                store::Content::Large(stub) => {
                    EntrySource::large_values(&view, id, attribute.desc, &mut |value| {
                        values.push(String::from_utf8_lossy(value).into_owned());
                        std::ops::ControlFlow::Continue(())
                    })
                    .unwrap();
                    assert_eq!(values.len() as u64, stub.count);
                    assert_eq!(values.iter().map(|value| value.len() as u64).sum::<u64>(), stub.bytes);
                }
            }
        });
        Some(attributes)
    }

    /// The values of one attribute; none when it is not there.
    pub fn values(&self, dn: &str, attribute: &str) -> Vec<String> {
        self.entry(dn).unwrap().remove(attribute).unwrap_or_default()
    }

    /// The number of an entry.
    pub fn id_of(&self, dn: &str) -> u64 {
        let snapshot = self.backend.snapshot().unwrap();
        let normal = |dn: &str| NormalizedDn::parse(&self.schema, dn.as_bytes()).unwrap();
        locate(&snapshot.view(), &normal(self.suffix), normal(dn).as_bytes()).unwrap().found().unwrap().0
    }

    /// An entry as whoever judges finds it; `looks` says whether its content matters.
    pub fn judged(&self, dn: &str, looks: bool) -> JudgedEntry {
        let id = store::EntryId(self.id_of(dn));
        let snapshot = self.backend.snapshot().unwrap();
        let record = snapshot.entry(id).unwrap().unwrap();
        match looks {
            true => JudgedEntry::as_it_is(id, &record.view().unwrap()),
            false => JudgedEntry::whatever_it_contains(id),
        }
    }

    /// The name as it is stored.
    pub fn stored_dn(&self, dn: &str) -> Option<String> {
        let snapshot = self.backend.snapshot().unwrap();
        let view = snapshot.view();
        let name = NormalizedDn::parse(&self.schema, dn.as_bytes()).unwrap();
        let suffix = NormalizedDn::parse(&self.schema, self.suffix.as_bytes()).unwrap();
        let id = locate(&view, &suffix, name.as_bytes()).unwrap().found()?;
        view.dn_of(id).unwrap()
    }

    /// Everything in the backend, as bytes: records by number, tree, postings.
    pub fn picture(&self) -> Vec<u8> {
        let mut out = self.records();
        let snapshot = self.backend.snapshot().unwrap();
        let view = snapshot.view();
        for index in 0..64 {
            let all = std::ops::Bound::Unbounded;
            let mut scan = view.scan(store::IndexId(index), all, all).unwrap();
            while let Some((key, postings)) = scan.next().unwrap() {
                out.extend_from_slice(key);
                for id in postings.iter() {
                    out.extend_from_slice(&id.0.to_be_bytes());
                }
            }
        }
        out
    }

    /// Records and large values by number, as bytes.
    pub fn records(&self) -> Vec<u8> {
        let snapshot = self.backend.snapshot().unwrap();
        let view = snapshot.view();
        let mut out = Vec::new();
        for entry in view.entries(store::EntryId(1)).unwrap() {
            let (id, record) = entry.unwrap();
            out.extend_from_slice(&id.0.to_be_bytes());
            out.extend_from_slice(record.bytes());
        }
        for value in view.all_large_values().unwrap() {
            let (key, value) = value.unwrap();
            out.extend_from_slice(&key);
            out.extend_from_slice(&value);
        }
        out
    }

    /// Checks that entries, tree and every index agree, as `verify-index` does. (S0-09)
    pub fn verify(&self) {
        let problems = problems(&self.schema, &self.backend, self.folder.path());
        assert!(problems.is_empty(), "{problems:#?}");
        let snapshot = self.backend.snapshot().unwrap();
        let view = snapshot.view();
        for entry in view.entries(store::EntryId(1)).unwrap() {
            let dn = view.dn_of(entry.unwrap().0).unwrap().unwrap();
            assert_eq!(self.stored_dn(&dn), Some(dn));
        }
    }
}

/// What `verify-index` finds wrong with a backend.
pub fn problems(schema: &Arc<Schema>, backend: &Backend, temporary: &Path) -> Vec<String> {
    let snapshot = backend.snapshot().unwrap();
    let indexer = Indexer::new(Arc::clone(schema), Arc::clone(snapshot.indexes().set()));
    let options =
        VerifyOptions { threads: 1, memory_bytes: 1 << 20, ..VerifyOptions::everything(temporary.to_owned()) };
    let mut problems = Vec::new();
    verify(&snapshot, &indexer, &options, &mut |problem| {
        // On its way, and used by nobody.
        if !matches!(problem, Problem::Building { .. }) {
            problems.push(problem.to_string());
        }
    })
    .unwrap();
    problems
}

/// Copies a folder with what is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let path = file.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, &copied).unwrap();
        }
    }
}

fn open(path: &Path, schema: &Arc<Schema>, indexes: Vec<IndexConfig>, suffix: &str) -> (Backend, History) {
    let numbers = ChangeNumbers::new(1);
    let recorder = Recorder::new(Arc::clone(&numbers), 0);
    let (options, rules) = parts(path, schema, indexes, suffix);
    let options = BackendOptions {
        keep_log_from: Some(kept_from(&path.join("numbers"), "test")),
        segment_bytes: 64 << 10,
        ..options
    };
    let backend = Backend::open(options, Box::new(rules.with_recorder(recorder))).unwrap();
    let source = LogSource { id: "test".to_owned(), data: backend.data_uuid(), log: Arc::clone(backend.log()) };
    let config = config::Config::parse("", Path::new("pando.toml")).unwrap().changelog;
    let history = History::open(numbers, vec![source], config, Some(path.join("numbers"))).unwrap();
    (backend, history)
}

fn parts(path: &Path, schema: &Arc<Schema>, indexes: Vec<IndexConfig>, suffix: &str) -> (BackendOptions, UpdateRules) {
    let facts = Arc::new(Facts::new(Arc::clone(schema)));
    let normalized = NormalizedDn::parse(schema, suffix.as_bytes()).unwrap();
    let suffixes = vec![Suffix { dn: suffix.to_owned(), normalized }];
    let indexes = ConfiguredIndexes::new(schema, indexes).unwrap();
    let options =
        BackendOptions { keep_log_from: Some(0), ..BackendOptions::of_schema(path.to_owned(), schema, indexes) };
    (options, UpdateRules::new(suffixes, Leniency::default(), facts))
}

/// What became of a proposal.
pub struct Outcome(pub Report);

impl Outcome {
    #[track_caller]
    pub fn ok(self) -> Report {
        assert!(self.0.result.is_success(), "{}", self.0.result);
        self.0
    }

    /// Expects that code, and that the message speaks of `word`.
    #[track_caller]
    pub fn refused(self, code: ResultCode, word: &str) -> Report {
        assert_eq!(self.0.result.code, code, "{}", self.0.result);
        assert!(self.0.result.message.contains(word), "{}", self.0.result.message);
        self.0
    }
}

/// `name: value` lines, values of one name together.
pub fn attributes(lines: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        match found.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value.to_owned()),
            None => found.push((name.to_owned(), vec![value.to_owned()])),
        }
    }
    found
}

pub fn add_op(dn: &str, lines: &str) -> Vec<u8> {
    let attributes = attributes(lines);
    let mut out = Vec::new();
    let borrowed = attributes.iter().map(|(name, values)| (name.as_bytes(), values.iter().map(String::as_bytes)));
    client::add_op(&mut Writer::new(&mut out), dn.as_bytes(), borrowed);
    out
}

/// Changes as `add cn: a | b`, `delete cn`, `delete cn: a`, `replace cn: a`, `increment uidNumber: 1`, one a line.
pub fn modify_op(dn: &str, changes: &str) -> Vec<u8> {
    let mut parsed: Vec<(ModifyOperation, String, Vec<String>)> = Vec::new();
    for line in changes.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (operation, rest) = line.split_once(' ').unwrap();
        let (name, values) = rest.split_once(": ").unwrap_or((rest, ""));
        let values = values.split(" | ").filter(|value| !value.is_empty()).map(str::to_owned).collect();
        parsed.push((operation_of(operation), name.to_owned(), values));
    }
    modify_op_of(dn, &parsed)
}

pub fn modify_op_of(dn: &str, changes: &[(ModifyOperation, String, Vec<String>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let borrowed = changes
        .iter()
        .map(|(operation, name, values)| (*operation, name.as_bytes(), values.iter().map(String::as_bytes)));
    client::modify_op(&mut Writer::new(&mut out), dn.as_bytes(), borrowed);
    out
}

fn operation_of(word: &str) -> ModifyOperation {
    match word {
        "add" => ModifyOperation::Add,
        "delete" => ModifyOperation::Delete,
        "replace" => ModifyOperation::Replace,
        "increment" => ModifyOperation::Increment,
        _ => panic!("{word}"),
    }
}

pub fn delete_op(dn: &str) -> Vec<u8> {
    let mut out = Vec::new();
    Writer::new(&mut out).octets(tags::DELETE, dn.as_bytes());
    out
}

pub fn rename_op(dn: &str, rdn: &str, delete_old: bool, superior: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out);
    let op = w.begin(tags::MODIFY_DN);
    w.octets(OCTET_STRING, dn.as_bytes());
    w.octets(OCTET_STRING, rdn.as_bytes());
    w.boolean(BOOLEAN, delete_old);
    if let Some(superior) = superior {
        w.octets(0x80, superior.as_bytes());
    }
    w.end(op);
    out
}
