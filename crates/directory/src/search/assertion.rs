//! The assertion control (RFC 4528): a search is done only if its base entry matches a filter, all of whose assertions
//! the asker may make.

use ldap::{Filter, LdapResult};
use schema::MatchContext;
use store::StoreError;

use super::asked::Asked;
use super::context::SearchContext;
use super::search_plan::SearchPlan;
use super::worker::WorkerFor;
use crate::refusal::Refusal;
use query::entry::{DnParts, EntryView};
use query::error;
use query::filter::{Asker, FilterScratch, ItemRights, Matcher, Truth};
use query::rights::{Answer, ReadRight, Reader};

impl SearchContext<'_> {
    /// Checks the base entry of a search of entries in backends.
    pub(super) fn check_base_assertion(
        &self,
        plan: &SearchPlan,
        worker: &mut WorkerFor<'_>,
        asked: &Asked<'_, '_, '_>,
        assertion: &Filter<'_>,
    ) -> Result<(), LdapResult> {
        let failure = |problem: StoreError| error::store_failure(&problem);
        let Some(part) = plan.parts.first() else { return Ok(()) };
        let Some(snapshot) = &part.snapshot else { return Ok(()) };
        let rights = worker.rights.clone();
        let known = worker.backend(part.backend);
        let moment = self.reading.moment(asked.facts, asked.time.unix_seconds).for_asker(&rights);
        let view = snapshot.view();
        let source = moment.at(part.backend, view);
        let Some(record) = view.entry(part.base).map_err(failure)? else {
            return Err(Refusal::AssertionFailed.into());
        };
        let record = record.view().map_err(failure)?;
        let parent = known.names.dn(&view, record.parent()).map_err(failure)?.unwrap_or_default();
        let dn = DnParts { rdn: record.rdn(), parent };
        let entry = EntryView { id: part.base, record, dn, source: &source };
        assert_on(assertion, asked.match_context(), Reader { facts: asked.facts, rights: &*rights }, &entry)
    }
}

/// Checks an assertion: the right to its attributes comes before its truth.
pub(crate) fn assert_on(
    assertion: &Filter<'_>,
    context: MatchContext,
    reader: Reader<'_>,
    entry: &EntryView<'_>,
) -> Result<(), LdapResult> {
    let failure = |problem: StoreError| error::store_failure(&problem);
    let (facts, rights, right) = (reader.facts, reader.rights, ReadRight::Search);
    let mut matcher = Matcher::default();
    matcher.compile(facts, assertion, context);
    let items = ItemRights::of(&matcher, facts, right, rights);
    let may_assert = match items.worst() {
        Answer::Yes => true,
        Answer::No => false,
        Answer::Ask => items.may_assert_all(&matcher, facts, rights, right, entry).map_err(failure)?,
    };
    if !may_assert {
        return Err(Refusal::AssertionNotAllowed.into());
    }
    let asker = Asker { rights, right, items: &items };
    match matcher.matches(facts, entry, asker, &mut FilterScratch::default()).map_err(failure)? {
        Truth::True => Ok(()),
        Truth::False | Truth::Undefined => Err(Refusal::AssertionFailed.into()),
    }
}
