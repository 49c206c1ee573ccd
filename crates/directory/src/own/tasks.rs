//! `cn=tasks`: the tasks of the server. An entry that is added there is a task that the server does.
//!
//! Knows names and who may see them; `task_entry` makes the entries, `task_update` reads updates.

use std::sync::Arc;

use access::Rights;
use ldap::{EntryRequest, LdapResult};
use schema::NormalizedDn;
use store::StoreError;

use super::task_entry::{RECURRING, SCHEDULED, TaskNames, container, of_recurring, of_task};
use super::task_update::{PRIVILEGES, read_update};
use super::tree::{OwnAsker, OwnContext, OwnFound, OwnSearch, OwnTree, OwnUpdate};
use crate::refusal::Refusal;
use change::proposal::Flags;
use query::error::store_failure;
use query::facts::Facts;
use query::own_names::TASKS_DN;
use query::synthetic::SyntheticEntry;

/// The tasks.
#[derive(Debug)]
pub(super) struct Tasks {
    base: NormalizedDn,
    names: TaskNames,
}

impl Tasks {
    pub(super) fn new(facts: &Facts) -> Self {
        let base = NormalizedDn::parse(&facts.schema, TASKS_DN.as_bytes()).unwrap_or_default();
        Self { base, names: TaskNames::new(facts) }
    }
}

impl OwnTree for Tasks {
    fn base(&self) -> &NormalizedDn {
        &self.base
    }

    fn dn(&self) -> &'static str {
        TASKS_DN
    }

    fn title(&self) -> &'static str {
        "The tasks"
    }

    fn check_read(&self, rights: &Rights) -> Result<(), LdapResult> {
        if PRIVILEGES.iter().any(|privilege| rights.has(*privilege)) {
            Ok(())
        } else {
            Err(Refusal::TasksByUser.into())
        }
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
        OwnFound::among(all(context)?, search, |_| TASKS_DN.to_owned())
    }

    fn update(
        &self,
        asker: &OwnAsker<'_>,
        _flags: Flags,
        request: &EntryRequest<'_>,
        dn: &NormalizedDn,
    ) -> Result<OwnUpdate, LdapResult> {
        self.check_read(asker.rights)?;
        read_update(&self.names, asker, request, dn).map(|update| OwnUpdate::Task(Box::new(update)))
    }
}

/// Every entry of this moment.
fn all(context: &OwnContext<'_>) -> Result<Vec<Arc<SyntheticEntry>>, LdapResult> {
    let (scheduled, recurring) = (context.monitor.tasks().scheduled(), context.monitor.tasks().recurring());
    let facts = context.facts;
    let made = || -> Result<Vec<Arc<SyntheticEntry>>, StoreError> {
        let mut entries = vec![
            container(facts, "", 2)?,
            container(facts, SCHEDULED, scheduled.len())?,
            container(facts, RECURRING, recurring.len())?,
        ];
        for task in &scheduled {
            entries.push(of_task(facts, task)?);
        }
        for task in &recurring {
            entries.push(of_recurring(facts, task)?);
        }
        Ok(entries.into_iter().map(Arc::new).collect())
    };
    made().map_err(|problem| store_failure(&problem))
}
