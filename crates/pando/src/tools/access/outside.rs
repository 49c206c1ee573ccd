//! What keeps a client out before its rights are asked: where it comes from, how well its connection is encrypted, an
//! account that is out of use.

use std::net::IpAddr;

use access::Authentication;
use config::{AddressMask, Config};
use directory::{Directory, Session};

use super::client::shown;
use crate::failure::Failure;

/// Reasons, as sentences for the administrator. What the question leaves open keeps nobody out.
pub fn obstacles(directory: &Directory, session: &Session) -> Result<Vec<String>, Failure> {
    let config = directory.config();
    let mut found = Vec::new();
    let user = shown(session.identity.dn());
    if directory.is_out_of_use(&session.identity)? {
        found.push(format!(
            "the account {user} is out of use (ds-pwp-account-disabled or nsAccountLock), so it cannot bind"
        ));
    }
    if let Some(address) = session.address {
        found.extend(kept_out(config, address));
    }
    let bits = session.security_strength_bits;
    let is_local = session.authentication == Authentication::LocalSocket;
    let of_handlers = config.handlers.iter().map(|handler| handler.minimum_strength_bits).min().unwrap_or(0);
    let minimum = config.global.minimum_strength_bits.max(of_handlers);
    if bits < minimum && !is_local {
        found.push(format!(
            "the server asks for {minimum} bits of encryption (minimum-security-strength-factor), and the connection \
             has {bits}: say what it has with --ssf"
        ));
    } else if bits == 0
        && config.default_policy.require_secure_authentication
        && session.authentication == Authentication::Simple
    {
        found.push(
            "the server takes passwords over encrypted connections only (require-secure-authentication), and this one \
             has 0 bits: say what it has with --ssf"
                .to_owned(),
        );
    }
    Ok(found)
}

/// Why no connection is taken from an address, if none is.
fn kept_out(config: &Config, address: IpAddr) -> Option<String> {
    let is_taken = |allowed: &[AddressMask], denied: &[AddressMask]| {
        (allowed.is_empty() || allowed.iter().any(|mask| mask.contains(address)))
            && !denied.iter().any(|mask| mask.contains(address))
    };
    let global = &config.global;
    let of_handlers = config.handlers.is_empty()
        || config.handlers.iter().any(|handler| is_taken(&handler.allowed_clients, &handler.denied_clients));
    let is_admitted = is_taken(&global.allowed_clients, &global.denied_clients) && of_handlers;
    (!is_admitted).then(|| format!("the server takes no connection from {address} (allowed-client, denied-client)"))
}
