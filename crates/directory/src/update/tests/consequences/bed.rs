//! The real directory: two backends with everything on, updates as messages, the names that wait worked off by hand,
//! and a power cut.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use config::{BackendConfig, Config, IndexConfig, IndexKind, default_indexes};
use ldap::oids::{control, extended};
use ldap::transaction::EndTransaction;
use ldap::{ControlBuf, Message, ModifyOperation, Operation, client};
use store::bulk::{Problem, VerifyOptions, verify};
use store::index::Indexer;
use tempfile::TempDir;

use super::model::{Conflict, Entry, Kind, Manner, Op, Qualifier, SUFFIXES, parent_of};
use super::steps::ldif;
use crate::bind::tests::ended;
use crate::search::tests::fixture::{Asked, Fixture, root};
use crate::update::UpdateDone;
use crate::update::references::Worker;
use crate::update::tests::bed::{asked, none};
use crate::{Directory, Session};
use change::apply::queue;
use query::backend::BackendIndex;

/// Everybody's.
const PASSWORD: &str = "opensesame";

/// See the module.
pub struct Bed {
    fixture: Fixture,
    session: Session,
    message: i32,
    manner: Manner,
}

fn tables(manner: Manner) -> String {
    let interval = if manner.at_once { "0 s" } else { "1 ms" };
    format!(
        "[plugin.references]\ntype = \"referential-integrity\"\nattribute-type = \
         [\"member\", \"uniqueMember\", \"manager\", \"seeAlso\", \"nsRoleDN\"]\n\
         update-interval = \"{interval}\"\ncheck-references = {}\n\
         [plugin.mails]\ntype = \"unique-attribute\"\nattribute-type = \"mail\"\n\
         [plugin.colours]\ntype = \"constraint\"\nattribute-type = \"description\"\ncount = 1\nvalue = \
         [\"red\", \"blue\"]\n",
        manner.checked
    )
}

impl Bed {
    pub fn new(manner: Manner) -> Bed {
        let mut indexes = default_indexes();
        // Integrity needs the first ones.
        let (always, sometimes) = (["manager", "seeAlso", "nsRoleDN"], ["l", "employeeType", "st", "description"]);
        let sometimes = sometimes.into_iter().filter(|_| manner.indexed);
        let equality = |name: &str| IndexConfig::new(name, &[IndexKind::Equality]);
        indexes.extend(always.into_iter().chain(sometimes).map(equality));
        let fixture = Fixture::with(&[SUFFIXES[0]], indexes, &ldif(), |config| {
            let plugins = Config::parse(&tables(manner), "pando.toml".as_ref()).unwrap();
            (config.plugins, config.plugins_text) = (plugins.plugins, plugins.plugins_text);
            let first = config.backends[0].clone();
            let (directory, base_dns) = (first.directory.with_file_name("second"), vec![SUFFIXES[1].to_owned()]);
            config.backends.push(BackendConfig { id: "second".to_owned(), base_dns, directory, ..first });
        });
        Self::over(fixture, manner)
    }

    /// What waits is left to whoever tests; see [`Bed::work`].
    fn over(fixture: Fixture, manner: Manner) -> Bed {
        fixture.directory.updates.references.stop();
        Bed { fixture, session: Session::of(root(), 1), message: 0, manner }
    }

    pub fn directory(&self) -> &Directory {
        &self.fixture.directory
    }

    /// Sends an update and gives its result code.
    pub fn send(&mut self, op: &Op, controls: &[ControlBuf]) -> i32 {
        self.message += 1;
        let bytes = encoded(self.message, op, self.manner, controls);
        self.submit(&bytes).result.code.as_i32()
    }

    fn submit(&self, bytes: &[u8]) -> UpdateDone {
        let message = Message::decode(bytes).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |done: UpdateDone| sender.send(done).unwrap());
        drop(self.directory().submit(&self.session, asked(&message), done));
        receiver.recv().unwrap()
    }

    /// All of these or none; gives the result code of the end.
    pub fn transaction(&mut self, ops: &[Op], commit: bool) -> i32 {
        let identifier = self.directory().start_transaction(&self.session, &none()).unwrap();
        let part = ControlBuf::new(control::TRANSACTION_SPECIFICATION, Some(identifier.clone())).critical();
        for op in ops {
            assert_eq!(self.send(op, std::slice::from_ref(&part)), 0, "taken for later: {op:?}");
        }
        self.message += 1;
        let value = EndTransaction { commit, identifier: &identifier }.encode();
        let mut bytes = Vec::new();
        client::extended(&mut bytes, self.message, extended::END_TRANSACTION, Some(&value), &[]);
        self.submit(&bytes).result.code.as_i32()
    }

    /// Follows the first names of a backend's queue, as the thread does: in the other backend, then in their own. Gives
    /// their old names and how many they were.
    pub fn work(&self, at: usize, count: usize, is_finished: bool) -> Vec<String> {
        // Until what has a delay is due.
        std::thread::sleep(Duration::from_millis(2));
        let directory = self.directory();
        let worker = Worker::new(directory);
        let (first, mut jobs, _) = worker.batch(BackendIndex(at)).unwrap();
        jobs.truncate(count);
        if jobs.is_empty() {
            return Vec::new();
        }
        if is_finished {
            worker.work_batch(BackendIndex(at), first + jobs.len() as u64, &jobs).unwrap();
        } else {
            let mut tallies = vec![queue::Tally::default(); jobs.len()];
            worker.slices(BackendIndex(1 - at), 0, &jobs, &mut tallies).unwrap().unwrap();
        }
        jobs.into_iter().map(|job| job.dn).collect()
    }

    /// Until nothing waits.
    pub fn drain(&self) {
        for at in 0..2 {
            while !self.work(at, usize::MAX, true).is_empty() {}
        }
        assert_eq!(waiting(self.directory()), 0);
    }

    /// Another directory over a copy of the files as they are on the disk now: what a cut of power leaves. What waits
    /// has been worked off by its own thread.
    pub fn crashed(&self) -> Bed {
        let folder = TempDir::new().unwrap();
        let mut config = self.directory().config().clone();
        for (backend, configured) in self.directory().backends().iter().zip(&mut config.backends) {
            let target = folder.path().join(&configured.id);
            loop {
                let before = backend.store.stats();
                let _ = std::fs::remove_dir_all(&target);
                copy(&configured.directory, &target);
                let after = backend.store.stats();
                // A file that a fold writes meanwhile is not what any moment left.
                if (before.folds, before.frozen_ops, after.frozen_ops) == (after.folds, 0, 0) {
                    break;
                }
            }
            configured.directory = target;
        }
        let directory = Directory::open(&config).unwrap();
        while waiting(&directory) > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Self::over(Fixture::over(directory, folder), self.manner)
    }

    /// Everything into LMDB.
    pub fn fold(&self) {
        for backend in self.directory().backends() {
            backend.store.fold_soon();
            loop {
                let stats = backend.store.stats();
                if stats.overlay_ops + stats.frozen_ops == 0 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Checks that entries, tree and every index agree, as `verify-index` does.
    pub fn verify(&self) {
        let directory = self.directory();
        for backend in directory.backends() {
            let found = problems(&directory.schema(), &backend.store, &std::env::temp_dir());
            assert!(found.is_empty(), "{}: {found:#?}", backend.id);
        }
    }

    /// All entries with what is stored of them and what is computed, names in lower case; or all subentries.
    pub fn entries(&mut self, are_subentries: bool) -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
        let mut found = BTreeMap::new();
        let visible = ControlBuf::new(control::SUBENTRIES, Some(vec![1, 1, 0xff])).critical();
        let controls = [visible];
        for suffix in SUFFIXES {
            let asked = Asked {
                attributes: &[
                    "*",
                    "isMemberOf",
                    "memberOf",
                    "nsRole",
                    "nsRoleDN",
                    "nsAccountLock",
                    "collectiveExclusions",
                    "collectiveAttributeSubentries",
                    "subtreeSpecification",
                ],
                controls: if are_subentries { &controls } else { &[] },
                ..Asked::new(suffix, "(objectClass=*)")
            };
            for (dn, attributes) in self.fixture.search(&asked).unwrap().entries {
                let lower = |(name, values): (String, Vec<String>)| (name.to_lowercase(), values.into_iter().collect());
                found.insert(dn, attributes.into_iter().map(lower).collect());
            }
        }
        found
    }

    /// The result code of a bind with the password that all have.
    pub fn bind(&self, dn: &str) -> i32 {
        let mut bytes = Vec::new();
        client::bind(&mut bytes, 1, dn, PASSWORD.as_bytes(), &[]);
        let message = Message::decode(&bytes).unwrap();
        let Operation::Bind(request) = &message.operation else { panic!("no bind") };
        let step = self.directory().bind(&Session::anonymous(1), request, &message.controls, std::time::Instant::now());
        ended(self.directory(), step).result.code.as_i32()
    }

    /// The names of what a filter finds in both backends.
    pub fn matching(&mut self, filter: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for suffix in SUFFIXES {
            found.extend(self.fixture.dns(&Asked::new(suffix, filter)));
        }
        found
    }

    pub fn compares(&self, dn: &str, attribute: &str, value: &str) -> bool {
        self.fixture.compare(root(), dn, attribute, value.as_bytes()) == ldap::ResultCode::COMPARE_TRUE
    }
}

impl Qualifier {
    fn word(self) -> &'static str {
        match self {
            Qualifier::Default => "",
            Qualifier::Override => " override",
            Qualifier::Merge => " merge-schemes",
        }
    }
}

/// Names that wait to be followed.
fn waiting(directory: &Directory) -> u64 {
    let count = |backend: &query::backend::Backend| {
        let bounds = queue::bounds(&backend.store.snapshot().unwrap().view()).unwrap();
        bounds.next - bounds.first
    };
    directory.backends().iter().map(count).sum()
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if let Err(error) = std::fs::copy(entry.path(), &target) {
            // A log segment that was folded long ago may go meanwhile.
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
        }
    }
}

impl Conflict {
    fn word(self) -> &'static str {
        match self {
            Conflict::Real => "real-overrides-virtual",
            Conflict::Virtual => "virtual-overrides-real",
            Conflict::Merge => "merge-real-and-virtual",
        }
    }
}

fn encoded(id: i32, op: &Op, manner: Manner, controls: &[ControlBuf]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut change = |dn: &str, operation: ModifyOperation, attribute: &'static str, value: &str| {
        let (attribute, value) = shown(attribute, value);
        client::modify(&mut out, id, dn, [(operation, attribute.as_bytes(), [value.as_bytes()])], controls);
    };
    match op {
        Op::Put { dn, attribute, value } => change(dn, ModifyOperation::Add, attribute, value),
        Op::Take { dn, attribute, value } => change(dn, ModifyOperation::Delete, attribute, value),
        Op::Replace { dn, attribute, value } => change(dn, ModifyOperation::Replace, attribute, value),
        Op::Add { dn, entry } => {
            let mut attributes = stored(entry);
            let place = || format!("l{}", manner.qualifier.word());
            let mut put = |name: &'static str, value: &str| attributes.push((name, value.to_owned()));
            match entry.kind {
                Kind::Pointer | Kind::Classic | Kind::Indirect => put("cosAttribute", &place()),
                Kind::Lock => put("cosAttribute", "nsAccountLock operational-default merge-schemes"),
                kind if kind.is_collective() => put("collectiveConflictBehavior", manner.conflict.word()),
                _ => {}
            }
            match entry.kind {
                Kind::Person => put("userPassword", &format!("{{CLEAR}}{PASSWORD}")),
                Kind::Classic => put("cosSpecifier", "employeeType"),
                Kind::Indirect => put("cosIndirectSpecifier", "manager"),
                Kind::Lock => put("cosIndirectSpecifier", "nsRole"),
                Kind::FromDn => put("inheritFromDNAttribute", "manager"),
                Kind::FromRdn => {
                    put("inheritFromRDNAttribute", "employeeType");
                    put("inheritFromRDNType", "uid");
                }
                _ => {}
            }
            if matches!(entry.kind, Kind::FromDn | Kind::FromRdn) {
                put("inheritAttribute", "st");
            }
            let attributes = attributes.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()]));
            client::add(&mut out, id, dn, attributes, controls);
        }
        Op::Delete { dn, subtree } => {
            let mut controls = controls.to_vec();
            if *subtree {
                controls.push(ControlBuf::new(control::SUBTREE_DELETE, None).critical());
            }
            client::delete(&mut out, id, dn, &controls);
        }
        Op::Rename { dn, rdn, superior } => {
            let superior = (parent_of(dn) != superior).then_some(superior.as_str());
            client::modify_dn(&mut out, id, dn, rdn, true, superior, controls);
        }
    }
    out
}

/// The attributes that an entry of the model is added with.
fn stored(entry: &Entry) -> Vec<(&'static str, String)> {
    let classes: &[&str] = match entry.kind {
        Kind::Suffix => &[],
        Kind::Unit => &["organizationalUnit"],
        Kind::Person => &["inetOrgPerson"],
        Kind::Names => &["groupOfNames"],
        Kind::Unique => &["groupOfUniqueNames"],
        Kind::Dynamic => &["groupOfURLs"],
        Kind::Virtual => &["groupOfNames", "ds-virtual-static-group"],
        Kind::Template => &["cosTemplate", "extensibleObject"],
        Kind::Pointer => &["cosPointerDefinition"],
        Kind::Classic => &["cosClassicDefinition"],
        Kind::Indirect | Kind::Lock => &["cosIndirectDefinition"],
        Kind::Managed => &["nsManagedRoleDefinition"],
        Kind::Filtered => &["nsFilteredRoleDefinition"],
        Kind::Nested => &["nsNestedRoleDefinition"],
        Kind::Collective => &["subentry", "collectiveAttributeSubentry", "extensibleObject"],
        Kind::FromDn => &["inheritedFromDNCollectiveAttributeSubentry"],
        Kind::FromRdn => &["inheritedFromRDNCollectiveAttributeSubentry"],
    };
    let mut all: Vec<(&'static str, String)> =
        classes.iter().map(|class| ("objectClass", (*class).to_owned())).collect();
    if entry.kind == Kind::Person {
        all.extend(["cn", "sn"].map(|name| (name, "x".to_owned())));
    }
    for (name, values) in &entry.values {
        for value in values {
            all.push(shown(name, value));
        }
    }
    all
}

/// A value of the model as the directory has it.
pub fn shown(name: &'static str, value: &str) -> (&'static str, String) {
    match name {
        "base" => ("memberurl", format!("ldap:///{value}??sub?(description=red)")),
        "rolefilter" => ("nsrolefilter", format!("({value})")),
        "subtreespecification" => {
            let parts: Vec<&str> = value.split('|').collect();
            let mut text = format!("{{ base \"{}\"", parts[0]);
            if !parts[1].is_empty() {
                text.push_str(&format!(", specificExclusions {{ chopBefore:\"{}\" }}", parts[1]));
            }
            if !parts[2].is_empty() {
                text.push_str(&format!(", specificationFilter \"({})\"", parts[2]));
            }
            (name, text + " }")
        }
        _ => (name, value.to_owned()),
    }
}

/// What `verify-index` finds wrong with a backend.
fn problems(
    schema: &std::sync::Arc<schema::Schema>,
    backend: &store::Backend,
    temporary: &std::path::Path,
) -> Vec<String> {
    let snapshot = backend.snapshot().unwrap();
    let indexer = Indexer::new(std::sync::Arc::clone(schema), std::sync::Arc::clone(snapshot.indexes().set()));
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
