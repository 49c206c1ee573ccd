//! Running a plan: fetch each candidate, check it, write it.
//!
//! The entry decides: scope, visibility and the whole filter are checked on what is stored now, so a plan may be a moment old.
//! A long run takes its candidates in pieces and a new snapshot twice a second; ids are stable and ascending, so it goes on where it was.

use std::collections::BTreeSet;
use std::time::Instant;

use ldap::{LdapResult, ResultCode, Scope};
use store::{EntryId, IndexId, IndexKey, RecordView, Snapshot, StoreError, View};

use super::advice::Went;
use super::plan::Candidates;
use super::{CANDIDATES_PER_LOOK, Part, SNAPSHOT_AGE_MAX, SearchDone, SearchOutput, SearchPlan, Worker, WorkerBackend};
use crate::backend::Backend;
use crate::encode::{Selection, search_entry};
use crate::entry::{DnParts, EntryView};
use crate::error;
use crate::facts::{ClassFlags, Facts};
use crate::filter::{FilterScratch, Matcher, Truth};
use crate::referral::referral_urls;

/// Why a run ends before its last candidate.
enum Stop {
    Limit(ResultCode, String),
    /// Abandoned, cancelled, or the client is gone.
    Cancelled,
    Failed(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Failed(error)
    }
}

impl SearchPlan {
    /// Looks at the candidates and writes what matches. `SearchResultDone` is left to the caller, who has the result.
    pub fn run(&mut self, worker: &mut Worker, output: &mut impl SearchOutput) -> SearchDone {
        let mut done = SearchDone {
            result: LdapResult::success(),
            entries_sent: 0,
            references_sent: 0,
            unindexed: self.unindexed,
            candidates: 0,
            is_cancelled: false,
        };
        match self.run_parts(worker, output, &mut done) {
            Ok(()) => {}
            Err(Stop::Limit(code, message)) => done.result = LdapResult::new(code, message),
            Err(Stop::Cancelled) => {
                done.is_cancelled = true;
                done.result = LdapResult::new(ResultCode::CANCELED, "The search was cancelled");
            }
            Err(Stop::Failed(problem)) => done.result = error::store_failure(&problem),
        }
        let (examined, returned) = (done.candidates, done.entries_sent);
        self.record_advice(Went { is_unindexed: self.unindexed, is_refused: false, examined, returned });
        done
    }

    /// Notes a search that an index might have helped.
    pub(super) fn record_advice(&mut self, went: Went) {
        let Some(costly) = self.costly.take().filter(|_| went.is_worth_advice()) else { return };
        let (Some(part), Some(backends)) = (self.parts.first(), &self.backends) else { return };
        let Some(backend) = backends.get(part.backend) else { return };
        costly.record(&backend.shapes, part.scope, went, Vec::new);
    }

    fn run_parts(
        &mut self,
        worker: &mut Worker,
        output: &mut impl SearchOutput,
        done: &mut SearchDone,
    ) -> Result<(), Stop> {
        let Some(facts) = self.facts.clone() else { return Ok(()) };
        self.run_synthetic(&facts, worker, output, done)?;
        let Some(backends) = self.backends.clone() else { return Ok(()) };
        // With several bases an entry may be below more than one.
        let mut sent = (self.parts.len() > 1).then(BTreeSet::new);
        for at in 0..self.parts.len() {
            let Some(part) = self.parts.get_mut(at) else { break };
            let Some(backend) = backends.get(part.backend) else { continue };
            let snapshot = match part.snapshot.take().filter(|snapshot| snapshot.age() < SNAPSHOT_AGE_MAX) {
                Some(snapshot) => snapshot,
                None => backend.store.snapshot()?,
            };
            let known = worker.backends.get_mut(part.backend);
            let mut fallback = WorkerBackend::default();
            let known = known.unwrap_or(&mut fallback);
            let mut run = Run {
                facts: &facts,
                backend,
                part,
                matcher: &self.matcher,
                selection: &mut self.selection,
                message_id: self.message_id,
                manage_dsa_it: self.manage_dsa_it,
                subentries: self.subentries,
                in_searching: self.in_searching,
                limits: self.limits,
                known,
                filter: &mut worker.filter,
                values: &mut worker.values,
                sent: sent.as_mut(),
                output,
                done,
            };
            run.known.refresh(&facts, &snapshot);
            let mut ids = std::mem::take(&mut worker.ids);
            let ended = run.candidates(snapshot, &mut ids);
            worker.ids = ids;
            ended?;
        }
        Ok(())
    }

    fn run_synthetic(
        &mut self,
        facts: &Facts,
        worker: &mut Worker,
        output: &mut impl SearchOutput,
        done: &mut SearchDone,
    ) -> Result<(), Stop> {
        for entry in &self.synthetic {
            done.candidates += 1;
            let view = entry.view()?;
            if self.matcher.matches(facts, &view, &mut worker.filter)? != Truth::True {
                continue;
            }
            check_size(self.limits.size, done)?;
            let buffer = output.buffer();
            search_entry(facts, &view, &mut self.selection, self.message_id, &[], &mut worker.values, buffer)?;
            done.entries_sent += 1;
            if output.entry_written().is_break() {
                return Err(Stop::Cancelled);
            }
        }
        Ok(())
    }
}

/// One part being run.
struct Run<'r, O> {
    facts: &'r std::sync::Arc<Facts>,
    backend: &'r Backend,
    part: &'r Part,
    matcher: &'r Matcher,
    selection: &'r mut Selection,
    message_id: i32,
    manage_dsa_it: bool,
    subentries: Option<bool>,
    in_searching: bool,
    limits: super::Limits,
    known: &'r mut WorkerBackend,
    filter: &'r mut FilterScratch,
    values: &'r mut Vec<u8>,
    sent: Option<&'r mut BTreeSet<(usize, EntryId)>>,
    output: &'r mut O,
    done: &'r mut SearchDone,
}

impl<O: SearchOutput> Run<'_, O> {
    fn candidates(&mut self, snapshot: Snapshot, ids: &mut Vec<EntryId>) -> Result<(), Stop> {
        let mut snapshot = snapshot;
        let mut after = EntryId::ROOT;
        loop {
            ids.clear();
            next_candidates(self.part, &snapshot.view(), after, ids)?;
            let Some(last) = ids.last().copied() else { break };
            let view = snapshot.view();
            for id in ids.iter() {
                self.candidate(&view, *id)?;
            }
            if ids.len() < CANDIDATES_PER_LOOK {
                break;
            }
            after = last;
            if self.output.should_pause() {
                // Whoever waits must not keep old pages alive.
                drop(snapshot);
                self.output.pause();
                self.look_at_clock()?;
                snapshot = self.backend.store.snapshot()?;
                self.known.refresh(self.facts, &snapshot);
                continue;
            }
            self.look_at_clock()?;
            if snapshot.age() >= SNAPSHOT_AGE_MAX {
                snapshot = self.backend.store.snapshot()?;
                self.known.refresh(self.facts, &snapshot);
            }
        }
        let view = snapshot.view();
        for id in self.part.referrals.iter() {
            self.referral(&view, id)?;
        }
        Ok(())
    }

    fn look_at_clock(&self) -> Result<(), Stop> {
        if self.output.cancelled() {
            return Err(Stop::Cancelled);
        }
        if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let message = "The search operation took longer than its time limit allows";
            return Err(Stop::Limit(ResultCode::TIME_LIMIT_EXCEEDED, message.to_owned()));
        }
        Ok(())
    }

    #[inline]
    fn candidate(&mut self, view: &View<'_>, id: EntryId) -> Result<(), Stop> {
        if let Some(limit) = self.limits.lookthrough
            && self.done.candidates >= limit
        {
            let message = format!("This search operation has checked the maximum of {limit} entries for matches");
            return Err(Stop::Limit(ResultCode::ADMIN_LIMIT_EXCEEDED, message));
        }
        self.done.candidates += 1;
        let Some(record) = view.entry(id)? else { return Ok(()) };
        let record = record.view()?;
        if !self.in_scope(view, id, &record)? || !self.is_visible(id, &record) {
            return Ok(());
        }
        let parent = if self.matcher.needs_dn() { self.known.names.dn(view, record.parent())? } else { Some(&b""[..]) };
        let Some(parent) = parent else { return Ok(()) };
        let entry = EntryView { id, record, dn: DnParts { rdn: record.rdn(), parent }, source: view };
        if self.matcher.matches(self.facts, &entry, self.filter)? != Truth::True {
            return Ok(());
        }
        if let Some(sent) = self.sent.as_deref_mut()
            && !sent.insert((self.part.backend, id))
        {
            return Ok(());
        }
        check_size(self.limits.size, self.done)?;
        let Some(parent) = self.known.names.dn(view, record.parent())? else { return Ok(()) };
        let entry = EntryView { id, record, dn: DnParts { rdn: record.rdn(), parent }, source: view };
        let buffer = self.output.buffer();
        search_entry(self.facts, &entry, self.selection, self.message_id, &[], self.values, buffer)?;
        self.done.entries_sent += 1;
        if self.output.entry_written().is_break() {
            return Err(Stop::Cancelled);
        }
        Ok(())
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

    /// Referral objects are sent as references, aliases that are followed (the base is not: RFC 4511 §4.5.1.3) not at all,
    /// subentries when asked for (RFC 3672 §3).
    #[inline]
    fn is_visible(&self, id: EntryId, record: &RecordView<'_>) -> bool {
        let special = ClassFlags::REFERRAL.with(ClassFlags::ALIAS).with(ClassFlags::SUBENTRY);
        let is_base_search = self.part.scope == Scope::BaseObject;
        if !self.known.classes.any(special) {
            return self.subentries != Some(true) || is_base_search;
        }
        let flags = self.known.classes.of(self.facts, record);
        if is_base_search {
            return true;
        }
        let is_hidden = (flags.has(ClassFlags::REFERRAL) && !self.manage_dsa_it)
            || (flags.has(ClassFlags::ALIAS) && self.in_searching && id != self.part.base);
        !is_hidden && flags.has(ClassFlags::SUBENTRY) == self.subentries.unwrap_or(false)
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
        if let Some(sent) = self.sent.as_deref_mut()
            && !sent.insert((self.part.backend, id))
        {
            return Ok(());
        }
        let own_dn = view.dn_of(id)?.unwrap_or_default();
        let entry = EntryView { id, record, dn: DnParts::whole(own_dn.as_bytes()), source: view };
        let scope = if self.part.scope == Scope::SingleLevel { "base" } else { "sub" };
        let urls = referral_urls(self.facts, &entry, "", &own_dn, Some(scope))?;
        if urls.is_empty() {
            return Ok(());
        }
        ldap::encode::search_reference(self.output.buffer(), self.message_id, urls.iter().map(String::as_str), &[]);
        self.done.references_sent += 1;
        if self.output.entry_written().is_break() {
            return Err(Stop::Cancelled);
        }
        Ok(())
    }
}

fn check_size(limit: Option<u64>, done: &SearchDone) -> Result<(), Stop> {
    match limit {
        Some(limit) if done.entries_sent >= limit => {
            let message = format!("This search operation has sent the maximum of {limit} entries to the client");
            Err(Stop::Limit(ResultCode::SIZE_LIMIT_EXCEEDED, message))
        }
        _ => Ok(()),
    }
}

fn is_gone(view: &View<'_>, key: &IndexKey) -> bool {
    key.index() >= IndexId::FIRST_CONFIGURED && !view.indexes().is_trusted(key.index())
}

/// The next candidates after `after`, as they are now.
fn next_candidates(part: &Part, view: &View<'_>, after: EntryId, out: &mut Vec<EntryId>) -> Result<(), StoreError> {
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
