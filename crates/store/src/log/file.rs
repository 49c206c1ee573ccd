//! The log in segment files of a folder.
//!
//! A segment file is made once, filled with zeros, and used again and again: its header has the number of the current
//! use. The names of the files do not matter; recovery reads headers.
//!
//! Invariants:
//! (1) `append` returns success only after the sync of everything it wrote.
//! (2) After any error the segment is never written again: what a failed sync has written is unknown, and a second sync
//!     may report success for pages that the kernel has dropped. The next append starts another segment, whose first
//!     sequence number ends the failed one.
//! (3) A file is used again only when all its records are trimmed.
//! (4) Records that are only kept (`keep_from`) never prevent an append: without room, their oldest segment is used
//!     again.
//! (5) Read in order of generation, each segment up to its first bad frame or the first sequence number of the next
//!     one, the records are without gap. A gap, or a good frame behind a bad one, is damage and is never skipped
//!     silently: if recovery needs the records, the log does not open; if they are only kept, reading them is an error.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::contract::{FrameRead, Log, LogHealth, LogHeld, LogPlace, LogSegment};
use super::disk::Disk;
use super::frame::{Batch, FORMAT, FrameBuffer, HEADER_BYTES, LogRecord, SegmentHeader};
use super::recover::{LogOptions, Recovered, recover};
use super::segment::{Extent, Sealed, Slot, gap};
use super::slots::{Slots, Tail};
use crate::error::StoreError;

/// Files that `prepare` keeps ready.
const SPARES_WANTED: usize = 1;

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

impl FileLog {
    /// Opens the log. Segments of other data (before an import, after a restore) are free for use.
    ///
    /// `folded`: the last sequence number that recovery does not need.
    ///
    /// # Errors
    /// [`StoreError::ChangesMissing`] when records that recovery needs are missing.
    pub fn open(disk: Arc<dyn Disk>, options: LogOptions, folded: u64) -> Result<FileLog, StoreError> {
        let Recovered { slots, last, next_generation } = recover(&*disk, &options, folded)?;
        let writer = Writer { current: None, last, next_generation, frame: Vec::new() };
        let log = FileLog { disk, options, writer: Mutex::new(writer), slots: Mutex::new(slots) };
        if !log.options.read_only {
            log.trim(folded)?;
        }
        Ok(log)
    }

    /// Begins a segment, durably, before the first record is appended: the database can note then that the log has this
    /// segment.
    ///
    /// # Errors
    /// When the disk refuses; the first append then tries again.
    pub fn begin(&self) -> Result<LogHeld, StoreError> {
        let mut writer = self.writer();
        if writer.current.is_none() && !self.go_on(&mut writer)? {
            self.begin_segment(&mut writer)?;
        }
        Ok(self.slots().held)
    }

    /// Continues the last segment if it has no records; `false` if it has some. So a start without updates adds no
    /// segment.
    fn go_on(&self, writer: &mut Writer) -> Result<bool, StoreError> {
        let next = writer.last + 1;
        let is_empty = |it: &mut Sealed| it.header.first_seq == next && it.last < next;
        let Some(empty) = self.slots().sealed.pop_if(is_empty) else { return Ok(false) };
        let header = SegmentHeader { format: FORMAT, rules: self.options.rules, ..empty.header };
        // Written again, because a failed sync of an earlier process may have left it in the page cache only.
        if let Err(error) = write_synced(&empty.slot, 0, &header.encode()) {
            self.slots().sealed.push(empty);
            return Err(error);
        }
        let current = Current { slot: empty.slot, header, offset: HEADER_BYTES as u64 };
        self.show_tail(&current, writer.last);
        writer.current = Some(current);
        Ok(true)
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

    /// Invariant 4: takes a segment that is only kept for another use. Segments that are too small are removed.
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

    /// Invariant 2: after a failure, puts a header on disk that ends the failed segment, so that a restart does not
    /// read any part of the failed batch. If this fails too, the next append does it.
    fn heal(&self, writer: &mut Writer) {
        let _ = self.begin_segment(writer);
    }

    /// Starts a segment and writes its header alone.
    fn begin_segment(&self, writer: &mut Writer) -> Result<(), StoreError> {
        let mut current = self.start_segment(writer, 0)?;
        write_synced(&current.slot, 0, &current.header.encode())?;
        current.offset = HEADER_BYTES as u64;
        self.show_tail(&current, writer.last);
        writer.current = Some(current);
        Ok(())
    }

    /// Makes what is durable visible to readers.
    fn show_tail(&self, current: &Current, last: u64) {
        let Current { slot, header, offset } = current;
        let mut slots = self.slots();
        (slots.held.generation, slots.held.last) = (header.generation, last);
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

    /// Frees segments that neither recovery nor a reader needs.
    fn release(&self) -> Result<(), StoreError> {
        let mut surplus = Vec::new();
        {
            let mut slots = self.slots();
            let upto = slots.recovered.min(slots.keep_from.saturating_sub(1));
            while let Some(slot) = slots.pop(upto) {
                surplus.extend(slots.spare(slot, self.options.segment_bytes));
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
            let last = slot.walk(&header, Extent { limit, end, from: next }, each)?;
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
                // Or it was begun since then: an append publishes its segment before it ends.
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
            return match segment.read_frame(place, limit, frame)? {
                Some(next) => Ok(FrameRead::Frame(next)),
                // It may have been freed and used again since then.
                None if self.slots().find(generation).is_none_or(|(now, _)| now.header.generation != generation) => {
                    Ok(FrameRead::Gone)
                }
                None => {
                    Err(StoreError::LogDamaged(format!("change {} in {} cannot be read", place.seq, segment.slot.name)))
                }
            };
        }
    }

    fn held(&self) -> LogHeld {
        self.slots().held
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
