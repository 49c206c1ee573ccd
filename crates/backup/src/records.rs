//! Records of the log as a stream: `number u64 | outcome i32 | length u32 | proposal`, little-endian. What the log
//! notes beside each for its history (traces) is left out: the history of restored data begins anew.

use aws_lc_rs::digest::{Context, SHA256};
use change::proposal::Proposal;
use store::log::{LogRecord, PROPOSAL_BYTES_MAX};

use crate::key::hex;

/// Bytes before a proposal.
const HEAD_BYTES: usize = 16;

/// Appends a record.
pub(crate) fn encode(record: LogRecord<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&record.seq.to_le_bytes());
    out.extend_from_slice(&record.code.to_le_bytes());
    out.extend_from_slice(&u32::try_from(record.proposal.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(record.proposal);
}

/// What tells a record from another one with its number.
pub(crate) fn digest(record: LogRecord<'_>) -> String {
    let mut context = Context::new(&SHA256);
    context.update(&record.seq.to_le_bytes());
    context.update(&record.code.to_le_bytes());
    context.update(record.proposal);
    hex(context.finish().as_ref())
}

/// When it was proposed, in microseconds since 1970.
pub(crate) fn time_us(record: LogRecord<'_>) -> Option<u64> {
    Proposal::decode(record.proposal).ok().map(|proposal| proposal.csn.time_us)
}

/// Records from pieces of a stream.
#[derive(Default)]
pub(crate) struct Records {
    bytes: Vec<u8>,
    at: usize,
}

impl Records {
    /// Adds a piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(piece);
    }

    /// The next whole record; `Err` when the bytes are no records.
    pub fn next(&mut self) -> Result<Option<LogRecord<'_>>, &'static str> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((head, rest)) = rest.split_at_checked(HEAD_BYTES) else { return Ok(None) };
        let field = |from: usize| head.get(from..from + 4).and_then(|bytes| bytes.first_chunk::<4>());
        let (Some(seq), Some(code), Some(length)) = (head.first_chunk::<8>(), field(8), field(12)) else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > PROPOSAL_BYTES_MAX {
            return Err("it has a record that is larger than records are");
        }
        let Some(proposal) = rest.get(..length) else { return Ok(None) };
        self.at += HEAD_BYTES + length;
        Ok(Some(LogRecord { seq: u64::from_le_bytes(*seq), code: i32::from_le_bytes(*code), proposal, trace: &[] }))
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_from_pieces_of_any_size() {
        let proposals: Vec<Vec<u8>> = (0..20_usize).map(|number| vec![7; number * number]).collect();
        let mut stream = Vec::new();
        for (seq, proposal) in (1..).zip(&proposals) {
            encode(LogRecord { seq, code: -3, proposal, trace: b"not kept" }, &mut stream);
        }
        for size in [1, 3, 17, 4_096] {
            let (mut records, mut found) = (Records::default(), Vec::new());
            for piece in stream.chunks(size) {
                records.add(piece);
                while let Some(record) = records.next().unwrap() {
                    assert_eq!((record.seq, record.code), (found.len() as u64 + 1, -3));
                    found.push(record.proposal.to_vec());
                }
            }
            assert!(records.is_empty());
            assert_eq!(found, proposals);
        }
    }

    #[test]
    fn a_length_that_no_record_has_is_refused_before_anything_is_held() {
        let mut records = Records::default();
        records.add(&[0xff; HEAD_BYTES]);
        assert!(records.next().is_err());
    }
}
