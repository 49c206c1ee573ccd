//! Little-endian base-128 integers (7 bits a byte, high bit: more follow) and an order-preserving form for keys.

/// Longest encoding of a `u64`.
pub const VARINT_BYTES_MAX: usize = 10;

/// Appends `value`.
#[inline]
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes that [`put`] appends.
#[inline]
pub fn size(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Takes one integer off the front of `bytes`; `None` when it is cut short or over 64 bits.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    take_long(bytes)
}

fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        let part = u64::from(byte & 0x7f);
        if i == VARINT_BYTES_MAX - 1 && part > 1 {
            return None;
        }
        value |= part << (7 * i);
        if byte < 0x80 {
            *bytes = bytes.get(i + 1..)?;
            return Some(value);
        }
    }
    None
}

/// Appends `bytes` after their length.
pub fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes off what [`put_counted`] appended; `None` when it is cut short.
pub fn take_counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take(bytes)?;
    take_bytes(bytes, usize::try_from(length).ok()?)
}

/// Maps signed to unsigned so that small magnitudes stay small.
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Inverse of [`zigzag`].
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

/// Takes `len` bytes off the front.
#[inline]
pub fn take_bytes<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(len)?;
    *bytes = tail;
    Some(head)
}

/// Values below this are one byte of an ordered integer.
const ORDERED_DIRECT: u64 = 0xf0;

/// Appends `value` so that byte order is numeric order and no encoding is a prefix of another.
#[inline]
pub fn put_ordered(out: &mut Vec<u8>, value: u64) {
    if value < ORDERED_DIRECT {
        out.push(value as u8);
        return;
    }
    let len = 8 - value.leading_zeros() as usize / 8;
    out.push(ORDERED_DIRECT as u8 + (len as u8 - 1));
    out.extend_from_slice(&value.to_be_bytes()[8 - len..]);
}

/// Takes one ordered integer off the front.
#[inline]
pub fn take_ordered(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if u64::from(first) < ORDERED_DIRECT {
        *bytes = rest;
        return Some(u64::from(first));
    }
    let len = usize::from(first - ORDERED_DIRECT as u8) + 1;
    if len > 8 {
        return None;
    }
    let (head, tail) = rest.split_at_checked(len)?;
    *bytes = tail;
    Some(head.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_come_back(value: u64, cut in 0u32..64) {
            let value = value >> cut;
            let mut out = Vec::new();
            put(&mut out, value);
            prop_assert_eq!(out.len(), size(value));
            let mut rest = &out[..];
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
            prop_assert_eq!(take(&mut &out[..out.len() - 1]), None);
        }

        #[test]
        fn signed_integers_come_back(value: i64) {
            prop_assert_eq!(unzigzag(zigzag(value)), value);
        }

        #[test]
        fn ordered_integers_keep_their_order(a: u64, b: u64, cut_a in 0u32..64, cut_b in 0u32..64) {
            let (a, b) = (a >> cut_a, b >> cut_b);
            let (mut x, mut y) = (Vec::new(), Vec::new());
            put_ordered(&mut x, a);
            put_ordered(&mut y, b);
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(take_ordered(&mut &x[..]), Some(a));
        }
    }

    #[test]
    fn over_long_integers_are_refused() {
        assert_eq!(take(&mut &[0xffu8; 11][..]), None);
        assert_eq!(take_ordered(&mut &[0xf8u8, 1, 2, 3, 4, 5, 6, 7, 8, 9][..]), None);
    }
}
