//! Bytes as lines, of bounded length.

use std::io::{self, ErrorKind, Read};

/// Longest line; of a longer one the begin is given.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As lines do.
    Whole,
    /// It is too long: the rest of it is skipped.
    Cut,
    /// The source ends before the line does.
    Unfinished,
}

/// Splits what is read into lines; what is not a whole line yet is kept.
#[derive(Debug)]
pub struct Lines {
    buffer: Box<[u8]>,
    /// Bytes that are there.
    len: usize,
    /// Of them without an end of a line.
    scanned: usize,
    is_skipping: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { buffer: vec![0; LINE_BYTES_MAX + CHUNK_BYTES].into(), len: 0, scanned: 0, is_skipping: false }
    }
}

impl Lines {
    /// Reads once from `source` and gives the lines without their ends. False when the source has no more for now.
    ///
    /// # Errors
    /// Those of the source.
    pub fn read(&mut self, source: &mut dyn Read, each: &mut dyn FnMut(&[u8], Ending)) -> io::Result<bool> {
        let place = self.buffer.get_mut(self.len..).unwrap_or_default();
        let count = loop {
            match source.read(place) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.len += count;
        self.split(each);
        Ok(count > 0)
    }

    fn split(&mut self, each: &mut dyn FnMut(&[u8], Ending)) {
        let bytes = self.buffer.get(..self.len).unwrap_or_default();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes.get(self.scanned..).unwrap_or_default()) {
            let end = self.scanned + end;
            if !std::mem::take(&mut self.is_skipping) {
                each(bytes.get(start..end).unwrap_or_default(), Ending::Whole);
            }
            start = end + 1;
        }
        let rest = bytes.get(start..).unwrap_or_default();
        if self.is_skipping {
            self.len = 0;
        } else if rest.len() >= LINE_BYTES_MAX {
            each(rest.get(..LINE_BYTES_MAX).unwrap_or_default(), Ending::Cut);
            self.is_skipping = true;
            self.len = 0;
        } else {
            self.buffer.copy_within(start..self.len, 0);
            self.len -= start;
        }
        self.scanned = self.len;
    }

    /// The source has ended: gives what is left.
    pub fn finish(&mut self, each: &mut dyn FnMut(&[u8], Ending)) {
        let rest = self.buffer.get(..self.len).unwrap_or_default();
        if !rest.is_empty() && !self.is_skipping {
            each(rest, Ending::Unfinished);
        }
        (self.len, self.scanned, self.is_skipping) = (0, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives so many bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(place.len());
            Read::take(&mut self.0, count as u64).read(place)
        }
    }

    fn lines(bytes: &[u8], step: usize) -> Vec<(Vec<u8>, Ending)> {
        let mut found = Vec::new();
        let mut each = |line: &[u8], ending| found.push((line.to_vec(), ending));
        let (mut lines, mut source) = (Lines::default(), Slow(bytes, step));
        while lines.read(&mut source, &mut each).unwrap() {}
        lines.finish(&mut each);
        found
    }

    #[test]
    fn long_and_unfinished_lines_are_told() {
        let mut bytes = b"a\n\n".to_vec();
        bytes.extend(vec![b'x'; 3 * LINE_BYTES_MAX]);
        bytes.extend_from_slice(b"\nb\nend");
        for step in [100_000, usize::MAX] {
            let found = lines(&bytes, step);
            let endings: Vec<Ending> = found.iter().map(|(_, ending)| *ending).collect();
            assert_eq!(
                endings,
                [Ending::Whole, Ending::Whole, Ending::Cut, Ending::Whole, Ending::Unfinished],
                "{step}"
            );
            assert_eq!((found[2].0.len(), &*found[3].0, &*found[4].0), (LINE_BYTES_MAX, &b"b"[..], &b"end"[..]));
        }
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_are_read(
            bytes in prop::collection::vec(prop::sample::select(b"ab\n".as_slice()), 0..200), step in 1..20_usize) {
            let found: Vec<Vec<u8>> = lines(&bytes, step).into_iter().map(|(line, _)| line).collect();
            let mut expected: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            if expected.last().is_some_and(Vec::is_empty) {
                expected.pop();
            }
            prop_assert_eq!(found, expected);
        }
    }
}
