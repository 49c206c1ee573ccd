//! `cn=monitor`: what the server is doing now, as entries that root can search. Made anew for every search of it, never
//! kept.
//!
//! Knows names and values; what they count, whoever tells them knows.

use std::sync::Arc;

use access::{Privilege, Refusal, Rights};
use ldap::LdapResult;
use schema::NormalizedDn;
use store::StoreError;

use super::tree::{OwnContext, OwnFound, OwnSearch, OwnTree};
use query::error::store_failure;
use query::facts::Facts;
use query::monitor_entry::MonitorEntry;
use query::own_names::MONITOR_DN;
use query::synthetic::{Attributes, SyntheticEntry};

/// The monitor.
#[derive(Debug)]
pub(super) struct Monitor {
    base: NormalizedDn,
}

impl Monitor {
    pub(super) fn new(facts: &Facts) -> Self {
        Self { base: NormalizedDn::parse(&facts.schema, MONITOR_DN.as_bytes()).unwrap_or_default() }
    }
}

impl OwnTree for Monitor {
    fn base(&self) -> &NormalizedDn {
        &self.base
    }

    fn dn(&self) -> &'static str {
        MONITOR_DN
    }

    fn title(&self) -> &'static str {
        "The monitor"
    }

    fn check_read(&self, rights: &Rights) -> Result<(), LdapResult> {
        if rights.has(Privilege::MonitorRead) { Ok(()) } else { Err(Refusal::Monitor.into()) }
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
        OwnFound::among(all(context)?, search, |_| MONITOR_DN.to_owned())
    }
}

/// Every entry of this moment.
fn all(context: &OwnContext<'_>) -> Result<Vec<Arc<SyntheticEntry>>, LdapResult> {
    let entries = monitor_entries(context.facts, context.monitor.collect(context.facts))
        .map_err(|problem| store_failure(&problem))?;
    Ok(entries.into_iter().map(Arc::new).collect())
}

/// Turns what was told into entries, `cn=monitor` first, the others by name.
///
/// # Errors
/// When one of them is larger than a record may be.
fn monitor_entries(facts: &Facts, told: Vec<MonitorEntry>) -> Result<Vec<SyntheticEntry>, StoreError> {
    let mut named: Vec<(String, Attributes)> = vec![(String::new(), Attributes::new())];
    for entry in told {
        let at = match named.iter().position(|(name, _)| *name == entry.name) {
            Some(at) => at,
            None => {
                named.push((entry.name, Attributes::new()));
                named.len() - 1
            }
        };
        let Some((_, attributes)) = named.get_mut(at) else { continue };
        for (attribute, values) in entry.attributes {
            attributes.add(&attribute, values);
        }
    }
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let children = named.len() as u64 - 1;
    let mut entries = Vec::with_capacity(named.len());
    for (name, mut attributes) in named {
        attributes.add("objectClass", ["top", "extensibleObject"]);
        let (dn, cn) = if name.is_empty() {
            (MONITOR_DN.to_owned(), "monitor".to_owned())
        } else {
            (format!("cn={},{MONITOR_DN}", escaped(&name)), name)
        };
        attributes.add("cn", [cn]);
        let mut entry = SyntheticEntry::new(facts, &dn, &attributes)?;
        if dn == MONITOR_DN {
            entry.set_children(children);
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// An attribute value as RFC 4514 §2.4 writes it in a DN.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for (at, char) in value.char_indices() {
        let edge_space = char == ' ' && (at == 0 || at + 1 == value.len());
        let leading_hash = char == '#' && at == 0;
        if edge_space || leading_hash || matches!(char, '"' | '+' | ',' | ';' | '<' | '>' | '\\') {
            text.push('\\');
        }
        text.push(char);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_dns() {
        assert_eq!(escaped("LDAP Connection Handler 0.0.0.0 port 1389"), "LDAP Connection Handler 0.0.0.0 port 1389");
        assert_eq!(escaped("#a,b "), "\\#a\\,b\\ ");
    }
}
