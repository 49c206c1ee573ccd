//! What a search's controls say about the form of its result: sorted, in pages, a window of a list.
//!
//! Reads the request when the search is planned, decides how it is run, and adds the controls of the response. Searches
//! without such a control never come here.

use std::sync::Arc;

use ldap::{LdapResult, SearchRequest};

use super::account_usability::UsabilityAsked;
use super::arrangement::Arrangement;
use super::asked::Asked;
use super::context::SearchContext;
use super::dereference::Dereferencing;
use super::entry_writer::EntryWriter;
use super::list_view::ListView;
use super::paged::{Page, PageProgress};
use super::refusal::SearchRefusal;
use super::search_done::SearchDone;
use super::search_plan::SearchPlan;
use super::sort::Sorting;
use super::stop::Stop;
use super::worker::WorkerFor;
use super::{sort, vlv};
use crate::controls::Presentation;
use query::encode::MatchedValues;
use query::facts::Facts;
use query::rights::{Answer, ReadRights};

impl SearchContext<'_> {
    /// Takes what the controls ask for into the plan, before it is made.
    ///
    /// # Errors
    /// When a cookie is not good for this search, or pages are not allowed.
    pub(super) fn arrange(
        &self,
        plan: &mut SearchPlan,
        asked: &Asked<'_, '_, '_>,
        rights: &dyn ReadRights,
    ) -> Result<(), LdapResult> {
        let Asked { facts, request, wanted, own, .. } = asked;
        let (context, identity) = (asked.match_context(), &asked.session.identity);
        let Some(presentation) = &wanted.presentation else { return Ok(()) };
        let items = &presentation.matched_values;
        let matched = (!items.is_empty()).then(|| Box::new(MatchedValues::new(facts, items, context)));
        plan.selection.narrow(presentation.attributes, matched);
        if let Some(dereference) = &presentation.dereference {
            plan.dereferencing = Dereferencing::new(facts, dereference)?;
            if plan.dereferencing.is_some() {
                plan.ask(self.reading, true);
            }
        }
        if let Some(effective_rights) = &presentation.effective_rights {
            plan.effective_rights = self.effective_rights(asked, effective_rights)?;
            if plan.effective_rights.is_some() {
                plan.ask(self.reading, true);
            }
        }
        if presentation.usability {
            let policies = Arc::clone(&self.reading.policies);
            plan.usability = Some(UsabilityAsked { policies, now: self.account_clock.now() });
            plan.ask(self.reading, true);
        }
        let mut arrangement = Box::<Arrangement>::default();
        arrangement.take_order(facts, rights, presentation, request);
        if let Some(asked) = &presentation.list_view
            && arrangement.refusal.is_none()
        {
            let request_hash = self.cookies.request(request, wanted, identity);
            match ListView::new(
                asked,
                facts,
                arrangement.order.as_ref().map(|sorting| &sorting.order),
                presentation.sort.is_some(),
                request_hash,
            ) {
                Ok(list_view) => arrangement.list_view = Some(list_view),
                Err(refusal) => {
                    let (result, control) = *refusal;
                    arrangement.refusal = Some(result);
                    arrangement.controls.push(control);
                }
            }
        }
        if let Some(asked) = presentation.paged {
            // RFC 2696 §3: such a result fits a single page.
            let fits = request.size_limit > 0 && asked.size >= request.size_limit && asked.cookie.is_empty();
            if !fits {
                let request_hash = self.cookies.request(request, wanted, identity);
                let page = Page::new(asked, self.cookies, request_hash, request.size_limit, own)?;
                // The page knows.
                plan.limits.size = None;
                arrangement.page = Some(page);
            }
        }
        plan.arrangement = Some(arrangement);
        Ok(())
    }
}

impl Arrangement {
    fn take_order(
        &mut self,
        facts: &Facts,
        rights: &dyn ReadRights,
        presentation: &Presentation<'_>,
        request: &SearchRequest<'_>,
    ) {
        let Some(asked) = &presentation.sort else { return };
        match sort::order(facts, rights, &asked.keys) {
            Ok((order, asks)) => self.order = Some(Sorting { order, filter: request.filter.to_string(), asks }),
            Err(failure) => self.fail_sort(&failure, asked.critical),
        }
    }

    /// RFC 2891 §2.2: without criticality the result is sent unsorted, and the control says so.
    fn fail_sort(&mut self, failure: &sort::SortFailure, critical: bool) {
        self.controls.push(sort::response(failure.code, failure.attribute.as_deref()));
        if critical {
            self.refusal = Some(SearchRefusal::CriticalSort { problem: failure.message.clone() }.into());
        }
    }
}

impl SearchPlan {
    /// Whether the search is answered already.
    pub(super) fn is_refused(&self) -> bool {
        self.arrangement.as_ref().is_some_and(|arrangement| arrangement.refusal.is_some())
    }

    pub(super) fn run_arranged(
        &mut self,
        arrangement: &Arrangement,
        worker: &mut WorkerFor<'_>,
        output: &mut impl EntryWriter,
        done: &mut SearchDone,
    ) -> Result<(), Stop> {
        done.controls.extend(arrangement.controls.iter().cloned());
        if let Some(refusal) = &arrangement.refusal {
            done.result = refusal.clone();
            return Ok(());
        }
        // Pages and equal sort keys need an order that is the same next time.
        self.parts.sort_by_key(|part| (part.backend, part.base));
        match (&arrangement.order, &arrangement.list_view, &arrangement.page) {
            (Some(sorting), Some(list_view), _) => vlv::run(self, sorting, list_view, worker, output, done),
            (Some(sorting), None, page) => sort::run(self, sorting, page.as_ref(), worker, output, done),
            (None, _, Some(page)) => self.run_page(page, worker, output, done),
            (None, _, None) => self.run_parts(worker, output, done, None),
        }
    }

    fn run_page(
        &mut self,
        page: &Page,
        worker: &mut WorkerFor<'_>,
        output: &mut impl EntryWriter,
        done: &mut SearchDone,
    ) -> Result<(), Stop> {
        let mut progress = PageProgress::new(page);
        let ended = match page.is_empty {
            true => Ok(()),
            false => page.checked(self.run_parts(worker, output, done, Some(&mut progress))),
        };
        let next = if matches!(ended, Ok(()) | Err(Stop::PageFull)) { progress.next() } else { None };
        done.controls.push(page.response(next, self.estimate(), done.entries_sent));
        ended
    }

    /// About how many entries the whole result has; 0 when nothing is known, or some of them may not show.
    pub(super) fn estimate(&self) -> u64 {
        if self.shows != Answer::Yes || self.items.asks() {
            return 0;
        }
        let own = self.synthetic.len() as u64 + self.changes.as_ref().map_or(0, |changes| changes.count());
        self.parts.iter().try_fold(own, |sum, part| Some(sum.saturating_add(part.candidates.count()?))).unwrap_or(0)
    }
}
