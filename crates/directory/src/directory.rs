//! The directory in service: its parts, and what can be asked of them at any time.
//!
//! Shared by all threads. What it does stands above: [`opening`](crate::opening) opens and closes it,
//! [`operations`](crate::operations) executes requests, [`reconfigure`](crate::reconfigure) takes another
//! configuration. None of the parts knows it.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::ArcSwap;
use config::Config;
use schema::Schema;
use store::StoreError;

use crate::access_settings::LOCAL_ADMINISTRATOR;
use crate::account::{Reencoder, StateWriter};
use crate::bind::{Decoys, MakeKey, RememberedBinds};
use crate::configuration_keeper::ConfigurationKeeper;
use crate::default_referral::DefaultReferral;
use crate::health;
use crate::identity_mappers::IdentityMappers;
use crate::in_force::InForce;
use crate::index_work::IndexWork;
use crate::monitor::{MonitorProvider, backend_entries};
use crate::own::{Capabilities, MonitorSource};
use crate::root_accounts::RootAccounts;
use crate::root_users::RootUsers;
use crate::sasl::SaslSettings;
use crate::search::CookieKey;
use crate::search::advice::ShapeTable;
use crate::second_factor::SecondFactors;
use crate::session::Session;
use crate::shadow::Shadow;
use crate::timer::Timer;
use crate::update::{InternalLog, UpdateState};
use crate::watch::Watches;
use access::guess_rates::GuessRates;
use access::guess_sources::GuessSources;
use access::guesses::Guesses;
use access::limits::{LimitsFinder, LiveLimits};
use access::locked_guesses::LockedGuesses;
use access::unknown_names::UnknownNames;
use access::{AccessControl, AccountClock, Authentication, Bound, Identity, Rights};
use change::history::History;
use query::backend::Backend;
use query::encode::RangeCursors;
use query::facts::Facts;
use query::groups::GroupOptions;
use query::monitor_entry::MonitorEntry;
use query::notices::{Notices, Tell};
use query::read_moment::ReadContext;
use tasks::TaskBook;

/// A directory in service.
pub struct Directory {
    pub(crate) config: Config,
    /// The configuration that was last taken, with what waits for a restart.
    pub(crate) taken: ArcSwap<Config>,
    /// Who changes the file.
    pub(crate) keeper: OnceLock<Arc<dyn ConfigurationKeeper>>,
    pub(crate) backends: Arc<[Backend]>,
    pub(crate) limits: LiveLimits,
    pub(crate) access_control: Arc<AccessControl>,
    /// Proposed instructions, tried beside those in force.
    pub(crate) shadow: Shadow,
    pub(crate) updates: UpdateState,
    pub(crate) index_work: IndexWork,
    pub(crate) roots: ArcSwap<RootUsers>,
    pub(crate) root_accounts: Arc<RootAccounts>,
    pub(crate) sasl: ArcSwap<SaslSettings>,
    pub(crate) identity_mappers: ArcSwap<IdentityMappers>,
    /// Of paged searches.
    pub(crate) cookies: CookieKey,
    pub(crate) in_force: InForce,
    pub(crate) monitor: OnceLock<Arc<dyn MonitorProvider>>,
    /// The backends once more, with what is kept for reading them.
    pub(crate) reading: ReadContext,
    /// Shapes of searches that an index might help, by backend.
    pub(crate) shapes: Arc<[ShapeTable]>,
    pub(crate) group_options: GroupOptions,
    pub(crate) history: Arc<History>,
    pub(crate) notices: Arc<Notices>,
    /// Of range retrievals.
    pub(crate) range_cursors: Arc<RangeCursors>,
    /// For names that no suffix holds.
    pub(crate) default_referral: DefaultReferral,
    pub(crate) watches: Watches,
    pub(crate) account_clock: AccountClock,
    /// Of all accounts, in flight.
    pub(crate) guesses: Arc<Guesses>,
    /// Of locked accounts, while they are locked.
    pub(crate) locked_guesses: Arc<LockedGuesses>,
    /// Names that nobody has, as far as guesses at them are counted.
    pub(crate) unknown_names: Arc<UnknownNames>,
    /// From where wrong passwords came.
    pub(crate) guess_sources: GuessSources,
    /// How often wrong passwords come.
    pub(crate) guess_rates: GuessRates,
    /// What binds change in accounts, on its way.
    pub(crate) states: StateWriter,
    pub(crate) reencoder: Reencoder,
    /// For binds as nobody.
    pub(crate) decoys: Decoys,
    /// Binds that were verified a moment ago.
    pub(crate) remembered: RememberedBinds,
    /// Of answers that must not come sooner.
    pub(crate) timer: Arc<Timer>,
    pub(crate) second_factors: SecondFactors,
    pub(crate) tasks: Arc<TaskBook>,
}

impl Directory {
    /// The configuration it was opened with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration that was last taken, with what waits for a restart: what `cn=config` shows.
    #[must_use]
    pub fn taken(&self) -> Arc<Config> {
        self.taken.load_full()
    }

    /// Every part of the server has taken this configuration.
    pub fn set_taken(&self, config: Config) {
        self.taken.store(Arc::new(config));
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

    /// Who tells `cn=monitor` about the server; once, before it serves.
    pub fn set_monitor(&self, provider: Arc<dyn MonitorProvider>) {
        // A second provider is refused: whoever came first is the server.
        let _ = self.monitor.set(provider);
    }

    /// Who changes the file of the configuration; once, before the server serves.
    pub fn set_configuration_keeper(&self, keeper: Arc<dyn ConfigurationKeeper>) {
        let _ = self.keeper.set(keeper);
    }

    /// Where the keys are kept of what is remembered of passwords; once, before it serves.
    pub fn keep_keys_in(&self, make: MakeKey) {
        self.remembered.keep_keys_in(make);
    }

    /// Who is told what an administrator should know; once, before it serves.
    pub fn set_notices(&self, tell: Tell) {
        self.notices.set(tell);
    }

    /// What an administrator should know goes here.
    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    /// The changes that entries went through.
    #[must_use]
    pub fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// Who is told of changes that no client asked for; once, before the directory serves.
    pub fn set_internal_log(&self, log: Arc<dyn InternalLog>) {
        self.updates.references.set_log(log);
    }

    /// What a session may do at that time.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn rights_of(&self, session: &Session, now_unix_seconds: i64) -> Result<Arc<Rights>, StoreError> {
        self.access_control.rights_of(session, &self.facts(), &self.reading, now_unix_seconds)
    }

    /// Whether an identity is in the group of that name, static, dynamic or nested.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn is_in_group(&self, identity: &Identity, group: &str, now_unix_seconds: i64) -> Result<bool, StoreError> {
        access::is_in_group(&self.facts(), &self.reading, identity, group, now_unix_seconds)
    }

    /// Whether some access rule asks for the names of clients' hosts.
    #[must_use]
    pub fn needs_host_names(&self) -> bool {
        self.access_control.needs_host_names()
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
        let mut session = Session::of(Identity::Root { dn: LOCAL_ADMINISTRATOR.into() }, connection);
        session.authentication = Authentication::LocalSocket;
        // Looked up now and kept with the session.
        let _ = self.limits_finder(&self.facts()).of_session(&session, now);
        session
    }

    /// Whether it is a session of the local administrator, whom the system vouches for.
    #[must_use]
    pub fn is_local_administrator(&self, session: &Session) -> bool {
        let Identity::Root { dn } = &session.identity else { return false };
        **dn == *LOCAL_ADMINISTRATOR && session.authentication == Authentication::LocalSocket
    }

    /// The clock by which accounts are judged.
    #[must_use]
    pub fn account_clock(&self) -> &AccountClock {
        &self.account_clock
    }

    /// The tasks that the server was asked to do.
    #[must_use]
    pub fn tasks(&self) -> &Arc<TaskBook> {
        &self.tasks
    }

    /// The state of the root users' accounts.
    #[must_use]
    pub fn root_accounts(&self) -> &RootAccounts {
        &self.root_accounts
    }

    /// What a failed bind leaves of a session.
    #[must_use]
    pub fn nobody(&self) -> Bound {
        self.limits.nobody()
    }

    /// Groups that rules of limits name and that do not exist: rule and group. Until they do, the rules speak of
    /// nobody.
    ///
    /// # Errors
    /// When a database cannot be read.
    pub fn missing_limit_groups(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.limits_finder(&self.facts()).missing_groups()
    }

    /// What keeps the server from doing its work and does not pass by itself: one sentence each.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        health::troubles(&self.backends)
    }

    /// Finds out what sessions may spend.
    pub(crate) fn limits_finder<'d>(&'d self, facts: &'d Arc<Facts>) -> LimitsFinder<'d> {
        LimitsFinder { live: &self.limits, facts, context: &self.reading }
    }
}

impl MonitorSource for Directory {
    fn configuration(&self) -> Arc<Config> {
        self.taken.load_full()
    }

    fn sasl_mechanisms(&self, session: &access::Session) -> Vec<&'static str> {
        self.sasl.load().offered(&self.identity_mappers.load(), session)
    }

    fn tasks(&self) -> &TaskBook {
        &self.tasks
    }

    fn collect(&self, facts: &Facts) -> Vec<MonitorEntry> {
        let mut told: Vec<MonitorEntry> = backend_entries(facts, &self.backends, &self.shapes);
        told.push(health::monitor_entry(&self.backends));
        told.push(self.updates.references.monitor_entry(&self.backends));
        told.push(self.updates.intake().monitor_entry());
        told.extend(self.updates.dynamic.monitor_entry());
        let states = self.reencoder.tell(self.states.monitor_entry());
        told.push(states.with("guesses-in-flight", self.guesses.in_flight()));
        told.push(self.guess_rates.monitor_entry());
        told.push(self.remembered.monitor_entry());
        told.extend(self.sasl.load().tokens().map(|tokens| tokens.keys.monitor_entry(&self.notices)));
        told.push(self.history.monitor_entry());
        told.push(self.watches.monitor_entry());
        told.push(self.access_monitor_entry());
        told.extend(self.shadow.monitor_entry());
        if let Some(provider) = self.monitor.get() {
            told.extend(provider.monitor_entries());
        }
        told
    }
}
