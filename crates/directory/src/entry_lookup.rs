//! What the server itself asks of an entry: its attributes, and the password policy in force. Nobody's rights are
//! asked.

use std::ops::ControlFlow;
use std::sync::Arc;

use access::account_policy::PolicyFinder;
use accounts::PasswordPolicy;
use ldap::client::Search;
use ldap::{Controls, FilterBuf, MadeSearch, Operation, Scope};
use query::backend::holder;
use query::encode::ShownEntry;
use query::entry_place::EntryPlace;
use query::locate::locate;
use schema::NormalizedDn;

use crate::directory::Directory;
use crate::search::{Each, RequestTime, Worker};

impl Directory {
    /// The password policy in force for an entry; none when there is no such entry, or it cannot be read.
    #[must_use]
    pub fn password_policy_of(&self, dn: &str) -> Option<Arc<PasswordPolicy>> {
        let facts = self.facts();
        let name = NormalizedDn::parse(&facts.schema, dn.as_bytes()).ok()?;
        let (at, suffix) = holder(&self.backends, name.as_bytes())?;
        let snapshot = self.backends.get(at.0)?.store.snapshot().ok()?;
        let view = snapshot.view();
        let id = locate(&view, &suffix.normalized, name.as_bytes()).ok()?.found()?;
        let found = view.entry(id).ok()??;
        let finder = PolicyFinder { facts: &facts, context: &self.reading };
        finder.of_entry(EntryPlace { backend: at, id }, &found.view().ok()?, &snapshot).ok()
    }

    /// These attributes of an entry, as an administrator sees them; none when there is no such entry.
    #[must_use]
    pub fn attributes_of(&self, dn: &str, names: &[&str]) -> Vec<(String, Vec<Vec<u8>>)> {
        let time = RequestTime::now();
        let (session, filter) = (self.administrator_session(0, time.started), FilterBuf::every_entry());
        let made = MadeSearch::new(&Search::new(dn, Scope::BaseObject, &filter, names));
        let mut found = Vec::new();
        let mut each = Each(|entry: &ShownEntry<'_, '_>| {
            for attribute in entry.attributes() {
                let mut values = Vec::new();
                attribute.each_value(&mut |value| {
                    values.push(value.to_vec());
                    ControlFlow::Continue(())
                })?;
                found.push((String::from_utf8_lossy(attribute.description()).into_owned(), values));
            }
            Ok(())
        });
        let mut worker = Worker::default();
        if let Ok(Operation::Search(request)) = made.operation()
            && let Ok(mut plan) = self.plan_search(&mut worker, &session, &request, &Controls::none(), time)
        {
            plan.run(&mut worker, &mut each);
        }
        found
    }
}
