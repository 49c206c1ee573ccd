//! The servers that requests are referred to for names that no suffix holds (slapd's `referral`).
//!
//! Entries that lie in no backend are not asked for here, nor are referral objects: they are entries. ManageDsaIT makes
//! no difference, as in slapd.

use arc_swap::ArcSwap;
use config::Config;
use ldap::{LdapResult, ResultCode, Scope};
use query::error::no_such_object;
use query::referral::referral_url;

ldap::refusals! {
    /// What a request for a name elsewhere is answered with.
    pub(crate) enum Elsewhere {
        NotHere { dn: String, urls: Vec<String> } = ResultCode::REFERRAL,
            "No suffix of this server holds \"{dn}\": ask the server that the referral names", referrals: urls;
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct DefaultReferral(ArcSwap<Vec<String>>);

impl DefaultReferral {
    /// As configured.
    pub(crate) fn new(config: &Config) -> Self {
        Self(ArcSwap::from_pointee(config.global.default_referrals.clone()))
    }

    /// Takes another configuration. Returns whether it differs.
    pub(crate) fn set(&self, config: &Config) -> bool {
        let differs = **self.0.load() != config.global.default_referrals;
        if differs {
            self.0.store(config.global.default_referrals.clone().into());
        }
        differs
    }

    /// The answer to a request for the name `dn`, which no suffix holds; `scope` is that of a search.
    pub(crate) fn answer(&self, dn: &[u8], scope: Option<Scope>) -> LdapResult {
        let (dn, servers) = (String::from_utf8_lossy(dn), self.0.load());
        if servers.is_empty() {
            return no_such_object(&dn, "");
        }
        let urls = servers.iter().map(|server| referral_url(server, "", &dn, scope)).collect();
        Elsewhere::NotHere { dn: dn.into_owned(), urls }.into()
    }
}
