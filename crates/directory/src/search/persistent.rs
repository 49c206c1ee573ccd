//! The first part of a persistent search: from where on changes are told, and what was shown before.
//!
//! A long search renews its snapshot, so entries late in it are shown as of a later change than those at its beginning.
//! What was read as of which change is noted, piece by piece; a change that an entry was shown with is not told again,
//! and none is left out. Names may pass from one entry to another meanwhile. So entries that were added since the
//! search began are not shown but told, and of an entry that was renamed since every change from then on is told:
//! whoever goes by names comes to the right end. It knows no changes: `watch` reads them.

use std::collections::HashSet;
use std::sync::Arc;

use ldap::controls::PersistentSearch;
use ldap::{Controls, LdapResult, Scope, SearchRequest};
use schema::NormalizedDn;
use smallvec::SmallVec;
use store::{StoreError, Values};

use super::asked::Asked;
use super::context::SearchContext;
use super::persistent_state::{Persistent, Trail};
use super::refusal::SearchRefusal;
use super::request_time::RequestTime;
use super::search_plan::SearchPlan;
use super::stop::Stop;
use super::worker::WorkerFor;
use crate::controls::ReadControls;
use crate::session::Session;
use access::Rights;
use query::answers::Answers;
use query::asker_rights::Which;
use query::backend::numbered;
use query::encode::Selection;
use query::entry::EntryView;
use query::error;
use query::facts::Facts;
use query::filter::{FilterScratch, Truth};
use query::plan::Candidates;
use query::rights::{Answer, ReadRights};

/// What a persistent search keeps of its request for as long as it lasts. There may be thousands.
const REQUEST_BYTES_MAX: usize = 64 * 1024;

impl SearchContext<'_> {
    /// Makes room for a persistent search, and notes where the changes begin that it will tell. Before anything is
    /// planned.
    ///
    /// # Errors
    /// `adminLimitExceeded` when there are as many as `max-psearches` allows.
    pub(super) fn admit_persistent(
        &self,
        session: &Session,
        rights: &Arc<Rights>,
        request: &SearchRequest<'_>,
        asked: PersistentSearch,
    ) -> Result<Box<Persistent>, LdapResult> {
        if !self.history.is_on() {
            return Err(SearchRefusal::NoChangelog.into());
        }
        let selectors = request.attributes.iter().map(<[u8]>::len).sum::<usize>();
        if request.filter.to_string().len() + selectors > REQUEST_BYTES_MAX {
            return Err(SearchRefusal::PersistentTooLarge { most: REQUEST_BYTES_MAX }.into());
        }
        let permit = self.watches.admit()?;
        // First the number: what is settled by now is in the snapshots.
        let after = self.history.bounds().last;
        let suffixes = self.backends.iter().flat_map(|backend| &backend.suffixes).map(|it| it.normalized.clone());
        let suffixes = if request.scope == Scope::SingleLevel { suffixes.collect() } else { Vec::new() };
        let mut from = SmallVec::new();
        for (at, backend) in numbered(self.backends) {
            let snapshot = backend.store.snapshot().map_err(|problem| error::store_failure(&problem))?;
            from.push((at, snapshot.seq()));
        }
        Ok(Box::new(Persistent {
            asked,
            _permit: permit,
            base: NormalizedDn::root(),
            scope: request.scope,
            suffixes,
            after,
            from,
            trails: Vec::new(),
            renamed: HashSet::new(),
            request: Box::default(),
            controls: Box::default(),
            session: (**session).clone(),
            rights: Arc::clone(rights),
            operation: 0,
        }))
    }

    /// Takes the request of a persistent search again, under the schema of now and for these rights.
    ///
    /// # Errors
    /// When it is none any more.
    pub(crate) fn prepare_again(
        &self,
        persistent: &Persistent,
        rights: &Arc<Rights>,
    ) -> Result<Box<SearchPlan>, LdapResult> {
        let unreadable = |_| LdapResult::from(SearchRefusal::UnreadableAgain);
        let controls = Controls::decode(&persistent.controls).map_err(unreadable)?;
        let request = SearchRequest::decode(&persistent.request).map_err(unreadable)?;
        let wanted = ReadControls::read(&controls, true)?;
        let time = RequestTime::now();
        let mut session = Session::anonymous(persistent.session.connection);
        *session = persistent.session.clone();
        let facts = self.facts();
        let own = self.limits_finder(&facts).of_session(&session, time.started);
        let mut again = Box::<SearchPlan>::default();
        let (session, request, wanted, own) = (&session, &request, &wanted, &own);
        let asked = Asked { facts: &facts, session, request, wanted, own, time, rights };
        let answers = self.take_rights(&mut again, self.asker(rights, session), Which::Stored)?;
        self.compile(&mut again, &asked, &*answers)?;
        Ok(again)
    }

    /// Plans nothing but the base, which must be there although only changes are asked for.
    pub(super) fn plan_base(
        &self,
        plan: &mut SearchPlan,
        worker: &mut WorkerFor<'_>,
        asked: &Asked<'_, '_, '_>,
    ) -> Result<(), LdapResult> {
        if worker.base.is_root() {
            return Ok(());
        }
        let base = self.base_entry(plan, worker, asked, Scope::BaseObject)?;
        self.plan_part(plan, worker, asked.facts, base)
    }

    /// Notes of a plan that is made what is needed to tell changes afterwards.
    pub(super) fn note_parts(&self, plan: &mut SearchPlan, is_root: bool, facts: &Facts) -> Result<(), LdapResult> {
        let Some(persistent) = &mut plan.persistent else { return Ok(()) };
        for part in &plan.parts {
            let Some(snapshot) = &part.snapshot else { continue };
            let dn = snapshot.dn_of(part.base).map_err(|problem| error::store_failure(&problem))?.unwrap_or_default();
            let base = NormalizedDn::parse(&facts.schema, dn.as_bytes()).unwrap_or_default();
            persistent.trails.push(Trail {
                backend: part.backend,
                base,
                scope: part.scope,
                planned: part.seq,
                end: snapshot.next_entry(),
                chosen: part.seq,
                candidates: None,
                pieces: Vec::new(),
            });
        }
        if let (false, Some(first)) = (is_root, persistent.trails.first()) {
            persistent.base = first.base.clone();
        }
        self.watch_what_may_hold(plan);
        Ok(())
    }

    /// Changes of backends that hold nothing in scope need not be read.
    fn watch_what_may_hold(&self, plan: &mut SearchPlan) {
        let Some(persistent) = &mut plan.persistent else { return };
        let base = &persistent.base;
        persistent.from.retain(|(at, _)| {
            let suffixes = self.backends.get(at.0).map(|backend| backend.suffixes.as_slice()).unwrap_or_default();
            suffixes.iter().any(|it| base.is_ancestor_or_equal(&it.normalized) || it.normalized.is_ancestor_of(base))
        });
    }
}

impl SearchPlan {
    /// Keeps the request of a persistent search; `operation` is its number on the connection. Nothing to do for others.
    pub fn keep_request(&mut self, request: &SearchRequest<'_>, controls: &Controls<'_>, operation: u64) {
        if let Some(persistent) = &mut self.persistent {
            persistent.request = request.encoded().into();
            persistent.controls = controls.encoded().into();
            persistent.operation = operation;
        }
    }

    /// Only changes are asked for: nothing is to be run.
    pub(super) fn skip_first_part(&mut self) {
        self.parts.clear();
        if let Some(persistent) = &mut self.persistent {
            persistent.trails.clear();
        }
    }

    /// The first part is over: what was needed for it goes.
    pub(crate) fn end_first_part(&mut self) {
        let Some(persistent) = &mut self.persistent else { return };
        for (trail, part) in persistent.trails.iter_mut().zip(self.parts.drain(..)) {
            if let Candidates::Set(ids) = part.candidates {
                trail.candidates = Some(ids);
            }
        }
        self.costly = None;
    }

    /// What is kept of a persistent search; none for others.
    pub(crate) fn take_persistent(&mut self) -> Option<Box<Persistent>> {
        self.persistent.take()
    }

    /// Whether filter and attributes were prepared under that schema.
    pub(crate) fn is_under(&self, facts: &Arc<Facts>) -> bool {
        self.facts.as_ref().is_some_and(|own| Arc::ptr_eq(own, facts))
    }

    /// Whether an entry matches the filter.
    pub(crate) fn matches(
        &self,
        entry: &EntryView<'_>,
        rights: &dyn ReadRights,
        scratch: &mut FilterScratch,
    ) -> Result<bool, StoreError> {
        let Some(facts) = &self.facts else { return Ok(false) };
        Ok(self.matcher.matches(facts, entry, self.asker(rights), scratch)? == Truth::True)
    }

    /// Whether an entry with these object classes is one that the search shows. Referral objects are not told as
    /// references.
    pub(crate) fn shows(&self, classes: Values<'_>, is_base_search: bool, is_base: bool) -> bool {
        let Some(facts) = &self.facts else { return false };
        let names_subentries = || self.matcher.names_subentries(facts);
        is_base_search || self.visibility.shows(facts.class_flags(classes), is_base, names_subentries)
    }

    /// What is sent of an entry.
    pub(crate) fn selection(&mut self) -> &mut Selection {
        &mut self.selection
    }

    /// Whether something has to be asked with each entry.
    pub(crate) fn asks(&self) -> bool {
        self.shows != Answer::Yes || self.items.asks()
    }

    /// Whether groups are asked for, or what entries are given.
    pub(crate) fn asks_for_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// Answers for who asks, as of now.
    pub(crate) fn answers(&self) -> Result<Answers, StoreError> {
        self.rights.answers()
    }

    /// Whether it asks for members of groups by name, and how many entries it may look at for one to tell them.
    pub(crate) fn tells_members(&self) -> Option<Option<u64>> {
        (!self.selection.members().is_empty()).then_some(self.limits.lookthrough)
    }

    /// Most entries that may be sent.
    pub(crate) fn size_limit(&self) -> Option<u64> {
        self.limits.size
    }

    /// How the search ends when one more matches.
    pub(crate) fn size_exceeded(&self) -> LdapResult {
        ended_by(Stop::size_limit(self.limits.size.unwrap_or_default()))
    }

    /// How the search ends when telling an entry took more looks at others than allowed.
    pub(crate) fn lookthrough_exceeded(&self) -> LdapResult {
        ended_by(Stop::lookthrough_limit(self.limits.lookthrough))
    }
}

fn ended_by(stop: Stop) -> LdapResult {
    match stop {
        Stop::Refused(refusal) => (*refusal).into(),
        Stop::Failed(problem) => error::store_failure(&problem),
        Stop::PageFull | Stop::Cancelled => LdapResult::success(),
    }
}

/// Where the server's own entries are asked for.
pub(super) fn refuse_own_entries() -> LdapResult {
    SearchRefusal::PersistentOfOwnEntries.into()
}
