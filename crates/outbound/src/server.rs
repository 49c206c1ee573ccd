//! Where another server is, and how it is connected to.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// A name or an address, an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Why a text names no server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" names no server: write HOST:PORT, for example ldap1.example.com:636 or [2001:db8::1]:636")]
pub struct ServerError {
    text: String,
}

/// How connections are protected.
#[derive(Clone, Debug)]
pub enum Security {
    /// Not at all.
    Plain,
    /// By TLS from the first byte.
    Tls(Arc<ClientConfig>),
    /// By TLS after the StartTLS operation (RFC 4511 §4.14).
    StartTls(Arc<ClientConfig>),
}

/// How connections are made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How they are protected.
    pub security: Security,
    /// The own address; none: the system chooses.
    pub source: Option<IpAddr>,
    /// Longest time to connect, the TLS handshake included.
    pub connect_timeout: Duration,
    /// Longest time that a request waits for its answer.
    pub answer_timeout: Duration,
    /// The system finds out whether the other side is still there.
    pub keep_alive: bool,
    /// Requests are sent at once.
    pub no_delay: bool,
}

impl FromStr for Server {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Server, ServerError> {
        let error = || ServerError { text: text.to_owned() };
        let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bracketed {
            Some(host) if host.parse::<std::net::Ipv6Addr>().is_ok() => host,
            None if !host.is_empty() && !host.contains([':', '[', ']', '/', ' ']) => host,
            _ => return Err(error()),
        };
        match port.parse() {
            Ok(port) if port > 0 => Ok(Server { host: host.to_owned(), port }),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_and_a_port() {
        for (text, host, port) in
            [("ldap1:389", "ldap1", 389), ("10.0.0.1:636", "10.0.0.1", 636), ("[2001:db8::1]:636", "2001:db8::1", 636)]
        {
            let server: Server = text.parse().unwrap();
            assert_eq!((server.host.as_str(), server.port, server.to_string().as_str()), (host, port, text));
        }
        for text in ["", "ldap1", ":389", "ldap1:", "ldap1:0", "ldap1:65536", "2001:db8::1:636", "[x]:1", "ldap://a:1"]
        {
            assert_eq!(text.parse::<Server>(), Err(ServerError { text: text.to_owned() }), "{text}");
        }
    }
}
