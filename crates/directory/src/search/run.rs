//! Running a plan: fetch each candidate, check it, write it.
//!
//! The entry decides: scope, visibility and the whole filter are checked on what is stored now, so a plan may be a
//! moment old. A long run takes its candidates in pieces and a new snapshot twice a second; ids are stable and
//! ascending, so it goes on where it was.

use std::time::Instant;

use ldap::{LdapResult, Scope};
use store::{EntryId, IndexId, IndexKey, RecordView, Snapshot, StoreError, View};

use super::account_usability::UsabilityAsked;
use super::advice::Went;
use super::covered::Covered;
use super::dereference::{Budget, Dereferencing, Viewpoint};
use super::effective_rights::RightsPlace;
use super::entry_writer::{CANDIDATES_PER_LOOK, EntryWriter, SNAPSHOT_AGE_MAX};
use super::explain;
use super::kept_rights::InForce;
use super::limits::Limits;
use super::paged::{PageProgress, Position};
use super::part::Part;
use super::persistent_state::Trail;
use super::refusal::SearchRefusal;
use super::search_done::SearchDone;
use super::search_plan::SearchPlan;
use super::stop::Stop;
use super::visible::Visibility;
use super::worker::{Worker, WorkerBackend, WorkerFor};
use query::answers::Answers;
use query::backend::Backend;
use query::base::shows_reference;
use query::class_flags::ClassFlags;
use query::encode::{Layout, Selection, ShownEntry};
use query::entry::{DnParts, EntrySource, EntryView, StoredAt};
use query::error;
use query::facts::Facts;
use query::filter::{Asker, ItemRights};
use query::filter::{FilterScratch, Matcher, Truth};
use query::groups::Expanded;
use query::plan::Candidates;
use query::read_moment::ReadMoment;
use query::referral::referral_urls;
use query::rights::{Answer, ReadRight, Reader};

impl SearchPlan {
    /// Looks at the candidates and writes what matches. `SearchResultDone` is left to the caller, who has the result.
    pub fn run(&mut self, worker: &mut Worker, output: &mut impl EntryWriter) -> SearchDone {
        let mut done = SearchDone { unindexed: self.unindexed, ..SearchDone::of(LdapResult::success()) };
        match self.run_as_asker(worker, output, &mut done) {
            Ok(()) | Err(Stop::PageFull) => {}
            Err(Stop::Refused(refusal)) => done.result = (*refusal).into(),
            Err(Stop::Cancelled) => {
                done.is_cancelled = true;
                done.result = SearchRefusal::Cancelled.into();
            }
            Err(Stop::Failed(problem)) => done.result = error::store_failure(&problem),
        }
        self.hide_base(&mut done);
        let (examined, returned) = (done.candidates, done.entries_sent);
        self.record_advice(Went { is_unindexed: self.unindexed, is_refused: false, examined, returned });
        done
    }

    fn run_as_asker(
        &mut self,
        worker: &mut Worker,
        output: &mut impl EntryWriter,
        done: &mut SearchDone,
    ) -> Result<(), Stop> {
        let worker = &mut WorkerFor { worker, rights: self.rights.answers()? };
        let Some(arrangement) = self.arrangement.take() else { return self.run_parts(worker, output, done, None) };
        let ended = self.run_arranged(&arrangement, worker, output, done);
        // A plan may be run again.
        self.arrangement = Some(arrangement);
        ended
    }

    /// A base that does not show is not there, unless something below it was sent.
    fn hide_base(&self, done: &mut SearchDone) {
        let Some(missing) = &self.hidden_base else { return };
        let page = self.arrangement.as_ref().and_then(|arrangement| arrangement.page.as_ref());
        let is_first_page = page.is_none_or(|page| page.sent_before == 0);
        if is_first_page && done.entries_sent == 0 && done.references_sent == 0 && !done.is_cancelled {
            done.masked = Some(done.result.code);
            done.result = (**missing).clone();
            done.controls.clear();
        }
    }

    /// Notes a search that an index might have helped.
    pub(super) fn record_advice(&mut self, went: Went) {
        let Some(costly) = self.costly.take().filter(|_| went.is_worth_advice()) else { return };
        let (Some(part), Some(backends)) = (self.parts.first(), &self.backends) else { return };
        let (Some(backend), Some(facts)) = (backends.get(part.backend.0), &self.facts) else { return };
        let remedies = || explain::remedies(self, facts, backend, part.branch());
        costly.record(part.backend, part.scope, went, remedies);
    }

    /// Looks at all candidates in ascending order of their numbers; with `page`, at those that belong to it.
    pub(super) fn run_parts(
        &mut self,
        worker: &mut WorkerFor<'_>,
        output: &mut impl EntryWriter,
        done: &mut SearchDone,
        mut page: Option<&mut PageProgress>,
    ) -> Result<(), Stop> {
        self.run_synthetic(worker, output, done, page.as_deref_mut())?;
        self.run_changes(worker, output, done, page.as_deref_mut())?;
        self.each_part(worker, output, done, |run, snapshot, ids| {
            let from = page.as_deref().map_or(Some(EntryId::ROOT), |page| page.start_in(run.part));
            let Some(from) = from else { return Ok(Some(snapshot)) };
            run.candidates(snapshot, ids, from, page.as_deref_mut())?;
            if let Some(page) = page.as_deref_mut() {
                page.finish(run.part);
            }
            Ok(None)
        })
    }

    /// Calls `each` with every part, ready to be run, and with a snapshot, which it may give back for the next time.
    pub(super) fn each_part<O: EntryWriter>(
        &mut self,
        worker: &mut WorkerFor<'_>,
        output: &mut O,
        done: &mut SearchDone,
        mut each: impl FnMut(&mut Run<'_, O>, Snapshot, &mut Vec<EntryId>) -> Result<Option<Snapshot>, Stop>,
    ) -> Result<(), Stop> {
        // With several bases an entry may be below more than one.
        let mut covered = (self.parts.len() > 1).then(Covered::default);
        for at in 0..self.parts.len() {
            self.one_part(at, covered.as_ref(), worker, output, done, &mut each)?;
            if let (Some(covered), Some(part)) = (&mut covered, self.parts.get(at)) {
                covered.add(part.backend, part.base, part.scope);
            }
        }
        Ok(())
    }

    /// Calls `each` with the part at `at`; `covered` is what others have sent.
    pub(super) fn one_part<O: EntryWriter>(
        &mut self,
        at: usize,
        covered: Option<&Covered>,
        worker: &mut WorkerFor<'_>,
        output: &mut O,
        done: &mut SearchDone,
        each: impl FnOnce(&mut Run<'_, O>, Snapshot, &mut Vec<EntryId>) -> Result<Option<Snapshot>, Stop>,
    ) -> Result<(), Stop> {
        let WorkerFor { worker, rights } = worker;
        let moment = self.moment();
        let (Some(facts), Some(backends)) = (&self.facts, &self.backends) else { return Ok(()) };
        let Some(part) = self.parts.get_mut(at) else { return Ok(()) };
        let Some(backend) = backends.get(part.backend.0) else { return Ok(()) };
        let mut in_force = InForce {
            kept: &mut self.rights,
            items: &mut self.items,
            shows: &mut self.shows,
            effective: self.effective_rights.as_deref_mut(),
        };
        let known = part.snapshot.take().filter(|snapshot| snapshot.age() < SNAPSHOT_AGE_MAX);
        let definitions = part.definitions.clone().filter(|_| known.is_some());
        let mut snapshot = match known {
            Some(snapshot) => snapshot,
            None => backend.store.snapshot()?,
        };
        in_force.meet(facts, &self.matcher, (part.backend, &snapshot), rights)?;
        let mut moment = moment.map(|moment| moment.for_asker(rights));
        if definitions.is_some() {
            moment = moment.map(|moment| moment.knowing(part.backend, definitions));
        }
        if let Some(members) = &part.members {
            let seen = moment.as_ref().map(|moment| moment.at(part.backend, snapshot.view()).groups());
            let deadline = self.limits.deadline;
            let mut stop = || output.cancelled() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
            match seen.map(|seen| seen.expand(members, &mut stop)).transpose()? {
                Some(Expanded::Set(set)) => part.candidates = Candidates::Set(set),
                Some(Expanded::Stopped) if output.cancelled() => return Err(Stop::Cancelled),
                Some(Expanded::Stopped) => return Err(Stop::time_limit()),
                Some(Expanded::TooLong) => return Err(Stop::chain_limit()),
                // What the filter's other components say is as true as before.
                Some(Expanded::NotIndexed) | None => done.unindexed |= part.candidates.count().is_none(),
            }
            (part.members, part.is_exact) = (None, false);
            if let Some(persistent) = &mut self.persistent {
                persistent.chosen_at(at, snapshot.seq());
            }
            // Looking members up may have taken long.
            if snapshot.age() >= SNAPSHOT_AGE_MAX {
                snapshot = backend.store.snapshot()?;
                in_force.meet(facts, &self.matcher, (part.backend, &snapshot), rights)?;
                moment = moment.map(|moment| moment.renewed().for_asker(rights));
            }
        }
        let known = worker.backends.get_mut(part.backend.0);
        let mut fallback = WorkerBackend::default();
        let known = known.unwrap_or(&mut fallback);
        self.selection.meet_tables();
        if let Some(dereferencing) = &mut self.dereferencing {
            dereferencing.meet_tables();
        }
        let trail = self.persistent.as_mut().and_then(|persistent| persistent.trail(at));
        let mut run = Run {
            trail,
            facts,
            backend,
            is_exact: is_exact(part, &snapshot) && !in_force.kept.are_renewed(),
            part,
            matcher: &self.matcher,
            seq: snapshot.seq(),
            shows: *in_force.shows,
            rights: rights.clone(),
            in_force,
            selection: &mut self.selection,
            dereferencing: self.dereferencing.as_deref_mut(),
            usability: self.usability.as_ref(),
            visibility: self.visibility,
            names_subentries: false,
            limits: self.limits,
            known,
            filter: &mut worker.filter,
            values: &mut worker.values,
            covered,
            moment,
            output,
            done,
        };
        run.known.refresh(facts, &snapshot);
        run.look_for_subentries();
        let mut ids = std::mem::take(&mut worker.ids);
        let ended = each(&mut run, snapshot, &mut ids);
        *rights = run.rights.clone();
        worker.ids = ids;
        part.snapshot = ended?;
        Ok(())
    }

    /// Whether the search was given up or takes too long.
    pub(super) fn look_at_clock(&self, output: &impl EntryWriter) -> Result<(), Stop> {
        look_at_clock(&self.limits, output)
    }
}

/// One part being run.
pub(super) struct Run<'r, O> {
    /// What is noted of what was read when, where changes are told afterwards.
    trail: Option<&'r mut Trail>,
    pub(super) facts: &'r std::sync::Arc<Facts>,
    pub(super) backend: &'r Backend,
    pub(super) part: &'r Part,
    /// Candidates match the filter, so that it need not be tried.
    is_exact: bool,
    matcher: &'r Matcher,
    /// The last change that the snapshot has.
    seq: u64,
    /// What follows from the rights of who asks.
    in_force: InForce<'r>,
    /// Which entries show.
    shows: Answer,
    rights: Answers,
    selection: &'r mut Selection,
    dereferencing: Option<&'r mut Dereferencing>,
    usability: Option<&'r UsabilityAsked>,
    visibility: Visibility,
    /// The filter names the class of subentries, so that they are seen beside other entries.
    names_subentries: bool,
    limits: Limits,
    known: &'r mut WorkerBackend,
    filter: &'r mut FilterScratch,
    values: &'r mut Vec<u8>,
    /// What earlier parts have sent.
    covered: Option<&'r Covered>,
    /// Who is in which group, and what entries are given, when that is asked for.
    moment: Option<ReadMoment>,
    output: &'r mut O,
    pub(super) done: &'r mut SearchDone,
}

impl<O: EntryWriter> Run<'_, O> {
    fn candidates(
        &mut self,
        snapshot: Snapshot,
        ids: &mut Vec<EntryId>,
        after: EntryId,
        mut page: Option<&mut PageProgress>,
    ) -> Result<(), Stop> {
        let (mut snapshot, mut after) = (snapshot, after);
        loop {
            ids.clear();
            next_candidates(self.part, &snapshot.view(), after, ids)?;
            if let Some(trail) = &mut self.trail {
                trail.limit(ids);
            }
            let Some(last) = ids.last().copied() else { break };
            let view = snapshot.view();
            after = last;
            for id in ids.iter() {
                self.candidate(&view, *id, page.as_deref_mut())?;
                if self.output.must_pause() {
                    after = *id;
                    break;
                }
            }
            if let Some(trail) = &mut self.trail {
                trail.note(after, snapshot.seq());
            }
            if ids.len() < CANDIDATES_PER_LOOK && after == last {
                break;
            }
            snapshot = self.breathe(snapshot)?;
        }
        if let Some(trail) = &mut self.trail {
            trail.finish(snapshot.seq());
        }
        self.referrals(&snapshot.view())
    }

    /// Between two pieces of work: a slow client is waited for, the clock looked at, an old snapshot renewed.
    pub(super) fn breathe(&mut self, snapshot: Snapshot) -> Result<Snapshot, Stop> {
        if self.output.should_pause() {
            // Whoever waits must not keep old pages alive.
            drop(snapshot);
            self.output.pause();
            self.look_at_clock()?;
            return self.new_snapshot();
        }
        self.look_at_clock()?;
        if snapshot.age() >= SNAPSHOT_AGE_MAX { self.new_snapshot() } else { Ok(snapshot) }
    }

    fn new_snapshot(&mut self) -> Result<Snapshot, Stop> {
        let snapshot = self.backend.store.snapshot()?;
        self.known.refresh(self.facts, &snapshot);
        self.look_for_subentries();
        self.meet(&snapshot)?;
        self.is_exact = is_exact(self.part, &snapshot) && !self.in_force.kept.are_renewed();
        Ok(snapshot)
    }

    /// Entries are read from another snapshot from now on: they are judged by the instructions that it has.
    fn meet(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let snapshots = [(self.part.backend, snapshot)];
        if let Some(answers) = self.in_force.renew(self.facts, self.matcher, &snapshots)? {
            (self.rights, self.shows) = (answers, *self.in_force.shows);
            self.selection.meet_tables();
            if let Some(dereferencing) = &mut self.dereferencing {
                dereferencing.meet_tables();
            }
        } else if snapshot.seq() != self.seq {
            // What was found out of entries is of the moment before.
            self.rights = self.in_force.kept.answers()?;
        }
        self.seq = snapshot.seq();
        self.moment = self.moment.take().map(|moment| moment.renewed().for_asker(&self.rights));
        Ok(())
    }

    /// Whether the search was planned by other rights.
    pub(super) fn has_new_rights(&self) -> bool {
        self.in_force.kept.are_renewed()
    }

    /// Which of the filter's assertions the asker may make.
    pub(super) fn items(&self) -> &ItemRights {
        self.in_force.items
    }

    /// Whether every entry of the backend is visible: none is a referral, an alias or a subentry.
    pub(super) fn all_are_plain(&self) -> bool {
        !self.known.classes.any(Visibility::SPECIAL) && self.visibility.subentries != Some(true)
    }

    /// Ends the run when it was abandoned or its time is over.
    pub(super) fn look_at_clock(&self) -> Result<(), Stop> {
        look_at_clock(&self.limits, self.output)
    }

    #[inline]
    fn candidate(&mut self, view: &View<'_>, id: EntryId, mut page: Option<&mut PageProgress>) -> Result<(), Stop> {
        if self.asks() {
            return self.candidate_asked(view, id, page);
        }
        if page.as_deref_mut().is_some_and(PageProgress::has_looked_enough) {
            return Err(Stop::PageFull);
        }
        self.count_candidate()?;
        let Some(record) = view.entry(id)? else { return Ok(()) };
        let record = record.view()?;
        if !self.is_result(view, id, record, self.is_exact)? {
            return Ok(());
        }
        check_page(page, Position::of(self.part, id))?;
        self.send(view, id, record)
    }

    /// Whether something has to be asked with each entry.
    #[inline]
    pub(super) fn asks(&self) -> bool {
        self.shows != Answer::Yes || self.items().asks()
    }

    /// A candidate of which it has to be asked whether it shows, or whether it may be tested.
    #[cold]
    fn candidate_asked(
        &mut self,
        view: &View<'_>,
        id: EntryId,
        mut page: Option<&mut PageProgress>,
    ) -> Result<(), Stop> {
        let Some(record) = view.entry(id)? else { return Ok(()) };
        let record = record.view()?;
        if !self.in_scope(view, id, &record)? || !self.shows(view, id, record)? {
            return Ok(());
        }
        let is_result = self.is_result(view, id, record, self.is_exact)?;
        if !is_result && !self.may_be_tested(view, id, record)? {
            return Ok(());
        }
        if page.as_deref_mut().is_some_and(PageProgress::has_looked_enough) {
            return Err(Stop::PageFull);
        }
        self.count_candidate()?;
        if !is_result {
            return Ok(());
        }
        check_page(page, Position::of(self.part, id))?;
        self.send(view, id, record)
    }

    /// Whether the entry shows.
    #[inline]
    pub(super) fn shows(&self, view: &View<'_>, id: EntryId, record: RecordView<'_>) -> Result<bool, StoreError> {
        match self.shows {
            Answer::Yes => Ok(true),
            Answer::No => Ok(false),
            Answer::Ask => {
                let source = StoredAt::new(self.part.backend, *view);
                let entry = EntryView { id, record, dn: DnParts::default(), source: &source };
                self.rights.shows(self.facts, &entry)
            }
        }
    }

    /// Whether all assertions of the filter may be made of the entry: what its candidates have in common must not be
    /// counted otherwise.
    fn may_be_tested(&self, view: &View<'_>, id: EntryId, record: RecordView<'_>) -> Result<bool, StoreError> {
        if !self.items().asks() {
            return Ok(true);
        }
        let source = StoredAt::new(self.part.backend, *view);
        let entry = EntryView { id, record, dn: DnParts::default(), source: &source };
        self.items().may_assert_all(self.matcher, self.facts, &*self.rights, ReadRight::Search, &entry)
    }

    /// Counts a candidate that the asker may know of; `false` for others. Whether entries out of scope are candidates
    /// depends on how many entries there are, so that they do not count where something has to be asked.
    pub(super) fn counts(&mut self, view: &View<'_>, id: EntryId, record: RecordView<'_>) -> Result<bool, Stop> {
        let is_counted = !self.asks()
            || (self.in_scope(view, id, &record)?
                && self.shows(view, id, record)?
                && self.may_be_tested(view, id, record)?);
        if !is_counted {
            return Ok(false);
        }
        self.count_candidate()?;
        Ok(true)
    }

    /// Whose rights they are that are asked, and under which schema.
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader { facts: self.facts, rights: &*self.rights }
    }

    /// One candidate more is looked at.
    #[inline]
    pub(super) fn count_candidate(&mut self) -> Result<(), Stop> {
        if let Some(limit) = self.limits.lookthrough
            && self.done.candidates >= limit
        {
            return Err(Stop::lookthrough_limit(Some(limit)));
        }
        self.done.candidates += 1;
        Ok(())
    }

    /// Whether the entry is in scope, visible, not sent already, and matches the filter.
    #[inline]
    pub(super) fn is_match(&mut self, view: &View<'_>, id: EntryId, record: RecordView<'_>) -> Result<bool, Stop> {
        self.is_result(view, id, record, false)
    }

    /// The same for an entry of which it may be known that it matches the filter.
    #[inline]
    fn is_result(
        &mut self,
        view: &View<'_>,
        id: EntryId,
        record: RecordView<'_>,
        is_known: bool,
    ) -> Result<bool, Stop> {
        if !self.in_scope(view, id, &record)? || !self.is_visible(id, &record) || !self.shows(view, id, record)? {
            return Ok(false);
        }
        Ok((is_known || self.matches(view, id, record)?) && !self.is_covered(view, id, &record)?)
    }

    #[inline]
    fn matches(&mut self, view: &View<'_>, id: EntryId, record: RecordView<'_>) -> Result<bool, Stop> {
        let parent = if self.matcher.needs_dn() { self.known.names.dn(view, record.parent())? } else { Some(&b""[..]) };
        let Some(parent) = parent else { return Ok(false) };
        let at = self.moment.as_ref().map(|moment| moment.at(self.part.backend, *view));
        let stored = StoredAt::new(self.part.backend, *view);
        let source: &dyn EntrySource = at.as_ref().map_or(&stored, |at| at);
        let entry = EntryView { id, record, dn: DnParts { rdn: record.rdn(), parent }, source };
        let asker = Asker { rights: &*self.rights, right: ReadRight::Search, items: self.in_force.items };
        let matches = self.matcher.matches(self.facts, &entry, asker, self.filter)? == Truth::True;
        if self.moment.as_ref().is_some_and(ReadMoment::overflowed) {
            return Err(Stop::chain_limit());
        }
        // A dynamic list was looked at, which may have more values.
        if self.moment.as_ref().is_some_and(ReadMoment::is_spent) {
            return Err(Stop::lookthrough_limit(self.limits.lookthrough));
        }
        Ok(matches)
    }

    #[inline]
    fn is_covered(&mut self, view: &View<'_>, id: EntryId, record: &RecordView<'_>) -> Result<bool, StoreError> {
        match self.covered {
            None => Ok(false),
            Some(covered) => covered.has(self.part.backend, view, id, record.parent(), &mut self.known.names),
        }
    }

    /// Writes an entry.
    #[inline]
    pub(super) fn send(&mut self, view: &View<'_>, id: EntryId, record: RecordView<'_>) -> Result<(), Stop> {
        check_size(self.limits.size, self.done)?;
        let Some(parent) = self.known.names.dn(view, record.parent())? else { return Ok(()) };
        let at = self.moment.as_ref().map(|moment| moment.at(self.part.backend, *view));
        let stored = StoredAt::new(self.part.backend, *view);
        let source: &dyn EntrySource = at.as_ref().map_or(&stored, |at| at);
        let entry = EntryView { id, record, dn: DnParts { rdn: record.rdn(), parent }, source };
        let output = &mut *self.output;
        let reader = Reader { facts: self.facts, rights: &*self.rights };
        let made;
        let mut layout = Layout::new(reader, &entry, self.selection, self.values, &mut || output.long_entry())?;
        if let Some(effective_rights) = self.in_force.effective.as_deref() {
            let look = &mut || look_at_clock(&self.limits, output);
            let place = RightsPlace::Stored(self.part.backend, *view);
            made = effective_rights.of_entry(reader, place, &entry, &layout, look)?;
            layout.add(&entry, &made, self.values);
        }
        if self.moment.as_ref().is_some_and(ReadMoment::is_spent) {
            return Err(Stop::lookthrough_limit(self.limits.lookthrough));
        }
        let mut dereferenced = Vec::new();
        if let (Some(dereferencing), Some(moment), Some(at)) = (&mut self.dereferencing, &self.moment, at) {
            let place = Viewpoint { reader, moment, at };
            let budget = Budget { limits: self.limits, candidates: self.done.candidates };
            let look = &mut || look_at_clock(&budget.limits, output);
            dereferenced = dereferencing.of_entry(&place, &entry, &budget, look)?;
        }
        let mut shown = ShownEntry::new(&layout, &entry, self.values);
        shown.dereferenced = &dereferenced;
        let usability = self.usability.zip(at.as_ref()).map(|(asked, at)| asked.of_entry(self.facts, at, &entry));
        shown.usability = usability.transpose()?;
        let flow = output.entry(&shown)?;
        self.done.entries_sent += 1;
        if flow.is_break() { Err(Stop::Cancelled) } else { Ok(()) }
    }

    #[inline]
    fn in_scope(&mut self, view: &View<'_>, id: EntryId, record: &RecordView<'_>) -> Result<bool, StoreError> {
        let base = self.part.base;
        match self.part.scope {
            _ if self.part.is_everything => Ok(true),
            Scope::BaseObject => Ok(id == base),
            Scope::SingleLevel => Ok(record.parent() == base),
            Scope::WholeSubtree => Ok(id == base || self.known.names.is_within(view, record.parent(), base)?),
            Scope::SubordinateSubtree => Ok(id != base && self.known.names.is_within(view, record.parent(), base)?),
        }
    }

    /// Only where there are subentries does it matter whether the filter names them.
    fn look_for_subentries(&mut self) {
        let has_some = self.visibility.subentries.is_none() && self.known.classes.any(ClassFlags::SUBENTRY);
        self.names_subentries = has_some && self.matcher.names_subentries(self.facts);
    }

    /// See [`Visibility::shows`].
    #[inline]
    fn is_visible(&self, id: EntryId, record: &RecordView<'_>) -> bool {
        if self.part.scope == Scope::BaseObject {
            return true;
        }
        if !self.known.classes.any(Visibility::SPECIAL) {
            return self.visibility.subentries != Some(true);
        }
        let flags = self.known.classes.of(self.facts, record);
        self.visibility.shows(flags, id == self.part.base, || self.names_subentries)
    }

    /// The continuation references of the part.
    pub(super) fn referrals(&mut self, view: &View<'_>) -> Result<(), Stop> {
        let part = self.part;
        part.referrals.iter().try_for_each(|id| self.referral(view, id))
    }

    /// A continuation reference for a referral object in scope, whatever the filter says (RFC 3296 §5.2).
    fn referral(&mut self, view: &View<'_>, id: EntryId) -> Result<(), Stop> {
        let Some(record) = view.entry(id)? else { return Ok(()) };
        let record = record.view()?;
        if id == self.part.base || !self.in_scope(view, id, &record)? {
            return Ok(());
        }
        if !self.facts.class_flags(record.object_classes()).has(ClassFlags::REFERRAL) {
            return Ok(());
        }
        if self.is_covered(view, id, &record)? {
            return Ok(());
        }
        let own_dn = view.dn_of(id)?.unwrap_or_default();
        let stored = StoredAt::new(self.part.backend, *view);
        let entry = EntryView { id, record, dn: DnParts::whole(own_dn.as_bytes()), source: &stored };
        if !shows_reference(self.reader(), &entry)? {
            return Ok(());
        }
        let scope = if self.part.scope == Scope::SingleLevel { Scope::BaseObject } else { Scope::WholeSubtree };
        let urls = referral_urls(self.facts, &entry, "", &own_dn, Some(scope))?;
        if urls.is_empty() {
            return Ok(());
        }
        let flow = self.output.reference(&urls);
        self.done.references_sent += 1;
        if flow.is_break() { Err(Stop::Cancelled) } else { Ok(()) }
    }
}

fn look_at_clock(limits: &Limits, output: &impl EntryWriter) -> Result<(), Stop> {
    if output.cancelled() {
        return Err(Stop::Cancelled);
    }
    if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Err(Stop::time_limit());
    }
    Ok(())
}

pub(super) fn check_size(limit: Option<u64>, done: &SearchDone) -> Result<(), Stop> {
    match limit {
        Some(limit) if done.entries_sent >= limit => Err(Stop::size_limit(limit)),
        _ => Ok(()),
    }
}

/// Whether the candidates match the filter as of this snapshot. A set is as old as its plan; lists and all entries are
/// read anew.
fn is_exact(part: &Part, snapshot: &Snapshot) -> bool {
    part.is_exact
        && match &part.candidates {
            Candidates::Set(_) => snapshot.seq() == part.seq,
            Candidates::List { key, .. } => !is_gone(&snapshot.view(), key),
            Candidates::Unindexed { .. } => true,
        }
}

/// Whether the index of the key was dropped since.
pub(super) fn is_gone(view: &View<'_>, key: &IndexKey) -> bool {
    key.index() >= IndexId::FIRST_CONFIGURED && !view.indexes().is_trusted(key.index())
}

/// Makes room for the entry at `position` on the page, if it is paged.
#[inline]
pub(super) fn check_page(page: Option<&mut PageProgress>, position: Position) -> Result<(), Stop> {
    match page.map(|page| page.take(position)) {
        Some(false) => Err(Stop::PageFull),
        Some(true) | None => Ok(()),
    }
}

/// The next candidates after `after`, as they are now.
pub(super) fn next_candidates(
    part: &Part,
    view: &View<'_>,
    after: EntryId,
    out: &mut Vec<EntryId>,
) -> Result<(), StoreError> {
    let from = EntryId(after.0.saturating_add(1));
    let list =
        |key: &IndexKey| -> Result<_, StoreError> { Ok(view.postings(key)?.iter_from(from).take(CANDIDATES_PER_LOOK)) };
    match &part.candidates {
        // An index that was dropped since the plan was made is no longer kept: every entry is a candidate again.
        Candidates::List { key, .. } if is_gone(view, key) => out.extend(list(&IndexKey::all())?),
        Candidates::Set(set) => set.next_after(after, CANDIDATES_PER_LOOK, out),
        Candidates::List { key, .. } => out.extend(list(key)?),
        Candidates::Unindexed { .. } => out.extend(list(&IndexKey::all())?),
    }
    Ok(())
}
