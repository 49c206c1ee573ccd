//! Starting and stopping: sockets, loops, pools, logs, in the right order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use directory::{Capabilities, Directory, Fill, IndexNotice, KeyMemory, MonitorProvider, NoticeKind};
use ldap::oids::extended as oids;
use runtime::certificates;
use runtime::listener::ListenAt;
use runtime::locked_memory::LockedMemory;
use runtime::log::error::ErrorLog;
use runtime::loops::{Loops, LoopsError, LoopsSettings, OpenLoops};
use runtime::periodic::Periodic;
use runtime::signals::{Signal, Signals};
use thiserror::Error;

use crate::administration::Administration;
use crate::changed_by::ChangedBy;
use crate::configuration_keeper::Keeper;
use crate::configuration_record::ConfigurationRecord;
use crate::connection_rules::ConnectionRules;
use crate::connections::Connections;
use crate::executor::Executor;
use crate::http::{self, Behind, Http, HttpOpenError};
use crate::http_settings::HttpSettings;
use crate::ldap_loop::{LdapLoop, Listening};
use crate::limits::STOP_TIME_MAX;
use crate::listener::LdapListener;
use crate::log::AccessLog;
use crate::log::internal::InternalAccessLog;
use crate::log::publishers::{LogOpenError, Publishers};
use crate::metrics::LdapMetrics;
use crate::monitor::Monitor;
use crate::notifications::{ExpiryWarnings, Follower, Notifications};
use crate::operation::{DirectoryExecutor, Pools};
use crate::password_servers::{self, PasswordServers};
use crate::reload::LiveParts;
use crate::remote::LdapMail;
use crate::settings::{Settings, SettingsError};
use crate::stalls::Stalls;
use crate::tasks::{Ending, Host, TaskRunner};
use crate::watch::watch;
use crate::{invalid_instructions, kerberos, messages, missing_groups, older_instructions, tasks};

/// Descriptors that the server needs beside those of its clients.
const DESCRIPTORS_OWN: u64 = 256;

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The configuration cannot be served.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Listeners, pollers.
    #[error(transparent)]
    Loops(#[from] LoopsError),
    /// The directory does not take what the server can do.
    #[error("root DSE: {0}")]
    RootDse(#[from] store::StoreError),
    /// A log.
    #[error(transparent)]
    Log(#[from] LogOpenError),
    /// A listener of HTTP.
    #[error(transparent)]
    Http(#[from] HttpOpenError),
    /// A notification handler.
    #[error("{0}")]
    Notification(String),
    /// The Kerberos library does not take what the configuration says.
    #[error("the SASL mechanism GSSAPI is not usable: {0}")]
    Kerberos(String),
    /// Another server that checks passwords.
    #[error("{0}")]
    PasswordServer(String),
    /// Threads.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It stays away.
    Stopped,
    /// It is to be started again.
    ForRestart,
}

/// A running server.
pub struct Server {
    loops: Loops<LdapMail>,
    metrics: Vec<Arc<LdapMetrics>>,
    listeners: Arc<[LdapListener]>,
    connection_rules: Arc<ConnectionRules>,
    stalls: Arc<Stalls>,
    pools: Option<Pools>,
    password_servers: Option<Arc<PasswordServers>>,
    http: Option<Http>,
    directory: Option<Arc<Directory>>,
    administration: Option<Arc<Administration>>,
    connections: Arc<Connections>,
    tasks: Option<TaskRunner>,
    ending: Arc<Ending>,
    errors: ErrorLog,
    keeper: Option<Periodic>,
    watch: Option<Periodic>,
    follower: Option<Follower>,
    expiry_warnings: Option<ExpiryWarnings>,
    logs: Arc<Publishers>,
}

impl Server {
    /// Serves a directory as its configuration says.
    ///
    /// # Errors
    /// When the configuration cannot be served, or a socket, a log or a certificate cannot be opened.
    pub fn start(directory: Arc<Directory>) -> Result<Self, StartError> {
        let settings = Settings::from_config(directory.config())?;
        Self::start_with(directory, settings)
    }

    /// Serves a directory with settings of one's own.
    ///
    /// # Errors
    /// When a socket or a log cannot be opened.
    pub fn start_with(directory: Arc<Directory>, settings: Settings) -> Result<Self, StartError> {
        // Before anything else, so that everything can be reported.
        let logs = Arc::new(Publishers::new());
        logs.set(&settings.logs, &directory.schema())?;
        kerberos::set(directory.config()).map_err(StartError::Kerberos)?;
        let pools = Pools::new(settings.loops);
        directory.set_capabilities(capabilities(&settings))?;
        directory.keep_keys_in(key_memory);
        report_replayed(&directory, logs.errors());
        missing_groups::warn(&directory, logs.errors());
        invalid_instructions::warn(&directory, logs.errors());
        older_instructions::warn(&directory, logs.errors());
        tasks::end_interrupted(&directory, logs.errors());
        let errors = logs.errors().clone();
        directory.set_notices(Box::new(move |kind, sentence| {
            let kind = match kind {
                NoticeKind::Definition => messages::DEFINITION_BROKEN,
                NoticeKind::History => messages::HISTORY_TROUBLE,
                NoticeKind::PersistentSearch => messages::WATCH_TROUBLE,
                NoticeKind::NotObeyed => messages::NOT_OBEYED,
                NoticeKind::Instruction => messages::INSTRUCTION_NAMES_NOTHING,
                NoticeKind::Expiry => messages::EXPIRY_FAILED,
                NoticeKind::Proposal => messages::PROPOSAL_NOT_TRIED,
                NoticeKind::AccessControl => messages::INSTRUCTIONS_NOT_INDEXED,
                NoticeKind::SecondFactor => messages::SECOND_FACTOR,
                NoticeKind::RootAccount => messages::ROOT_ACCOUNT,
                NoticeKind::TokenKeys => messages::TOKEN_KEYS,
                NoticeKind::SharedName => messages::SHARED_NAME,
                NoticeKind::BreachList => messages::BREACH_LIST,
                NoticeKind::BreachListFault => messages::BREACH_LIST_FAULT,
            };
            errors.report(kind, sentence);
        }));
        let internal = AccessLog::new(logs.access());
        directory.set_internal_log(Arc::new(InternalAccessLog::new(internal)));
        let begun_at = SystemTime::now();
        let administration = Arc::new(Administration::new(Arc::clone(&directory), logs.errors().clone()));
        let notifications =
            Notifications::start(&directory, logs.errors().clone()).map_err(StartError::Notification)?;
        let checked = password_servers::check(directory.config()).map_err(StartError::PasswordServer)?;
        let password_servers = Arc::new(PasswordServers::start(checked, logs.errors().clone())?);
        let executor = {
            let (directory, pools) = (Arc::clone(&directory), pools.clone());
            let (administration, notifications) = (Arc::clone(&administration), Arc::clone(&notifications));
            let password_servers = Arc::clone(&password_servers);
            move || -> Box<dyn Executor> {
                let administration = Arc::clone(&administration);
                let (directory, notifications) = (Arc::clone(&directory), Arc::clone(&notifications));
                let servers = Arc::clone(&password_servers);
                Box::new(DirectoryExecutor::new(directory, pools.clone(), administration, notifications, servers))
            }
        };
        // Before the first client may change anything.
        logs.set_audits(&settings.logs.audit, &directory)?;
        let open_http = http::open(&settings.http)?;
        let HttpSettings { listeners: http_listeners, tokens } = settings.http.clone();
        let mut server = Self::launch(settings, Arc::clone(&logs), executor)?;
        let monitor = Arc::new(Monitor {
            connections: server.loops.counts(),
            metrics: server.metrics.clone(),
            listeners: Arc::clone(&server.listeners),
            http: http_listeners,
            pools: pools.clone(),
            password_servers: Arc::clone(&password_servers),
            stalls: Arc::clone(&server.stalls),
            survey: server.loops.survey(),
            logs: Arc::clone(&logs),
            begun: Instant::now(),
            begun_at,
        });
        let record = ConfigurationRecord::new(Arc::clone(&logs), &directory);
        record.started(directory.config(), &server.errors);
        directory.set_configuration_keeper(Keeper::new(&administration));
        directory.set_monitor(Arc::clone(&monitor) as Arc<dyn MonitorProvider>);
        server.pools = Some(pools);
        let errors = server.errors.clone();
        directory.start_index_builders(Arc::new(move |notice: IndexNotice| match &notice {
            IndexNotice::Begun { .. } => errors.report(messages::INDEX_BUILD_BEGUN, notice),
            IndexNotice::Complete { .. } => errors.report(messages::INDEX_BUILD_COMPLETE, notice),
            IndexNotice::Failed { .. } => errors.report(messages::INDEX_BUILD_FAILED, notice),
        }))?;
        server.follower = Some(Follower::start(&directory, Arc::clone(&notifications))?);
        server.expiry_warnings = Some(ExpiryWarnings::start(&directory, Arc::clone(&notifications))?);
        administration.begin(LiveParts {
            notifications,
            stalls: Arc::clone(&server.stalls),
            connection_rules: Arc::clone(&server.connection_rules),
            password_servers: Arc::clone(&password_servers),
            record,
            logs,
        });
        server.password_servers = Some(password_servers);
        server.administration = Some(administration);
        server.watch = Some(watch(Arc::clone(&directory), Arc::clone(&server.stalls))?);
        let rules = Arc::clone(&server.connection_rules);
        server.http = Http::start(open_http, tokens, Behind { directory: Arc::clone(&directory), monitor, rules })?;
        let host = Host {
            errors: server.errors.clone(),
            connections: Arc::clone(&server.connections),
            rules: Arc::clone(&server.connection_rules),
            ending: Arc::clone(&server.ending),
        };
        server.tasks = Some(TaskRunner::start(&directory, host)?);
        server.directory = Some(directory);
        server.errors.report(messages::STARTED, "The server is ready");
        Ok(server)
    }

    /// Serves until SIGTERM or SIGINT, and then stops in order. SIGHUP opens the logs anew and has the
    /// configuration read again. Tells the service manager
    /// when the server is ready and when it stops.
    ///
    /// # Errors
    /// When signals cannot be waited for; the server has stopped then, too.
    pub fn run_until_signal(self, signals: &mut Signals) -> io::Result<Ended> {
        self.tell_service_manager(sd_notify::NotifyState::Ready);
        let waited = loop {
            match signals.wait() {
                Ok(Signal::Reload) => {
                    self.reopen_logs();
                    if let Some(administration) = &self.administration {
                        // Whoever sent the signal reads the error log.
                        let _ = administration.reload(&ChangedBy::reload("SIGHUP"));
                    }
                }
                Ok(Signal::Stop) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let ended = if self.ending.restarts() { Ended::ForRestart } else { Ended::Stopped };
        if ended == Ended::Stopped {
            // Who is told that a service stops, waits for its process to end.
            self.tell_service_manager(sd_notify::NotifyState::Stopping);
        }
        self.errors.report(messages::STOPPING, "The server is stopping");
        self.shutdown(STOP_TIME_MAX);
        waited.map(|()| ended)
    }

    fn tell_service_manager(&self, state: sd_notify::NotifyState<'_>) {
        // Without a service manager this does nothing and succeeds.
        if let Err(error) = sd_notify::notify(&[state]) {
            self.errors.report(messages::SERVICE_MANAGER, format_args!("sd_notify: {error}"));
        }
    }

    /// Opens the sockets and starts the loops.
    pub(crate) fn launch(
        settings: Settings,
        logs: Arc<Publishers>,
        mut executor: impl FnMut() -> Box<dyn Executor>,
    ) -> Result<Self, StartError> {
        let errors = logs.errors().clone();
        check_descriptors(&settings, &errors);
        let stalls = Arc::new(Stalls::new(errors.clone(), settings.stall_threshold));
        let (mut listeners, connection_rules) = (settings.listeners, settings.connection_rules);
        let networks = LoopsSettings {
            listeners: listeners.iter().map(|listener| listener.network.clone()).collect(),
            limits: settings.limits.network.clone(),
            count: settings.loops,
        };
        let mut metrics = Vec::new();
        let shared: Arc<[LdapListener]> = listeners.clone().into();
        let connections = Arc::<Connections>::default();
        let open = OpenLoops::open(networks, &errors, |parts| {
            let log = AccessLog::new(logs.access());
            let limits = settings.limits.clone();
            let listening = Listening {
                listeners: Arc::clone(&shared),
                rules: Arc::clone(&connection_rules),
                connections: Arc::clone(&connections),
            };
            let ldap = LdapLoop::new(executor(), limits, listening, log, Arc::clone(&stalls), parts);
            metrics.push(Arc::clone(&ldap.metrics));
            ldap
        })?;
        for (listener, at) in listeners.iter_mut().zip(open.addresses()) {
            listener.network.at = at.clone();
        }
        let loops = open.start()?;
        let https = settings.http.listeners.iter().filter_map(|listener| listener.tls.as_ref());
        let acceptors = listeners.iter().flat_map(LdapListener::certificates).chain(https).cloned().collect();
        let keeper = certificates::watch(acceptors, errors.clone())?;
        Ok(Self {
            loops,
            metrics,
            listeners: listeners.into(),
            connection_rules,
            stalls,
            pools: None,
            password_servers: None,
            http: None,
            directory: None,
            administration: None,
            connections,
            tasks: None,
            ending: Arc::default(),
            errors,
            keeper,
            watch: None,
            follower: None,
            expiry_warnings: None,
            logs,
        })
    }

    /// Where the server listens, with the ports that the system chose where 0 was configured.
    pub fn addresses(&self) -> &[ListenAt] {
        self.loops.addresses()
    }

    /// Where HTTP is served, and whether with TLS.
    pub fn http_addresses(&self) -> Vec<(SocketAddr, bool)> {
        self.http.iter().flat_map(Http::addresses).collect()
    }

    /// The error log.
    pub fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// The counters of all loops.
    pub fn metrics(&self) -> &[Arc<LdapMetrics>] {
        &self.metrics
    }

    /// Opens the log files anew under their names.
    pub fn reopen_logs(&self) {
        self.logs.reopen();
    }

    /// Returns when all log lines written so far are in the files.
    pub fn flush_logs(&self) {
        self.logs.flush();
    }

    /// Stops accepting, lets running operations end (for `time_max` at most), tells the clients, closes.
    pub fn shutdown(mut self, time_max: Duration) {
        self.stop_loops(time_max);
    }

    fn stop_loops(&mut self, time_max: Duration) {
        if !self.loops.is_running() {
            return;
        }
        let until = Instant::now() + time_max;
        if let Some(http) = &self.http {
            http.stopping();
        }
        // They would not end by themselves.
        if let Some(directory) = &self.directory {
            directory.end_watches();
        }
        if let Some(administration) = &self.administration {
            administration.stop();
        }
        if let Some(tasks) = &self.tasks {
            tasks.close();
        }
        self.loops.stop(until);
        // Dropped, it waits for tasks that run, which end where they can.
        self.tasks = None;
        self.keeper = None;
        self.watch = None;
        self.http = None;
        if let Some(servers) = &self.password_servers {
            servers.stop();
        }
        if let Some(pools) = &self.pools {
            pools.stop();
        }
        // Nobody changes anything any more: they write the rest.
        self.logs.stop_audits();
        self.follower = None;
        self.expiry_warnings = None;
        self.errors.report(messages::STOPPED, "The server has stopped");
        self.logs.stop();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_loops(STOP_TIME_MAX);
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("addresses", &self.addresses()).finish_non_exhaustive()
    }
}

/// What the root DSE says beyond what the directory does.
fn capabilities(settings: &Settings) -> Capabilities {
    Capabilities {
        start_tls: settings.listeners.iter().any(|listener| listener.start_tls.is_some()),
        ldap_v2: settings.listeners.iter().any(|listener| listener.allow_ldap_v2),
        extensions: [oids::CANCEL, oids::GET_CONNECTION_ID, oids::RELOAD_CONFIGURATION, oids::REBUILD_INDEXES]
            .map(str::to_owned)
            .into(),
    }
}

fn check_descriptors(settings: &Settings, errors: &ErrorLog) {
    let wanted = settings.limits.network.connections_max as u64 + DESCRIPTORS_OWN;
    match runtime::sys::raise_open_files_limit() {
        Ok(Some(limit)) if limit < wanted => errors.report(
            messages::FILE_LIMIT,
            format_args!(
                "The system allows {limit} open files, too few for max-allowed-client-connections ({}); raise the hard \
                 limit (ulimit -Hn, LimitNOFILE)",
                settings.limits.network.connections_max
            ),
        ),
        Ok(_) => {}
        Err(error) => errors.report(messages::OPEN_FILES_UNKNOWN, format_args!("open files: {error}")),
    }
}

/// What a crash left in the log only, each backend has again.
fn report_replayed(directory: &Directory, errors: &ErrorLog) {
    for backend in directory.backends() {
        let stats = backend.store.stats();
        if stats.replayed > 0 {
            let (id, changes, ms) = (&backend.id, stats.replayed, stats.replay.as_millis());
            let text = format_args!(
                "The server had not stopped in order: {changes} changes of the backend \"{id}\" were taken from its \
                 log, in {ms} ms"
            );
            errors.report(messages::REPLAYED, text);
        }
    }
}

/// Memory for a key that is neither swapped nor dumped.
fn key_memory(bytes: usize, fill: Fill<'_>) -> Option<KeyMemory> {
    Some(Box::new(LockedMemory::new(bytes, fill).ok()?))
}
