//! The assertion control (RFC 4528): a search is done only if its base entry matches a filter.

use ldap::{Filter, LdapResult};
use store::StoreError;

use super::asked::Asked;
use super::context::SearchContext;
use super::search_plan::SearchPlan;
use super::worker::Worker;
use crate::refusal::Refusal;
use query::entry::{DnParts, EntryView};
use query::error;
use query::filter::{Matcher, Truth};
use query::rights::ReadRight;

impl SearchContext<'_> {
    /// Checks the base entry of a search of entries in backends.
    pub(super) fn check_assertion(
        &self,
        plan: &SearchPlan,
        worker: &mut Worker,
        asked: &Asked<'_, '_, '_>,
        assertion: &Filter<'_>,
    ) -> Result<(), LdapResult> {
        let Some(part) = plan.parts.first() else { return Ok(()) };
        let Some(snapshot) = &part.snapshot else { return Ok(()) };
        let known = worker.backend(part.backend);
        let moment = self.reading.moment(asked.facts, asked.time.unix_seconds);
        let view = snapshot.view();
        let source = moment.at(part.backend, view);
        let mut truth = || -> Result<Truth, StoreError> {
            let Some(record) = view.entry(part.base)? else { return Ok(Truth::False) };
            let record = record.view()?;
            let parent = known.names.dn(&view, record.parent())?.unwrap_or_default();
            let dn = DnParts { rdn: record.rdn(), parent };
            truth_of(plan, asked, assertion, &EntryView { id: part.base, record, dn, source: &source })
        };
        asserted(truth())
    }
}

/// What the control's filter means for one entry.
pub(super) fn truth_of(
    plan: &SearchPlan,
    asked: &Asked<'_, '_, '_>,
    assertion: &Filter<'_>,
    entry: &EntryView<'_>,
) -> Result<Truth, StoreError> {
    let mut matcher = Matcher::default();
    matcher.compile(asked.facts, assertion, asked.match_context());
    matcher.matches_one(asked.facts, entry, ReadRight::Search, &plan.access)
}

pub(super) fn asserted(truth: Result<Truth, StoreError>) -> Result<(), LdapResult> {
    match truth {
        Ok(Truth::True) => Ok(()),
        Ok(_) => Err(Refusal::AssertionFailed.into()),
        Err(problem) => Err(error::store_failure(&problem)),
    }
}
