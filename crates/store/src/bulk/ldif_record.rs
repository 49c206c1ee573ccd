//! One LDIF content record (RFC 2849), read in place: names and values are places in the record's own text.
//!
//! Only folded lines and base64 values are copied. Refuses change records and values from files: an import takes entries, and
//! only those that are in the file itself.

use std::ops::Range;

use memchr::memchr;

use super::prepare::Refusal;

/// A record; its buffers are used again from record to record.
#[derive(Debug, Default)]
pub(super) struct LdifRecord {
    /// The record without comments and folds; decoded base64 values at its end.
    text: Vec<u8>,
    dn: String,
    line: u64,
    lines: Vec<(Range<usize>, Range<usize>)>,
}

impl LdifRecord {
    /// Reads a record; false when it holds no entry but comments or a version.
    pub fn parse(&mut self, text: &[u8], first_line: u64) -> Result<bool, Refusal> {
        self.text.clear();
        self.lines.clear();
        self.dn.clear();
        let mut has_dn = false;
        let mut rest = text;
        let mut number = first_line;
        while !rest.is_empty() {
            let line = number;
            let start = self.text.len();
            number += self.take_line(&mut rest);
            if self.text.len() == start || self.text.get(start) == Some(&b'#') {
                self.text.truncate(start);
                continue;
            }
            let (name, value) = self.split(start, line)?;
            let spelling = self.text.get(name.clone()).unwrap_or_default();
            if has_dn {
                if spelling.eq_ignore_ascii_case(b"changetype") {
                    return Err((line, "this is a change record; only entries can be imported".to_owned()));
                }
                self.lines.push((name, value));
            } else if spelling.eq_ignore_ascii_case(b"dn") {
                let dn = std::str::from_utf8(self.text.get(value).unwrap_or_default());
                self.dn.push_str(dn.map_err(|_| (line, "the DN is not UTF-8".to_owned()))?);
                self.line = line;
                has_dn = true;
            } else if spelling.eq_ignore_ascii_case(b"version") {
                if self.text.get(value) != Some(b"1") {
                    return Err((line, "only LDIF version 1 is known".to_owned()));
                }
            } else {
                return Err((line, "a record begins with \"dn:\"".to_owned()));
            }
        }
        Ok(has_dn)
    }

    /// Number of the line of the DN.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The DN as written.
    pub fn dn(&self) -> &str {
        &self.dn
    }

    /// Description and place of the value of each line after the DN.
    pub fn lines(&self) -> impl Iterator<Item = (&[u8], Range<usize>)> {
        self.lines.iter().map(|(name, value)| (self.text.get(name.clone()).unwrap_or_default(), value.clone()))
    }

    /// The value at that place.
    #[inline]
    pub fn value(&self, place: &Range<usize>) -> &[u8] {
        self.text.get(place.clone()).unwrap_or_default()
    }

    /// Appends the next line with its continuations to `text`; tells how many lines of the file it took.
    fn take_line(&mut self, rest: &mut &[u8]) -> u64 {
        let mut lines = 0;
        loop {
            let end = memchr(b'\n', rest);
            let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            self.text.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
            *rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
            lines += 1;
            let Some((b' ', tail)) = rest.split_first() else { return lines };
            *rest = tail;
        }
    }

    /// Splits the line that begins at `start` into name and value.
    fn split(&mut self, start: usize, line: u64) -> Result<(Range<usize>, Range<usize>), Refusal> {
        let bytes = self.text.get(start..).unwrap_or_default();
        let colon = memchr(b':', bytes).ok_or_else(|| (line, "a line has no colon".to_owned()))?;
        let name = start..start + colon;
        let kind = bytes.get(colon + 1).copied();
        let skip = match kind {
            Some(b':' | b'<') => 2,
            _ => 1,
        };
        let value = bytes.get(colon + skip..).unwrap_or_default();
        let blanks = value.iter().take_while(|byte| **byte == b' ').count();
        let place = start + colon + skip + blanks..self.text.len();
        match kind {
            Some(b'<') => Err((line, "a value from another file (\":<\") is not imported".to_owned())),
            Some(b':') => {
                let decoded = decode_base64(self.text.get(place).unwrap_or_default());
                let decoded = decoded.ok_or_else(|| (line, "a value is not base64".to_owned()))?;
                let from = self.text.len();
                self.text.extend_from_slice(&decoded);
                Ok((name, from..self.text.len()))
            }
            _ => Ok((name, place)),
        }
    }
}

/// RFC 4648 §4, padding required.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii_end();
    let body = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(body.len() / 4 * 3 + 2);
    for quad in body.chunks(4) {
        let mut bits = 0u32;
        for byte in quad {
            let six = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(six);
        }
        bits <<= 6 * (4 - quad.len());
        let [_, a, b, c] = bits.to_be_bytes();
        out.extend_from_slice([a, b, c].get(..quad.len() - 1)?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = (bool, String, Vec<(String, Vec<u8>)>);

    fn parse(text: &str) -> Result<Read, Refusal> {
        let mut record = LdifRecord::default();
        let found = record.parse(text.as_bytes(), 10)?;
        let lines =
            record.lines().map(|(name, at)| (String::from_utf8(name.to_vec()).unwrap(), record.value(&at).to_vec()));
        let lines = lines.collect();
        Ok((found, record.dn().to_owned(), lines))
    }

    #[test]
    fn reads_folds_comments_base64_and_empty_values() {
        let text = "# a\n comment\nversion: 1\ndn:: Y249w4Q=\r\ncn: a\n  b\n# more\nsn:\ncn;lang-de:: AP8=\nx:y";
        let (found, dn, lines) = parse(text).unwrap();
        assert!(found);
        assert_eq!(dn, "cn=Ä");
        let expected: [(&str, &[u8]); 4] = [("cn", b"a b"), ("sn", b""), ("cn;lang-de", &[0, 255]), ("x", b"y")];
        assert_eq!(lines, expected.map(|(name, value)| (name.to_owned(), value.to_vec())));
        assert!(!parse("version: 1\n# only\n").unwrap().0);
    }

    #[test]
    fn refusals_name_the_line() {
        for (text, line, word) in [
            ("cn: a", 10, "dn:"),
            ("dn: cn=a\nchangetype: delete", 11, "change record"),
            ("dn: cn=a\ncn: a\n b\nsn", 13, "colon"),
            ("dn: cn=a\njpegPhoto:< file:///tmp/x", 11, "another file"),
            ("dn: cn=a\ncn:: YQ=", 11, "base64"),
            ("dn: cn=a\ncn:: Y*==", 11, "base64"),
            ("version: 2\ndn: cn=a", 10, "version"),
        ] {
            let (at, reason) = parse(text).unwrap_err();
            assert_eq!(at, line, "{text}");
            assert!(reason.contains(word), "{reason}");
        }
    }
}
