//! Finds where a message ends, from at most six bytes, before anything else is looked at or allocated.

use crate::SEQUENCE;

/// What the bytes received so far amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// The first message takes this many bytes, and all of them are there.
    Complete(usize),
    /// More must be read.
    NeedMore,
}

/// Why the bytes cannot be a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The header announces more than the limit.
    #[error("a message of {announced} bytes is over the limit of {limit}")]
    TooLarge {
        /// Bytes that the message would take.
        announced: u64,
        /// The limit that was given.
        limit: usize,
    },
    /// The first bytes are not the header of a SEQUENCE of definite length.
    #[error("this is not an LDAP message")]
    Malformed,
}

/// Looks at the front of `buffer`; `limit` bounds the whole message, header included.
#[inline]
pub fn frame(buffer: &[u8], limit: usize) -> Result<Frame, FrameError> {
    let (first, length) = match *buffer {
        [] | [SEQUENCE] => return Ok(Frame::NeedMore),
        [SEQUENCE, first, ..] => (first, u64::from(first)),
        _ => return Err(FrameError::Malformed),
    };
    let (header, length) = match first {
        0..=0x7f => (2usize, length),
        0x81..=0x84 => {
            let count = usize::from(first & 0x7f);
            match buffer.get(2..2 + count) {
                Some(octets) => (2 + count, octets.iter().fold(0u64, |n, &b| n << 8 | u64::from(b))),
                None => return Ok(Frame::NeedMore),
            }
        }
        _ => return Err(FrameError::Malformed),
    };
    let announced = header as u64 + length;
    if announced > limit as u64 {
        return Err(FrameError::TooLarge { announced, limit });
    }
    let whole = announced as usize;
    Ok(if buffer.len() >= whole { Frame::Complete(whole) } else { Frame::NeedMore })
}
