//! Logical lines of one record: folded lines are joined, comments and blank lines left out, line numbers kept.

use memchr::memchr;

/// Largest record. A group of ten million members is about 500 MB of LDIF; offsets into a record are 32 bits.
pub const LDIF_RECORD_BYTES_MAX: usize = 1 << 30;

/// Largest value that a URL may name. A photograph or certificate list is far smaller.
pub const LDIF_URL_VALUE_BYTES_MAX: u64 = 64 << 20;

/// Walks the lines of a record.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    raw: &'a [u8],
    at: usize,
    /// Number of the physical line that begins at `at`.
    number: u64,
}

/// One logical line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'l> {
    /// Number of its first physical line.
    pub number: u64,
    /// Without line ends.
    pub text: &'l [u8],
    /// Where `text` lies in the record; `None` when it was joined from several lines.
    pub at: Option<usize>,
}

impl<'a> Lines<'a> {
    pub fn new(raw: &'a [u8], first_line: u64) -> Self {
        Self { raw, at: 0, number: first_line }
    }

    /// Number of the line that comes next.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line; a folded one is joined in `folded`.
    #[inline]
    pub fn next<'l>(&mut self, folded: &'l mut Vec<u8>) -> Option<Line<'l>>
    where
        'a: 'l,
    {
        self.skip_what_says_nothing();
        if self.at >= self.raw.len() {
            return None;
        }
        let (number, at) = (self.number, self.at);
        let text = self.physical();
        if !self.is_continued() {
            return Some(Line { number, text, at: Some(at) });
        }
        folded.clear();
        folded.extend_from_slice(text);
        while self.is_continued() {
            folded.extend_from_slice(self.physical().get(1..).unwrap_or_default());
        }
        Some(Line { number, text: folded, at: None })
    }

    #[inline]
    fn skip_what_says_nothing(&mut self) {
        loop {
            match self.raw.get(self.at) {
                Some(b'#') => {
                    self.physical();
                    while self.is_continued() {
                        self.physical();
                    }
                }
                Some(b'\n') => {
                    self.physical();
                }
                Some(b'\r') if matches!(self.raw.get(self.at + 1), Some(b'\n') | None) => {
                    self.physical();
                }
                _ => return,
            }
        }
    }

    #[inline]
    fn is_continued(&self) -> bool {
        self.raw.get(self.at) == Some(&b' ')
    }

    /// The physical line at `at`, without its end; moves past it.
    #[inline]
    fn physical(&mut self) -> &'a [u8] {
        let rest = self.raw.get(self.at..).unwrap_or_default();
        let (line, length) = match memchr(b'\n', rest) {
            Some(end) => (&rest[..end], end + 1),
            None => (rest, rest.len()),
        };
        self.at += length;
        self.number += 1;
        line.strip_suffix(b"\r").unwrap_or(line)
    }
}
