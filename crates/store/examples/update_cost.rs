//! Measures what reads and updates cost (decision 002).
//!
//! ```text
//! update_cost FOLDER PEOPLE.ldif MORE.ldif SECONDS
//! ```
//! PEOPLE is imported into FOLDER unless a database is there; MORE holds person entries that are not in PEOPLE, to be
//! added. Prints one line a measurement. It uses only the public interface of the store.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use schema::Schema;
use store::index::{ConfiguredIndexes, default_indexes};
use store::posting::List;
use store::{
    Backend, BackendOptions, EntryId, IndexId, IndexKey, Interner, Outcome, RecordBuilder, RecordView, Rules,
    StoreError, Txn,
};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, people, more, seconds] = &arguments[..] else {
        return Err("usage: update_cost FOLDER PEOPLE.ldif MORE.ldif SECONDS".into());
    };
    let (folder, time) = (PathBuf::from(folder), Duration::from_secs_f64(seconds.parse()?));
    let schema = Schema::standard();
    if !store::database_path(&folder).exists() {
        import(&folder, Path::new(people), &schema)?;
    }
    let adds = read_entries(Path::new(more))?;
    let mut adds = adds.into_iter();
    let opened = Instant::now();
    let backend = open(&folder, &schema)?;
    println!("open: {:.1} ms, {} entries", ms(opened.elapsed()), backend.snapshot()?.entry_count()?);
    sizes(&backend)?;
    reads(&backend, "overlay empty")?;
    let people = people_id(&backend, &schema)?;
    for batch in [1, 8, 32] {
        let direct = Driver { backend: &backend, batch, time, fold_each: true };
        direct
            .run(&format!("add, LMDB commit per batch, B={batch}"), || adds.next().map(|entry| add(people, &entry)))?;
    }
    for batch in [1, 8, 32, 256] {
        let logged = Driver { backend: &backend, batch, time, fold_each: false };
        logged
            .run(&format!("add, log + overlay + fold, B={batch}"), || adds.next().map(|entry| add(people, &entry)))?;
    }
    let filler = Driver { backend: &backend, batch: 256, time: Duration::from_millis(300), fold_each: false };
    filler.submit_for(&mut || adds.next().map(|entry| add(people, &entry)))?;
    reads(&backend, "overlay in use")?;
    drain(&backend);
    let last = backend.snapshot()?.next_entry().0;
    let mut random = 1u64;
    for (what, kind) in [("plain attribute", b'm'), ("substring index", b't')] {
        for batch in [1, 8, 32, 256] {
            let driver = Driver { backend: &backend, batch, time, fold_each: false };
            driver.run(&format!("modify {what}, B={batch}"), || Some(modify(kind, last, &mut random)))?;
        }
    }
    rows_compared(&backend, &folder.join("rows"))?;
    backend.close()?;
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn import(folder: &Path, people: &Path, schema: &Arc<Schema>) -> Result<(), Failure> {
    let started = Instant::now();
    let source = store::bulk::LdifSource::open(people)?;
    let options = store::bulk::ImportOptions::new(
        folder.to_owned(),
        vec!["dc=example,dc=com".to_owned()],
        default_indexes(),
        schema.clone(),
    );
    store::bulk::import(vec![source], &options, &mut |_| {})?;
    println!("import: {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn open(folder: &Path, schema: &Arc<Schema>) -> Result<Backend, Failure> {
    let indexes = ConfiguredIndexes::new(schema, default_indexes())?;
    let options = BackendOptions::of_schema(folder.to_owned(), schema, indexes);
    Ok(Backend::open(options, Box::new(LoadRules))?)
}

/// Attributes of one entry, the first being its name.
type Entry = Vec<(String, String)>;

fn read_entries(path: &Path) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    let mut entry = Entry::new();
    for line in BufReader::new(std::fs::File::open(path)?).lines() {
        let line = line?;
        match line.split_once(": ") {
            Some((name, value)) => entry.push((name.to_owned(), value.to_owned())),
            None if line.is_empty() && !entry.is_empty() => entries.push(std::mem::take(&mut entry)),
            None => {}
        }
    }
    entries.retain(|entry| entry.first().is_some_and(|(_, dn)| dn.starts_with("uid=")));
    Ok(entries)
}

/// Adds, and modifies of one attribute, in the simplest encoding.
struct LoadRules;

impl Rules for LoadRules {
    fn version(&self) -> u32 {
        1
    }

    fn apply(&mut self, txn: &mut Txn<'_>, proposal: &[u8]) -> Result<Outcome, StoreError> {
        apply(txn, proposal)?;
        Ok(Outcome { accepted: true, ..Outcome::default() })
    }

    fn forget(&mut self) {}
}

fn add(parent: EntryId, entry: &Entry) -> Vec<u8> {
    let mut proposal = format!("a{}\n", parent.0);
    for (name, value) in entry {
        proposal.push_str(&format!("{name}: {value}\n"));
    }
    proposal.into_bytes()
}

fn modify(kind: u8, last: u64, random: &mut u64) -> Vec<u8> {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let id = (*random >> 33) % (last - 4) + 3;
    let value = *random >> 20;
    format!("{}{id} +1 {} {} {}", char::from(kind), value % 900 + 100, value % 877 + 100, value % 8999 + 1000)
        .into_bytes()
}

fn apply(txn: &mut Txn<'_>, proposal: &[u8]) -> Result<(), StoreError> {
    let text = std::str::from_utf8(proposal).map_err(|_| StoreError::Misuse("proposal"))?;
    let (kind, rest) = text.split_at(1);
    if kind == "a" { apply_add(txn, rest) } else { apply_modify(txn, kind, rest) }
}

fn apply_add(txn: &mut Txn<'_>, text: &str) -> Result<(), StoreError> {
    let mut lines = text.lines();
    let parent = EntryId(lines.next().and_then(|line| line.parse().ok()).ok_or(StoreError::Misuse("proposal"))?);
    let mut values: Vec<(&str, Vec<&[u8]>)> = Vec::new();
    let mut rdn = "";
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name == "dn" {
            rdn = value.split(',').next().unwrap_or_default();
            continue;
        }
        match values.iter_mut().find(|(own, _)| *own == name) {
            Some((_, list)) => list.push(value.as_bytes()),
            None => values.push((name, vec![value.as_bytes()])),
        }
    }
    for (name, value) in [
        ("entryUUID", "0123abcd-4567-89ef-0123-456789abcdef"),
        ("createTimestamp", "20260102030405Z"),
        ("creatorsName", "cn=Directory Manager"),
        ("entryCSN", "20260102030405.123456Z#000000#001#000000"),
    ] {
        values.push((name, vec![value.as_bytes()]));
    }
    let id = txn.allocate_id();
    let mut builder = RecordBuilder::new(parent, rdn.as_bytes());
    for (name, list) in values {
        let desc = txn.description(name)?;
        builder.push(desc, list, txn)?;
    }
    txn.put_entry(id, builder.finish()?)
}

fn apply_modify(txn: &mut Txn<'_>, kind: &str, text: &str) -> Result<(), StoreError> {
    let (id, value) = text.split_once(' ').ok_or(StoreError::Misuse("proposal"))?;
    let id = EntryId(id.parse().map_err(|_| StoreError::Misuse("proposal"))?);
    let changed = txn.description(if kind == "t" { "telephoneNumber" } else { "description" })?;
    let tables = txn.tables().clone();
    let old = txn.view().entry(id)?.ok_or(StoreError::Misuse("entry"))?.bytes().to_vec();
    let record = RecordView::parse(&old, &tables)?;
    let mut builder = RecordBuilder::new(record.parent(), record.rdn());
    let mut result = Ok(());
    record.for_each(&mut Vec::new(), |attribute| {
        if let store::Content::Inline(values) = attribute.content
            && result.is_ok()
        {
            result = match attribute.desc == changed {
                true => builder.push(changed, [value.as_bytes()], txn),
                false => builder.push_values(attribute.desc, values, txn),
            };
        }
    });
    result?;
    txn.put_entry(id, builder.finish()?)
}

fn people_id(backend: &Backend, schema: &Arc<Schema>) -> Result<EntryId, Failure> {
    let dn = schema::NormalizedDn::parse(schema, b"ou=People,dc=example,dc=com").map_err(|_| "name")?;
    let base = schema::NormalizedDn::parse(schema, b"dc=example,dc=com").map_err(|_| "name")?;
    let snapshot = backend.snapshot()?;
    let base = snapshot.child(EntryId::ROOT, base.as_bytes())?.ok_or("no base entry")?;
    let rdn = dn.rdn().ok_or("name")?;
    Ok(snapshot.child(base, rdn.as_bytes())?.ok_or("no ou=People")?)
}

fn index_named(backend: &Backend, name: &str) -> Option<IndexId> {
    backend.indexes().states().iter().find(|(own, _)| *own == name).map(|(_, state)| state.id)
}

fn reads(backend: &Backend, what: &str) -> Result<(), Failure> {
    let uid = index_named(backend, "uid.caseIgnoreMatch").ok_or("no uid index")?;
    let count = backend.snapshot()?.entry_count()?;
    let mut random = 7u64;
    let mut key = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        IndexKey::new(uid, format!("user.{}", (random >> 33) % (count / 2)).as_bytes())
    };
    let keys: Vec<IndexKey> = (0..200_000).map(|_| key()).collect();
    let mut found = 0usize;
    for round in ["first", "warm"] {
        let snapshot = backend.snapshot()?;
        let before = own_cpu_ns()?;
        for key in &keys {
            if let Some(id) = snapshot.postings(key)?.iter().next() {
                found += snapshot.entry(id)?.map_or(0, |record| record.bytes().len());
            }
        }
        let each = (own_cpu_ns()? - before) as f64 / keys.len() as f64;
        println!("read uid -> id -> record, {what}, {round}: {each:.0} ns");
    }
    let before = own_cpu_ns()?;
    for key in &keys {
        let snapshot = backend.snapshot()?;
        found += snapshot.postings(key)?.count() as usize;
    }
    let each = (own_cpu_ns()? - before) as f64 / keys.len() as f64;
    println!("snapshot + uid -> id, {what}: {each:.0} ns");
    let before = own_cpu_ns()?;
    for _ in 0..1_000_000 {
        found += usize::from(backend.snapshot()?.seq() == u64::MAX);
    }
    println!("snapshot alone, {what}: {:.0} ns ({found})", (own_cpu_ns()? - before) as f64 / 1e6);
    Ok(())
}

/// CPU time of this thread: other processes of the machine do not count.
fn own_cpu_ns() -> Result<u64, Failure> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(stat.split(' ').next().unwrap_or_default().parse()?)
}

struct Driver<'b> {
    backend: &'b Backend,
    batch: usize,
    time: Duration,
    /// Fold after each batch and wait: LMDB commits every batch.
    fold_each: bool,
}

impl Driver<'_> {
    fn run(&self, what: &str, mut next: impl FnMut() -> Option<Vec<u8>>) -> Result<(), Failure> {
        drain(self.backend);
        let (stats, usage) = (self.backend.stats(), Usage::now()?);
        let started = Instant::now();
        let (ops, mut waits) = self.submit_for(&mut next)?;
        let front = started.elapsed();
        drain(self.backend);
        let drained = started.elapsed();
        let (after, used) = (self.backend.stats(), Usage::now()?);
        if ops == 0 {
            return Err("no more entries to add".into());
        }
        waits.sort_unstable();
        let at = |part: f64| waits.get(((waits.len() - 1) as f64 * part) as usize).copied().unwrap_or_default();
        let each = |total: f64| total / ops as f64;
        let cpu = |thread: &str| each(used.cpu_us(thread) - usage.cpu_us(thread));
        let per_second = |time: Duration| ops as f64 / time.as_secs_f64();
        let syncs = after.sync_total - stats.sync_total;
        println!(
            "{what}: {:.0} op/s front, {:.0} drained; wait p50 {:.2} p99 {:.2} max {:.1} ms; cpu us/op: apply {:.0}, \
             writer {:.0}, fold {:.0}; {:.0} KB/op; {} folds; log {:.0}% of the time; {} slowed",
            per_second(front),
            per_second(drained),
            ms(at(0.5)),
            ms(at(0.99)),
            ms(at(1.0)),
            each((after.apply_total - stats.apply_total).as_secs_f64() * 1e6),
            cpu("writer"),
            cpu("fold"),
            each((used.written - usage.written) as f64 / 1024.0),
            after.folds - stats.folds,
            syncs.as_secs_f64() / front.as_secs_f64() * 100.0,
            after.slowed - stats.slowed,
        );
        Ok(())
    }

    /// Keeps a batch under way for the time and returns the number of operations and the wait of each batch.
    fn submit_for(&self, next: &mut dyn FnMut() -> Option<Vec<u8>>) -> Result<(u64, Vec<Duration>), Failure> {
        let started = Instant::now();
        let (sender, receiver) = std::sync::mpsc::channel();
        let (mut ops, mut waits) = (0, Vec::new());
        while started.elapsed() < self.time {
            let batch = Instant::now();
            let mut sent = 0;
            for proposal in (0..self.batch).map_while(|_| next()) {
                let sender = sender.clone();
                self.backend.submit(
                    store::Submitter::SERVER,
                    proposal,
                    Box::new(move |result| drop(sender.send(result))),
                );
                sent += 1;
            }
            for _ in 0..sent {
                let outcome = receiver.recv()??;
                if !outcome.accepted {
                    return Err(String::from_utf8_lossy(&outcome.response).into());
                }
            }
            if sent == 0 {
                break;
            }
            if self.fold_each {
                drain(self.backend);
            }
            ops += sent;
            waits.push(batch.elapsed());
        }
        Ok((ops, waits))
    }
}

/// Folds until nothing is left.
fn drain(backend: &Backend) {
    loop {
        let stats = backend.stats();
        if stats.overlay_ops == 0 && stats.frozen_ops == 0 {
            return;
        }
        backend.fold_soon();
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// CPU time by thread name, and bytes written.
struct Usage {
    cpu_ns: BTreeMap<String, u64>,
    written: u64,
}

impl Usage {
    fn now() -> Result<Usage, Failure> {
        let mut cpu_ns = BTreeMap::new();
        for task in std::fs::read_dir("/proc/self/task")? {
            let path = task?.path();
            let name = std::fs::read_to_string(path.join("comm"))?.trim().to_owned();
            let stat = std::fs::read_to_string(path.join("schedstat"))?;
            let ns: u64 = stat.split(' ').next().unwrap_or_default().parse()?;
            *cpu_ns.entry(name).or_default() += ns;
        }
        let io = std::fs::read_to_string("/proc/self/io")?;
        let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).unwrap_or("0").parse()?;
        Ok(Usage { cpu_ns, written })
    }

    fn cpu_us(&self, thread: &str) -> f64 {
        self.cpu_ns.get(thread).copied().unwrap_or_default() as f64 / 1e3
    }
}

fn sizes(backend: &Backend) -> Result<(), Failure> {
    let snapshot = backend.snapshot()?;
    let (dbs, txn) = snapshot.base();
    let tables = [("entries", dbs.entries), ("postings", dbs.postings), ("chunks", dbs.chunks), ("values", dbs.values)];
    for (name, table) in tables {
        let stat = table.stat(txn)?;
        let pages = stat.leaf_pages + stat.branch_pages + stat.overflow_pages;
        println!("{name}: {} rows, {:.1} MiB, depth {}", stat.entries, pages as f64 / 256.0, stat.depth);
    }
    println!("file: {:.1} MiB", backend.stats().database_bytes as f64 / 1048576.0);
    Ok(())
}

/// The same posting lists with one row a key: what the packed blocks save.
fn rows_compared(backend: &Backend, folder: &Path) -> Result<(), Failure> {
    let snapshot = backend.snapshot()?;
    let (mut keys, mut ids) = (0u64, 0u64);
    let env = store::env::Env::open(folder, [0; 16])?;
    let mut txn = env.write()?;
    let mut row = Vec::new();
    for index in 0..64 {
        let mut scan = snapshot.scan(IndexId(index), Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, postings)) = scan.next()? {
            let key = [&index.to_be_bytes()[..], key].concat();
            row.clear();
            match postings.base() {
                Some(List::Inline(list)) => row.extend_from_slice(list.bytes()),
                Some(List::Long { count, .. }) => row.extend_from_slice(&count.to_le_bytes()),
                None => {}
            }
            env.dbs().postings.put(&mut txn, &key, &row)?;
            keys += 1;
            ids += postings.count();
        }
    }
    let stat = env.dbs().postings.stat(&txn)?;
    let pages = stat.leaf_pages + stat.branch_pages;
    println!("one row a key: {keys} keys, {ids} ids, {:.1} MiB, depth {}", pages as f64 / 256.0, stat.depth);
    txn.commit()?;
    rows_updated(&env, keys)?;
    drop(env);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// Rewrites as many rows as 1,000 adds touch, spread as they are, in one transaction.
fn rows_updated(env: &store::env::Env, keys: u64) -> Result<(), Failure> {
    const TOUCHED: u64 = 62_000;
    let picked: Vec<(Vec<u8>, Vec<u8>)> = {
        let txn = env.read()?;
        let every = (keys / TOUCHED).max(1) as usize;
        let rows = env.dbs().postings.iter(&txn)?.step_by(every);
        rows.map(|row| row.map(|(key, data)| (key.to_vec(), data.to_vec()))).collect::<Result<_, _>>()?
    };
    let (usage, started) = (Usage::now()?, Instant::now());
    let mut txn = env.write()?;
    for (key, data) in &picked {
        let mut data = data.clone();
        data.push(1);
        env.dbs().postings.put(&mut txn, key, &data)?;
    }
    txn.commit()?;
    let written = (Usage::now()?.written - usage.written) as f64 / 1024.0;
    let adds = picked.len() as f64 / 62.0;
    let each = started.elapsed().as_secs_f64() * 1e6 / adds;
    println!(
        "one row a key, 62 rows an add, {adds:.0} adds in one commit: {each:.0} us, {:.0} KB an add",
        written / adds
    );
    Ok(())
}
