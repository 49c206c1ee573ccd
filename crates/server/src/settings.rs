//! From the configuration to what the server runs with.
//!
//! The only place of this crate that reads `config`'s views, besides `log::settings` and `reload`, which compares
//! two of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use runtime::client_certificates::ClientCertificates;
use runtime::limits::NetworkLimits;
use runtime::listener::{ListenAt, ListenerSettings};
use runtime::tls::{TlsAcceptor, TlsSettings};
use runtime::tls_error::TlsError;
use runtime::tls_keys::{CertificateFiles, Pin};
use thiserror::Error;
use web::listener::HttpListener;

use crate::connection_rules::ConnectionRules;
use crate::http_settings::HttpSettings;
use crate::limits::Limits;
use crate::listener::LdapListener;
use crate::log::LogSettings;
use crate::log::settings::LogSettingsError;

/// Longest time without a limit: longer than any server runs, short enough to add to a clock.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

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
    /// A log.
    #[error(transparent)]
    Log(#[from] LogSettingsError),
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
    /// Access, audit and error logs.
    pub logs: LogSettings,
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
            logs: LogSettings::from_config(config)?,
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
