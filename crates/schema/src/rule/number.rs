//! Normal forms of integers, booleans, bit strings, UUIDs and change sequence numbers.

use super::invalid_value::InvalidValue;

type Result<T> = std::result::Result<T, InvalidValue>;

/// Integers of more bytes than this have no normal form: their length must fit the leading byte.
const INTEGER_BYTES_MAX: usize = 126;
/// The leading byte of zero; above it positive numbers, below it negative ones.
const ZERO: u8 = 0x80;

/// An integer as sign and length, then magnitude: the order of the bytes is the order of the numbers.
pub(super) fn normalize_integer(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (negative, digits) = split_integer(value).ok_or(InvalidValue::NotA("an integer"))?;
    let mut magnitude = [0u8; INTEGER_BYTES_MAX];
    let length = if digits.len() <= 19 {
        // Nineteen digits always fit in 64 bits.
        let number = digits.iter().fold(0u64, |number, digit| number * 10 + u64::from(digit - b'0'));
        let bytes = number.to_be_bytes();
        let length = 8 - number.leading_zeros() as usize / 8;
        magnitude[..length].copy_from_slice(&bytes[8 - length..]);
        length
    } else {
        long_magnitude(digits, &mut magnitude).ok_or(InvalidValue::NotA("an integer of at most 1008 bits"))?
    };
    let bytes = &magnitude[..length];
    if negative {
        out.push(ZERO - length as u8);
        out.extend(bytes.iter().map(|byte| !byte));
    } else {
        out.push(ZERO + length as u8);
        out.extend_from_slice(bytes);
    }
    Ok(())
}

/// Sign and digits without leading zeros; `None` for what is no number. A leading `+` is not LDAP.
pub(crate) fn split_integer(value: &[u8]) -> Option<(bool, &[u8])> {
    let value = value.trim_ascii();
    let (negative, digits) = match value.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = digits.get(zeros..)?;
    Some((negative && !digits.is_empty(), digits))
}

/// Whether the text is an integer as RFC 4517 §3.3.16 writes it: no spaces, no leading zeros, no `-0`. Normal forms are
/// made of others as well, as older versions have stored them.
pub(crate) fn is_integer(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    value == b"0" || split_integer(value).is_some_and(|(_, significant)| significant.len() == digits.len())
}

/// Decimal digits to big-endian bytes at the start of `magnitude`; the number of bytes, or `None` if they are too many.
fn long_magnitude(digits: &[u8], magnitude: &mut [u8; INTEGER_BYTES_MAX]) -> Option<usize> {
    let mut used = 0;
    for digit in digits {
        let mut carry = u16::from(digit - b'0');
        // Little-endian while counting, turned around at the end.
        for byte in magnitude.iter_mut().take(used) {
            carry += u16::from(*byte) * 10;
            *byte = carry as u8;
            carry >>= 8;
        }
        if carry > 0 {
            *magnitude.get_mut(used)? = carry as u8;
            used += 1;
        }
    }
    magnitude.get_mut(..used)?.reverse();
    Some(used)
}

/// The number in a normal form, if it fits 64 bits.
pub(super) fn integer_of_normal_form(form: &[u8]) -> Option<i64> {
    let (first, magnitude) = form.split_first()?;
    let number = |invert: bool| {
        let number = magnitude.iter().try_fold(0u64, |number, byte| {
            let byte = if invert { !*byte } else { *byte };
            Some(number.checked_mul(256)? + u64::from(byte))
        })?;
        i64::try_from(number).ok()
    };
    if *first >= ZERO { number(false) } else { number(true).map(|number| -number) }
}

/// `TRUE` or `FALSE`; OpenDJ also takes yes/no, on/off and 1/0, and so do the files that come from it
/// (`strict-format-booleans` refuses them).
pub(crate) fn boolean(value: &[u8]) -> Option<bool> {
    let is = |words: [&str; 4]| words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    if is(["TRUE", "YES", "ON", "1"]) {
        return Some(true);
    }
    is(["FALSE", "NO", "OFF", "0"]).then_some(false)
}

pub(super) fn normalize_boolean(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let truth = boolean(value).ok_or(InvalidValue::NotA("TRUE or FALSE"))?;
    out.extend_from_slice(if truth { b"TRUE" } else { b"FALSE" });
    Ok(())
}

/// The digits between `'` and `'B`. Trailing zeros count: LDAP has no named bit lists to say otherwise (RFC 4517
/// §4.2.1).
pub(crate) fn bit_string(value: &[u8]) -> Option<&[u8]> {
    let bits = value.strip_prefix(b"'")?.strip_suffix(b"'B")?;
    bits.iter().all(|bit| matches!(bit, b'0' | b'1')).then_some(bits)
}

pub(super) fn normalize_bit_string(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let bits = bit_string(value).ok_or(InvalidValue::NotA("a bit string such as '0101'B"))?;
    out.extend_from_slice(bits);
    Ok(())
}

pub(super) fn normalize_uuid(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let bytes = crate::uuid::parse(value).ok_or(InvalidValue::NotA("a UUID"))?;
    out.extend_from_slice(&bytes);
    Ok(())
}

/// A change sequence number: `time#count#server#modification` of OpenLDAP or the hexadecimal digits of OpenDJ. Both
/// have fixed columns, so the text in lower case is already in order. The stricter check belongs to the syntax.
pub(super) fn normalize_csn(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if value.is_empty() || !value.is_ascii() {
        return Err(InvalidValue::NotA("a change sequence number"));
    }
    out.extend(value.iter().map(u8::to_ascii_lowercase));
    Ok(())
}

/// `ds-sync-hist` values, `attribute:csn:…`, order by their CSN.
pub(super) fn normalize_historical_csn(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let csn = value.split(|byte| *byte == b':').nth(1).unwrap_or(value);
    normalize_csn(csn, out)
}

/// The server part of a change sequence number; an assertion is that part alone.
pub(super) fn normalize_csn_sid(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let sid = value.split(|byte| *byte == b'#').nth(2).unwrap_or(value);
    normalize_csn(sid, out)
}

/// A DER integer as the same normal form that its decimal digits have.
pub(super) fn push_signed_bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    const WHAT: InvalidValue = InvalidValue::NotA("an integer of at most 1008 bits");
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    if !negative {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let magnitude = bytes.get(zeros..).filter(|magnitude| magnitude.len() <= INTEGER_BYTES_MAX).ok_or(WHAT)?;
        out.push(ZERO + magnitude.len() as u8);
        out.extend_from_slice(magnitude);
        return Ok(());
    }
    // Two's complement: the magnitude is the complement plus one; the form then wants its complement again.
    let mut magnitude: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    for byte in magnitude.iter_mut().rev() {
        let (sum, carried) = byte.overflowing_add(1);
        *byte = sum;
        if !carried {
            break;
        }
    }
    let zeros = magnitude.iter().take_while(|byte| **byte == 0).count();
    let magnitude = magnitude.get(zeros..).filter(|magnitude| magnitude.len() <= INTEGER_BYTES_MAX).ok_or(WHAT)?;
    out.push(ZERO - magnitude.len() as u8);
    out.extend(magnitude.iter().map(|byte| !byte));
    Ok(())
}
