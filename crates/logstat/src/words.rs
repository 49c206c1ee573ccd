//! The words of a line: `name=value`, `name="a value"`, and words without a value.
//!
//! Knows no server.

use memchr::{memchr, memchr2};

/// The words of what is left of a line.
#[derive(Debug, Clone)]
pub struct Words<'l>(&'l [u8]);

impl<'l> Words<'l> {
    /// Of a line, or of its rest.
    #[must_use]
    pub fn new(line: &'l [u8]) -> Self {
        Self(line)
    }

    /// What was not read yet.
    #[must_use]
    pub fn rest(&self) -> &'l [u8] {
        self.0.trim_ascii_start()
    }
}

impl<'l> Iterator for Words<'l> {
    /// The name, and the value if there is one.
    type Item = (&'l [u8], Option<&'l [u8]>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.0;
        while let [b' ', more @ ..] = rest {
            rest = more;
        }
        if rest.is_empty() {
            return None;
        }
        let Some(end) = memchr2(b' ', b'=', rest) else {
            self.0 = &[];
            return Some((rest, None));
        };
        let (name, after) = rest.split_at(end);
        let (value, rest) = match after {
            [b'=', b'"', quoted @ ..] => split_quoted(quoted),
            [b'=', value @ ..] => split_word(value),
            _ => {
                self.0 = after;
                return Some((name, None));
            }
        };
        self.0 = rest;
        Some((name, Some(value)))
    }
}

fn split_word(value: &[u8]) -> (&[u8], &[u8]) {
    value.split_at(memchr(b' ', value).unwrap_or(value.len()))
}

/// A quote ends the value where a blank or the end of the line follows; a value that was cut has no such quote.
fn split_quoted(value: &[u8]) -> (&[u8], &[u8]) {
    let mut from = 0;
    while let Some(at) = memchr(b'"', value.get(from..).unwrap_or_default()) {
        let quote = from + at;
        let (text, rest) = (value.get(..quote).unwrap_or_default(), value.get(quote + 1..).unwrap_or_default());
        if matches!(rest.first(), None | Some(b' ' | b',')) {
            return (text, rest);
        }
        from = quote + 1;
    }
    (value, &[])
}

/// A decimal number without a sign.
#[must_use]
#[inline]
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0_u64, |value, byte| match byte {
        b'0'..=b'9' => Some(value * 10 + u64::from(byte - b'0')),
        _ => None,
    })
}

/// A decimal number that may have a sign.
#[must_use]
pub(crate) fn signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(digits) => Some(-i64::try_from(number(digits)?).ok()?),
        None => i64::try_from(number(text)?).ok(),
    }
}

/// Seconds with or without a fraction, as nanoseconds, and the digits of the fraction that count.
#[must_use]
pub(crate) fn seconds(text: &[u8]) -> Option<(u64, u8)> {
    let (whole, fraction) = match memchr(b'.', text) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, &b""[..]),
    };
    let fraction = fraction.get(..fraction.len().min(9))?;
    let digits = u8::try_from(fraction.len()).ok()?;
    let mut ns = if fraction.is_empty() { 0 } else { number(fraction)? };
    for _ in digits..9 {
        ns *= 10;
    }
    Some((number(whole)?.checked_mul(1_000_000_000)?.checked_add(ns)?, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let word = |(name, value): (&[u8], Option<&[u8]>)| match value {
            Some(value) => format!("{}→{}", text(name), text(value)),
            None => text(name),
        };
        Words::new(line.as_bytes()).map(word).collect()
    }

    #[test]
    fn words_have_names_and_values() {
        assert_eq!(
            words("SRCH base=\"o=a b\" scope=2 unindexed filter=\"(cn=a\"b)\" etime=1"),
            ["SRCH", "base→o=a b", "scope→2", "unindexed", "filter→(cn=a\"b)", "etime→1"]
        );
        assert_eq!(words("dn=\"cut"), ["dn→cut"]);
        assert_eq!(words("= =\" \"\""), ["→", "→ \""]);
    }

    #[test]
    fn numbers_are_digits() {
        assert_eq!((number(b"120"), number(b""), number(b"1x"), signed(b"-1")), (Some(120), None, None, Some(-1)));
        assert_eq!(number(&[b'9'; 19]), Some(9_999_999_999_999_999_999));
        assert_eq!(seconds(b"34.587640"), Some((34_587_640_000, 6)));
        assert_eq!(seconds(b"512"), Some((512_000_000_000, 0)));
        assert_eq!(seconds(b"0.000105"), Some((105_000, 6)));
        assert_eq!((seconds(b"1.x"), seconds(b"."), seconds(&[b'9'; 19])), (None, None, None));
    }
}
