//! `cn=config`: the configuration that the server took last, an entry for each object, with its defaults, without
//! passwords.
//!
//! Knows entries and requests; what they are called is [`config::mapping`]'s business, and the file is the server's.

use std::sync::Arc;

use access::{Privilege, Refusal, Rights};
use config::mapping::{CONFIG_DN, entries};
use ldap::{Dn, LdapResult};
use schema::NormalizedDn;

use super::tree::{OwnContext, OwnFound, OwnSearch, OwnTree};
use query::error::{no_such_object, shown, store_failure};
use query::facts::Facts;
use query::plan::covers;
use query::synthetic::{Attributes, SyntheticEntry};

/// The configuration.
#[derive(Debug)]
pub(super) struct Configuration {
    base: NormalizedDn,
}

impl Configuration {
    pub(super) fn new(facts: &Facts) -> Self {
        Self { base: NormalizedDn::parse(&facts.schema, CONFIG_DN.as_bytes()).unwrap_or_default() }
    }
}

impl OwnTree for Configuration {
    fn base(&self) -> &NormalizedDn {
        &self.base
    }

    fn dn(&self) -> &'static str {
        CONFIG_DN
    }

    fn title(&self) -> &'static str {
        "The configuration"
    }

    fn check_read(&self, rights: &Rights) -> Result<(), LdapResult> {
        if rights.has(Privilege::ConfigRead) { Ok(()) } else { Err(Refusal::Configuration.into()) }
    }

    fn entry(
        &self,
        context: &OwnContext<'_>,
        dn: &NormalizedDn,
        _written: &[u8],
    ) -> Result<Option<Arc<SyntheticEntry>>, LdapResult> {
        Ok(all(context)?.into_iter().find(|entry| entry.normalized() == dn))
    }

    fn search(&self, context: &OwnContext<'_>, search: &OwnSearch<'_, '_>) -> Result<OwnFound, LdapResult> {
        let mut entries = all(context)?;
        let base = entries.iter().find(|entry| entry.normalized() == search.base).map(Arc::clone);
        let base =
            base.ok_or_else(|| no_such_object(&shown(search.written), nearest_above(&entries, search.written)))?;
        entries.retain(|entry| covers(search.base, search.scope, entry.normalized()));
        Ok(OwnFound { base, entries, changes: None })
    }
}

/// The entry nearest above a name that has none.
fn nearest_above(entries: &[Arc<SyntheticEntry>], written: &[u8]) -> String {
    let text = String::from_utf8_lossy(written);
    let mut above = Dn::parse(&text).ok().and_then(|dn| dn.parent());
    while let Some(dn) = above {
        let name = dn.to_string();
        if let Some(found) = entries.iter().find(|entry| entry.dn().eq_ignore_ascii_case(&name)) {
            return found.dn().to_owned();
        }
        above = dn.parent();
    }
    CONFIG_DN.to_owned()
}

/// Every entry, each before those below it.
fn all(context: &OwnContext<'_>) -> Result<Vec<Arc<SyntheticEntry>>, LdapResult> {
    let config = context.monitor.configuration();
    let mut made = Vec::new();
    for entry in entries(&config) {
        let mut attributes = Attributes::new();
        entry.attributes.into_iter().for_each(|(name, values)| attributes.add(&name, values));
        let synthetic = SyntheticEntry::new(context.facts, &entry.dn, &attributes);
        let mut synthetic = synthetic.map_err(|problem| store_failure(&problem))?;
        synthetic.set_children(entry.children);
        made.push(Arc::new(synthetic));
    }
    Ok(made)
}
