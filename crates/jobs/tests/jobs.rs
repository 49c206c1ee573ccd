//! Each job from its options to its counts, watched and cancelled, without a tool or a server around it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use config::{Config, Instance, Setup};
use jobs::export::Export;
use jobs::files::{Reader, Target};
use jobs::import::Import;
use jobs::rebuild::Rebuild;
use jobs::verify::Verify;
use jobs::{JobError, Progress, Unit, Watch};
use query::configured::load_schema;
use schema::Schema;
use store::bulk::{BulkError, Cancel, LdifSource, RebuildWhich};

/// Jobs tell how far they are each 10,000 entries.
const ENTRIES: u64 = 10_000;

struct Place {
    config: Config,
    schema: Arc<Schema>,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup {
            password_scheme: password::Scheme::SaltedSha512,
            argon2: None,
            backend_id: "userRoot".to_owned(),
            base_dns: vec!["dc=example,dc=com".to_owned()],
            indexes: config::default_indexes(),
            root_dn: "cn=Directory Manager".to_owned(),
            root_password: "{CLEAR}secret12".to_owned(),
            global_acis: access::profiles::Profile::Addressbook.acis(),
            listen_addresses: vec!["127.0.0.1".parse().unwrap()],
            ldap_port: Some(1389),
            ldaps_port: None,
            http_port: None,
            administration_port: None,
            start_tls: false,
            local_socket: false,
            key_pair: None,
        };
        let instance = Instance::new(folder.path());
        instance.folders().iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
        let config = Config::parse(&setup.to_toml(), &instance.config_file()).unwrap();
        let schema = load_schema(&config).unwrap();
        Self { config, schema, _folder: folder }
    }

    fn import(&self, text: String, watch: &mut dyn Watch) -> Result<u64, JobError> {
        let total = text.len() as u64;
        let source = LdifSource::from_reader("test.ldif", Box::new(Cursor::new(text)), Some(total)).unwrap();
        let job = Import { sources: vec![source], threads: 2, ..Import::default() };
        job.run(self.target(), watch).map(|done| done.summary.imported)
    }

    fn target(&self) -> Target<'_> {
        Target { config: &self.config, backend: &self.config.backends[0], schema: &self.schema }
    }

    fn reader(&self) -> Reader {
        Reader::open(self.target(), false).unwrap()
    }
}

/// Keeps what it is told.
#[derive(Default)]
struct Watcher {
    told: Vec<Progress>,
    cancel: Cancel,
}

impl Watch for Watcher {
    fn progress(&mut self, now: &Progress) {
        self.told.push(*now);
    }

    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

impl Watcher {
    fn of_phase(&self, phase: &str) -> Option<&Progress> {
        self.told.iter().rev().find(|now| now.phase == phase)
    }
}

/// A file that can still be read when its writer is gone.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn people(count: u64) -> String {
    let mut text = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
    for number in 1..count {
        text.push_str(&format!("dn: cn=d{number},dc=example,dc=com\nobjectClass: device\n\n"));
    }
    text
}

#[test]
fn jobs_tell_how_far_they_are() {
    let place = Place::new();
    let mut watcher = Watcher::default();
    assert_eq!(place.import(people(ENTRIES), &mut watcher).unwrap(), ENTRIES);
    let entries = watcher.of_phase("entries").unwrap();
    assert_eq!((entries.entries, entries.unit, Some(entries.done)), (ENTRIES, Unit::Bytes, entries.total));
    assert!(watcher.of_phase("indexes").is_some() && watcher.of_phase("syncing").is_some());

    // A rebuild counts entries, not bytes, while it reads them.
    let mut watcher = Watcher::default();
    let which = RebuildWhich::Named(vec!["cn".to_owned()]);
    let job = Rebuild { which, clear_degraded_state: false, temporary_directory: None };
    let rebuilt = job.run(place.target(), &mut watcher).unwrap();
    assert_eq!(rebuilt.entries, ENTRIES);
    let counted = |watcher: &Watcher| {
        let now = *watcher.of_phase("entries").unwrap();
        (now.entries, now.unit, now.done, now.total)
    };
    assert_eq!(counted(&watcher), (ENTRIES, Unit::Entries, ENTRIES, Some(ENTRIES)));
    let indexes = watcher.of_phase("indexes").unwrap();
    assert!(indexes.unit == Unit::Bytes && indexes.total > Some(0), "{indexes:?}");

    let mut watcher = Watcher::default();
    let snapshot = place.reader().snapshot().unwrap();
    let mut problems = Vec::new();
    let report = &mut |problem: &store::bulk::Problem| problems.push(problem.to_string());
    let verified = Verify::default().run(place.target(), &snapshot, &mut watcher, report);
    assert_eq!((verified.unwrap().entries, problems), (ENTRIES, Vec::new()));
    assert_eq!(counted(&watcher), (ENTRIES, Unit::Entries, ENTRIES, Some(ENTRIES)));
    assert!(watcher.of_phase("entries").unwrap().entries_per_second() > 0.0);

    let (out, mut watcher) = (Shared::default(), Watcher::default());
    let exported = Export::default().run(&snapshot, &place.schema, Box::new(out.clone()), &mut watcher).unwrap();
    assert_eq!(exported.exported, ENTRIES);
    let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.matches("\ncreatorsName: cn=Directory Manager\n").count() as u64, ENTRIES);
}

#[test]
fn a_cancelled_import_changes_nothing() {
    let place = Place::new();
    assert_eq!(place.import(people(3), &mut Watcher::default()).unwrap(), 3);
    let mut watcher = Watcher::default();
    watcher.cancel.cancel();
    let error = place.import(people(4), &mut watcher).unwrap_err();
    assert!(matches!(error, JobError::Bulk(BulkError::Cancelled)), "{error}");
    assert_eq!(place.reader().snapshot().unwrap().entry_count().unwrap(), 3);
}

#[test]
fn a_backend_without_data_is_named() {
    let place = Place::new();
    let error = Reader::open(place.target(), false).err().unwrap();
    assert!(matches!(&error, JobError::NoData { backend } if backend == "userRoot"), "{error}");
}
