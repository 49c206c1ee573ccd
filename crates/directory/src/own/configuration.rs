//! `cn=config`: the configuration that the server took last, an entry for each object, with its defaults, without
//! passwords.
//!
//! Knows entries and requests; what they are called is [`config::mapping`]'s business, and the file is the server's.

use std::sync::Arc;

use access::{Privilege, Question, Refusal, Right, Rights};
use config::Config;
use config::mapping::{CONFIG_DN, entries};
use ldap::{Dn, EntryRequest, LdapResult};
use schema::NormalizedDn;

use super::configuration_change::ConfigurationChange;
use super::tree::{OwnAsker, OwnContext, OwnFound, OwnSearch, OwnTree, OwnUpdate};
use crate::refusal;
use change::proposal::Flags;
use query::error::{shown, store_failure};
use query::facts::Facts;
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

    fn write_privilege(&self) -> Privilege {
        Privilege::ConfigWrite
    }

    fn update(
        &self,
        asker: &OwnAsker<'_>,
        flags: Flags,
        request: &EntryRequest<'_>,
        dn: &NormalizedDn,
    ) -> Result<OwnUpdate, LdapResult> {
        if !asker.rights.has(Privilege::ConfigWrite) {
            return Err(refusal::Refusal::ConfigurationByUser.into());
        }
        check_rights(asker, request, dn)?;
        let change = ConfigurationChange::read(asker.identity, flags, request, &asker.facts.schema)?;
        Ok(OwnUpdate::Configuration(Box::new(change)))
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
        OwnFound::among(all(context)?, search, |entries| nearest_above(entries, search.written))
    }
}

/// Beside the privilege, an update takes the rights to the entry and to what is written.
fn check_rights(asker: &OwnAsker<'_>, request: &EntryRequest<'_>, dn: &NormalizedDn) -> Result<(), LdapResult> {
    let made = made(asker.facts, asker.configuration)?;
    let rights = asker.rights.of_own_entries();
    let refused = || refusal::Refusal::ConfigurationRight { dn: shown(request.entry()) }.into();
    let ask = |entry: &SyntheticEntry, question| {
        let view = entry.view().map_err(|error| store_failure(&error))?;
        let granted = rights.may(asker.facts, &view, question).map_err(|error| store_failure(&error))?;
        if granted { Ok(()) } else { Err(refused()) }
    };
    if let EntryRequest::Add(request) = request {
        let mut attributes = Attributes::new();
        for attribute in request.attributes.iter() {
            attributes.add(&shown(attribute.description), attribute.values.iter());
        }
        let entry = SyntheticEntry::new(asker.facts, &shown(request.entry), &attributes);
        return ask(&entry.map_err(|error| store_failure(&error))?, Question::entry(Right::Add));
    }
    // Whether there is such an entry is found out when the file is changed.
    let Some(entry) = made.iter().find(|entry| entry.normalized() == dn) else { return Ok(()) };
    match request {
        EntryRequest::Modify(request) => request.changes.iter().try_for_each(|change| {
            let known = asker.facts.schema.attribute_type(change.attribute.description);
            known.map_or(Ok(()), |known| ask(entry, Question::attribute(Right::Write, known.index)))
        }),
        EntryRequest::Delete(_) => ask(entry, Question::entry(Right::Delete)),
        EntryRequest::ModifyDn(_) => {
            let naming = asker.facts.schema.attribute_type(b"cn");
            naming.map_or(Ok(()), |known| ask(entry, Question::attribute(Right::Write, known.index)))
        }
        EntryRequest::Add(_) => Ok(()),
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
    made(context.facts, &context.monitor.configuration())
}

/// The entries of a configuration.
fn made(facts: &Facts, config: &Config) -> Result<Vec<Arc<SyntheticEntry>>, LdapResult> {
    let mut made = Vec::new();
    for entry in entries(config) {
        let mut attributes = Attributes::new();
        entry.attributes.into_iter().for_each(|(name, values)| attributes.add(&name, values));
        let synthetic = SyntheticEntry::new(facts, &entry.dn, &attributes);
        let mut synthetic = synthetic.map_err(|problem| store_failure(&problem))?;
        synthetic.set_children(entry.children);
        made.push(Arc::new(synthetic));
    }
    Ok(made)
}
