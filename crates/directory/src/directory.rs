//! The directory: its backends, its schema, and the entries of its own.
//!
//! Opened from a configuration, shared by all threads. Knows no connection: whoever asks comes as a [`Session`](crate::Session).

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use config::Config;
use schema::{NormalizedDn, Schema};
use store::{BackendOptions, StoreError};

use crate::in_force::InForce;
use crate::index_work::IndexWork;
use crate::monitor::{MonitorProvider, backend_entries};
use crate::open::OpenError;
use crate::own::{Capabilities, MonitorSource, OwnContext, OwnTree};
use crate::root_users::RootUsers;
use crate::search::CookieKey;
use crate::search::advice::ShapeTable;
use crate::session::Session;
use crate::update::UpdateState;
use crate::watch::Watches;
use access::Access;
use access::Bound;
use access::Identity;
use access::limits::{LimitsFinder, LiveLimits};
use change::apply::UpdateRules;
use change::history::{ChangeNumbers, History, LogSource, Recorder, kept_from};
use query::backend::{Backend, Suffix};
use query::computed::{ComputedService, check_tables};
use query::configured::{all_suffixes, configured_indexes, leniency, load_schema};
use query::encode::RangeCursors;
use query::facts::Facts;
use query::groups::{GroupOptions, GroupService};
use query::monitor_entry::MonitorEntry;
use query::notices::{Notices, Tell};
use query::read_moment::ReadContext;
use std::time::Instant;

/// The name of who administrates over the instance's own socket, in logs and in `modifiersName`.
const LOCAL_ADMINISTRATOR: &str = "cn=local administrator";

/// A directory in service.
pub struct Directory {
    pub(crate) config: Config,
    pub(crate) backends: Arc<[Backend]>,
    pub(crate) limits: LiveLimits,
    pub(crate) updates: UpdateState,
    pub(crate) index_work: IndexWork,
    pub(crate) roots: ArcSwap<RootUsers>,
    /// Of paged searches.
    pub(crate) cookies: CookieKey,
    pub(crate) in_force: InForce,
    monitor: OnceLock<Arc<dyn MonitorProvider>>,
    /// The backends once more, with what is kept for reading them.
    pub(crate) reading: ReadContext,
    /// Shapes of searches that an index might help, by backend.
    pub(crate) shapes: Arc<[ShapeTable]>,
    pub(crate) group_options: GroupOptions,
    history: Arc<History>,
    pub(crate) notices: Arc<Notices>,
    /// Of range retrievals.
    pub(crate) range_cursors: Arc<RangeCursors>,
    pub(crate) watches: Watches,
}

impl Directory {
    /// Opens all enabled backends of the configuration, which includes recovery after a crash.
    ///
    /// # Errors
    /// When the schema has mistakes, an index cannot be, or a backend does not open.
    pub fn open(config: &Config) -> Result<Directory, OpenError> {
        Self::open_with(config, |_| None)
    }

    /// [`Directory::open`] with the logs of backends on disks of one's own, by the backend's id: for tests whose disks are slow or fail.
    ///
    /// # Errors
    /// As there.
    pub fn open_with(
        config: &Config,
        log_disk: impl Fn(&str) -> Option<Arc<dyn store::log::Disk>>,
    ) -> Result<Directory, OpenError> {
        let facts = Arc::new(Facts::new(load_schema(config)?));
        let mut backends: Vec<Backend> = Vec::new();
        let all = all_suffixes(config, &facts.schema)?;
        let numbers = ChangeNumbers::new(all.len());
        for (configured, suffixes) in all {
            let recorder = Recorder::new(Arc::clone(&numbers), backends.len());
            let disk = log_disk(&configured.id);
            backends.push(open_backend(config, configured, suffixes, &facts, recorder, disk)?);
        }
        let history = open_history(config, numbers, &backends)?;
        let notices = Arc::new(Notices::default());
        let group_options = GroupOptions::of(&config.virtual_attributes);
        check_tables(&facts, &config.virtual_attributes)?;
        let computed = Arc::new(ComputedService::new(&config.virtual_attributes, backends.len(), &notices));
        let backends: Arc<[Backend]> = backends.into();
        let in_force = InForce::new(Arc::clone(&facts), &backends)
            .map_err(|error| OpenError::Store { backend: "rootDSE".to_owned(), error })?;
        let groups = Arc::new(GroupService::new(group_options, &notices));
        let directory = Directory {
            shapes: backends.iter().map(|_| ShapeTable::default()).collect(),
            reading: ReadContext { backends: Arc::clone(&backends), groups, computed },
            limits: LiveLimits::new(config, &facts.schema)?,
            updates: UpdateState::new(config),
            index_work: IndexWork::default(),
            roots: ArcSwap::from_pointee(RootUsers::new(config, &facts.schema)?),
            config: config.clone(),
            backends,
            cookies: CookieKey::default(),
            in_force,
            monitor: OnceLock::new(),
            group_options,
            history,
            notices,
            range_cursors: Arc::default(),
            watches: Watches::new(config.global.persistent_searches_max),
        };
        directory.updating().settle_schema()?;
        directory.settle_indexes()?;
        directory.updating().set_plugins(config)?;
        directory.history.start(&directory.notices).map_err(|error| OpenError::Thread { error })?;
        Ok(directory)
    }

    /// The configuration it was opened with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The schema in force, and what was looked up in it.
    #[must_use]
    pub fn facts(&self) -> Arc<Facts> {
        self.in_force.facts()
    }

    /// The schema in force.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        self.in_force.schema()
    }

    /// The backends in service.
    #[must_use]
    pub fn backends(&self) -> &[Backend] {
        &self.backends
    }

    /// Says what the server can do beyond what the directory does, for the root DSE.
    ///
    /// # Errors
    /// When the root DSE would be too large.
    pub fn set_capabilities(&self, capabilities: Capabilities) -> Result<(), StoreError> {
        self.in_force.set_capabilities(capabilities)
    }

    /// Takes a new schema: searches that begin from now on use it. What updates do about it is in the log's order, in `apply`.
    ///
    /// # Errors
    /// When the schema's entry would be too large.
    pub fn set_schema(&self, schema: Arc<Schema>) -> Result<(), StoreError> {
        self.in_force.set_schema(schema)
    }

    /// Who tells `cn=monitor` about the server; once, before it serves.
    pub fn set_monitor(&self, provider: Arc<dyn MonitorProvider>) {
        // A second provider is refused: whoever came first is the server.
        let _ = self.monitor.set(provider);
    }

    /// Who is told what an administrator should know; once, before it serves.
    pub fn set_notices(&self, tell: Tell) {
        self.notices.set(tell);
    }

    /// What an administrator should know goes here.
    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    /// What is kept for attributes that entries are given.
    pub(crate) fn computed_service(&self) -> &ComputedService {
        &self.reading.computed
    }

    /// The changes that entries went through.
    #[must_use]
    pub fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// Who is told of changes that no client asked for; once, before the directory serves.
    pub fn set_internal_log(&self, log: Arc<dyn crate::InternalLog>) {
        self.updates.references.set_log(log);
    }

    /// Whether a session may read `cn=monitor` and the rest (for tools beside the protocol).
    #[must_use]
    pub fn access(&self, session: &Session) -> Access {
        Access::of(&session.identity)
    }

    /// A session of a client that has just come, at `now`.
    #[must_use]
    pub fn session(&self, connection: u64, now: Instant) -> Session {
        let mut session = Session::anonymous(connection);
        session.take(self.nobody(), now);
        session
    }

    /// A session of the local administrator, whom the system vouches for, at `now`.
    #[must_use]
    pub fn administrator_session(&self, connection: u64, now: Instant) -> Session {
        let session = Session::of(Identity::Root { dn: LOCAL_ADMINISTRATOR.into() }, connection);
        // Looked up now and kept with the session.
        let _ = self.limits_finder(&self.facts()).of_session(&session, now);
        session
    }

    /// What a failed bind leaves of a session.
    #[must_use]
    pub fn nobody(&self) -> Bound {
        self.limits.nobody()
    }

    /// Takes the limits of a configuration, for everybody from the next search on. Returns whether they are others than before.
    ///
    /// # Errors
    /// When a rule has a name or a pattern that cannot be; then nothing changes.
    pub fn set_limits(&self, config: &Config) -> Result<bool, OpenError> {
        Ok(self.limits.set(config, &self.schema())?)
    }

    /// Groups that rules of limits name and that do not exist: rule and group. Until they do, the rules speak of nobody.
    ///
    /// # Errors
    /// When a database cannot be read.
    pub fn missing_limit_groups(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.limits_finder(&self.facts()).missing_groups()
    }

    /// Finds out what sessions may spend.
    pub(crate) fn limits_finder<'d>(&'d self, facts: &'d Arc<Facts>) -> LimitsFinder<'d> {
        LimitsFinder { live: &self.limits, facts, context: &self.reading }
    }

    /// Asks the entries that lie in no backend and hold the name `dn`, if there are such.
    pub(crate) fn ask_own_entries<T>(
        &self,
        facts: &Facts,
        dn: &NormalizedDn,
        ask: impl FnOnce(&dyn OwnTree, &OwnContext<'_>) -> T,
    ) -> Option<T> {
        self.in_force.ask_own_entries(&self.history, self, facts, dn, ask)
    }

    /// Answers what waits, folds everything into the databases and closes them.
    ///
    /// # Errors
    /// The first failure; all backends are closed nevertheless.
    pub fn close(&self) -> Result<(), OpenError> {
        self.watches.stop();
        self.index_work.stop();
        self.history.stop();
        self.updates.dynamic.stop();
        self.updates.references.stop();
        let mut first = Ok(());
        for backend in self.backends.iter() {
            if let Err(error) = backend.store.close()
                && first.is_ok()
            {
                first = Err(OpenError::Store { backend: backend.id.clone(), error });
            }
        }
        // Now no more numbers are given.
        let ended = self.history.end().map_err(|error| OpenError::Store { backend: "changelog".to_owned(), error });
        first.and(ended)
    }
}

impl MonitorSource for Directory {
    fn collect(&self, facts: &Facts) -> Vec<MonitorEntry> {
        let mut told: Vec<MonitorEntry> = backend_entries(facts, &self.backends, &self.shapes);
        told.push(self.updates.references.monitor_entry(&self.backends));
        told.push(self.updates.intake().monitor_entry());
        told.extend(self.updates.dynamic.monitor_entry());
        told.push(self.history.monitor_entry());
        told.push(self.watches.monitor_entry());
        if let Some(provider) = self.monitor.get() {
            told.extend(provider.monitor_entries());
        }
        told
    }
}

fn open_backend(
    config: &Config,
    configured: &config::BackendConfig,
    suffixes: Vec<Suffix>,
    facts: &Arc<Facts>,
    recorder: Recorder,
    log_disk: Option<Arc<dyn store::log::Disk>>,
) -> Result<Backend, OpenError> {
    let indexes = configured_indexes(&facts.schema, configured)?;
    let key_makers = ArcSwap::from_pointee(indexes.configs.clone());
    let options = BackendOptions {
        log_disk,
        keep_log_from: config.changelog.enabled.then(|| kept_from(&change_numbers(config), &configured.id)),
        ..BackendOptions::of_schema(configured.directory.clone(), &facts.schema, indexes)
    };
    let rules = UpdateRules::new(suffixes.clone(), leniency(config), facts.clone()).noting(recorder);
    let store = store::Backend::open(options, Box::new(rules))
        .map_err(|error| OpenError::Store { backend: configured.id.clone(), error })?;
    Ok(Backend {
        id: configured.id.clone(),
        suffixes,
        writability: configured.writability,
        store,
        key_makers,
        build_failure: ArcSwapOption::empty(),
        entry_limit: AtomicU64::new(configured.index_entry_limit),
    })
}

fn open_history(config: &Config, numbers: Arc<ChangeNumbers>, backends: &[Backend]) -> Result<Arc<History>, OpenError> {
    let source = |backend: &Backend| LogSource {
        id: backend.id.clone(),
        data: backend.store.data_uuid(),
        log: Arc::clone(backend.store.log()),
    };
    let (sources, path) = (backends.iter().map(source).collect(), change_numbers(config));
    Ok(History::open(numbers, sources, config.changelog, Some(path)).map(Arc::new)?)
}

/// The file that is kept beside the logs for the history.
fn change_numbers(config: &Config) -> PathBuf {
    config.instance.changelog().join("numbers")
}
