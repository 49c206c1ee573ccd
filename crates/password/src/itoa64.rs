//! The base64 of crypt(3): another alphabet, and the lowest bits first.

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// One character for each byte, from its lower six bits.
pub(super) fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 0x3f)])).collect()
}

/// Six bits for each character of `target`.
pub(super) fn put(mut bits: u32, target: &mut [u8]) {
    for byte in target {
        *byte = ALPHABET[(bits & 0x3f) as usize];
        bits >>= 6;
    }
}

/// What a character stands for.
pub(super) fn value(byte: u8) -> Option<u8> {
    ALPHABET.iter().position(|&character| character == byte).map(|value| value as u8)
}

/// Groups of four characters are three bytes.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.chunks(4) {
        let bits = group.iter().rev().try_fold(0u32, |bits, &byte| Some((bits << 6) | u32::from(value(byte)?)))?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..group.len() * 6 / 8]);
    }
    Some(bytes)
}
