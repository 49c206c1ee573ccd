//! A listener that speaks LDAP: what the runtime listens with, and what LDAP asks for beside it.

use std::path::PathBuf;
use std::sync::Arc;

use runtime::listener::{Audience, ListenAt, ListenerSettings};
use runtime::tls::TlsAcceptor;

/// A listener as configured.
#[derive(Debug, Clone)]
pub struct LdapListener {
    /// The name of its connection handler; empty for the administrators' socket.
    pub handler: String,
    /// Where and how connections are accepted.
    pub network: ListenerSettings,
    /// The certificate for clients that ask for TLS; nothing when they may not.
    pub start_tls: Option<Arc<TlsAcceptor>>,
    /// Binds of version 2 are accepted.
    pub allow_ldap_v2: bool,
    /// Largest request.
    pub request_bytes_max: usize,
}

impl LdapListener {
    /// Plain LDAP with the defaults.
    pub fn new(at: ListenAt) -> Self {
        Self {
            handler: String::new(),
            network: ListenerSettings::new(at),
            start_tls: None,
            allow_ldap_v2: true,
            request_bytes_max: 5 * 1024 * 1024,
        }
    }

    /// The socket for administrators of an instance.
    pub fn administration(path: PathBuf) -> Self {
        let plain = Self::new(ListenAt::Path(path));
        Self { network: ListenerSettings { audience: Audience::LocalAdministrator, ..plain.network }, ..plain }
    }

    /// The `protocol` of the access log.
    pub fn protocol(&self) -> &'static str {
        match (&self.network.at, &self.network.tls) {
            (ListenAt::Path(_), _) => "LDAPI",
            (ListenAt::Tcp(_), Some(_)) => "LDAPS",
            (ListenAt::Tcp(_), None) => "LDAP",
        }
    }

    /// All certificates that it serves.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = &Arc<TlsAcceptor>> {
        self.network.tls.iter().chain(&self.start_tls)
    }
}
