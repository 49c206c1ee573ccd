//! Who asks, over which connection, and when: the part of a question that is not the request.

use std::net::IpAddr;
use std::time::{Instant, SystemTime};

use access::Authentication;
use clap::Args;
use directory::{Directory, Session};

use crate::failure::Failure;
use crate::tools::time;

/// How an anonymous client is written.
pub const ANONYMOUS: &str = "anonymous";

/// The connection that is looked at.
const CONNECTION: u64 = 0;

#[derive(Debug, Clone, Default, Args)]
pub struct ConnectionOptions {
    /// Address of the client [default: none, so that rules by address are not true]
    #[arg(long = "ip", value_name = "ADDRESS")]
    pub ip: Option<IpAddr>,
    /// Host name of the client
    #[arg(long = "host", value_name = "NAME")]
    pub host: Option<String>,
    /// Bits of encryption of the connection; 0 for none
    #[arg(long = "ssf", value_name = "BITS", default_value_t = 0)]
    pub ssf: u32,
    /// How the client proved who it is: none, simple, ssl (client certificate), ldapi, or "sasl MECHANISM" [default:
    /// simple, of anonymous clients none]
    #[arg(long = "auth", value_name = "METHOD", value_parser = authentication)]
    pub auth: Option<Authentication>,
    /// The moment that is asked about, such as "2026-11-21 10:00" [default: now]
    #[arg(long = "at", value_name = "TIME", value_parser = time::parse)]
    pub at: Option<u64>,
}

impl ConnectionOptions {
    /// A session of that user.
    pub fn session(&self, directory: &Directory, user: &str) -> Result<Session, Failure> {
        let mut session = directory.session(CONNECTION, Instant::now());
        session.identity = directory.identity_of(name_of(user))?;
        session.address = self.ip;
        session.security_strength_bits = self.ssf;
        if let Some(host) = &self.host {
            session.host_name.resolve(Some(host));
        }
        let default = match session.identity.is_anonymous() {
            true => Authentication::None,
            false => Authentication::Simple,
        };
        session.authentication = self.auth.clone().unwrap_or(default);
        Ok(session)
    }

    /// Seconds since 1970.
    pub fn unix_seconds(&self) -> i64 {
        let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let seconds = self.at.map_or_else(now, |us| us / 1_000_000);
        i64::try_from(seconds).unwrap_or(i64::MAX)
    }
}

/// The name of a user as it is given: `anonymous`, `dn:NAME` or `NAME`.
pub fn name_of(user: &str) -> &str {
    match user.trim() {
        user if user.eq_ignore_ascii_case(ANONYMOUS) => "",
        user => user.strip_prefix("dn:").unwrap_or(user),
    }
}

/// The name as people are told it.
pub fn shown(dn: &str) -> &str {
    if dn.is_empty() { ANONYMOUS } else { dn }
}

/// A word of `authmethod`.
pub fn authentication(text: &str) -> Result<Authentication, String> {
    let mut words = text.split_whitespace();
    let word = words.next().unwrap_or_default().to_ascii_lowercase();
    match (word.as_str(), words.next(), words.next()) {
        ("none", None, _) => Ok(Authentication::None),
        ("simple", None, _) => Ok(Authentication::Simple),
        ("ssl", None, _) => Ok(Authentication::ClientCertificate),
        ("ldapi", None, _) => Ok(Authentication::LocalSocket),
        ("sasl", Some(mechanism), None) => Ok(Authentication::Sasl(mechanism.to_ascii_uppercase().into())),
        _ => Err("write none, simple, ssl, ldapi or \"sasl MECHANISM\"".to_owned()),
    }
}
