//! UUIDs in their usual writing (RFC 4530 §2.1): sixteen bytes as hexadecimal digits with four hyphens. What they
//! identify is not known here.

/// Byte positions of a UUID before which its text has a hyphen.
const HYPHEN_BEFORE: [usize; 4] = [4, 6, 8, 10];

/// Bytes of the text.
pub const TEXT_BYTES: usize = 36;

/// The sixteen bytes; digits of both cases are taken.
#[must_use]
pub fn parse(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != TEXT_BYTES {
        return None;
    }
    let mut uuid = [0; 16];
    let mut rest = text.iter();
    let digit = |rest: &mut std::slice::Iter<'_, u8>| u8::try_from(char::from(*rest.next()?).to_digit(16)?).ok();
    for (at, byte) in uuid.iter_mut().enumerate() {
        if HYPHEN_BEFORE.contains(&at) && rest.next() != Some(&b'-') {
            return None;
        }
        *byte = digit(&mut rest)? << 4 | digit(&mut rest)?;
    }
    Some(uuid)
}

/// Appends the text, in lower case.
pub fn put(uuid: &[u8; 16], out: &mut Vec<u8>) {
    for (at, byte) in uuid.iter().enumerate() {
        if HYPHEN_BEFORE.contains(&at) {
            out.push(b'-');
        }
        out.extend([byte >> 4, byte & 15].map(|digit| if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }));
    }
}

/// The text, in lower case.
#[must_use]
pub fn text(uuid: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(TEXT_BYTES);
    put(uuid, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_uuid_comes_back(uuid in any::<[u8; 16]>()) {
            let text = text(&uuid);
            prop_assert_eq!(parse(&text), Some(uuid));
            prop_assert_eq!(parse(&text.to_ascii_uppercase()), Some(uuid));
            prop_assert_eq!(parse(&text[1..]), None);
        }
    }

    #[test]
    fn the_writing_is_the_usual_one() {
        let written = b"597ae2f6-16a6-1027-98f4-d28b5365dc14";
        assert_eq!(parse(written).map(|uuid| text(&uuid)).as_deref(), Some(&written[..]));
        for wrong in [
            "597ae2f6x16a6-1027-98f4-d28b5365dc14",
            "597ae2f616a61027-98f4-d28b5365dc14----",
            "g97ae2f6-16a6-1027-98f4-d28b5365dc14",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
