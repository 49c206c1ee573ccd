//! From where clients may connect and how well their connections must be encrypted: what the configuration says now.
//!
//! Shared by all loops. A connection that needs nothing special costs one look at one number for each request. Local
//! sockets are asked for nothing: no network is between their ends.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use config::{AddressMask, Config};
use ldap::{Authentication, Operation};

use crate::refusal::Refusal;

/// See the module.
#[derive(Debug, Default)]
pub struct ConnectionRules {
    rules: ArcSwap<Rules>,
    /// Whether any request can be refused.
    asks_for_encryption: AtomicBool,
    /// Only administrators of this machine are served.
    is_locked_down: AtomicBool,
}

#[derive(Debug, Default, PartialEq)]
struct Rules {
    everywhere: HandlerRules,
    /// `require-secure-authentication`
    requires_secure_authentication: bool,
    /// By the handler's name.
    handlers: Vec<(String, HandlerRules)>,
}

#[derive(Debug, Default, PartialEq)]
struct HandlerRules {
    allowed: Vec<AddressMask>,
    denied: Vec<AddressMask>,
    minimum_bits: u32,
}

impl HandlerRules {
    fn admits(&self, address: IpAddr) -> bool {
        let allowed = self.allowed.is_empty() || self.allowed.iter().any(|mask| mask.contains(address));
        allowed && !self.denied.iter().any(|mask| mask.contains(address))
    }
}

impl Rules {
    fn of(config: &Config) -> Self {
        let global = &config.global;
        let handler = |handler: &config::LdapHandler| {
            let rules = HandlerRules {
                allowed: handler.allowed_clients.clone(),
                denied: handler.denied_clients.clone(),
                minimum_bits: handler.minimum_strength_bits,
            };
            (handler.name.clone(), rules)
        };
        let http = |handler: &config::HttpHandler| {
            let (allowed, denied) = (handler.allowed_clients.clone(), handler.denied_clients.clone());
            (handler.name.clone(), HandlerRules { allowed, denied, minimum_bits: 0 })
        };
        Self {
            everywhere: HandlerRules {
                allowed: global.allowed_clients.clone(),
                denied: global.denied_clients.clone(),
                minimum_bits: global.minimum_strength_bits,
            },
            requires_secure_authentication: config.default_policy.require_secure_authentication,
            handlers: config.handlers.iter().map(handler).chain(config.http_handlers.iter().map(http)).collect(),
        }
    }

    fn handler(&self, name: &str) -> Option<&HandlerRules> {
        self.handlers.iter().find(|(known, _)| known == name).map(|(_, rules)| rules)
    }

    fn asks_for_encryption(&self) -> bool {
        let handlers = self.handlers.iter().map(|(_, rules)| rules);
        self.requires_secure_authentication || handlers.chain([&self.everywhere]).any(|rules| rules.minimum_bits > 0)
    }
}

impl ConnectionRules {
    /// The rules of a configuration.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let rules = Self::default();
        rules.set(config);
        rules
    }

    /// Takes the rules of another configuration, which hold from the next connection and the next request on. Returns
    /// whether they differ.
    pub fn set(&self, config: &Config) -> bool {
        let new = Rules::of(config);
        let asks = new.asks_for_encryption();
        let differ = **self.rules.load() != new;
        self.rules.store(new.into());
        self.asks_for_encryption.store(asks, Ordering::Release);
        differ
    }

    /// Serves only administrators of this machine, or everybody again.
    pub(crate) fn lock_down(&self, is_on: bool) {
        self.is_locked_down.store(is_on, Ordering::Release);
    }

    /// Whether only administrators of this machine are served.
    #[inline]
    pub(crate) fn is_locked_down(&self) -> bool {
        self.is_locked_down.load(Ordering::Acquire)
    }

    /// Whether clients may connect from an address through the handler of that name.
    pub(crate) fn admits(&self, handler: &str, address: IpAddr) -> bool {
        let rules = self.rules.load();
        rules.everywhere.admits(address) && rules.handler(handler).is_none_or(|rules| rules.admits(address))
    }

    /// Why an operation is refused on a TCP connection with `bits` of encryption, through the handler of that name.
    #[inline]
    pub(crate) fn refuse(&self, handler: &str, bits: u32, operation: &Operation<'_>) -> Option<Refusal> {
        if !self.asks_for_encryption.load(Ordering::Acquire) {
            return None;
        }
        self.refuse_weak(handler, bits, operation)
    }

    #[cold]
    fn refuse_weak(&self, handler: &str, bits: u32, operation: &Operation<'_>) -> Option<Refusal> {
        // What makes the connection better, and what has no response.
        if matches!(operation, Operation::StartTls | Operation::Unbind | Operation::Abandon(_)) {
            return None;
        }
        let rules = self.rules.load();
        let of_handler = rules.handler(handler).map_or(0, |rules| rules.minimum_bits);
        let minimum = rules.everywhere.minimum_bits.max(of_handler);
        if bits < minimum {
            return Some(Refusal::WeakConnection { bits, minimum });
        }
        let has_clear_password = bits == 0
            && matches!(operation, Operation::Bind(bind)
                if matches!(bind.authentication, Authentication::Simple(password) if !password.is_empty()));
        (rules.requires_secure_authentication && has_clear_password).then_some(Refusal::ClearPassword)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ldap::BindRequest;

    use super::*;

    fn config(global: &str, handler: &str, policy: &str) -> Config {
        let text = format!(
            "[global]\n{global}\n[connection-handler.one]\ntype = \"ldap\"\nlisten-port = 1\n{handler}\n\
             [password-policy.\"Default Password Policy\"]\n{policy}\n"
        );
        Config::parse(&text, Path::new("pando.toml")).unwrap()
    }

    fn bind(password: &[u8]) -> Operation<'_> {
        Operation::Bind(BindRequest { version: 3, name: b"cn=a", authentication: Authentication::Simple(password) })
    }

    #[test]
    fn the_global_rules_and_those_of_the_handler_must_both_admit_a_client() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let rules = ConnectionRules::new(&config("denied-client = \"10.0.0.9\"", "allowed-client = \"10.0.*.*\"", ""));
        for (from, handler, admitted) in [
            ("10.0.0.1", "one", true),
            ("10.0.0.9", "one", false),
            ("10.0.0.9", "another", false),
            ("192.0.2.1", "one", false),
            ("192.0.2.1", "another", true),
        ] {
            assert_eq!(rules.admits(handler, address(from)), admitted, "{from} {handler}");
        }
        assert!(rules.set(&config("", "", "")), "other rules");
        assert!(rules.admits("one", address("10.0.0.9")));
        assert!(!rules.set(&config("", "", "")), "the same rules");
    }

    #[test]
    fn the_stronger_minimum_counts_and_start_tls_is_never_refused() {
        let minimum = |bits: u32| format!("minimum-security-strength-factor = {bits}");
        let rules = ConnectionRules::new(&config(&minimum(128), &minimum(256), ""));
        for (handler, bits, refused) in
            [("one", 128, true), ("one", 256, false), ("another", 128, false), ("another", 0, true)]
        {
            assert_eq!(rules.refuse(handler, bits, &Operation::WhoAmI).is_some(), refused, "{handler} {bits}");
            assert!(rules.refuse(handler, bits, &Operation::StartTls).is_none());
        }
        assert!(ConnectionRules::default().refuse("one", 0, &Operation::WhoAmI).is_none());
    }

    #[test]
    fn passwords_in_clear_are_refused_and_anonymous_binds_are_not() {
        let rules = ConnectionRules::new(&config("", "", "require-secure-authentication = true"));
        assert!(rules.refuse("one", 0, &bind(b"secret")).is_some());
        assert!(rules.refuse("one", 0, &bind(b"")).is_none());
        assert!(rules.refuse("one", 128, &bind(b"secret")).is_none());
        assert!(rules.refuse("one", 0, &Operation::WhoAmI).is_none());
    }
}
