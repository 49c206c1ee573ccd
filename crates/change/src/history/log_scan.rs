//! Looking through the log of a backend for its first and its last change.

use store::StoreError;
use store::log::{FrameBuffer, FrameRead, Log, LogSegment};

use super::trace;

/// Changes of one second may stand in the logs in another order than that of their times.
pub(super) const DISORDER_US: u64 = 1_000_000;

/// Looks at the traces of a log when it is opened.
pub(super) struct LogScan<'l> {
    log: &'l dyn Log,
    frame: FrameBuffer,
}

impl<'l> LogScan<'l> {
    pub(super) fn new(log: &'l dyn Log) -> Self {
        Self { log, frame: FrameBuffer::default() }
    }

    /// Calls `each` with the number, count and time of the traced records of a segment, until it says stop.
    fn walk(&mut self, segment: &LogSegment, mut each: impl FnMut(u64, u32, u64) -> bool) -> Result<(), StoreError> {
        let mut place = segment.start;
        while place.seq <= segment.last {
            match self.log.read_frame(place, &mut self.frame)? {
                FrameRead::Frame(next) => place = next,
                FrameRead::End | FrameRead::Gone => break,
            }
            while self.frame.advance()? {
                let Some(record) = self.frame.record() else { continue };
                let Some((number, count)) = trace::numbers(record.trace) else { continue };
                let time_us =
                    crate::proposal::Proposal::decode(record.proposal).map_or(0, |proposal| proposal.csn.time_us);
                if !each(number, count, time_us) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Number and time of the first change in a segment.
    pub(super) fn first_in(&mut self, segment: &LogSegment) -> Result<Option<(u64, u64)>, StoreError> {
        let mut first = None;
        self.walk(segment, |number, _, time_us| {
            first = Some((number, time_us));
            false
        })?;
        Ok(first)
    }

    /// The last change in the log. Of damage `note` is told, with the last record of the segment; `false` if it is
    /// something else.
    pub(super) fn last(
        &mut self,
        segments: &[LogSegment],
        note: impl Fn(u64, &StoreError) -> bool,
    ) -> Result<LogEnd, StoreError> {
        let mut end = LogEnd::default();
        for segment in segments.iter().rev() {
            let walked = self.walk(segment, |number, count, time_us| {
                (end.number, end.time_us) = (number + u64::from(count) - 1, time_us.max(end.time_us));
                true
            });
            match walked {
                Err(error) if note(segment.last, &error) => end.damaged += 1,
                walked => walked?,
            }
            if end.number > 0 {
                break;
            }
        }
        Ok(end)
    }
}

/// What [`LogScan::last`] found.
#[derive(Default)]
pub(super) struct LogEnd {
    /// The last change; 0 for none.
    pub(super) number: u64,
    /// When the latest one in its segment was proposed, in µs since 1970.
    pub(super) time_us: u64,
    /// Segments in which there may be later ones that cannot be read.
    pub(super) damaged: u64,
}
