//! Opening and closing a directory: its backends, its history, and what is brought up to date before it serves.
//!
//! Knows the order of these steps; what each does is the business of the part.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use config::{BackendConfig, Config};
use store::BackendOptions;
use store::index::IndexConfigs;

use crate::access_settings::access_settings;
use crate::account::{Reencoder, StateWriter};
use crate::bind::{Decoys, RememberedBinds};
use crate::breach_lists::tell_of_lists;
use crate::default_referral::DefaultReferral;
use crate::directory::Directory;
use crate::guess_rates::guess_limits;
use crate::identity_mappers::IdentityMappers;
use crate::in_force::InForce;
use crate::index_work::IndexWork;
use crate::open_error::OpenError;
use crate::password_keys::take_password_keys;
use crate::root_accounts::RootAccounts;
use crate::root_users::RootUsers;
use crate::sasl::SaslSettings;
use crate::search::CookieKey;
use crate::search::advice::ShapeTable;
use crate::second_factor::SecondFactors;
use crate::shadow::Shadow;
use crate::update::UpdateState;
use crate::watch::Watches;
use access::guess_rates::GuessRates;
use access::guess_sources::GuessSources;
use access::limits::LiveLimits;
use access::unknown_names::UnknownNames;
use access::{AccessControl, AccessSettings, AccountClock};
use change::apply::UpdateRules;
use change::history::{ChangeNumbers, History, LogSource, Recorder, kept_from};
use query::backend::{Backend, Suffix};
use query::computed::{ComputedService, check_tables};
use query::configured::{all_suffixes, configured_indexes, leniency, load_schema};
use query::configured_names::check_names;
use query::facts::Facts;
use query::groups::{GroupOptions, GroupService};
use query::notices::Notices;
use query::policies::{ConfiguredPolicies, PolicyService};
use query::read_moment::ReadContext;
use tasks::TaskBook;

impl Directory {
    /// Opens all enabled backends of the configuration, which includes recovery after a crash.
    ///
    /// # Errors
    /// When the schema has mistakes, an index cannot be, or a backend does not open.
    pub fn open(config: &Config) -> Result<Directory, OpenError> {
        Self::open_with(config, |_| None)
    }

    /// [`Directory::open`] with the logs of backends on disks of one's own, by the backend's id: for tests whose disks
    /// are slow or fail.
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
        let access = access_settings(config, &facts.schema)?;
        let directory = assembled(config, access, facts, backends, history)?;
        directory.updating().settle_schema()?;
        directory.indexing().settle()?;
        directory.updating().set_base_dns()?;
        directory.updating().set_plugins(config)?;
        directory.propose_at_start(config)?;
        directory.root_accounts.set_users(&directory.roots.load(), directory.account_clock.now());
        directory.history.start(&directory.notices).map_err(|error| OpenError::Thread { error })?;
        Ok(directory)
    }

    /// A directory of backends that are only read, for tools that ask it questions: beside the server, or without one.
    /// `open` gives the store of each enabled backend; none leaves the backend out. Updates are refused.
    ///
    /// # Errors
    /// When the schema has mistakes, something of the configuration is not valid, or a backend does not open.
    pub fn open_for_reading<E: From<OpenError>>(
        config: &Config,
        mut open: impl FnMut(&BackendConfig) -> Result<Option<store::Backend>, E>,
    ) -> Result<Directory, E> {
        let facts = Arc::new(Facts::new(load_schema(config).map_err(OpenError::from)?));
        let mut backends: Vec<Backend> = Vec::new();
        for (configured, suffixes) in all_suffixes(config, &facts.schema).map_err(OpenError::from)? {
            let indexes = configured_indexes(&facts.schema, configured).map_err(OpenError::from)?;
            let key_makers = indexes.configs;
            backends.extend(open(configured)?.map(|store| in_service(configured, suffixes, key_makers, store)));
        }
        let logs = backends.iter().map(|backend| Arc::clone(backend.store.log())).collect();
        let history =
            History::of_files(logs).map_err(|error| OpenError::Store { backend: "changelog".to_owned(), error })?;
        // Whoever asks about instructions gets the answer of instructions.
        let access = access_settings(config, &facts.schema)?;
        Ok(assembled(config, access, facts, backends, Arc::new(history))?)
    }

    /// Answers what waits, folds everything into the databases and closes them.
    ///
    /// # Errors
    /// The first failure; all backends are closed nevertheless.
    pub fn close(&self) -> Result<(), OpenError> {
        self.watches.stop();
        self.root_accounts.close();
        self.timer.close();
        self.index_work.stop();
        self.history.stop();
        self.updates.dynamic.stop();
        self.updates.references.stop();
        self.updates.judging_again.stop();
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

/// All parts, before anything is brought up to date.
fn assembled(
    config: &Config,
    access: AccessSettings,
    facts: Arc<Facts>,
    backends: Vec<Backend>,
    history: Arc<History>,
) -> Result<Directory, OpenError> {
    take_password_keys(config)?;
    let notices = Arc::new(Notices::default());
    let group_options = GroupOptions::of(&config.virtual_attributes);
    check_tables(&facts, &config.virtual_attributes)?;
    let computed = Arc::new(ComputedService::new(&config.virtual_attributes, backends.len(), &notices));
    let policies = ConfiguredPolicies::new(config, &facts.schema)?;
    check_names(config, &facts.schema)?;
    let policies = Arc::new(PolicyService::new(policies, backends.len(), &notices));
    let backends: Arc<[Backend]> = backends.into();
    let in_force = InForce::new(Arc::clone(&facts), &backends)
        .map_err(|error| OpenError::Store { backend: "rootDSE".to_owned(), error })?;
    let groups = Arc::new(GroupService::new(group_options, &notices));
    let updates = UpdateState::new(config);
    let intake = Arc::clone(updates.intake());
    let root_accounts = Arc::new(root_accounts(config, &facts, &notices)?);
    let unknown_names = Arc::new(UnknownNames::default());
    let states = StateWriter::new(
        Arc::clone(&backends),
        Arc::clone(&root_accounts),
        Arc::clone(&unknown_names),
        Box::new(move || intake.next_csn()),
    );
    let reencoder = Reencoder::new(states.clone());
    tell_of_lists(&notices, config);
    let second_factors = SecondFactors::new(config.instance.second_factor_key(), &notices);
    Ok(Directory {
        shapes: backends.iter().map(|_| ShapeTable::default()).collect(),
        reading: ReadContext { backends: Arc::clone(&backends), groups, computed, policies },
        limits: LiveLimits::new(config, &facts.schema)?,
        access_control: AccessControl::new(access)?,
        shadow: Shadow::new(backends.len()),
        updates,
        states,
        reencoder,
        index_work: IndexWork::default(),
        sasl: ArcSwap::from_pointee(SaslSettings::new(config, &facts.schema)?),
        identity_mappers: ArcSwap::from_pointee(IdentityMappers::new(config, &facts.schema)?),
        roots: ArcSwap::from_pointee(RootUsers::new(config, &facts.schema)?),
        root_accounts,
        decoys: Decoys::new(config, backends.len()),
        config: config.clone(),
        keeper: OnceLock::new(),
        taken: ArcSwap::from_pointee(config.clone()),
        backends,
        cookies: CookieKey::default(),
        in_force,
        monitor: OnceLock::new(),
        group_options,
        history,
        notices,
        range_cursors: Arc::default(),
        default_referral: DefaultReferral::new(config),
        watches: Watches::new(config.global.persistent_searches_max),
        account_clock: AccountClock::default(),
        guesses: Arc::default(),
        locked_guesses: Arc::default(),
        unknown_names,
        guess_sources: GuessSources::default(),
        guess_rates: guess_rates(config),
        timer: Arc::default(),
        remembered: RememberedBinds::default(),
        second_factors,
        tasks: Arc::new(TaskBook::open(config.instance.tasks())?),
    })
}

fn guess_rates(config: &Config) -> GuessRates {
    let rates = GuessRates::default();
    rates.set(guess_limits(config));
    rates
}

fn root_accounts(config: &Config, facts: &Facts, notices: &Arc<Notices>) -> Result<RootAccounts, OpenError> {
    let path = config.instance.root_accounts();
    RootAccounts::open(&path, &facts.schema, notices).map_err(|error| OpenError::RootAccounts { path, error })
}

fn open_backend(
    config: &Config,
    configured: &BackendConfig,
    suffixes: Vec<Suffix>,
    facts: &Arc<Facts>,
    recorder: Recorder,
    log_disk: Option<Arc<dyn store::log::Disk>>,
) -> Result<Backend, OpenError> {
    let indexes = configured_indexes(&facts.schema, configured)?;
    let key_makers = indexes.configs.clone();
    let options = BackendOptions {
        log_disk,
        keep_log_from: config.changelog.enabled.then(|| kept_from(&change_numbers(config), &configured.id)),
        ..BackendOptions::of_schema(configured.directory.clone(), &facts.schema, indexes)
    };
    let rules = UpdateRules::new(suffixes.clone(), leniency(config), facts.clone()).with_recorder(recorder);
    let store = store::Backend::open(options, Box::new(rules))
        .map_err(|error| OpenError::Store { backend: configured.id.clone(), error })?;
    Ok(in_service(configured, suffixes, key_makers, store))
}

fn in_service(
    configured: &BackendConfig,
    suffixes: Vec<Suffix>,
    key_makers: IndexConfigs,
    store: store::Backend,
) -> Backend {
    Backend {
        id: configured.id.clone(),
        suffixes,
        writability: configured.writability,
        store,
        key_makers: ArcSwap::from_pointee(key_makers),
        build_failure: ArcSwapOption::empty(),
        entry_limit: AtomicU64::new(configured.index_entry_limit),
    }
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
