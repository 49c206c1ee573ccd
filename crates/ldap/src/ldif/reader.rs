//! Cuts a stream into records.

use std::io::BufRead;

use memchr::memchr;

use super::line::LDIF_RECORD_BYTES_MAX;
use super::{LdifEntry, LdifError, LdifFault, Record, UrlValues};

/// Reads records from a stream.
#[derive(Debug)]
pub struct Reader<R> {
    stream: R,
    urls: UrlValues,
    /// The text of the current record, without the blank line that ends it.
    raw: Vec<u8>,
    raw_line: u64,
    /// Number of the line that the stream stands at.
    next_line: u64,
    is_at_start: bool,
}

/// What some editors put in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<R: BufRead> Reader<R> {
    /// Reads from line 1; values by URL are refused.
    pub fn new(stream: R) -> Self {
        Self { stream, urls: UrlValues::Refuse, raw: Vec::new(), raw_line: 1, next_line: 1, is_at_start: true }
    }

    /// The same with values by URL read or refused.
    #[must_use]
    pub fn with_urls(mut self, urls: UrlValues) -> Self {
        self.urls = urls;
        self
    }

    /// Reads the next content record into `entry`; `false` at the end.
    ///
    /// # Errors
    /// When the record is wrong; the next call reads the one after it.
    pub fn next_into(&mut self, entry: &mut LdifEntry) -> Result<bool, LdifError> {
        while self.next_raw()? {
            if entry.parse(&self.raw, self.raw_line, self.urls)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the next record of either kind; `None` at the end.
    ///
    /// # Errors
    /// When the record is wrong; the next call reads the one after it.
    pub fn next_record(&mut self) -> Result<Option<Record>, LdifError> {
        while self.next_raw()? {
            if let Some(record) = Record::parse(&self.raw, self.raw_line, self.urls)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The text of the last record, good or bad, without the blank line that ends it.
    pub fn raw_record(&self) -> &[u8] {
        &self.raw
    }

    /// Number of the first line of [`raw_record`](Self::raw_record).
    pub fn raw_line(&self) -> u64 {
        self.raw_line
    }

    /// Number of the line that is read next.
    pub fn line(&self) -> u64 {
        self.next_line
    }

    /// Reads the text of the next record; `false` at the end.
    fn next_raw(&mut self) -> Result<bool, LdifError> {
        self.raw.clear();
        loop {
            let before = self.raw.len();
            if before == 0 {
                self.raw_line = self.next_line;
            }
            match self.read_line() {
                Ok(0) => return Ok(!self.raw.is_empty()),
                Ok(_) => {}
                Err(error) => return Err(LdifError::new(self.next_line, LdifFault::Io(error))),
            }
            if std::mem::take(&mut self.is_at_start) && self.raw.starts_with(BYTE_ORDER_MARK) {
                self.raw.drain(..BYTE_ORDER_MARK.len());
            }
            self.next_line += 1;
            if matches!(self.raw.get(before..), Some(b"\n" | b"\r\n")) {
                self.raw.truncate(before);
                if before > 0 {
                    return Ok(true);
                }
            } else if self.raw.len() > LDIF_RECORD_BYTES_MAX {
                self.skip_record()?;
                return Err(LdifError::new(self.raw_line, LdifFault::RecordTooLarge));
            }
        }
    }

    /// Appends one line; a line that is too large is cut off, not kept.
    fn read_line(&mut self) -> std::io::Result<usize> {
        let mut count = 0;
        loop {
            let available = match self.stream.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let (taken, is_whole) = match memchr(b'\n', available) {
                Some(end) => (end + 1, true),
                None => (available.len(), available.is_empty()),
            };
            let room = (LDIF_RECORD_BYTES_MAX + 1).saturating_sub(self.raw.len());
            self.raw.extend_from_slice(available.get(..taken.min(room)).unwrap_or_default());
            self.stream.consume(taken);
            count += taken;
            if is_whole {
                return Ok(count);
            }
        }
    }

    /// Goes on to the blank line that ends a record which is too large to keep. What is kept of it stays.
    fn skip_record(&mut self) -> Result<(), LdifError> {
        let kept = self.raw.len();
        loop {
            // `raw` is full, so that only counting is left; a blank line is one or two bytes long.
            self.raw.truncate(kept.saturating_sub(2));
            let before = self.raw.len();
            match self.read_line() {
                Ok(0) => return Ok(()),
                Ok(_) => self.next_line += 1,
                Err(error) => return Err(LdifError::new(self.next_line, LdifFault::Io(error))),
            }
            if matches!(self.raw.get(before..), Some(b"\n" | b"\r\n")) {
                self.raw.truncate(before);
                return Ok(());
            }
        }
    }
}
