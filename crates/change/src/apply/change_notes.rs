//! What a proposal changes, noted for the [history](crate::history) while it is written: before and after of every
//! entry.
//!
//! Has no effect on what becomes of a proposal. Where no history is kept it costs one look at a flag. Nothing is read
//! for it that was not read for the change itself, except large values that go as a whole, and then only as many as are
//! kept.

use std::collections::BTreeSet;

use store::log::LogPlace;
use store::{Content, DescId, EntryId, RecordView, StoreError, Txn, View};

use super::draft::{Before, Draft, Now, Touched};
use super::large_edit::{ByNormalForm, LargeEdit};
use super::stamps::Stamps;
use super::value_set::ValueSet;
use crate::history::trace::{Subject, TraceTally, TraceWriter, set_number};
use crate::history::{Cause, ChangeKind, Recorder};

/// Up to so many pairs of values are compared one by one.
const PAIRS_MAX: usize = 1024;

/// What is noted of the proposal that is being applied.
#[derive(Default)]
pub(super) struct ChangeNotes {
    recorder: Option<Recorder>,
    is_on: bool,
    /// Place of the proposal in a transaction.
    part: usize,
    tally: TraceTally,
}

/// How an entry changes, for [`ChangeNotes::written`].
#[derive(Clone, Copy)]
pub(super) struct Note<'n> {
    pub(super) kind: ChangeKind,
    pub(super) entry_uuid: [u8; 16],
    /// Its name before; empty when the request names it.
    pub(super) dn: &'n str,
    pub(super) cause: Cause<'n>,
    /// Connection and operation, when they are not the proposal's.
    pub(super) origin: Option<(u64, u32)>,
    /// Where the values of touched attributes came from, in the order in which they were touched.
    pub(super) sources: &'n [RequestValues],
}

/// The values that an attribute has from an add request: its first `values` ones are those of the attribute at that
/// place of the request.
#[derive(Clone, Copy)]
pub(super) struct RequestValues {
    pub(super) place: usize,
    pub(super) values: usize,
}

impl Note<'static> {
    /// A change that was asked for, of the entry that the request names.
    pub(super) fn requested(kind: ChangeKind, entry_uuid: [u8; 16]) -> Self {
        Self { kind, entry_uuid, dn: "", cause: Cause::Request, origin: None, sources: &[] }
    }
}

impl ChangeNotes {
    /// Notes for that recorder.
    pub(super) fn new(recorder: Recorder) -> Self {
        Self { recorder: Some(recorder), ..Self::default() }
    }

    /// Whether anything is noted.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// A proposal begins.
    pub(super) fn begin(&mut self) {
        self.is_on = self.recorder.as_ref().is_some_and(Recorder::is_on);
        self.part = 0;
        self.tally = TraceTally::default();
    }

    /// The next part of a transaction begins.
    pub(super) fn begin_part(&mut self, part: usize) {
        self.part = part;
    }

    /// A proposal was accepted: its changes get their numbers.
    pub(super) fn finish(&mut self, txn: &mut Txn<'_>, time_us: u64) {
        if self.tally.changes > 0
            && let Some(recorder) = &mut self.recorder
        {
            set_number(txn.trace(), recorder.take(self.tally.changes, time_us), self.tally.changes);
        }
    }

    /// What was noted last is in the log, or never will be.
    pub(super) fn settle(&mut self, place: Option<LogPlace>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.settle(place);
        }
    }

    /// Notes an entry that is about to be written.
    pub(super) fn written(
        &mut self,
        txn: &mut Txn<'_>,
        draft: &Draft<'_>,
        stamps: &Stamps,
        note: &Note<'_>,
    ) -> Result<(), StoreError> {
        self.with(txn, draft.id, note, |writer, view| {
            for (at, touched) in draft.touched.iter().enumerate() {
                put_touched(writer, view, draft, touched, note.sources.get(at).copied())?;
            }
            let mut scratch = Vec::new();
            for (desc, value) in stamps {
                let Some(name) = view.tables().description(*desc) else { continue };
                let old = draft.record.and_then(|record| inline(record, *desc, &mut scratch));
                put_difference(writer, name, old.as_deref().unwrap_or_default(), &[value.as_slice()]);
            }
            Ok(())
        })
    }

    /// Notes an entry that is about to be deleted.
    pub(super) fn deleted(
        &mut self,
        txn: &mut Txn<'_>,
        id: EntryId,
        record: &RecordView<'_>,
        note: &Note<'_>,
    ) -> Result<(), StoreError> {
        self.with(txn, id, note, |writer, view| {
            let mut result = Ok(());
            record.for_each(&mut Vec::new(), |attribute| {
                let Some(name) = record.tables().description(attribute.desc) else { return };
                let bytes = match attribute.content {
                    Content::Inline(values) => values.body().len(),
                    Content::Large(stub) => usize::try_from(stub.bytes).unwrap_or(usize::MAX),
                };
                let is_complete = writer.has_room(bytes);
                writer.attribute(name, is_complete, None);
                if is_complete {
                    match attribute.content {
                        Content::Inline(values) => values.iter().for_each(|value| writer.value(value)),
                        Content::Large(_) if result.is_err() => {}
                        Content::Large(_) => {
                            result = put_large(writer, view, id, attribute.desc);
                        }
                    }
                }
                writer.end_values();
                writer.end_values();
            });
            result
        })
    }

    fn with(
        &mut self,
        txn: &mut Txn<'_>,
        entry: EntryId,
        note: &Note<'_>,
        write: impl FnOnce(&mut TraceWriter<'_>, &View<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if !self.is_on {
            return Ok(());
        }
        let Note { kind, entry_uuid, dn, cause, origin, .. } = *note;
        let subject = Subject { kind, cause, origin, part: self.part, entry, entry_uuid, dn };
        // Taken out, because what is written is read from the same transaction.
        let mut trace = std::mem::take(txn.trace());
        let mut writer = TraceWriter::begin(&mut trace, &mut self.tally, &subject);
        let result = write(&mut writer, &txn.view());
        writer.end();
        *txn.trace() = trace;
        result
    }
}

/// All values of a large attribute.
fn put_large(writer: &mut TraceWriter<'_>, view: &View<'_>, id: EntryId, desc: DescId) -> Result<(), StoreError> {
    for found in view.large_values(id, desc)? {
        writer.value(&found?.1);
    }
    Ok(())
}

fn put_touched(
    writer: &mut TraceWriter<'_>,
    view: &View<'_>,
    draft: &Draft<'_>,
    touched: &Touched,
    source: Option<RequestValues>,
) -> Result<(), StoreError> {
    let name = &*touched.description;
    match (&touched.before, &touched.now) {
        (_, Now::Edit(edit)) => put_edit(writer, name, edit),
        (Before::Absent, Now::Set(set)) => put_new(writer, name, set, source),
        (Before::Inline, Now::Set(set)) => {
            let mut scratch = Vec::new();
            let old = draft.record.zip(touched.desc).and_then(|(record, desc)| inline(record, desc, &mut scratch));
            put_difference(writer, name, old.as_deref().unwrap_or_default(), &set.iter().collect::<Vec<_>>());
        }
        (Before::Large(stub), Now::Set(set)) => {
            let new: Vec<&[u8]> = set.iter().collect();
            let mut kept = Vec::new();
            let is_kept = writer.has_room(usize::try_from(stub.bytes).unwrap_or(usize::MAX));
            if let Some(desc) = touched.desc.filter(|_| is_kept) {
                for found in view.large_values(draft.id, desc)? {
                    kept.push(found?.1);
                }
                let old: Vec<&[u8]> = kept.iter().map(AsRef::as_ref).collect();
                put_difference(writer, name, &old, &new);
                return Ok(());
            }
            writer.attribute(name, false, None);
            writer.end_values();
            new.iter().for_each(|value| writer.value(value));
            writer.end_values();
        }
    }
    Ok(())
}

/// An attribute that was not there.
fn put_new(writer: &mut TraceWriter<'_>, name: &str, set: &ValueSet, source: Option<RequestValues>) {
    if set.len() == 0 {
        return;
    }
    writer.attribute(name, true, source.map(|source| source.place));
    writer.end_values();
    set.iter().skip(source.map_or(0, |source| source.values)).for_each(|value| writer.value(value));
    writer.end_values();
}

/// Single values of a large attribute.
fn put_edit(writer: &mut TraceWriter<'_>, name: &str, edit: &LargeEdit) {
    let mark = writer.mark();
    writer.attribute(name, true, None);
    let begin = writer.mark();
    put_others(writer, &edit.removed, &edit.added);
    writer.end_values();
    put_others(writer, &edit.added, &edit.removed);
    writer.end_values();
    take_back_empty(writer, mark, begin);
}

/// The values that are not in the other list in the same spelling.
fn put_others(writer: &mut TraceWriter<'_>, values: &ByNormalForm, others: &ByNormalForm) {
    for (normal, value) in values {
        if others.get(normal) != Some(value) {
            writer.value(value);
        }
    }
}

/// What differs between two lists of values, byte by byte; nothing when they are the same.
fn put_difference(writer: &mut TraceWriter<'_>, name: &str, old: &[&[u8]], new: &[&[u8]]) {
    let mark = writer.mark();
    writer.attribute(name, true, None);
    let begin = writer.mark();
    if old.len().saturating_mul(new.len()) <= PAIRS_MAX {
        old.iter().filter(|value| !new.contains(value)).for_each(|value| writer.value(value));
        writer.end_values();
        new.iter().filter(|value| !old.contains(value)).for_each(|value| writer.value(value));
    } else {
        let (known, wanted): (BTreeSet<_>, BTreeSet<_>) = (old.iter().collect(), new.iter().collect());
        old.iter().filter(|value| !wanted.contains(value)).for_each(|value| writer.value(value));
        writer.end_values();
        new.iter().filter(|value| !known.contains(value)).for_each(|value| writer.value(value));
    }
    writer.end_values();
    take_back_empty(writer, mark, begin);
}

/// Two ends of lists are all that follows an attribute that did not change.
fn take_back_empty(writer: &mut TraceWriter<'_>, mark: usize, begin: usize) {
    if writer.mark() == begin + 2 {
        writer.take_back(mark);
    }
}

/// The values of an attribute in a record.
fn inline<'s>(record: RecordView<'s>, desc: DescId, scratch: &'s mut Vec<u8>) -> Option<Vec<&'s [u8]>> {
    scratch.clear();
    match record.attribute(desc, scratch)?.content {
        Content::Inline(values) => Some(values.iter().collect()),
        Content::Large(_) => None,
    }
}
