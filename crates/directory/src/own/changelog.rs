//! `cn=changelog`: a container, and below it the changes that entries went through, in the order of their numbers.

use std::sync::Arc;

use access::{Privilege, Refusal, Rights};
use ldap::{Dn, LdapResult, Scope};
use schema::NormalizedDn;
use store::StoreError;

use super::change_scan::ChangeScan;
use super::tree::{OwnContext, OwnFound, OwnSearch, OwnTree};
use change::history::entry::{container, entry_of};
use change::history::{Bounds, Cause, History};
use query::error::store_failure;
use query::facts::Facts;
use query::own_names::CHANGELOG_DN;
use query::synthetic::SyntheticEntry;

/// The changelog.
#[derive(Debug)]
pub(super) struct Changelog {
    base: NormalizedDn,
}

impl Changelog {
    pub(super) fn new(facts: &Facts) -> Self {
        Self { base: NormalizedDn::parse(&facts.schema, CHANGELOG_DN.as_bytes()).unwrap_or_default() }
    }
}

impl OwnTree for Changelog {
    fn base(&self) -> &NormalizedDn {
        &self.base
    }

    fn dn(&self) -> &'static str {
        CHANGELOG_DN
    }

    fn title(&self) -> &'static str {
        "The changelog"
    }

    fn is_on(&self, history: &History) -> bool {
        history.is_on()
    }

    fn check_read(&self, rights: &Rights) -> Result<(), LdapResult> {
        if rights.has(Privilege::ChangelogRead) { Ok(()) } else { Err(Refusal::Changelog.into()) }
    }

    fn entry(
        &self,
        context: &OwnContext<'_>,
        dn: &NormalizedDn,
        written: &[u8],
    ) -> Result<Option<Arc<SyntheticEntry>>, LdapResult> {
        let failure = |problem: StoreError| store_failure(&problem);
        if *dn == self.base {
            let Bounds { first, last } = context.history.bounds();
            let changes = (last + 1).saturating_sub(first);
            return Ok(Some(Arc::new(container(context.facts, changes).map_err(failure)?)));
        }
        let Some(number) = change_number(written).filter(|_| dn.len() == self.base.len() + 1) else { return Ok(None) };
        let mut reader = context.history.from(number);
        let found = reader.next_change().map_err(|error| failure(error.into()))?;
        let Some(change) = found.filter(|change| change.number == number && context.history.shows(change.cause)) else {
            return Ok(None);
        };
        let entry = entry_of(context.facts, &change, context.history.shows(Cause::AccountState)).map_err(failure)?;
        Ok((entry.normalized() == dn).then(|| Arc::new(entry)))
    }

    fn search(&self, context: &OwnContext<'_>, search: &OwnSearch<'_, '_>) -> Result<OwnFound, LdapResult> {
        let base = self.find(context, search.base, search.written)?;
        let is_in_scope = matches!(search.scope, Scope::BaseObject | Scope::WholeSubtree);
        let is_container = *search.base == self.base;
        let changes = (is_container && search.scope != Scope::BaseObject)
            .then(|| ChangeScan::new(Arc::clone(context.history), context.facts, search.filter));
        Ok(OwnFound { entries: is_in_scope.then(|| Arc::clone(&base)).into_iter().collect(), base, changes })
    }
}

/// The number in a name like `changeNumber=7,cn=changelog`.
fn change_number(written: &[u8]) -> Option<u64> {
    let dn = Dn::parse(std::str::from_utf8(written).ok()?).ok()?;
    let ava = dn.rdn()?.avas().first()?;
    let is_number = ava.attribute.eq_ignore_ascii_case("changeNumber");
    std::str::from_utf8(&ava.value).ok()?.trim().parse().ok().filter(|_| is_number)
}
