//! Channel bindings: what only the two ends of one TLS connection know.

use std::sync::Arc;

/// What libldap calls the binding to the server's certificate.
pub(super) const LIBLDAP: &str = "ldap";

/// What libldap puts before the hash of the certificate.
const LDAP_PREFIX: &[u8] = b"tls-server-end-point:";

/// What a connection offers to bind to. Without TLS nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelBindings {
    /// Hash of the server's certificate (RFC 5929 §4).
    pub tls_server_end_point: Option<Arc<[u8]>>,
    /// Keying material of the connection (RFC 9266); only with TLS 1.3.
    pub tls_exporter: Option<[u8; 32]>,
}

impl ChannelBindings {
    /// Whether there is anything to bind to, so that mechanisms with `-PLUS` work.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tls_server_end_point.is_none() && self.tls_exporter.is_none()
    }

    /// The data of the binding of that name. Clients of OpenLDAP know one binding by a name of their own.
    pub(crate) fn data(&self, name: &str) -> Option<Vec<u8>> {
        let end_point = self.tls_server_end_point.as_deref();
        match name {
            "tls-exporter" => self.tls_exporter.map(|material| material.to_vec()),
            "tls-server-end-point" => end_point.map(<[u8]>::to_vec),
            LIBLDAP => end_point.map(|hash| [LDAP_PREFIX, hash].concat()),
            _ => None,
        }
    }
}
