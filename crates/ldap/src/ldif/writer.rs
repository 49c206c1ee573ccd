//! Writes records: base64 where it is needed, lines folded or not.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{LdifChange, LdifEntry, LdifOperation, Record};
use crate::ControlBuf;

/// Where lines are folded unless the caller says otherwise: what `ldapsearch` does.
pub const WRAP_COLUMNS: usize = 76;

/// The narrowest that lines are folded: a continuation is a space and at least one byte.
const WRAP_COLUMNS_MIN: usize = 2;

/// Writes records to a stream; one `write_all` a record.
#[derive(Debug)]
pub struct Writer<W> {
    stream: W,
    wrap: Option<usize>,
    /// The record that is being written.
    record: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes lines folded at [`WRAP_COLUMNS`].
    pub fn new(stream: W) -> Self {
        Self { stream, wrap: Some(WRAP_COLUMNS), record: Vec::new() }
    }

    /// The same with lines folded at that many columns, or not at all.
    #[must_use]
    pub fn with_wrap(mut self, columns: Option<usize>) -> Self {
        self.wrap = columns;
        self
    }

    /// Writes `version: 1` and a blank line.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn version(&mut self) -> io::Result<()> {
        self.stream.write_all(b"version: 1\n\n")
    }

    /// Writes a comment in front of the next record.
    pub fn comment(&mut self, text: &str) {
        put_comment(&mut self.record, text, self.wrap);
    }

    /// Begins a record.
    pub fn begin(&mut self, dn: &str) {
        put_line(&mut self.record, b"dn", dn.as_bytes(), self.wrap);
    }

    /// Appends `description: value`.
    #[inline]
    pub fn line(&mut self, description: &[u8], value: &[u8]) {
        put_line(&mut self.record, description, value, self.wrap);
    }

    /// Ends the record and hands it to the stream.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn end(&mut self) -> io::Result<()> {
        self.record.push(b'\n');
        let written = self.stream.write_all(&self.record);
        self.record.clear();
        written
    }

    /// Writes a content record.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn entry(&mut self, entry: &LdifEntry) -> io::Result<()> {
        self.begin(&entry.dn);
        for line in entry.iter() {
            self.line(line.description, line.value);
        }
        self.end()
    }

    /// Writes a change record.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn change(&mut self, change: &LdifChange) -> io::Result<()> {
        self.begin(&change.dn);
        for control in &change.controls {
            put_control(&mut self.record, control, self.wrap);
        }
        match &change.operation {
            LdifOperation::Add(attributes) => {
                self.line(b"changetype", b"add");
                for line in attributes.iter() {
                    self.line(line.description, line.value);
                }
            }
            LdifOperation::Delete => self.line(b"changetype", b"delete"),
            LdifOperation::Modify(modifications) => {
                self.line(b"changetype", b"modify");
                for modification in modifications {
                    let word = modification.operation.as_str();
                    self.line(word.as_bytes(), modification.description.as_bytes());
                    for value in &modification.values {
                        self.line(modification.description.as_bytes(), value);
                    }
                    self.record.extend_from_slice(b"-\n");
                }
            }
            LdifOperation::ModifyDn { new_rdn, delete_old_rdn, new_superior } => {
                self.line(b"changetype", b"modrdn");
                self.line(b"newrdn", new_rdn.as_bytes());
                self.line(b"deleteoldrdn", if *delete_old_rdn { b"1" } else { b"0" });
                if let Some(superior) = new_superior {
                    self.line(b"newsuperior", superior.as_bytes());
                }
            }
        }
        self.end()
    }

    /// Writes a record of either kind.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Entry(entry) => self.entry(entry),
            Record::Change(change) => self.change(change),
        }
    }

    /// Writes text as it is: a record that another reader rejected.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn raw_record(&mut self, raw: &[u8]) -> io::Result<()> {
        self.record.extend_from_slice(raw);
        if !raw.ends_with(b"\n") {
            self.record.push(b'\n');
        }
        self.end()
    }

    /// Hands everything to the stream and gives it back.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn finish(mut self) -> io::Result<W> {
        self.stream.flush()?;
        Ok(self.stream)
    }
}

/// Appends `description: value`, in base64 if RFC 2849 asks for it.
#[inline]
pub fn put_line(out: &mut Vec<u8>, description: &[u8], value: &[u8], wrap: Option<usize>) {
    let start = out.len();
    out.extend_from_slice(description);
    put_value(out, value);
    end_line(out, start, wrap);
}

/// Appends a comment; each line of `text` becomes one, folded like any other line.
pub fn put_comment(out: &mut Vec<u8>, text: &str, wrap: Option<usize>) {
    for line in text.split(['\n', '\r']) {
        let start = out.len();
        out.extend_from_slice(b"# ");
        out.extend_from_slice(line.as_bytes());
        end_line(out, start, wrap);
    }
}

fn put_control(out: &mut Vec<u8>, control: &ControlBuf, wrap: Option<usize>) {
    let start = out.len();
    out.extend_from_slice(b"control: ");
    out.extend_from_slice(control.oid.as_bytes());
    out.extend_from_slice(if control.critical { b" true" } else { b" false" });
    if let Some(value) = &control.value {
        put_value(out, value);
    }
    end_line(out, start, wrap);
}

/// `: value` or `:: base64`
#[inline]
fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    if value.is_empty() {
        out.push(b':');
    } else if is_safe(value) {
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
    } else {
        out.extend_from_slice(b":: ");
        let start = out.len();
        out.resize(start + value.len().div_ceil(3) * 4, 0);
        let room = out.get_mut(start..).unwrap_or_default();
        // The room is exactly what padded base64 takes.
        let written = BASE64.encode_slice(value, room).unwrap_or(0);
        out.truncate(start + written);
    }
}

/// `SAFE-STRING` that does not end in a space.
#[inline]
fn is_safe(value: &[u8]) -> bool {
    let first_is_safe = !matches!(value.first(), Some(b' ' | b':' | b'<'));
    let last_is_safe = value.last() != Some(&b' ');
    // Without a branch in the loop it is done sixteen bytes at a time.
    let unsafe_bytes = value
        .iter()
        .fold(false, |found, &byte| found | (byte >= 0x80) | (byte == 0) | (byte == b'\n') | (byte == b'\r'));
    first_is_safe && last_is_safe && !unsafe_bytes
}

/// Ends the line that began at `start`, folding it.
#[inline]
fn end_line(out: &mut Vec<u8>, start: usize, wrap: Option<usize>) {
    if let Some(columns) = wrap {
        let columns = columns.max(WRAP_COLUMNS_MIN);
        if out.len() - start > columns {
            fold(out, start, columns);
        }
    }
    out.push(b'\n');
}

/// Inserts line breaks; works from the end so that every byte is moved once.
fn fold(out: &mut Vec<u8>, start: usize, columns: usize) {
    let length = out.len() - start;
    let room = columns - 1;
    let breaks = (length - columns).div_ceil(room);
    let mut source = out.len();
    out.resize(source + 2 * breaks, 0);
    let mut target = out.len();
    for i in (0..breaks).rev() {
        let from = start + columns + i * room;
        out.copy_within(from..source, target - (source - from));
        target -= source - from + 2;
        source = from;
        if let Some(line_break) = out.get_mut(target..target + 2) {
            line_break.copy_from_slice(b"\n ");
        }
    }
}
