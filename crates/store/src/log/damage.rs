//! Distinguishes a damaged byte from a write that a crash cut short.
//!
//! At the end of a log both leave a frame whose checksum is wrong. A crash leaves sectors as they were before, so many
//! bytes differ, and the batch was not acknowledged. One damaged byte means that the whole frame was written: its batch
//! may have been acknowledged, so the frame must not be taken for the end of the log.
//!
//! The checksum (CRC-32) is linear: the difference between the one found and the one stored says, for each place, which
//! single byte there would explain it. The second hash of the frame then confirms a candidate or not. Knows nothing of
//! segments.

use super::frame::{CHECK, FRAME_HEAD_BYTES, Frame, check_of};

/// The polynomial of the checksum of frames (reflected).
const POLYNOMIAL: u32 = 0xedb8_8320;

const TABLE: [u32; 256] = table();
/// For each value of the high byte of an entry of `TABLE`, which entry it is.
const BY_HIGH_BYTE: [u8; 256] = by_high_byte();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

const fn by_high_byte() -> [u8; 256] {
    let mut found = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        found[(TABLE[byte] >> 24) as usize] = byte as u8;
        byte += 1;
    }
    found
}

/// The last sequence number of the frame that the bytes begin with, if it has that salt and first sequence number and
/// one byte of it is damaged.
pub(super) fn damaged_frame(bytes: &[u8], salt: u64, first_seq: u64) -> Option<u64> {
    let (head, _) = bytes.split_at_checked(FRAME_HEAD_BYTES)?;
    let expected = [salt.to_le_bytes(), first_seq.to_le_bytes()].concat();
    let mut wrong = (8..24).zip(expected).filter(|(at, byte)| head.get(*at) != Some(byte));
    let length = u32::from_le_bytes(*head.get(4..8)?.first_chunk()?) as usize;
    let whole = bytes.get(..FRAME_HEAD_BYTES + length);
    let corrected = match (wrong.next(), wrong.next()) {
        (Some(_), Some(_)) => None,
        (Some((at, byte)), None) => whole.and_then(|frame| with_byte(frame, at, byte)),
        _ => whole.and_then(in_content).or_else(|| in_length(bytes)),
    };
    corrected.and_then(|frame| Some(Frame::decode(&frame, salt)?.last_seq()))
}

/// The frame with another byte in that place, if it is valid then.
fn with_byte(frame: &[u8], at: usize, byte: u8) -> Option<Vec<u8>> {
    let mut frame = frame.to_vec();
    *frame.get_mut(at)? = byte;
    is_whole(&frame).then_some(frame)
}

/// Whether both hashes of a frame are right. Frames of older versions have only one, which is not enough here.
fn is_whole(frame: &[u8]) -> bool {
    stored_checksum(frame) == Some(crc32fast::hash(frame.get(4..).unwrap_or_default())) && has_true_check(frame)
}

fn has_true_check(frame: &[u8]) -> bool {
    let Some(check) = frame.get(CHECK).and_then(|check| check.first_chunk::<4>().copied()) else { return false };
    let mut hashed = frame.get(4..).unwrap_or_default().to_vec();
    if let Some(place) = hashed.get_mut(CHECK.start - 4..CHECK.end - 4) {
        place.fill(0);
    }
    u32::from_le_bytes(check) == check_of(&hashed)
}

fn stored_checksum(frame: &[u8]) -> Option<u32> {
    frame.first_chunk::<4>().map(|checksum| u32::from_le_bytes(*checksum))
}

/// The corrected frame, if the damaged byte is outside the length.
fn in_content(frame: &[u8]) -> Option<Vec<u8>> {
    let computed = crc32fast::hash(frame.get(4..)?);
    let difference = computed ^ stored_checksum(frame)?;
    if difference.to_le_bytes().iter().filter(|byte| **byte != 0).count() == 1 {
        let mut corrected = frame.to_vec();
        corrected.get_mut(..4)?.copy_from_slice(&computed.to_le_bytes());
        return has_true_check(&corrected).then_some(corrected);
    }
    // Backwards: the difference before the last byte, before the one in front of it, and so on. Where the difference
    // fits into one byte, that byte may be the damaged one.
    let mut state = difference;
    for at in (4..frame.len()).rev() {
        let byte = BY_HIGH_BYTE[(state >> 24) as usize];
        state = (state ^ TABLE[byte as usize]) << 8 | u32::from(byte);
        if let Ok(wrong) = u8::try_from(state)
            && let Some(found) = frame.get(at)
            && let Some(corrected) = with_byte(frame, at, found ^ wrong)
        {
            return Some(corrected);
        }
    }
    None
}

/// The corrected frame, if one byte of the length is damaged.
fn in_length(bytes: &[u8]) -> Option<Vec<u8>> {
    let found: [u8; 4] = *bytes.get(4..8)?.first_chunk()?;
    let mut lengths: Vec<usize> = (0..4 * 256)
        .filter_map(|candidate| {
            let mut length = found;
            *length.get_mut(candidate / 256)? = (candidate % 256) as u8;
            (length != found).then_some(u32::from_le_bytes(length) as usize)
        })
        .filter(|length| FRAME_HEAD_BYTES + length <= bytes.len())
        .collect();
    lengths.sort_unstable();
    let (stored, head, content) =
        (stored_checksum(bytes)?, bytes.get(8..FRAME_HEAD_BYTES)?, bytes.get(FRAME_HEAD_BYTES..)?);
    // One pass over the content; the checksum so far is compared at each candidate length.
    let (mut hasher, mut hashed) = (crc32fast::Hasher::new(), 0);
    for length in lengths {
        hasher.update(content.get(hashed..length)?);
        hashed = length;
        let mut whole = crc32fast::Hasher::new();
        whole.update(&(length as u32).to_le_bytes());
        whole.update(head);
        whole.combine(&hasher);
        if whole.finalize() == stored {
            let mut corrected = bytes.get(..FRAME_HEAD_BYTES + length)?.to_vec();
            corrected.get_mut(4..8)?.copy_from_slice(&(length as u32).to_le_bytes());
            if has_true_check(&corrected) {
                return Some(corrected);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Batch;

    const SALT: u64 = 0x0123_4567_89ab_cdef;

    fn frame(lengths: &[usize]) -> Vec<u8> {
        let mut batch = Batch::new(41);
        for (at, length) in lengths.iter().enumerate() {
            batch.push(0, &vec![at as u8 * 7; *length], b"trace");
        }
        let mut bytes = batch.encode(SALT).to_vec();
        // What an earlier use of the file left behind it.
        bytes.extend((0..3_000u32).map(|at| (at * at) as u8));
        bytes
    }

    #[test]
    fn every_damaged_byte_is_reported() {
        for lengths in [&[0][..], &[10, 0, 600], &[1_500]] {
            let good = frame(lengths);
            let whole = Frame::decode(&good, SALT).unwrap();
            let (end, last) =
                (FRAME_HEAD_BYTES + u32::from_le_bytes(*good[4..8].first_chunk().unwrap()) as usize, whole.last_seq());
            for at in 0..end {
                for change in [1, 0x80, 0xff] {
                    let mut bytes = good.clone();
                    bytes[at] ^= change;
                    assert!(Frame::decode(&bytes, SALT).is_none());
                    assert_eq!(damaged_frame(&bytes, SALT, 41), Some(last), "byte {at} of {end} ^ {change}");
                }
            }
        }
    }

    #[test]
    fn a_write_cut_short_is_no_damage() {
        let good = frame(&[300, 4_000, 20]);
        let before: Vec<u8> = (0..good.len()).map(|at| (at * 31 % 251) as u8).collect();
        for sectors in 1..256usize {
            for old in [&vec![0; good.len()], &before] {
                let mut bytes = good.clone();
                for sector in (0..8).filter(|sector| sectors >> sector & 1 == 1) {
                    let end = good.len().min(sector * 512 + 512);
                    bytes[sector * 512..end].copy_from_slice(&old[sector * 512..end]);
                }
                assert_eq!(damaged_frame(&bytes, SALT, 41), None, "sectors {sectors:b}");
            }
        }
        assert_eq!(damaged_frame(&[0; 4_096], SALT, 41), None);
        assert_eq!(damaged_frame(&good, SALT, 42), None);
    }
}
