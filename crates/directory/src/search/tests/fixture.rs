//! A directory in a folder of its own, filled from LDIF, and searches of it as a client would make them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use config::{Config, IndexConfig, Setup};
use ldap::client::{self, Response, ServerMessage};
use ldap::{ControlBuf, DerefAliases, LdapResult, Message, Operation, Scope, filter};
use store::bulk::{ImportOptions, LdifSource};
use tempfile::TempDir;

use crate::search::{EntryWriter, RequestTime, SearchDone, Worker};
use query::configured::{index_configs, load_schema};

use crate::update::tests::bed::asked;
use crate::{Directory, Identity, Session};
use query::backend::BackendIndex;
use query::encode::{EncodeError, ShownEntry};

/// An opened directory; its files go when it goes.
pub struct Fixture {
    pub directory: std::sync::Arc<Directory>,
    pub worker: Worker,
    _folder: TempDir,
}

/// What a search gave: entries by DN, reference URLs, and the end.
#[derive(Debug)]
pub struct Found {
    pub entries: Vec<(String, BTreeMap<String, Vec<String>>)>,
    pub references: Vec<String>,
    pub done: SearchDone,
}

/// A search; `new` is a subtree search as root for all user attributes.
pub struct Asked<'a> {
    pub base: &'a str,
    pub scope: Scope,
    pub filter: &'a str,
    pub deref: DerefAliases,
    pub size_limit: u32,
    pub types_only: bool,
    pub attributes: &'a [&'a str],
    pub controls: &'a [ControlBuf],
    pub identity: Identity,
    pub time_limit_seconds: u32,
    /// How long ago the request came.
    pub waited: std::time::Duration,
}

/// Collects messages; stops after `stop_after` of them.
#[derive(Default)]
pub struct Collector {
    pub bytes: Vec<u8>,
    pub written: usize,
    pub stop_after: Option<usize>,
    pub is_cancelled: bool,
}

impl Collector {
    fn message_written(&mut self) -> ControlFlow<()> {
        self.written += 1;
        if self.stop_after.is_some_and(|stop| self.written >= stop) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl EntryWriter for Collector {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        entry.put_message(7, &mut self.bytes)?;
        Ok(self.message_written())
    }

    fn reference(&mut self, urls: &[String]) -> ControlFlow<()> {
        ldap::encode::search_reference(&mut self.bytes, 7, urls.iter().map(String::as_str), &[]);
        self.message_written()
    }

    fn cancelled(&self) -> bool {
        self.is_cancelled
    }
}

pub fn root() -> Identity {
    Identity::Root { dn: "cn=Directory Manager".into() }
}

pub fn user() -> Identity {
    Identity::User { dn: "uid=ann,dc=example,dc=com".into(), backend: BackendIndex(0), entry: store::EntryId(2) }
}

impl<'a> Asked<'a> {
    pub fn new(base: &'a str, filter: &'a str) -> Self {
        Asked {
            base,
            scope: Scope::WholeSubtree,
            filter,
            deref: DerefAliases::Never,
            size_limit: 0,
            types_only: false,
            attributes: &[],
            controls: &[],
            identity: root(),
            time_limit_seconds: 0,
            waited: std::time::Duration::ZERO,
        }
    }
}

impl Fixture {
    /// A directory with the backend `userRoot` holding `base_dns`.
    pub fn new(base_dns: &[&str], indexes: Vec<IndexConfig>, ldif: &str) -> Fixture {
        Fixture::with(base_dns, indexes, ldif, |_| {})
    }

    /// The same, with something in the configuration set otherwise. A second backend gets what follows a line `####`.
    pub fn with(base_dns: &[&str], indexes: Vec<IndexConfig>, ldif: &str, set: impl FnOnce(&mut Config)) -> Fixture {
        Fixture::partly_built(base_dns, indexes, ldif, set, |_| true)
    }

    /// The same; the indexes for which `is_built` does not say so are configured after the import, and are not built.
    pub fn partly_built(
        base_dns: &[&str],
        indexes: Vec<IndexConfig>,
        ldif: &str,
        set: impl FnOnce(&mut Config),
        is_built: impl Fn(&store::index::IndexConfig) -> bool,
    ) -> Fixture {
        let folder = TempDir::new().unwrap();
        let setup = Setup {
            password_scheme: password::Scheme::SaltedSha512,
            argon2: None,
            backend_id: "userRoot".to_owned(),
            base_dns: base_dns.iter().map(|dn| (*dn).to_owned()).collect(),
            indexes,
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
        let mut config = Config::parse(&setup.to_toml(), &folder.path().join("pando.toml")).unwrap();
        set(&mut config);
        for (backend, ldif) in config.backends.iter().zip(ldif.split("####\n")) {
            let schema = load_schema(&config).unwrap();
            let bases = backend.base_dns.clone();
            let mut built = index_configs(backend).unwrap();
            built.attributes.retain(&is_built);
            let mut options = ImportOptions::new(backend.directory.clone(), bases, built, schema);
            options.skip_schema_validation = true;
            options.threads = 1;
            let source =
                LdifSource::from_reader("test.ldif", Box::new(std::io::Cursor::new(ldif.as_bytes().to_vec())), None)
                    .unwrap();
            store::bulk::import(vec![source], &options, &mut |_| {}).unwrap();
        }
        Fixture::over(Directory::open(&config).unwrap(), folder)
    }

    /// Over what was opened in `folder`.
    pub fn over(directory: Directory, folder: TempDir) -> Fixture {
        let directory = std::sync::Arc::new(directory);
        Fixture { directory, worker: Worker::default(), _folder: folder }
    }

    /// Searches; an error is a refusal before any candidate was looked at.
    pub fn search(&mut self, asked: &Asked<'_>) -> Result<Found, LdapResult> {
        self.search_into(asked, &mut Collector::default()).map_err(|done| done.result)
    }

    /// The same, with what the log says of a refused one.
    pub fn search_into(&mut self, asked: &Asked<'_>, output: &mut Collector) -> Result<Found, Box<SearchDone>> {
        let session = Session::of(asked.identity.clone(), 1);
        let time = RequestTime::now();
        let started = time.started - asked.waited;
        self.search_in(&session, asked, RequestTime { started, ..time }, output)
    }

    /// Only plans.
    pub fn plan(&mut self, asked: &Asked<'_>) -> Box<crate::search::SearchPlan> {
        let session = Session::of(asked.identity.clone(), 1);
        self.plan_in(&session, asked, RequestTime::now()).unwrap()
    }

    fn plan_in(
        &mut self,
        session: &Session,
        asked: &Asked<'_>,
        time: RequestTime,
    ) -> Result<Box<crate::search::SearchPlan>, Box<SearchDone>> {
        let filter = filter::parse(asked.filter).unwrap();
        let search = client::Search {
            base: asked.base,
            scope: asked.scope,
            deref_aliases: asked.deref,
            size_limit: asked.size_limit,
            time_limit_seconds: asked.time_limit_seconds,
            types_only: asked.types_only,
            filter: &filter,
            attributes: asked.attributes,
        };
        let mut bytes = Vec::new();
        client::search(&mut bytes, 7, &search, asked.controls);
        let message = Message::decode(&bytes).unwrap();
        let Operation::Search(request) = &message.operation else { panic!("not a search") };
        let directory = &self.directory;
        let mut plan = directory.plan_search(&mut self.worker, session, request, &message.controls, time)?;
        plan.keep_request(request, &message.controls, 3);
        Ok(plan)
    }

    /// Searches in a session that goes on, at `time`; what `asked` says of these does not count.
    pub fn search_in(
        &mut self,
        session: &Session,
        asked: &Asked<'_>,
        time: RequestTime,
        output: &mut Collector,
    ) -> Result<Found, Box<SearchDone>> {
        let mut plan = self.plan_in(session, asked, time)?;
        let done = plan.run(&mut self.worker, output);
        self.worker.recycle(plan);
        let (entries, references) = decode(&output.bytes);
        assert_eq!((entries.len() as u64, references.len() as u64), (done.entries_sent, done.references_sent));
        Ok(Found { entries, references, done })
    }

    /// Updates as root; must succeed.
    pub fn update(&self, message: &Message<'_>) {
        let result = self.try_update(message);
        assert_eq!(result.code, ldap::ResultCode::SUCCESS, "{result}");
    }

    /// Updates as root.
    pub fn try_update(&self, message: &Message<'_>) -> LdapResult {
        self.try_update_as(&root(), message)
    }

    /// Updates as somebody.
    pub fn try_update_as(&self, identity: &Identity, message: &Message<'_>) -> LdapResult {
        let session = Session::of(identity.clone(), 1);
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |done: crate::update::UpdateDone| drop(sender.send(done.result)));
        if let crate::Submitted::Slow(update) = self.directory.submit(&session, asked(message), done) {
            update.run(&self.directory);
        }
        receiver.recv().unwrap()
    }

    /// Compares and gives the result code.
    pub fn compare(&self, identity: Identity, dn: &str, attribute: &str, value: &[u8]) -> ldap::ResultCode {
        let mut bytes = Vec::new();
        client::compare(&mut bytes, 7, dn, attribute, value, &[]);
        let message = Message::decode(&bytes).unwrap();
        let Operation::Compare(request) = &message.operation else { panic!("not a compare") };
        let session = Session::of(identity, 1);
        self.directory.compare(&session, request, &message.controls, RequestTime::now()).code
    }

    /// The DNs found, sorted.
    pub fn dns(&mut self, asked: &Asked<'_>) -> Vec<String> {
        self.search(asked).unwrap().dns()
    }
}

impl Found {
    pub fn dns(&self) -> Vec<String> {
        let mut dns: Vec<String> = self.entries.iter().map(|(dn, _)| dn.clone()).collect();
        dns.sort();
        dns
    }
}

type Decoded = (Vec<(String, BTreeMap<String, Vec<String>>)>, Vec<String>);

/// What the client's decoder makes of the messages.
pub fn decode(bytes: &[u8]) -> Decoded {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut entries = Vec::new();
    let mut references = Vec::new();
    let mut rest = bytes;
    while let Ok(ber::Frame::Complete(length)) = ber::frame(rest, usize::MAX) {
        let message = ServerMessage::decode(&rest[..length]).unwrap();
        assert_eq!(message.id, 7);
        match message.op {
            Response::SearchEntry(entry) => {
                let mut attributes = BTreeMap::new();
                for attribute in entry.attributes.iter() {
                    let values = attribute.values.iter().map(text).collect();
                    assert_eq!(attributes.insert(text(attribute.description), values), None, "sent twice");
                }
                entries.push((text(entry.dn), attributes));
            }
            Response::SearchReference(urls) => references.extend(urls.iter().map(text)),
            other => panic!("{other:?}"),
        }
        rest = &rest[length..];
    }
    assert!(rest.is_empty(), "bytes left over");
    (entries, references)
}
