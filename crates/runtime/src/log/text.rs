//! Small writers of text into a byte buffer: numbers and quoted values that cannot break a log line.
//!
//! Knows nothing of LDAP beyond its `\hh` escape, which DNs and filters share.

/// Appends a decimal number without going through `fmt`.
pub fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a decimal number that may be negative.
pub fn signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    decimal(out, number.unsigned_abs());
}

/// Appends ` label="value"`, the value escaped.
pub fn quoted_field(out: &mut Vec<u8>, label: &str, value: &[u8]) {
    label_of(out, label);
    out.push(b'"');
    escaped(out, value);
    out.push(b'"');
}

/// Appends ` label=number`.
pub fn number_field(out: &mut Vec<u8>, label: &str, number: u64) {
    label_of(out, label);
    decimal(out, number);
}

/// Appends ` label=word`; the word is escaped too, since it may come from a client.
pub fn word_field(out: &mut Vec<u8>, label: &str, word: &[u8]) {
    label_of(out, label);
    escaped(out, word);
}

fn label_of(out: &mut Vec<u8>, label: &str) {
    out.push(b' ');
    out.extend_from_slice(label.as_bytes());
    out.push(b'=');
}

/// Appends `value` so that it can neither end the quotes nor the line: control characters, quotes and bytes that are
/// not UTF-8 become `\hh`, as in DNs and filters. A quote that a DN had already escaped (`\"`) becomes `\22`, the same
/// value. Everything else, backslashes included, is copied, because readers know DNs and filters in that form.
pub fn escaped(out: &mut Vec<u8>, value: &[u8]) {
    if value.iter().all(|&byte| is_plain(byte)) {
        out.extend_from_slice(value);
        return;
    }
    let mut after_backslash = false;
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '"' && after_backslash {
                out.extend_from_slice(b"22");
            } else if character == '"' || character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
                let mut utf8 = [0u8; 4];
                character.encode_utf8(&mut utf8).bytes().for_each(|byte| hex(out, byte));
            } else {
                let mut utf8 = [0u8; 4];
                out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
            }
            after_backslash = character == '\\' && !after_backslash;
        }
        for &byte in chunk.invalid() {
            hex(out, byte);
            after_backslash = false;
        }
    }
}

/// Appends a JSON string with its quotes (RFC 8259). Bytes that are not UTF-8 become `\hh`, as in DNs and filters.
pub fn json_string(out: &mut Vec<u8>, value: &[u8]) {
    out.push(b'"');
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                control if control.is_control() || matches!(control, '\u{2028}' | '\u{2029}') => {
                    let code = u32::from(control);
                    out.extend_from_slice(b"\\u");
                    [12, 8, 4, 0].iter().for_each(|shift| out.push(HEX_DIGITS[(code >> shift & 15) as usize]));
                }
                _ => {
                    let mut utf8 = [0u8; 4];
                    out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
                }
            }
        }
        for &byte in chunk.invalid() {
            out.push(b'\\');
            hex(out, byte);
        }
    }
    out.push(b'"');
}

fn is_plain(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) && byte != b'"'
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

fn hex(out: &mut Vec<u8>, byte: u8) {
    out.push(b'\\');
    out.push(HEX_DIGITS[usize::from(byte >> 4)]);
    out.push(HEX_DIGITS[usize::from(byte & 15)]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escape(value: &[u8]) -> String {
        let mut out = Vec::new();
        escaped(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_only_what_would_break_the_line() {
        assert_eq!(escape(b"cn=Ann\\, B,dc=x"), "cn=Ann\\, B,dc=x");
        assert_eq!(escape("cn=Zoë".as_bytes()), "cn=Zoë");
        assert_eq!(escape(b"a\nb\"c\x00"), "a\\0ab\\22c\\00");
        assert_eq!(escape(b"cn=\\\"Q\\\""), "cn=\\22Q\\22");
        assert_eq!(escape(b"\\\\\""), "\\\\\\22");
        assert_eq!(escape(b"\xff\xc3\xa9"), "\\ff\u{e9}");
        assert_eq!(escape("\u{85}\u{2028}".as_bytes()), "\\c2\\85\\e2\\80\\a8");
    }

    #[test]
    fn numbers() {
        let mut out = Vec::new();
        decimal(&mut out, 0);
        out.push(b' ');
        decimal(&mut out, u64::MAX);
        out.push(b' ');
        signed(&mut out, i64::MIN);
        assert_eq!(out, b"0 18446744073709551615 -9223372036854775808");
    }

    proptest! {
        #[test]
        fn one_line_and_one_pair_of_quotes_whatever_comes(value: Vec<u8>) {
            let mut out = Vec::new();
            quoted_field(&mut out, "dn", &value);
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(text.matches('"').count(), 2);
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}
