//! Referential integrity (OpenDJ's plugin of that name; OpenLDAP: slapo-refint): when an entry goes, values that name
//! it go; when it is renamed or moved, they follow.
//!
//! What refers to a name is found by equality index, so an entry that nothing refers to costs one look there for each
//! attribute. Up to [`SLICE_HOLDERS`] entries are changed together with the update that they follow. The rest, and
//! everything when there is a delay, waits in the [`queue`] and is done in proposals of that size.
//!
//! A group may lose its last member: as in OpenDJ a static group without members is one, and a delete must not fail for
//! it. Values that are part of their entry's own name stay.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ldap::Dn;
use schema::{NormalizedDn, Schema, TypeIndex};
use store::{EntryId, RecordView, StoreError, View};

use super::configured::{Check, Plugins, References};
use super::judged::Judged;
use super::lookup::{Lookup, Pair, normals_below};
use super::queue::{self, Job, Slice, Tally};
use super::scope::matches;
use crate::apply::change_notes::Note;
use crate::apply::draft::{Described, Draft, Start, stored_type};
use crate::apply::error::ApplyError;
use crate::apply::outcome::ReferenceReport;
use crate::apply::rdn::leaf_rdn;
use crate::apply::stamps;
use crate::apply::value_set::normal_form;
use crate::apply::work::Work;
use crate::apply::write::{self, TreePosition};
use crate::history::{Cause, ChangeKind};
use crate::refusal::Refusal;
use query::error::shown;
use query::locate::locate;

/// Who changed an entry whose references were cleaned, as `modifiersName` says.
const MODIFIER: &str = "cn=Referential Integrity,cn=plugins,cn=config";
/// Entries that one proposal changes.
const SLICE_HOLDERS: usize = 128;
/// References below a moved entry that one proposal rewrites.
const SLICE_PAIRS: usize = 512;
/// Values of one name with different unique identifiers that are looked at in one slice.
const IDENTIFIERS_MAX: usize = 4096;

/// A name that is no longer what it was.
pub(in crate::apply) struct Moved {
    /// The old name in normal form.
    pub(in crate::apply) old: NormalizedDn,
    /// The old name as it was written.
    pub(in crate::apply) dn: String,
    /// The new one; none when the entry is gone.
    pub(in crate::apply) new: Option<String>,
    /// Entries below went along.
    pub(in crate::apply) is_subtree: bool,
}

/// Which values of an entry are meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    /// The one with this normal form.
    Exact(Box<[u8]>),
    /// Those whose normal form begins so.
    Below(Box<[u8]>),
}

/// What a slice is about: entries with what is meant of them for which job; where the next slice begins.
#[derive(Default)]
struct Found {
    holders: BTreeMap<EntryId, BTreeSet<(usize, Wanted)>>,
    next: Option<Vec<u8>>,
}

/// Follows names that changed in this proposal.
pub(in crate::apply) fn follow(work: &mut Work<'_, '_>, moved: Vec<Moved>) -> Result<(), ApplyError> {
    let plugins = std::sync::Arc::clone(&work.rules.plugins);
    match &plugins.references {
        Some(references) => references.follow(work, moved),
        None => Ok(()),
    }
}

/// Does a slice of what waits.
pub(in crate::apply) fn clean(work: &mut Work<'_, '_>, bytes: &[u8]) -> Result<(), ApplyError> {
    work.require_root("Cleaning references")?;
    let slice = Slice::decode(bytes).ok_or(Refusal::DamagedProposal { of: "a slice of references" })?;
    let plugins = std::sync::Arc::clone(&work.rules.plugins);
    let mut report = ReferenceReport::default();
    if let Some(references) = &plugins.references
        && !slice.jobs.is_empty()
    {
        report = references.clean(work, &slice.jobs, &slice.cursor)?;
    }
    work.has_more = report.cursor.is_some();
    if !work.has_more {
        queue::finish(work.txn, slice.finish_before)?;
    }
    work.references = Some(report);
    Ok(())
}

impl Plugins {
    /// Whether names that change are followed.
    pub(in crate::apply) fn follows_references(&self) -> bool {
        self.references.is_some()
    }
}

impl References {
    fn follow(&self, work: &mut Work<'_, '_>, moved: Vec<Moved>) -> Result<(), ApplyError> {
        let proposal = work.proposal;
        let time_us = proposal.csn.time_us;
        let mut jobs: Vec<Job> = moved
            .into_iter()
            .map(|moved| Job {
                old: moved.old.as_bytes().to_vec(),
                dn: moved.dn,
                new: moved.new,
                is_subtree: moved.is_subtree,
                due_us: time_us.saturating_add(self.interval_us),
                time_us,
                connection: proposal.connection,
                operation: proposal.operation,
                done: Tally::default(),
            })
            .collect();
        let mut report = ReferenceReport::default();
        let is_behind = queue::bounds(&work.view())?.is_behind();
        let mut is_done_here = false;
        let mut waits = self.has_others || is_behind;
        if self.interval_us == 0 && !is_behind {
            report = self.clean(work, &jobs, &[])?;
            is_done_here = report.cursor.take().is_none();
            waits |= !is_done_here;
            for (job, tally) in jobs.iter_mut().zip(&report.jobs) {
                job.done = *tally;
            }
        } else if !waits {
            waits = self.is_referred(&work.facts.schema, &work.view(), &jobs)?;
        }
        if waits {
            for job in &jobs {
                queue::push(work.txn, job, is_done_here)?;
            }
        }
        report.is_queued = waits;
        report.new_name = jobs.iter().find_map(|job| job.new.clone());
        report.names = jobs.into_iter().map(|job| job.dn).collect();
        if waits || report.jobs.iter().any(|tally| tally.entries > 0) {
            work.references = Some(report);
        }
        Ok(())
    }

    /// Changes the next entries that refer to the old names.
    fn clean(&self, work: &mut Work<'_, '_>, jobs: &[Job], cursor: &[u8]) -> Result<ReferenceReport, ApplyError> {
        let facts = work.facts.clone();
        let found = self.find(&facts.schema, &work.view(), jobs, cursor)?;
        let targets = last_names(&facts.schema, jobs);
        let mut tallies = vec![Tally::default(); jobs.len()];
        for (id, wanted) in &found.holders {
            self.change(work, *id, wanted, jobs, &targets, &mut tallies)?;
        }
        Ok(ReferenceReport { jobs: tallies, cursor: found.next, ..ReferenceReport::default() })
    }

    /// Whether some entry refers to one of the names.
    pub(super) fn is_referred(&self, schema: &Schema, view: &View<'_>, jobs: &[Job]) -> Result<bool, StoreError> {
        Ok(!self.find(schema, view, jobs, &[])?.holders.is_empty())
    }

    fn find(&self, schema: &Schema, view: &View<'_>, jobs: &[Job], cursor: &[u8]) -> Result<Found, StoreError> {
        match jobs {
            [only] if only.is_subtree => self.find_below(schema, view, &only.old, cursor),
            _ => self.find_exact(schema, view, jobs, cursor),
        }
    }

    /// Who refers to one of the names itself: the entries with the smallest numbers. The cursor is a number.
    fn find_exact(&self, schema: &Schema, view: &View<'_>, jobs: &[Job], cursor: &[u8]) -> Result<Found, StoreError> {
        let from = EntryId(cursor.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes)));
        let mut found = Found::default();
        for (at, job) in jobs.iter().enumerate() {
            for lookup in &self.attributes {
                for id in lookup.holders(schema, view, &job.old, from, SLICE_HOLDERS + 1)? {
                    found.holders.entry(id).or_default().insert((at, Wanted::Exact(job.old.as_slice().into())));
                }
                if !has_identifiers(lookup) {
                    continue;
                }
                let prefix = [&job.old[..], b"#"].concat();
                for (key, id) in lookup.pairs(schema, view, &prefix, None, IDENTIFIERS_MAX)? {
                    if id >= from {
                        found.holders.entry(id).or_default().insert((at, wanted(key, &prefix)));
                    }
                }
            }
        }
        while found.holders.len() > SLICE_HOLDERS {
            found.holders.pop_last();
            let last = found.holders.last_key_value().map_or(0, |(id, _)| id.0);
            found.next = Some((last + 1).to_be_bytes().to_vec());
        }
        Ok(found)
    }

    /// Who refers to a name or one below it, name by name. The cursor is the last pair: attribute, entry, key.
    fn find_below(&self, schema: &Schema, view: &View<'_>, old: &[u8], cursor: &[u8]) -> Result<Found, StoreError> {
        let mut found = Found::default();
        let (begin, mut after) = match cursor.split_first_chunk::<9>() {
            Some(([attribute, id @ ..], key)) => {
                (usize::from(*attribute), Some((key.into(), EntryId(u64::from_be_bytes(*id)))))
            }
            None => (0, None),
        };
        let mut left = SLICE_PAIRS;
        for (at, lookup) in self.attributes.iter().enumerate().skip(begin) {
            let pairs: Vec<Pair> = lookup.pairs(schema, view, old, after.take().as_ref(), left)?;
            left -= pairs.len();
            if left == 0
                && let Some((key, id)) = pairs.last()
            {
                let attribute = u8::try_from(at).unwrap_or(u8::MAX);
                found.next = Some([&[attribute][..], &id.0.to_be_bytes(), key].concat());
            }
            for (key, id) in pairs {
                found.holders.entry(id).or_default().insert((0, wanted(key, old)));
            }
            if left == 0 {
                break;
            }
        }
        Ok(found)
    }

    /// Changes one entry for all jobs.
    fn change(
        &self,
        work: &mut Work<'_, '_>,
        id: EntryId,
        wanted: &BTreeSet<(usize, Wanted)>,
        jobs: &[Job],
        targets: &[Option<String>],
        tallies: &mut [Tally],
    ) -> Result<(), ApplyError> {
        let facts = work.facts.clone();
        let schema = &*facts.schema;
        let tables = work.txn.tables().clone();
        let Some(bytes) = work.view().entry(id)?.map(|record| record.into_bytes().into_owned()) else {
            return Ok(());
        };
        let record = RecordView::parse(&bytes, &tables)?;
        if !self.scope.covers_name_of(schema, &work.view(), id)? {
            return Ok(());
        }
        let own_name = name_values(schema, &record);
        let was = work.rules.classes.of(&facts, &work.rules.checker, &record).flags;
        let mut draft = Draft::of(schema, id, record, was);
        let mut changed = vec![0u64; jobs.len()];
        let descs: BTreeSet<_> =
            self.attributes.iter().flat_map(|lookup| lookup.descriptions(schema, &record)).collect();
        for desc in descs {
            let Some(name) = tables.description(desc) else { continue };
            let described = Described::parse(schema, name.as_bytes(), false)?;
            let of_type = stored_type(schema, &tables, desc).map(|own| own.index);
            let view = work.txn.view();
            for (at, wanted) in wanted {
                let (Some(job), Some(target)) = (jobs.get(*at), targets.get(*at)) else { continue };
                let normals = match wanted {
                    Wanted::Exact(normal) => vec![normal.clone()],
                    Wanted::Below(prefix) => normals_below(schema, &view, id, &record, desc, prefix)?,
                };
                for normal in normals {
                    if own_name.iter().any(|(own, form)| Some(*own) == of_type && *form == normal) {
                        continue;
                    }
                    let place = draft.touch(&described, Start::Stored)?;
                    let touched = draft.at(place)?;
                    let Some(text) = touched.take(schema, &view, &normal)? else { continue };
                    if let Some(new) = target.as_ref().and_then(|new| rewritten(&text, &normal, job, new)) {
                        touched.insert(schema, &view, &new)?;
                    }
                    if let Some(count) = changed.get_mut(*at) {
                        *count += 1;
                    }
                }
            }
        }
        if changed.iter().all(|count| *count == 0) {
            return Ok(());
        }
        for (tally, count) in tallies.iter_mut().zip(changed) {
            tally.add(Tally { entries: u64::from(count > 0), references: count });
        }
        let stamps = stamps::stamps_of_modify(work.proposal.csn, MODIFIER);
        let place = TreePosition { parent: record.parent(), rdn: record.rdn() };
        let dn = match work.rules.notes.is_on() {
            true => work.view().dn_of(id)?.unwrap_or_default(),
            false => String::new(),
        };
        let origin = wanted.first().and_then(|(at, _)| jobs.get(*at)).map(|job| (job.connection, job.operation));
        let cause = Cause::Plugin { name: MODIFIER };
        let entry_uuid = record.header().uuid.unwrap_or_default();
        let note = Note { dn: &dn, cause, origin, ..Note::requested(ChangeKind::Modify, entry_uuid) };
        Ok(write::store(work, &note, &mut draft, place, stamps)?)
    }

    /// Refuses new references that lead nowhere.
    pub(super) fn check(&self, work: &Work<'_, '_>, judged: Judged<'_, '_>) -> Result<(), ApplyError> {
        let Some(check) = &self.check else { return Ok(()) };
        if !self.scope.covers_name(judged.name) {
            return Ok(());
        }
        let draft = judged.draft;
        for touched in &draft.touched {
            let own = touched.type_index.and_then(|index| draft.schema.attribute_by_index(index));
            let lookup = self.attributes.iter().find(|it| own.is_some_and(|own| own.is_subtype_of(it.attribute)));
            let Some(lookup) = lookup else { continue };
            for value in draft.new_values(touched) {
                if let Err(problem) = self.check_value(work, check, judged.name, lookup, value)? {
                    let (plugin, attribute) = (self.name.clone(), touched.description.clone());
                    return Err(Refusal::BadReference { plugin, value: shown(value), attribute, problem }.into());
                }
            }
        }
        Ok(())
    }

    fn check_value(
        &self,
        work: &Work<'_, '_>,
        check: &Check,
        own: &NormalizedDn,
        lookup: &Lookup,
        value: &[u8],
    ) -> Result<Result<(), &'static str>, ApplyError> {
        let schema = &work.facts.schema;
        let (dn, _) = if has_identifiers(lookup) { split_identifier(value) } else { (value, &[][..]) };
        let Ok(name) = NormalizedDn::parse(schema, dn) else { return Ok(Err("it is not a DN")) };
        let context = |name: &NormalizedDn| work.rules.suffix_of(name).map(|suffix| &suffix.normalized);
        let Some(suffix) = context(&name) else {
            // Other backends are changed by other writers: what this one finds there may change at any time.
            let may_be_elsewhere = self.has_others && !check.within_context;
            return Ok(if may_be_elsewhere { Ok(()) } else { Err("no suffix holds it") });
        };
        if check.within_context && context(own) != Some(suffix) {
            return Ok(Err("it is in another naming context"));
        }
        let view = work.view();
        let path = locate(&view, suffix, name.as_bytes())?;
        let Some(id) = path.found() else { return Ok(Err("there is no such entry")) };
        let filter = check.filters.iter().find(|(attribute, _)| *attribute == lookup.attribute);
        match filter {
            Some((_, filter)) if !matches(&work.facts, filter, &view, id)? => {
                Ok(Err("the entry does not match check-references-filter-criteria"))
            }
            _ => Ok(Ok(())),
        }
    }
}

/// Whether values may have a unique identifier behind the name (RFC 4517 §3.3.21).
fn has_identifiers(lookup: &Lookup) -> bool {
    lookup.rule.name() == "uniqueMemberMatch"
}

fn wanted(key: Box<[u8]>, prefix: &[u8]) -> Wanted {
    if Lookup::is_whole(&key) && key.starts_with(prefix) { Wanted::Exact(key) } else { Wanted::Below(prefix.into()) }
}

/// The name that a value becomes when the jobs are done one after the other: what one renames, a later one may rename
/// or delete.
fn last_names(schema: &Schema, jobs: &[Job]) -> Vec<Option<String>> {
    let mut names: Vec<Option<String>> = jobs.iter().map(|job| job.new.clone()).collect();
    let mut later: BTreeMap<&[u8], usize> = BTreeMap::new();
    for (at, job) in jobs.iter().enumerate().rev() {
        let normal = job.new.as_ref().and_then(|new| NormalizedDn::parse(schema, new.as_bytes()).ok());
        if let Some(next) = normal.and_then(|normal| later.get(normal.as_bytes()).copied()) {
            let last = names.get(next).cloned().flatten();
            if let Some(place) = names.get_mut(at) {
                *place = last;
            }
        }
        later.insert(&job.old, at);
    }
    names
}

/// A value of an old name, or of one below it, as a value of the new one: what stands below keeps its spelling.
fn rewritten(text: &[u8], normal: &[u8], job: &Job, new: &str) -> Option<Vec<u8>> {
    let has_identifier = normal.last().is_some_and(|byte| *byte != 0);
    let (dn, identifier) = if has_identifier { split_identifier(text) } else { (text, &[][..]) };
    let dn = Dn::parse(std::str::from_utf8(dn).ok()?).ok()?;
    let old_length = job.old.iter().filter(|byte| **byte == 0).count();
    let kept = dn.rdns().len().checked_sub(old_length)?;
    let mut out = String::with_capacity(text.len() + new.len());
    for rdn in dn.rdns().iter().take(kept) {
        write!(out, "{rdn},").ok()?;
    }
    out.push_str(new);
    let mut out = out.into_bytes();
    out.extend_from_slice(identifier);
    Some(out)
}

/// A name, and the identifier with the `#` before it if there is one.
fn split_identifier(value: &[u8]) -> (&[u8], &[u8]) {
    let is_identifier = |tail: &[u8]| {
        let bits = tail.strip_prefix(b"#'").and_then(|tail| tail.strip_suffix(b"'B"));
        bits.is_some_and(|bits| bits.iter().all(|bit| matches!(bit, b'0' | b'1')))
    };
    let at = value.iter().rposition(|byte| *byte == b'#').filter(|at| value.get(*at..).is_some_and(is_identifier));
    value.split_at(at.unwrap_or(value.len()))
}

/// The values that name the entry: type and normal form.
fn name_values(schema: &Schema, record: &RecordView<'_>) -> Vec<(TypeIndex, Box<[u8]>)> {
    let text = String::from_utf8_lossy(record.rdn());
    let Some(rdn) = leaf_rdn(&text, record.parent() == EntryId::ROOT) else { return Vec::new() };
    let value = |ava: &ldap::Ava<'_>| {
        let attribute = schema.attribute_type(ava.attribute.as_bytes())?;
        Some((attribute.index, normal_form(attribute.equality, schema, &ava.value)))
    };
    rdn.avas().iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(old: &str, new: Option<&str>) -> Job {
        let schema = Schema::standard();
        Job {
            old: NormalizedDn::parse(&schema, old.as_bytes()).unwrap().as_bytes().to_vec(),
            dn: old.to_owned(),
            new: new.map(str::to_owned),
            is_subtree: true,
            due_us: 0,
            time_us: 0,
            connection: 0,
            operation: 0,
            done: Tally::default(),
        }
    }

    #[test]
    fn what_stands_below_keeps_its_spelling() {
        let job = job("ou=a,dc=b", Some("ou=New,dc=b"));
        let rewrite = |text: &str, normal: &[u8]| {
            String::from_utf8(rewritten(text.as_bytes(), normal, &job, "ou=New,dc=b").unwrap()).unwrap()
        };
        assert_eq!(rewrite("UID=Ann+cn=A\\,B, OU = A,dc=B", b"x\0"), "UID=Ann+cn=A\\,B,ou=New,dc=b");
        assert_eq!(rewrite("ou=A,dc=B#'01'B", b"x\0#'01'B"), "ou=New,dc=b#'01'B");
        assert_eq!(split_identifier(b"cn=a#b"), (&b"cn=a#b"[..], &b""[..]));
    }

    #[test]
    fn names_are_followed_through_a_batch() {
        let schema = Schema::standard();
        let jobs = [
            job("cn=a", Some("cn=b")),
            job("cn=x", Some("cn=a")),
            job("cn=b", Some("cn=c")),
            job("cn=c", None),
            job("cn=d", Some("cn=c")),
        ];
        let names = last_names(&schema, &jobs);
        assert_eq!(names, [None, Some("cn=a".to_owned()), None, None, Some("cn=c".to_owned())]);
    }
}
