//! A live backend after random updates is verified like an imported one: the live store and the import agree on every
//! key.
//!
//! Covers overlay, frozen overlay, log replay and fold, with the real indexer and every kind of index.

use proptest::prelude::*;

use super::kinds::every_kind;
use super::*;
use crate::index::ConfiguredIndexes;
use crate::record::{Content, RecordBuilder};
use crate::{Backend, BackendOptions, Outcome, ReadOnlyBackend, Rules, StoreError, Txn};

/// One update, as lines: verb, id or parent, RDN, then `attribute: value`.
#[derive(Debug, Clone)]
enum Update {
    Add { parent: u64, rdn: String, values: Vec<(String, String)> },
    Change { id: u64, values: Vec<(String, String)> },
    Delete { id: u64 },
    Move { id: u64, parent: u64, rdn: String },
}

impl Update {
    fn encode(&self) -> Vec<u8> {
        let lines = |values: &[(String, String)]| {
            values.iter().map(|(name, value)| format!("\n{name}: {value}")).collect::<String>()
        };
        match self {
            Self::Add { parent, rdn, values } => format!("add\n{parent}\n{rdn}{}", lines(values)),
            Self::Change { id, values } => format!("change\n{id}\n{}", lines(values)),
            Self::Delete { id } => format!("delete\n{id}\n"),
            Self::Move { id, parent, rdn } => format!("move\n{id} {parent}\n{rdn}"),
        }
        .into_bytes()
    }
}

/// Makes the change if the tree allows it.
struct Plain(Indexer);

impl Rules for Plain {
    fn version(&self) -> u32 {
        1
    }

    fn apply(&mut self, txn: &mut Txn<'_>, proposal: &[u8]) -> Result<Outcome, StoreError> {
        let accepted = self.run(txn, std::str::from_utf8(proposal).unwrap())?;
        Ok(Outcome { code: 0, accepted, ..Outcome::default() })
    }

    fn forget(&mut self) {}
}

impl Plain {
    fn run(&self, txn: &mut Txn<'_>, proposal: &str) -> Result<bool, StoreError> {
        let mut lines = proposal.split('\n');
        let (verb, numbers, rdn) = (lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap());
        let numbers: Vec<EntryId> = numbers.split(' ').map(|number| EntryId(number.parse().unwrap())).collect();
        let values: Vec<(&str, &str)> = lines.map(|line| line.split_once(": ").unwrap()).collect();
        let first = numbers[0];
        let name = |rdn: &str| {
            let mut out = Vec::new();
            crate::KeyExtractor::normalize_rdn(&self.0, rdn.as_bytes(), false, &mut out);
            out
        };
        let exists = |txn: &Txn<'_>, id: EntryId| Ok::<bool, StoreError>(txn.view().entry(id)?.is_some());
        if !exists(txn, first)? {
            return Ok(false);
        }
        match verb {
            "add" if txn.view().child(first, &name(rdn))?.is_none() => {
                let id = txn.allocate_id();
                let record = record(txn, first, rdn.as_bytes(), &values)?;
                txn.put_entry(id, record)?;
            }
            "change" => {
                let (parent, rdn, _) = parts(txn, first)?;
                let record = record(txn, parent, &rdn, &values)?;
                txn.put_entry(first, record)?;
            }
            "delete" if txn.view().children(first)?.is_empty() => txn.delete_entry(first)?,
            "move" => {
                let parent = numbers[1];
                let mut above = parent;
                while above != EntryId::ROOT && above != first && exists(txn, above)? {
                    above = parts(txn, above)?.0;
                }
                let free = txn.view().child(parent, &name(rdn))?.is_none();
                if above != EntryId::ROOT || !free {
                    return Ok(false);
                }
                let (_, _, values) = parts(txn, first)?;
                let values: Vec<(&str, &str)> =
                    values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                let record = record(txn, parent, rdn.as_bytes(), &values)?;
                txn.put_entry(first, record)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn record(txn: &mut Txn<'_>, parent: EntryId, rdn: &[u8], values: &[(&str, &str)]) -> Result<Vec<u8>, StoreError> {
    let mut builder = RecordBuilder::new(parent, rdn);
    let mut names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let desc = crate::Interner::description(txn, name)?;
        let own = values.iter().filter(|(other, _)| *other == name).map(|(_, value)| value.as_bytes());
        builder.push(desc, own, txn)?;
    }
    builder.finish()
}

type Parts = (EntryId, Vec<u8>, Vec<(String, String)>);

/// Parent, RDN and values of an entry.
fn parts(txn: &Txn<'_>, id: EntryId) -> Result<Parts, StoreError> {
    let record = txn.view().entry(id)?.ok_or(StoreError::Misuse("no such entry"))?;
    let view = record.view()?;
    let mut values = Vec::new();
    view.for_each(&mut Vec::new(), |attribute| {
        let name = txn.tables().description(attribute.desc).unwrap_or_default().to_owned();
        if let Content::Inline(all) = attribute.content {
            values.extend(all.iter().map(|value| (name.clone(), String::from_utf8_lossy(value).into_owned())));
        }
    });
    Ok((view.parent(), view.rdn().to_vec(), values))
}

fn updates() -> impl Strategy<Value = Vec<Update>> {
    let id = 1u64..14;
    let word = || prop_oneof!["[ab]{1,8}", Just("Maria Meier".to_owned())];
    let names = ["cn", "cn;lang-en", "sn", "mail", "entryUUID", "pwdFailureTime", "pwdFailureTime"];
    let value = (prop::sample::select(names.to_vec()), word()).prop_map(|(name, word)| match name {
        "entryUUID" => (name.to_owned(), format!("0e2a0c0e-0000-4000-8000-{:0>12}", word.len())),
        // Several of them are packed in the database.
        "pwdFailureTime" => (name.to_owned(), format!("2026010100{:02}00.100Z", word.len())),
        _ => (name.to_owned(), word),
    });
    let values = prop::collection::btree_map(any::<u8>(), value, 0..6)
        .prop_map(|map| {
            let mut values: Vec<(String, String)> = map.into_values().collect();
            values.sort();
            values.dedup();
            values.push(("objectClass".to_owned(), "inetOrgPerson".to_owned()));
            values
        })
        .boxed();
    let rdn = "[ab]{1,2}".prop_map(|name| format!("uid={name}"));
    let update = prop_oneof![
        4 => (id.clone(), rdn.clone(), values.clone())
            .prop_map(|(parent, rdn, values)| Update::Add { parent, rdn, values }),
        4 => (id.clone(), values).prop_map(|(id, values)| Update::Change { id, values }),
        2 => id.clone().prop_map(|id| Update::Delete { id }),
        2 => (id.clone(), id, rdn).prop_map(|(id, parent, rdn)| Update::Move { id, parent, rdn }),
    ];
    prop::collection::vec(update, 1..60)
}

fn options(directory: &Path) -> BackendOptions {
    let schema = Schema::standard();
    let indexes = ConfiguredIndexes::new(&schema, every_kind()).unwrap();
    let mut options = BackendOptions::of_schema(directory.to_owned(), &schema, indexes);
    options.segment_bytes = 64 << 10;
    options
}

fn rules() -> (Box<dyn Rules>, Indexer) {
    let mut states = IndexStates::default();
    let set = IndexSet::new(&Schema::standard(), &every_kind(), &mut states).unwrap();
    let indexer = Indexer::new(Schema::standard(), Arc::new(set));
    (Box::new(Plain(indexer.clone())), indexer)
}

fn assert_sound(snapshot: &crate::Snapshot, indexer: &Indexer) {
    let temporary = tempfile::tempdir().unwrap();
    let options = VerifyOptions { threads: 1, ..VerifyOptions::everything(temporary.path().to_owned()) };
    let mut found = Vec::new();
    verify(snapshot, indexer, &options, &mut |problem| found.push(problem.to_string())).unwrap();
    assert_eq!(found, Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]
    // S0-09
    #[test]
    fn a_live_backend_agrees_with_what_an_import_would_make(
        updates in updates(),
        folds in prop::collection::btree_set(0usize..60, 0..4),
    ) {
        let directory = tempfile::tempdir().unwrap();
        import_with(directory.path(), PEOPLE, |options| options.indexes = every_kind()).unwrap();
        let (own, indexer) = rules();
        let backend = Backend::open(options(directory.path()), own).unwrap();
        for (at, update) in updates.iter().enumerate() {
            backend.submit_and_wait(update.encode()).unwrap();
            if folds.contains(&at) {
                assert_sound(&backend.snapshot().unwrap(), &indexer);
                backend.fold_soon();
            }
        }
        assert_sound(&backend.snapshot().unwrap(), &indexer);
        let exported = |snapshot: &crate::Snapshot| {
            let out = SharedOutput::default();
            let schema = Schema::standard();
            export(snapshot, &schema, &ExportOptions::default(), Box::new(out.clone()), &mut |_| {}).unwrap();
            String::from_utf8(std::mem::take(&mut *out.0.lock().unwrap())).unwrap()
        };
        let text = exported(&backend.snapshot().unwrap());
        // Beside the running backend the same is seen.
        let mut beside = ReadOnlyBackend::open(options(directory.path()), rules().0);
        if let Ok(beside) = &mut beside {
            let snapshot = beside.snapshot().unwrap();
            assert_sound(&snapshot, &indexer);
            prop_assert_eq!(exported(&snapshot), text.clone());
        }
        drop(beside);
        backend.close().unwrap();
        drop(backend);
        let db = Opened::with(directory.path(), every_kind());
        prop_assert_eq!(db.problems(), Vec::<String>::new());
        prop_assert_eq!(db.export_text(), text.clone());
        db.close();
        // The exported entries are imported unchanged; they do not obey the schema, and get new ids.
        let copy = tempfile::tempdir().unwrap();
        import_with(copy.path(), &text, |options| {
            options.skip_schema_validation = true;
            options.indexes = every_kind();
        })
        .unwrap();
        let copied = Opened::with(copy.path(), every_kind());
        prop_assert_eq!(copied.problems(), Vec::<String>::new());
        prop_assert_eq!(copied.dns().len(), text.matches("\ndn: ").count() + 1);
    }
}

#[test]
fn an_append_refuses_changes_that_are_only_in_the_log() {
    let directory = tempfile::tempdir().unwrap();
    import_with(directory.path(), PEOPLE, |options| options.indexes = every_kind()).unwrap();
    let backend = Backend::open(options(directory.path()), rules().0).unwrap();
    backend.submit_and_wait(Update::Delete { id: 6 }.encode()).unwrap();
    backend.close().unwrap();
    drop(backend);
    let append = |options: &mut ImportOptions| {
        options.mode = ImportMode::Append { replace_existing: false };
        options.indexes = every_kind();
    };
    let more = "dn: cn=x,dc=example,dc=com\nobjectClass: device\ncn: x\n";
    import_with(directory.path(), more, append).unwrap();
    let db = Opened::with(directory.path(), every_kind());
    assert_eq!(db.dns().len(), 6, "one was deleted, one is new");
    assert_eq!(db.problems(), Vec::<String>::new());
    // As a crash before the fold leaves it.
    let mut txn = db.env.write().unwrap();
    db.env.dbs().meta.put(&mut txn, env::meta::FOLDED, &0u64.to_be_bytes()).unwrap();
    txn.commit().unwrap();
    db.close();
    let backend = Backend::open(options(directory.path()), rules().0).unwrap();
    backend.submit_and_wait(Update::Delete { id: 5 }.encode()).unwrap();
    backend.close().unwrap();
    drop(backend);
    let db = Opened::with(directory.path(), every_kind());
    let mut txn = db.env.write().unwrap();
    db.env.dbs().meta.put(&mut txn, env::meta::FOLDED, &0u64.to_be_bytes()).unwrap();
    txn.commit().unwrap();
    db.close();
    assert!(matches!(import_with(directory.path(), more, append), Err(BulkError::NotFolded)));
}
