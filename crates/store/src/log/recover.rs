//! Opening the log: which file holds what, and whether anything is missing that was acknowledged.
//!
//! Invariants:
//! (1) What recovery needs (records after `folded`) is there without gap up to the end, or the log does not open and
//!     says which records are missing. What the database noted about the log ([`LogHeld`]) must be there too.
//! (2) A file is taken for unused only when its header says so, or when it cannot hold a record of this data that
//!     recovery needs.

use super::contract::LogHeld;
use super::disk::Disk;
use super::frame::SegmentHeader;
use super::segment::{Content, EachRecord, Extent, Sealed, Slot, changes, gap};
use super::slots::Slots;
use crate::error::StoreError;

/// Default size of a segment: holds a few seconds of heavy writing, and is quick to read and to make.
pub const SEGMENT_BYTES: u64 = 16 << 20;

/// How a log is opened.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Identity of the data.
    pub uuid: [u8; 16],
    /// Version of the rules whose outcomes are logged.
    pub rules: u32,
    /// Size of new segments, a multiple of 4,096.
    pub segment_bytes: u64,
    /// Records to be kept although recovery does not need them; `u64::MAX` for none.
    pub keep_from: u64,
    /// What the database noted that the log holds; none in databases of older versions.
    pub held: Option<LogHeld>,
    /// For reading beside the process that writes it: nothing is synced, removed or made.
    pub read_only: bool,
}

/// A log as it was found.
pub(super) struct Recovered {
    pub slots: Slots,
    pub last: u64,
    pub next_generation: u64,
}

/// What [`salvage`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// The last record that can be read without gap.
    pub last: u64,
    /// Why later records cannot be read, if there are any.
    pub missing: Option<String>,
}

/// The files found, by kind.
struct Found {
    segments: Vec<(SegmentHeader, Slot)>,
    unused: Vec<Slot>,
    /// Segments with a damaged header whose records are not needed.
    headless: Vec<Slot>,
    next_name: u64,
    /// Why needed records cannot be read.
    missing: Option<String>,
}

/// Finds the segments of the data. Segments of other data (before an import, after a restore) are free for use.
///
/// `folded`: the last sequence number that recovery does not need.
pub(super) fn recover(disk: &dyn Disk, options: &LogOptions, folded: u64) -> Result<Recovered, StoreError> {
    let found = find(disk, options.uuid, folded)?;
    if let Some(missing) = found.missing {
        return Err(StoreError::ChangesMissing(missing));
    }
    let mut slots = Slots { keep_from: options.keep_from, next_name: found.next_name, ..Slots::default() };
    let mut surplus = found.headless;
    surplus.extend(found.unused.into_iter().filter_map(|slot| slots.spare(slot, options.segment_bytes)));
    let mut segments = found.segments;
    let last_generation = segments.last().map_or(0, |(header, _)| header.generation);
    let history = history_begins(&segments, folded);
    surplus.extend(segments.drain(..history).filter_map(|(_, slot)| slots.spare(slot, options.segment_bytes)));
    let last = read(segments, options, folded, &mut slots).map_err(missing)?;
    check_held(options.held, folded, last, last_generation)?;
    if !options.read_only {
        for slot in surplus {
            disk.remove(&slot.name).map_err(|error| StoreError::io("log segment", &error))?;
        }
    }
    slots.last = last;
    slots.recovered = folded;
    let noted_generation = options.held.map_or(0, |held| held.generation);
    slots.held = LogHeld { generation: last_generation, last, is_closed: false };
    Ok(Recovered { slots, last, next_generation: last_generation.max(noted_generation) + 1 })
}

/// Gives every readable record after `folded` to `each`, up to the first gap; for a log that does not open.
///
/// # Errors
/// Those of `each`, of the disk, and [`StoreError::RulesVersion`].
pub fn salvage(
    disk: &dyn Disk,
    options: &LogOptions,
    folded: u64,
    each: EachRecord<'_>,
) -> Result<Salvaged, StoreError> {
    let mut found = find(disk, options.uuid, folded)?;
    let segments = found.segments.split_off(history_begins(&found.segments, folded));
    let last_generation = segments.last().map_or(0, |(header, _)| header.generation);
    let mut last = folded;
    for (segment, end) in with_ends(&segments) {
        if end.is_some_and(|end| end <= last + 1) {
            continue;
        }
        let (header, slot) = segment;
        let mut failed = None;
        let walked = if header.first_seq > last + 1 {
            Err(gap(last + 1, header.first_seq))
        } else {
            slot.walk(header, Extent { limit: slot.bytes, end, from: last + 1 }, &mut |record| {
                if header.rules != options.rules {
                    failed = Some(StoreError::RulesVersion { found: header.rules, ours: options.rules });
                } else if let Err(error) = each(record) {
                    failed = Some(error);
                } else {
                    last = record.seq;
                    return Ok(());
                }
                Err(StoreError::Closed)
            })
        };
        match (failed, walked) {
            (Some(error), _) => return Err(error),
            (None, Ok(_)) => {}
            (None, Err(StoreError::LogDamaged(reason))) => {
                return Ok(Salvaged { last, missing: Some(found.missing.unwrap_or(reason)) });
            }
            (None, Err(error)) => return Err(error),
        }
    }
    let missing = match check_held(options.held, folded, last, last_generation) {
        Err(StoreError::ChangesMissing(reason)) => Some(reason),
        _ => None,
    };
    Ok(Salvaged { last, missing: found.missing.or(missing) })
}

/// Reads the headers of all files.
fn find(disk: &dyn Disk, uuid: [u8; 16], folded: u64) -> Result<Found, StoreError> {
    let failed = |error| StoreError::io("log segment", &error);
    let names = disk.files().map_err(|error| StoreError::io("log folder", &error))?;
    let mut needed = None;
    let mut found =
        Found { segments: Vec::new(), unused: Vec::new(), headless: Vec::new(), next_name: 0, missing: None };
    for name in names {
        let Some(number) = number_of(&name) else { continue };
        found.next_name = found.next_name.max(number + 1);
        let file = disk.open(&name).map_err(failed)?;
        let bytes = file.size().map_err(failed)?;
        let slot = Slot { name, file, bytes };
        match slot.content(uuid)? {
            Content::Segment(header) if header.uuid == uuid => found.segments.push((header, slot)),
            Content::Segment(_) | Content::Unused => found.unused.push(slot),
            Content::Damaged(headless) => {
                let is_folded = headless.seqs.is_some_and(|(_, last)| last <= folded);
                match headless.is_foreign || is_folded {
                    true => found.headless.push(slot),
                    false => needed = Some((slot.name, headless.seqs)),
                }
            }
        }
    }
    found.segments.sort_by_key(|(header, _)| header.generation);
    found.missing = needed.map(|(name, seqs)| {
        let needed = seqs.map_or_else(
            || format!("changes from {} on", folded + 1),
            |(first, last)| {
                // What stands from the first number of the next segment on may be a batch that failed.
                let ends = found.segments.iter().map(|(header, _)| header.first_seq).filter(|end| *end > first);
                changes(first.max(folded + 1), ends.fold(last, |last, end| last.min(end - 1)))
            },
        );
        format!("the header of {name} in the log is damaged, {needed} cannot be read")
    });
    Ok(found)
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

/// Where the last sequence of records without a gap begins. What stands before a gap are former segments that are now
/// spare; it is not part of the history.
fn history_begins(segments: &[(SegmentHeader, Slot)], folded: u64) -> usize {
    let folded_count =
        segments.windows(2).take_while(|pair| pair.last().is_some_and(|next| next.0.first_seq <= folded + 1)).count();
    let is_gap = |pair: &[(SegmentHeader, Slot)]| match pair {
        [(one, _), (next, _)] => next.generation != one.generation + 1,
        _ => false,
    };
    segments.windows(2).take(folded_count).rposition(is_gap).map_or(0, |at| at + 1)
}

/// Each segment with the first sequence number of the next one.
fn with_ends(segments: &[(SegmentHeader, Slot)]) -> impl Iterator<Item = (&(SegmentHeader, Slot), Option<u64>)> {
    let ends = segments.iter().skip(1).map(|(header, _)| Some(header.first_seq)).chain([None]);
    segments.iter().zip(ends)
}

/// Reads what recovery needs, in order, and gives the last record. The segments are sealed then.
fn read(
    segments: Vec<(SegmentHeader, Slot)>,
    options: &LogOptions,
    folded: u64,
    slots: &mut Slots,
) -> Result<u64, StoreError> {
    let mut last = folded;
    let mut sealed = Vec::with_capacity(segments.len());
    for ((header, slot), end) in with_ends(&segments) {
        if let Some(end) = end.filter(|end| *end <= folded + 1) {
            sealed.push(end - 1);
            continue;
        }
        // After a crash of the process, records may be in the page cache only. The next records are synced in another
        // file; a power cut must not keep those and lose these.
        if !options.read_only {
            slot.file.sync().map_err(|error| StoreError::io("log segment", &error))?;
        }
        let extent = Extent { limit: slot.bytes, end, from: folded + 1 };
        let segment_last = slot.walk(header, extent, &mut |_| Ok(()))?;
        if segment_last > folded && header.first_seq > last + 1 {
            return Err(gap(last + 1, header.first_seq));
        }
        last = last.max(segment_last);
        if segment_last > folded && header.rules != options.rules {
            return Err(StoreError::RulesVersion { found: header.rules, ours: options.rules });
        }
        // What is folded was in the log once, even if it cannot be read any more: the next segment begins behind it.
        sealed.push(if end.is_none() { segment_last.max(folded) } else { segment_last });
    }
    let all = segments.into_iter().zip(sealed);
    slots.sealed = all.map(|((header, slot), last)| Sealed { slot, header, last }).collect();
    Ok(last)
}

/// Compares the log with what the database noted about it.
fn check_held(held: Option<LogHeld>, folded: u64, last: u64, last_generation: u64) -> Result<(), StoreError> {
    let Some(held) = held else { return Ok(()) };
    if held.last > last {
        let reason = format!(
            "{} are not in the log, although the database says that it held them",
            changes(last + 1, held.last)
        );
        return Err(StoreError::ChangesMissing(reason));
    }
    if !held.is_closed && held.generation > last_generation {
        let reason = format!(
            "files of the log are missing or older than the database: changes after {} may have been in them",
            last.max(folded)
        );
        return Err(StoreError::ChangesMissing(reason));
    }
    Ok(())
}

fn missing(error: StoreError) -> StoreError {
    match error {
        StoreError::LogDamaged(reason) => StoreError::ChangesMissing(reason),
        other => other,
    }
}
