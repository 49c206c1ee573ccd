//! The log in segment files of a folder.
//!
//! A segment file is made once, filled with zeros, and used over and over: its header says which use this is. Names mean
//! nothing; recovery reads headers.
//!
//! Invariants:
//! (1) `append` returns success only after the sync of everything it wrote.
//! (2) After any error the segment is never written again: what a failed sync left behind is unknown, and a second sync may
//!     lie about it. The next append starts another segment, whose first sequence number ends the failed one.
//! (3) A file is used anew only when all its records are trimmed.
//! (4) What is kept beyond recovery (`keep_from`) never stands in the way of an append: without room, its oldest segment is used.
//! (5) Read in order of generation, each segment up to its first bad frame or the first sequence number of the next one, the
//!     records are without gap. A gap, or a good frame behind a bad one, is damage, never silently skipped: of what recovery needs
//!     the log does not open; of what is only kept, whoever reads there is told.

use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::disk::{Disk, DiskFile};
use super::frame::{ALIGN_BYTES, Batch, FORMAT, FRAME_HEAD_BYTES, Frame, FrameBuffer, HEADER_BYTES, SegmentHeader};
use super::{FrameRead, Log, LogHealth, LogPlace, LogRecord, LogSegment};
use crate::error::StoreError;

/// Ordinary size of a segment: a few seconds of heavy writing, quick to read and to make.
pub const SEGMENT_BYTES: u64 = 16 << 20;
/// Files kept ready; more are removed when trimmed.
const SPARES_MAX: usize = 3;
/// Files made ahead by `prepare`.
const SPARES_WANTED: usize = 1;

/// What a [`FileLog`] is for.
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
    /// Only to be read, beside the process that writes it: nothing is synced, removed or made.
    pub read_only: bool,
}

/// The log in files.
pub struct FileLog {
    disk: Arc<dyn Disk>,
    options: LogOptions,
    writer: Mutex<Writer>,
    slots: Mutex<Slots>,
}

struct Writer {
    current: Option<Current>,
    last: u64,
    next_generation: u64,
    frame: Vec<u8>,
}

struct Current {
    slot: Slot,
    header: SegmentHeader,
    offset: u64,
}

#[derive(Clone)]
struct Slot {
    name: String,
    file: Arc<dyn DiskFile>,
    bytes: u64,
}

#[derive(Default)]
struct Slots {
    /// Finished segments in order of generation, with their last sequence number.
    sealed: Vec<Sealed>,
    spares: Vec<Slot>,
    next_name: u64,
    /// The segment being written, as far as it is durable; none before its first frame.
    tail: Option<Tail>,
    /// What recovery does not need, up to here.
    recovered: u64,
    /// What is kept nevertheless, from here on.
    keep_from: u64,
    /// The writer's, for `health`, which must not wait for a disk as whoever holds `writer` may.
    last: u64,
    /// Why the last append failed, if it did.
    trouble: Option<StoreError>,
}

#[derive(Clone)]
struct Sealed {
    slot: Slot,
    header: SegmentHeader,
    last: u64,
}

struct Tail {
    slot: Slot,
    header: SegmentHeader,
    /// Bytes that are durable.
    offset: u64,
    last: u64,
}

impl Slots {
    /// Takes out the oldest segment if its records are up to `upto`. Only a prefix goes: a later segment ends an earlier one.
    fn pop(&mut self, upto: u64) -> Option<Slot> {
        let first = self.sealed.first().filter(|sealed| sealed.last <= upto)?;
        let slot = first.slot.clone();
        self.sealed.remove(0);
        Some(slot)
    }

    /// The segment of that generation, or the next one after it, and how far it may be read: (segment, bytes).
    fn find(&self, generation: u64) -> Option<(Sealed, u64)> {
        let at = self.sealed.partition_point(|sealed| sealed.header.generation < generation);
        if let Some(sealed) = self.sealed.get(at) {
            return Some((sealed.clone(), sealed.slot.bytes));
        }
        let tail = self.tail.as_ref()?;
        Some((Sealed { slot: tail.slot.clone(), header: tail.header, last: tail.last }, tail.offset))
    }
}

impl FileLog {
    /// Opens the log. Segments of other data (before an import, after a restore) are free for use.
    ///
    /// `folded`: the last sequence number that recovery does not need.
    pub fn open(disk: Arc<dyn Disk>, options: LogOptions, folded: u64) -> Result<FileLog, StoreError> {
        let mut slots = Slots { keep_from: options.keep_from, ..Slots::default() };
        let mut found = Vec::new();
        for name in list(&*disk)? {
            slots.next_name = slots.next_name.max(number_of(&name).unwrap_or(0) + 1);
            let file = disk.open(&name).map_err(|error| StoreError::io("log segment", &error))?;
            let bytes = file.size().map_err(|error| StoreError::io("log segment", &error))?;
            let slot = Slot { name, file, bytes };
            match read_header(&slot)? {
                Some(header) if header.uuid == options.uuid => found.push((header, slot)),
                _ if bytes == options.segment_bytes && slots.spares.len() < SPARES_MAX => slots.spares.push(slot),
                _ if options.read_only => {}
                _ => disk.remove(&slot.name).map_err(|error| StoreError::io("log segment", &error))?,
            }
        }
        found.sort_by_key(|(header, _)| header.generation);
        // Spares that were segments once stand before a gap: of what is folded, only what leads to the rest is history.
        let folded_count =
            found.windows(2).take_while(|pair| pair.last().is_some_and(|next| next.0.first_seq <= folded + 1)).count();
        let is_gap = |pair: &[(SegmentHeader, Slot)]| match pair {
            [(one, _), (next, _)] => next.generation != one.generation + 1,
            _ => false,
        };
        let begin = found.windows(2).take(folded_count).rposition(is_gap).map_or(0, |at| at + 1);
        for (_, slot) in found.drain(..begin) {
            if slots.spares.len() < SPARES_MAX && slot.bytes == options.segment_bytes {
                slots.spares.push(slot);
            } else if !options.read_only {
                disk.remove(&slot.name).map_err(|error| StoreError::io("log segment", &error))?;
            }
        }
        let next_generation = found.last().map_or(1, |(header, _)| header.generation + 1);
        let mut last = folded;
        let ends = found.iter().skip(1).map(|(header, _)| Some(header.first_seq)).chain([None]).collect::<Vec<_>>();
        for ((header, slot), end) in found.into_iter().zip(ends) {
            if let Some(end) = end.filter(|end| *end <= folded + 1) {
                slots.sealed.push(Sealed { slot, header, last: end - 1 });
                continue;
            }
            // A crash of the process alone may have left records in the page cache only. The next ones will be synced in
            // another file, and a power cut must not keep those and lose these.
            if !options.read_only {
                slot.file.sync().map_err(|error| StoreError::io("log segment", &error))?;
            }
            let segment_last = walk(&slot, &header, slot.bytes, end, folded + 1, &mut |_| Ok(()))?;
            if segment_last > folded && header.first_seq > last + 1 {
                return Err(gap(last + 1, header.first_seq));
            }
            last = last.max(segment_last);
            if segment_last > folded && header.rules != options.rules {
                return Err(StoreError::RulesVersion { found: header.rules, ours: options.rules });
            }
            // What was folded was here once, even if it cannot be read any more: the next segment begins behind it.
            let segment_last = if end.is_none() { segment_last.max(folded) } else { segment_last };
            slots.sealed.push(Sealed { slot, header, last: segment_last });
        }
        slots.last = last;
        let writer = Writer { current: None, last, next_generation, frame: Vec::new() };
        let log = FileLog { disk, options, writer: Mutex::new(writer), slots: Mutex::new(slots) };
        if !log.options.read_only {
            log.trim(folded)?;
        }
        Ok(log)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a segment for a frame of `frame_bytes`. Its header is written together with its first frame.
    fn start_segment(&self, writer: &mut Writer, frame_bytes: usize) -> Result<Current, StoreError> {
        let needed = (HEADER_BYTES + frame_bytes).next_multiple_of(HEADER_BYTES) as u64;
        let spare = {
            let mut slots = self.slots();
            let at = slots.spares.iter().position(|spare| spare.bytes >= needed);
            at.map(|at| slots.spares.swap_remove(at))
        };
        let slot = match spare {
            Some(slot) => slot,
            None => self.make_slot(needed.max(self.options.segment_bytes)).or_else(|error| match error {
                StoreError::DiskFull { .. } => self.take_kept(needed).ok_or(error),
                error => Err(error),
            })?,
        };
        let header = SegmentHeader {
            format: FORMAT,
            rules: self.options.rules,
            uuid: self.options.uuid,
            generation: writer.next_generation,
            first_seq: writer.last + 1,
        };
        writer.next_generation += 1;
        Ok(Current { slot, header, offset: 0 })
    }

    fn make_slot(&self, bytes: u64) -> Result<Slot, StoreError> {
        let name = {
            let mut slots = self.slots();
            slots.next_name += 1;
            format!("{:08}.log", slots.next_name - 1)
        };
        let file = self.disk.create(&name, bytes).map_err(|error| StoreError::io("log segment", &error))?;
        Ok(Slot { name, file, bytes })
    }

    /// Invariant 4: a segment that is only kept, for another use. Those that are too small go.
    fn take_kept(&self, needed: u64) -> Option<Slot> {
        loop {
            let slot = {
                let mut slots = self.slots();
                let recovered = slots.recovered;
                slots.pop(recovered)?
            };
            if slot.bytes >= needed {
                return Some(slot);
            }
            let _ = self.disk.remove(&slot.name);
        }
    }

    fn seal(&self, current: Current, last: u64) {
        let mut slots = self.slots();
        slots.tail = None;
        slots.sealed.push(Sealed { slot: current.slot, header: current.header, last });
    }

    /// Invariant 2: after a failure, puts a header on disk that ends the failed segment, so that what may have got through of
    /// the failed batch does not come back after a restart. If this fails too, the next append does it.
    fn heal(&self, writer: &mut Writer) {
        let started = self.start_segment(writer, 0).and_then(|mut current| {
            write_synced(&current.slot, 0, &current.header.encode())?;
            current.offset = HEADER_BYTES as u64;
            Ok(current)
        });
        if let Ok(current) = started {
            self.show_tail(&current, writer.last);
            writer.current = Some(current);
        }
    }

    /// Lets readers have what is durable.
    fn show_tail(&self, current: &Current, last: u64) {
        let Current { slot, header, offset } = current;
        let mut slots = self.slots();
        match &mut slots.tail {
            Some(tail) if tail.header.generation == header.generation => (tail.offset, tail.last) = (*offset, last),
            tail => *tail = Some(Tail { slot: slot.clone(), header: *header, offset: *offset, last }),
        }
    }

    fn append_to(&self, writer: &mut Writer, batch: &mut Batch) -> Result<(), StoreError> {
        let frame_bytes = batch.frame_bytes();
        let fits = |current: &Current| current.offset + frame_bytes as u64 <= current.slot.bytes;
        let current = match writer.current.take() {
            Some(current) if fits(&current) => current,
            full => {
                if let Some(full) = full {
                    self.seal(full, writer.last);
                }
                self.start_segment(writer, frame_bytes)?
            }
        };
        writer.frame.clear();
        let mut offset = current.offset;
        if offset == 0 {
            writer.frame.extend_from_slice(&current.header.encode());
        }
        writer.frame.extend_from_slice(batch.encode(current.header.salt()));
        let written = write_synced(&current.slot, offset, &writer.frame);
        if let Err(error) = written {
            self.seal(current, writer.last);
            self.heal(writer);
            return Err(error);
        }
        offset += writer.frame.len() as u64;
        writer.last = batch.last_seq();
        let current = Current { offset, ..current };
        self.show_tail(&current, writer.last);
        writer.current = Some(current);
        Ok(())
    }

    /// Lets go of what neither recovery nor anybody else needs.
    fn release(&self) -> Result<(), StoreError> {
        let mut surplus = Vec::new();
        {
            let mut slots = self.slots();
            let upto = slots.recovered.min(slots.keep_from.saturating_sub(1));
            while let Some(slot) = slots.pop(upto) {
                if slots.spares.len() < SPARES_MAX && slot.bytes == self.options.segment_bytes {
                    slots.spares.push(slot);
                } else {
                    surplus.push(slot);
                }
            }
        }
        for slot in surplus {
            self.disk.remove(&slot.name).map_err(|error| StoreError::io("log segment", &error))?;
        }
        Ok(())
    }
}

impl Writer {
    /// Where the next frame goes.
    fn place(&self) -> LogPlace {
        let (generation, offset) = match &self.current {
            Some(current) => (current.header.generation, current.offset),
            None => (self.next_generation, HEADER_BYTES as u64),
        };
        LogPlace { generation, offset, seq: self.last + 1 }
    }
}

impl Log for FileLog {
    fn append(&self, batch: &mut Batch) -> Result<LogPlace, StoreError> {
        let mut writer = self.writer();
        if batch.is_empty() {
            return Ok(writer.place());
        }
        if batch.first_seq() != writer.last + 1 {
            return Err(StoreError::Misuse("batch does not follow the log"));
        }
        let result = self.append_to(&mut writer, batch);
        let mut slots = self.slots();
        slots.last = writer.last;
        slots.trouble = result.as_ref().err().cloned();
        drop(slots);
        result.map(|()| writer.place())
    }

    fn tail_from(
        &self,
        seq: u64,
        each: &mut dyn FnMut(LogRecord<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let segments: Vec<(SegmentHeader, Slot, u64)> = {
            let slots = self.slots();
            // The current segment is read only as far as it was written when we looked.
            let tail = slots.tail.as_ref().map(|tail| (tail.header, tail.slot.clone(), tail.offset));
            let sealed = slots.sealed.iter().map(|sealed| (sealed.header, sealed.slot.clone(), sealed.slot.bytes));
            sealed.chain(tail).collect()
        };
        let ends: Vec<_> = segments.iter().skip(1).map(|(header, ..)| Some(header.first_seq)).chain([None]).collect();
        let mut next = seq;
        for ((header, slot, limit), end) in segments.into_iter().zip(ends) {
            if end.is_some_and(|end| end <= next) {
                continue;
            }
            if header.first_seq > next {
                return Err(gap(next, header.first_seq));
            }
            let last = walk(&slot, &header, limit, end, next, each)?;
            next = next.max(last + 1);
        }
        Ok(())
    }

    fn last(&self) -> u64 {
        self.writer().last
    }

    fn trim(&self, upto: u64) -> Result<(), StoreError> {
        {
            let mut slots = self.slots();
            slots.recovered = slots.recovered.max(upto);
        }
        self.release()
    }

    fn keep_from(&self, seq: u64) -> Result<(), StoreError> {
        self.slots().keep_from = seq;
        self.release()
    }

    fn relieve(&self) -> bool {
        let slot = {
            let mut slots = self.slots();
            let recovered = slots.recovered;
            slots.pop(recovered)
        };
        slot.is_some_and(|slot| self.disk.remove(&slot.name).is_ok())
    }

    fn segments(&self) -> Vec<LogSegment> {
        let slots = self.slots();
        let segment = |header: &SegmentHeader, last, bytes| LogSegment {
            start: LogPlace { generation: header.generation, offset: HEADER_BYTES as u64, seq: header.first_seq },
            last,
            bytes,
        };
        let tail = slots.tail.as_ref().map(|tail| segment(&tail.header, tail.last, tail.slot.bytes));
        let sealed = slots.sealed.iter().map(|sealed| segment(&sealed.header, sealed.last, sealed.slot.bytes));
        sealed.chain(tail).collect()
    }

    fn end(&self) -> LogPlace {
        self.writer().place()
    }

    fn read_frame(&self, mut place: LogPlace, frame: &mut FrameBuffer) -> Result<FrameRead, StoreError> {
        loop {
            let Some((segment, limit)) = self.slots().find(place.generation) else {
                // Behind the last segment, or before the first of a log that has none any more.
                if place.seq > self.last() {
                    return Ok(FrameRead::End);
                }
                // Or it was begun since we looked: an append that we waited for shows it before it ends.
                if self.slots().find(place.generation).is_some() {
                    continue;
                }
                return Ok(FrameRead::Gone);
            };
            let generation = segment.header.generation;
            if generation != place.generation {
                if segment.header.first_seq != place.seq {
                    return Ok(FrameRead::Gone);
                }
                place = LogPlace { generation, offset: HEADER_BYTES as u64, ..place };
            }
            if place.seq > segment.last {
                // Everything of this segment was read; if there is another one, it begins there.
                match self.slots().find(generation + 1) {
                    Some((next, _)) if next.header.generation != generation => {
                        place.generation = next.header.generation;
                        place.offset = HEADER_BYTES as u64;
                        continue;
                    }
                    _ => return Ok(FrameRead::End),
                }
            }
            return match read_frame(&segment, place, limit, frame)? {
                Some(next) => Ok(FrameRead::Frame(next)),
                // It may have been let go and used anew since we looked.
                None if self.slots().find(generation).is_none_or(|(now, _)| now.header.generation != generation) => {
                    Ok(FrameRead::Gone)
                }
                None => {
                    Err(StoreError::LogDamaged(format!("change {} in {} cannot be read", place.seq, segment.slot.name)))
                }
            };
        }
    }

    fn prepare(&self) -> Result<(), StoreError> {
        while self.slots().spares.len() < SPARES_WANTED {
            let slot = self.make_slot(self.options.segment_bytes)?;
            self.slots().spares.push(slot);
        }
        Ok(())
    }

    fn health(&self) -> LogHealth {
        let slots = self.slots();
        let sealed: u64 = slots.sealed.iter().map(|sealed| sealed.slot.bytes).sum();
        let spares: u64 = slots.spares.iter().map(|slot| slot.bytes).sum();
        LogHealth {
            last: slots.last,
            segments: slots.sealed.len() + usize::from(slots.tail.is_some()),
            spares: slots.spares.len(),
            bytes: sealed + spares + slots.tail.as_ref().map_or(0, |tail| tail.slot.bytes),
            trouble: slots.trouble.clone(),
        }
    }
}

fn write_synced(slot: &Slot, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
    slot.file.write_at(offset, bytes).map_err(|error| StoreError::io("log", &error))?;
    slot.file.sync().map_err(|error| StoreError::io("log", &error))
}

fn list(disk: &dyn Disk) -> Result<Vec<String>, StoreError> {
    let names = disk.files().map_err(|error| StoreError::io("log folder", &error))?;
    Ok(names.into_iter().filter(|name| number_of(name).is_some()).collect())
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

fn read_header(slot: &Slot) -> Result<Option<SegmentHeader>, StoreError> {
    let mut block = vec![0; HEADER_BYTES];
    let count = slot.file.read_at(0, &mut block).map_err(|error| StoreError::io("log segment", &error))?;
    SegmentHeader::decode(block.get(..count).unwrap_or_default())
}

/// Gives the records of a segment from `from` on, up to (not including) `end`, and returns the last sequence number in it
/// (one less than its first when there is none). Nothing behind `limit` bytes is looked at. Damage before `from` is passed over.
fn walk(
    slot: &Slot,
    header: &SegmentHeader,
    limit: u64,
    end: Option<u64>,
    from: u64,
    each: &mut dyn FnMut(LogRecord<'_>) -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    let size = usize::try_from(limit).map_err(|_| StoreError::LogDamaged("segment size".to_owned()))?;
    let mut bytes = vec![0; size];
    let count = slot.file.read_at(0, &mut bytes).map_err(|error| StoreError::io("log segment", &error))?;
    bytes.truncate(count);
    let salt = header.salt();
    let mut next = header.first_seq;
    let mut offset = HEADER_BYTES;
    loop {
        while let Some(frame) = Frame::decode(bytes.get(offset..).unwrap_or_default(), salt) {
            if frame.first_seq != next {
                return Err(gap(next, frame.first_seq));
            }
            let mut records = frame.records(header.format);
            while let Some(record) = records.next_record()? {
                if end.is_some_and(|end| record.seq >= end) {
                    return Ok(next - 1);
                }
                if record.seq >= from {
                    each(record)?;
                }
                next = record.seq + 1;
            }
            offset += frame.bytes;
        }
        // The bad frame may be the torn tail. If a good one follows, it is not: something that was durable is damaged.
        let later = later_frame(&bytes, offset, salt)
            .filter(|(_, later)| later.first_seq > next && end.is_none_or(|end| end > next));
        match later {
            None => return Ok(next - 1),
            Some((at, later)) if later.first_seq <= from => (offset, next) = (at, later.first_seq),
            Some((_, later)) => {
                return Err(StoreError::LogDamaged(format!(
                    "changes {next} to {} in {} cannot be read, but later ones can",
                    later.first_seq - 1,
                    slot.name
                )));
            }
        }
    }
}

/// Reads the frame at a place of a segment; the place of the next one, or `None` when there is no whole and true one.
fn read_frame(
    segment: &Sealed,
    place: LogPlace,
    limit: u64,
    frame: &mut FrameBuffer,
) -> Result<Option<LogPlace>, StoreError> {
    let read = |offset: u64, bytes: &mut [u8]| {
        let unreadable =
            |error| StoreError::LogDamaged(format!("change {} in {}: {error}", place.seq, segment.slot.name));
        segment.slot.file.read_at(offset, bytes).map_err(unreadable)
    };
    frame.clear();
    frame.bytes.resize(FRAME_HEAD_BYTES, 0);
    read(place.offset, &mut frame.bytes)?;
    let Some(payload) = frame.bytes.get(4..8).and_then(|bytes| bytes.first_chunk::<4>()) else { return Ok(None) };
    let bytes = FRAME_HEAD_BYTES + u32::from_le_bytes(*payload) as usize;
    if place.offset + bytes as u64 > limit {
        return Ok(None);
    }
    frame.bytes.resize(bytes, 0);
    read(place.offset + FRAME_HEAD_BYTES as u64, frame.bytes.get_mut(FRAME_HEAD_BYTES..).unwrap_or_default())?;
    let Some((first, count)) = frame.begin(segment.header.format, segment.header.salt()) else { return Ok(None) };
    let offset = place.offset + bytes.next_multiple_of(ALIGN_BYTES) as u64;
    Ok((first == place.seq).then_some(LogPlace { offset, seq: first + u64::from(count), ..place }))
}

/// The next good frame behind a bad one at `from`, and where it is.
fn later_frame(bytes: &[u8], from: usize, salt: u64) -> Option<(usize, Frame<'_>)> {
    let salt_bytes = salt.to_le_bytes();
    (from..bytes.len().saturating_sub(FRAME_HEAD_BYTES)).step_by(ALIGN_BYTES).skip(1).find_map(|offset| {
        let candidate = bytes.get(offset..)?;
        let frame = (candidate.get(8..16)? == salt_bytes).then(|| Frame::decode(candidate, salt)).flatten();
        frame.map(|frame| (offset, frame))
    })
}

fn gap(expected: u64, found: u64) -> StoreError {
    StoreError::LogDamaged(format!("changes {expected} to {} are missing", found.saturating_sub(1)))
}
