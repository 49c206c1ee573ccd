//! Reading changes in the order of their numbers from the logs of all backends.
//!
//! Holds one frame of each log at a time, and no lock while it reads.

use std::sync::Arc;

use store::StoreError;
use store::log::{FrameBuffer, FrameRead, Log, LogPlace};

use super::change::Change;
use super::damage::Damages;
use super::numbers::ChangeNumbers;
use super::trace;
use query::backend::BackendIndex;

/// Why changes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// They were removed, by age or size.
    #[error("changes up to {purged} were let go: begin with a later one")]
    Purged {
        /// A number that cannot be read any more, or may be the first that can.
        purged: u64,
    },
    /// A log cannot be read.
    #[error("the changes cannot be read: {0}")]
    Store(#[from] StoreError),
    /// A trace does not say what it should.
    #[error("change {number} is damaged")]
    Damaged {
        /// Its number.
        number: u64,
    },
}

impl From<HistoryError> for StoreError {
    fn from(error: HistoryError) -> StoreError {
        match error {
            HistoryError::Store(error) => error,
            other => StoreError::Damaged(other.to_string()),
        }
    }
}

/// Reads changes one after the other.
pub struct HistoryReader {
    numbers: Arc<ChangeNumbers>,
    damages: Arc<Damages>,
    lanes: Vec<Lane>,
    /// The next number that is wanted.
    next: u64,
    /// Everything up to here was in the logs when the lanes were filled.
    upto: u64,
    /// The lane whose change was given last.
    given: Option<usize>,
}

/// One backend's log.
pub(super) struct Lane {
    log: Arc<dyn Log>,
    place: LogPlace,
    frame: FrameBuffer,
    /// The change that comes next: number, where it begins in the trace, and how many of the record follow it.
    ready: Option<Ready>,
}

#[derive(Clone, Copy)]
struct Ready {
    number: u64,
    at: usize,
    more: u32,
}

impl Lane {
    pub(super) fn new(log: Arc<dyn Log>, place: LogPlace) -> Self {
        Self { log, place, frame: FrameBuffer::default(), ready: None }
    }

    /// Makes the next change with number `from` or higher ready, if there is one by now. `false` when it was removed.
    /// An error comes with the number of the record that cannot be read.
    fn fill(&mut self, from: u64) -> Result<bool, (u64, StoreError)> {
        while self.ready.is_none_or(|ready| ready.number < from) {
            if let Some(ready) = self.ready.take().filter(|ready| ready.more > 0) {
                self.skip(ready);
                continue;
            }
            let seq = self.place.seq;
            if self.frame.advance().map_err(|error| (seq.saturating_sub(1), error))? {
                let numbers = self.frame.record().and_then(|record| trace::numbers(record.trace));
                self.ready = numbers.map(|(number, count)| Ready { number, at: trace::FIRST_CHANGE, more: count - 1 });
                continue;
            }
            match self.log.read_frame(self.place, &mut self.frame).map_err(|error| (seq, error))? {
                FrameRead::Frame(next) => self.place = next,
                FrameRead::End => return Ok(true),
                FrameRead::Gone => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Goes to the next change of the same record.
    fn skip(&mut self, ready: Ready) {
        let record = self.frame.record();
        let after = record.and_then(|record| trace::after(record.trace, ready.at));
        self.ready = after.map(|at| Ready { number: ready.number + 1, at, more: ready.more - 1 });
    }
}

impl HistoryReader {
    pub(super) fn new(numbers: Arc<ChangeNumbers>, damages: Arc<Damages>, lanes: Vec<Lane>, next: u64) -> Self {
        Self { numbers, damages, lanes, next, upto: 0, given: None }
    }

    /// The next change; none when there is none for now: ask again when there may be more
    /// ([`History::follow`](super::History::follow)).
    ///
    /// # Errors
    /// When changes in between were removed meanwhile, or a log cannot be read.
    pub fn next_change(&mut self) -> Result<Option<Change<'_>>, HistoryError> {
        if let Some(lane) = self.given.take() {
            self.fill(lane)?;
        }
        let Some(at) = self.first_ready()? else { return Ok(None) };
        let lane = self.lanes.get(at);
        let Some((lane, ready)) = lane.and_then(|lane| Some((lane, lane.ready?))) else { return Ok(None) };
        self.given = Some(at);
        self.next = ready.number + 1;
        let change =
            lane.frame.record().and_then(|record| Change::decode(BackendIndex(at), record, ready.at, ready.number));
        change.map(Some).ok_or(HistoryError::Damaged { number: ready.number })
    }

    /// The lowest number that comes next at the earliest.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The lane with the lowest number, if that is settled.
    fn first_ready(&mut self) -> Result<Option<usize>, HistoryError> {
        loop {
            let ready = |(at, lane): (usize, &Lane)| lane.ready.map(|ready| (ready.number, at));
            let first = self.lanes.iter().enumerate().filter_map(ready).min();
            if let Some((number, at)) = first
                && number <= self.upto
            {
                return Ok(Some(at));
            }
            // Before the logs are read: what is settled now is in them.
            let upto = self.numbers.settled();
            if upto < self.next || upto == self.upto {
                return Ok(None);
            }
            for at in 0..self.lanes.len() {
                self.fill(at)?;
            }
            self.upto = upto;
        }
    }

    fn fill(&mut self, at: usize) -> Result<(), HistoryError> {
        let next = self.next;
        match self.lanes.get_mut(at).map(|lane| lane.fill(next)) {
            Some(Ok(false)) => Err(HistoryError::Purged { purged: next }),
            Some(Err((seq, error))) => {
                // The history will begin behind it, so that the next read goes on there.
                self.damages.note(at, seq, &error);
                Err(error.into())
            }
            Some(Ok(true)) | None => Ok(()),
        }
    }
}
