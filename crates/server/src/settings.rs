//! From the configuration to what the server runs with.
//!
//! The only place of this crate that reads `config`'s views, besides `reload`, which compares two of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use runtime::client_certificates::ClientCertificates;
use runtime::limits::NetworkLimits;
use runtime::listener::{ListenAt, ListenerSettings};
use runtime::log::clock::{TimeFormat, TimeFormatError};
use runtime::log::error::{ErrorLogSettings, Severities, parse_override};
use runtime::log::file::LogFileSettings;
use runtime::tls::{TlsAcceptor, TlsSettings};
use runtime::tls_error::TlsError;
use runtime::tls_keys::{CertificateFiles, Pin};
use thiserror::Error;
use web::listener::HttpListener;

use crate::connection_rules::ConnectionRules;
use crate::http_settings::HttpSettings;
use crate::limits::Limits;
use crate::listener::LdapListener;
use crate::log::{AccessLogSettings, AuditLogSettings, LogFormat};

/// Longest time without a limit: longer than any server runs, short enough to add to a clock.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Bytes that a waiting log line takes on average; `queue-size` counts lines.
const LOG_LINE_BYTES: usize = 256;

/// Why a configuration cannot be served.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A listener's certificate.
    #[error("connection handler {handler:?}: {error}")]
    Tls {
        /// The handler's name.
        handler: String,
        /// What is wrong.
        error: TlsError,
    },
    /// An access log's time format.
    #[error("log publisher {publisher:?}: {error}")]
    TimeFormat {
        /// The publisher's name.
        publisher: String,
        /// What is wrong.
        error: TimeFormatError,
    },
    /// No enabled connection handler.
    #[error("no connection handler is enabled; enable one in pando.toml")]
    NoListener,
}

/// Everything that the network side needs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen.
    pub listeners: Vec<LdapListener>,
    /// From where clients may connect, and how well connections must be encrypted.
    pub connection_rules: Arc<ConnectionRules>,
    /// Where HTTP is served.
    pub http: HttpSettings,
    /// Limits of all connections.
    pub limits: Limits,
    /// Access logs.
    pub access_logs: Vec<AccessLogSettings>,
    /// Audit logs.
    pub audit_logs: Vec<AuditLogSettings>,
    /// Error logs.
    pub error_logs: Vec<ErrorLogSettings>,
    /// What waits longer inside the server is told; `None` for nothing.
    pub stall_threshold: Option<Duration>,
    /// Event loops; one per core.
    pub loops: usize,
}

impl Settings {
    /// Reads the configuration and loads the certificates it names.
    pub fn from_config(config: &Config) -> Result<Self, SettingsError> {
        let global = &config.global;
        let mut listeners = Vec::new();
        for handler in config.handlers.iter().filter(|handler| handler.enabled) {
            handler_listeners(handler, &mut listeners)?;
        }
        if listeners.is_empty() {
            return Err(SettingsError::NoListener);
        }
        listeners.push(LdapListener::administration(config.instance.administration_socket()));
        let access_logs = config
            .access_logs
            .iter()
            .filter(|log| log.file.enabled)
            .map(|log| access_log(log, global.etime_resolution))
            .collect::<Result<_, _>>()?;
        let limits = Limits {
            network: NetworkLimits {
                connections_max: global.connections_max.map_or(0, |most| usize::try_from(most).unwrap_or(usize::MAX)),
                ..NetworkLimits::default()
            },
            outstanding_max: global.outstanding_operations_max,
            notify_abandoned: global.notify_abandoned_operations,
            ..Limits::default()
        };
        Ok(Self {
            listeners,
            connection_rules: Arc::new(ConnectionRules::new(config)),
            http: http_settings(config)?,
            limits,
            access_logs,
            audit_logs: config.audit_logs.iter().filter(|log| log.file.enabled).map(audit_log).collect(),
            error_logs: error_logs(config),
            stall_threshold: global.stall_threshold,
            loops: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        })
    }
}

fn handler_listeners(handler: &config::LdapHandler, listeners: &mut Vec<LdapListener>) -> Result<(), SettingsError> {
    // A certificate that nothing uses need not be there.
    let needs_tls = handler.use_ssl || handler.allow_start_tls;
    let tls = handler.tls.as_ref().filter(|_| needs_tls).map(|tls| acceptor(&handler.name, tls)).transpose()?;
    for listen in &handler.listen {
        let at = match listen {
            config::ListenAddress::Tcp(address) => ListenAt::Tcp(*address),
            config::ListenAddress::Local(path) => ListenAt::Path(path.clone()),
        };
        let network = ListenerSettings {
            tls: tls.clone().filter(|_| handler.use_ssl),
            trusted_proxies: handler.proxies.clone(),
            keep_alive: handler.use_tcp_keep_alive,
            no_delay: handler.use_tcp_no_delay,
            backlog: u32::try_from(handler.accept_backlog).unwrap_or(u32::MAX),
            blocked_write_time: handler.blocked_write_time_limit.unwrap_or(FOREVER),
            ..ListenerSettings::new(at)
        };
        listeners.push(LdapListener {
            handler: handler.name.clone(),
            network,
            start_tls: tls.clone().filter(|_| handler.allow_start_tls),
            allow_ldap_v2: handler.allow_ldap_v2,
            request_bytes_max: handler.request_bytes_max,
        });
    }
    Ok(())
}

fn acceptor(handler: &str, tls: &config::TlsConfig) -> Result<Arc<TlsAcceptor>, SettingsError> {
    let files = certificate_files(tls);
    let clients = tls.clients.as_ref().map(|trust| ClientCertificates {
        required: trust.required,
        trusted: trust.trusted.clone(),
        revoked: trust.revoked.clone(),
    });
    let cipher_suites = tls.cipher_suites.clone();
    TlsAcceptor::new(&TlsSettings { files, tls12: tls.tls12, tls13: tls.tls13, cipher_suites, clients })
        .map(Arc::new)
        .map_err(|error| SettingsError::Tls { handler: handler.to_owned(), error })
}

fn http_settings(config: &Config) -> Result<HttpSettings, SettingsError> {
    let mut settings = HttpSettings::default();
    for handler in config.http_handlers.iter().filter(|handler| handler.enabled) {
        let tls = handler.tls.as_ref().filter(|_| handler.use_ssl);
        let tls = tls.map(|tls| acceptor(&handler.name, tls)).transpose()?;
        let listener = |at: &SocketAddr| HttpListener { handler: handler.name.clone(), at: *at, tls: tls.clone() };
        settings.listeners.extend(handler.listen.iter().map(listener));
        settings.tokens.extend(handler.token_file.iter().map(|file| (handler.name.clone(), file.clone())));
    }
    Ok(settings)
}

fn certificate_files(tls: &config::TlsConfig) -> CertificateFiles {
    let pin = tls.pin_file.clone().map(Pin::File);
    let pin = pin.or_else(|| tls.pin_variable.clone().map(Pin::Environment));
    match &tls.key_store {
        Some(store) => {
            CertificateFiles { certificate: store.clone(), private_key: store.clone(), is_pkcs12: true, pin }
        }
        None => CertificateFiles { pin, ..CertificateFiles::pem(tls.certificate.clone(), tls.private_key.clone()) },
    }
}

fn access_log(
    log: &config::AccessLogConfig,
    etime: config::EtimeResolution,
) -> Result<AccessLogSettings, SettingsError> {
    let time_format = TimeFormat::parse(&log.time_format)
        .map_err(|error| SettingsError::TimeFormat { publisher: log.file.name.clone(), error })?;
    Ok(AccessLogSettings {
        format: if log.combined { LogFormat::Combined } else { LogFormat::MultiLine },
        time_format,
        etime,
        control_oids: log.control_oids,
        queue_bytes_max: log.queue_lines_max.saturating_mul(LOG_LINE_BYTES),
        ..AccessLogSettings::new(log_file(&log.file))
    })
}

fn audit_log(log: &config::AuditLogConfig) -> AuditLogSettings {
    AuditLogSettings { file: log_file(&log.file), obscured: log.obscured.clone() }
}

/// The error logs that are switched on.
pub(crate) fn error_logs(config: &Config) -> Vec<ErrorLogSettings> {
    config.error_logs.iter().filter(|log| log.file.enabled).map(error_log).collect()
}

fn error_log(log: &config::ErrorLogConfig) -> ErrorLogSettings {
    let severities = |set: &std::collections::BTreeSet<config::Severity>| {
        Severities::parse(set.iter().map(|severity| severity.word())).unwrap_or_default()
    };
    let overrides = log.overrides.iter().filter_map(|(category, set)| {
        let (category, _) = parse_override(&format!("{category}=none"))?;
        Some((category, severities(set)))
    });
    ErrorLogSettings {
        severities: severities(&log.severities),
        overrides: overrides.collect(),
        ..ErrorLogSettings::new(log_file(&log.file))
    }
}

fn log_file(file: &config::LogFileConfig) -> LogFileSettings {
    LogFileSettings {
        path: file.path.clone(),
        mode: file.mode,
        append: file.append,
        check_interval: file.check_interval,
        rotation: file.rotation.clone(),
        retention: file.retention.clone(),
        write_out: Some(store::write_out::begin),
        durability: None,
    }
}
