//! What access control rules may ask of a connection: where it comes from, and how its user authenticated.
//!
//! Knows no socket: the server says what it found out.

use std::sync::{Arc, OnceLock};

use sasl::scram::ChannelBindings;

/// How the user of a connection authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    /// Not at all.
    #[default]
    None,
    /// With a name and a password in a simple bind.
    Simple,
    /// By SASL EXTERNAL with a client certificate.
    ClientCertificate,
    /// By SASL EXTERNAL with the user of the process at the other end of a local socket.
    LocalSocket,
    /// By another SASL mechanism, in upper case.
    Sasl(Arc<str>),
}

impl Authentication {
    /// The SASL mechanism, if it was one.
    #[must_use]
    pub fn mechanism(&self) -> Option<&str> {
        match self {
            Authentication::None | Authentication::Simple => None,
            Authentication::ClientCertificate | Authentication::LocalSocket => Some("EXTERNAL"),
            Authentication::Sasl(mechanism) => Some(mechanism),
        }
    }
}

/// The process at the other end of a local socket, as the system names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalPeer {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// It belongs to root, or to the user whom the server runs as.
    pub is_trusted: bool,
}

/// What is known of the TLS of a connection.
#[derive(Debug)]
pub struct TlsChannel {
    /// What the connection can be bound to.
    pub bindings: ChannelBindings,
    /// The client's certificate in DER, if it has one that is good.
    pub client_certificate: Option<Arc<[u8]>>,
}

/// The name of a client's address, looked up once per connection and in the background, and only where some rule asks
/// for it ([`crate::AccessControl::needs_host_names`]).
#[derive(Clone, Debug, Default)]
pub struct HostName(Arc<OnceLock<Option<Box<str>>>>);

/// What is known of the name of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known<'n> {
    /// Nothing yet: rules that ask for it are undefined.
    NotYet,
    /// It has none that leads back to the address.
    Nameless,
    /// Its name.
    Name(&'n str),
}

impl HostName {
    /// What was found out: a name that leads back to the address, or none.
    pub fn resolve(&self, name: Option<&str>) {
        // The first answer stays.
        let _ = self.0.set(name.map(|name| name.trim_end_matches('.').to_ascii_lowercase().into()));
    }

    /// What is known.
    #[must_use]
    pub fn known(&self) -> Known<'_> {
        match self.0.get() {
            None => Known::NotYet,
            Some(None) => Known::Nameless,
            Some(Some(name)) => Known::Name(name),
        }
    }
}
