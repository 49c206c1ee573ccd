//! What LDIF records hold, and how content records are parsed.

use super::line::{LDIF_RECORD_BYTES_MAX, Lines};
use super::value::{Spec, append, lossy, split};
use super::{LdifError, LdifFault, UrlValues};
use crate::{ControlBuf, ModifyOperation};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A content record.
    Entry(LdifEntry),
    /// A change record.
    Change(LdifChange),
}

/// A content record. Meant to be parsed into again and again: nothing is allocated once its buffers have grown.
#[derive(Clone, Debug, Default)]
pub struct LdifEntry {
    /// The name; not checked.
    pub dn: String,
    /// Number of the line with the name.
    pub line: u64,
    /// Its attributes.
    pub attributes: AttributeLines,
}

/// `attribute: value` lines of one record, in one buffer.
#[derive(Clone, Default)]
pub struct AttributeLines {
    /// The text of the record; decoded and joined values behind it.
    text: Vec<u8>,
    spans: Vec<Span>,
    first_line: u64,
    folded: Vec<u8>,
}

/// One `attribute: value` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeLine<'a> {
    /// Attribute description as it is written; ASCII.
    pub description: &'a [u8],
    /// The value, decoded.
    pub value: &'a [u8],
    /// Number of the line.
    pub line: u64,
}

/// Where a line lies in the buffer; 32 bits suffice for the largest record.
#[derive(Clone, Copy, Debug)]
struct Span {
    description: u32,
    description_end: u32,
    value: u32,
    value_end: u32,
    line: u32,
}

/// A change record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdifChange {
    /// The name of the entry; not checked.
    pub dn: String,
    /// Number of the line with the name.
    pub line: u64,
    /// Controls to send with the change.
    pub controls: Vec<ControlBuf>,
    /// What to do.
    pub operation: LdifOperation,
}

/// What a change record does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LdifOperation {
    /// `changetype: add`
    Add(AttributeLines),
    /// `changetype: delete`
    Delete,
    /// `changetype: modify`
    Modify(Vec<LdifModification>),
    /// `changetype: modrdn` or `moddn`
    ModifyDn {
        /// The new relative name.
        new_rdn: String,
        /// Whether the values of the old one go.
        delete_old_rdn: bool,
        /// The new parent.
        new_superior: Option<String>,
    },
}

/// One modification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdifModification {
    /// What is done.
    pub operation: ModifyOperation,
    /// To which attribute.
    pub description: String,
    /// With which values.
    pub values: Vec<Vec<u8>>,
    /// Number of the line that it begins at; 0 when it was not read.
    pub line: u64,
}

/// What the front of a record says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Front {
    /// Only comments or a version line.
    Nothing,
    /// A name follows.
    Dn,
}

impl LdifEntry {
    /// Parses one content record from `raw`, whose first line has the number `first_line`; `changetype: add` is one,
    /// too. `false`: there are only comments or a version line. After an error the entry holds nothing useful.
    ///
    /// # Errors
    /// With the line that is wrong.
    pub fn parse(&mut self, raw: &[u8], first_line: u64, urls: UrlValues) -> Result<bool, LdifError> {
        self.attributes.begin(raw, first_line)?;
        let mut lines = Lines::new(raw, first_line);
        let mut folded = std::mem::take(&mut self.attributes.folded);
        let parsed = self.parse_lines(raw, &mut lines, &mut folded, urls);
        self.attributes.folded = folded;
        parsed
    }

    fn parse_lines(
        &mut self,
        raw: &[u8],
        lines: &mut Lines<'_>,
        folded: &mut Vec<u8>,
        urls: UrlValues,
    ) -> Result<bool, LdifError> {
        if read_front(lines, folded, urls, &mut self.dn, &mut self.line)? == Front::Nothing {
            return Ok(false);
        }
        let mut only_controls = true;
        while let Some(line) = lines.next(folded) {
            let (description, spec) = split(line.text).map_err(|fault| LdifError::new(line.number, fault))?;
            if only_controls && is_word(description, "changetype") {
                let kind = match spec {
                    Spec::Plain(kind) => lossy(kind.trim_ascii()),
                    _ => String::new(),
                };
                if !kind.eq_ignore_ascii_case("add") {
                    return Err(LdifError::new(line.number, LdifFault::ChangeInContent(kind)));
                }
                // Controls of the add say nothing about the entry.
                self.attributes.spans.clear();
                only_controls = false;
                continue;
            }
            only_controls &= is_word(description, "control");
            self.attributes.push(raw, line, description, spec, urls)?;
        }
        if only_controls && !self.attributes.is_empty() {
            return Err(LdifError::new(self.line, LdifFault::ControlWithoutChange));
        }
        Ok(true)
    }

    /// The attribute lines in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = AttributeLine<'_>> + Clone {
        self.attributes.iter()
    }

    /// Makes an entry from parts, for tools and tests.
    pub fn from_parts<'p>(dn: &str, attributes: impl IntoIterator<Item = (&'p str, &'p [u8])>) -> Self {
        Self { dn: dn.to_owned(), line: 0, attributes: AttributeLines::from_parts(attributes) }
    }
}

impl AttributeLines {
    /// Makes lines from parts. Those that would make the whole larger than [`LDIF_RECORD_BYTES_MAX`] are left out.
    pub fn from_parts<'p>(attributes: impl IntoIterator<Item = (&'p str, &'p [u8])>) -> Self {
        let mut lines = Self::default();
        for (description, value) in attributes {
            if lines.text.len() + description.len() + value.len() > LDIF_RECORD_BYTES_MAX {
                break;
            }
            let start = lines.text.len();
            lines.text.extend_from_slice(description.as_bytes());
            lines.text.extend_from_slice(value);
            let value_start = start + description.len();
            lines.push_span(start..value_start, value_start..lines.text.len(), 0);
        }
        lines
    }

    /// The lines in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = AttributeLine<'_>> + Clone {
        self.spans.iter().map(|span| self.line_of(span))
    }

    /// The line at that position.
    #[inline]
    #[must_use]
    pub fn get(&self, position: usize) -> Option<AttributeLine<'_>> {
        self.spans.get(position).map(|span| self.line_of(span))
    }

    #[inline]
    fn line_of(&self, span: &Span) -> AttributeLine<'_> {
        AttributeLine {
            description: self.part(span.description, span.description_end),
            value: self.part(span.value, span.value_end),
            line: self.first_line + u64::from(span.line),
        }
    }

    /// How many lines there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    #[inline]
    fn part(&self, start: u32, end: u32) -> &[u8] {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Takes over the text of a record.
    pub(super) fn begin(&mut self, raw: &[u8], first_line: u64) -> Result<(), LdifError> {
        self.text.clear();
        self.spans.clear();
        self.first_line = first_line;
        if raw.len() > LDIF_RECORD_BYTES_MAX {
            return Err(LdifError::new(first_line, LdifFault::RecordTooLarge));
        }
        self.text.extend_from_slice(raw);
        Ok(())
    }

    /// Appends a line: a plain one where it lies, any other behind the text.
    #[inline]
    pub(super) fn push(
        &mut self,
        raw: &[u8],
        line: super::line::Line<'_>,
        description: &[u8],
        spec: Spec<'_>,
        urls: UrlValues,
    ) -> Result<(), LdifError> {
        if description.len() == 2 && is_word(description, "dn") {
            return Err(LdifError::new(line.number, LdifFault::DnInside));
        }
        if let (Some(at), Spec::Plain(value)) = (line.at, spec) {
            debug_assert!(at + line.text.len() <= raw.len());
            let end = at + line.text.len();
            self.push_span(at..at + description.len(), end - value.len()..end, line.number);
            return Ok(());
        }
        let start = self.text.len();
        self.text.extend_from_slice(description);
        let value = self.text.len();
        append(spec, description, urls, &mut self.text).map_err(|fault| LdifError::new(line.number, fault))?;
        // Values by URL are the only ones that make a record larger than it was.
        if self.text.len() > 2 * LDIF_RECORD_BYTES_MAX {
            return Err(LdifError::new(line.number, LdifFault::RecordTooLarge));
        }
        self.push_span(start..value, value..self.text.len(), line.number);
        Ok(())
    }

    #[inline]
    fn push_span(&mut self, description: std::ops::Range<usize>, value: std::ops::Range<usize>, line: u64) {
        self.spans.push(Span {
            description: description.start as u32,
            description_end: description.end as u32,
            value: value.start as u32,
            value_end: value.end as u32,
            line: line.saturating_sub(self.first_line) as u32,
        });
    }
}

/// Two are equal when they hold the same lines, wherever they were read.
impl PartialEq for AttributeLines {
    fn eq(&self, other: &Self) -> bool {
        let parts = |line: AttributeLine<'_>| (line.description.to_vec(), line.value.to_vec());
        self.len() == other.len() && self.iter().map(parts).eq(other.iter().map(parts))
    }
}

impl Eq for AttributeLines {}

impl PartialEq for LdifEntry {
    fn eq(&self, other: &Self) -> bool {
        self.dn == other.dn && self.attributes == other.attributes
    }
}

impl Eq for LdifEntry {}

impl std::fmt::Debug for AttributeLines {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.iter().map(|line| (lossy(line.description), lossy(line.value)))).finish()
    }
}

impl ModifyOperation {
    /// The word that change records and logs use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Delete => "delete",
            Self::Replace => "replace",
            Self::Increment => "increment",
        }
    }
}

impl Record {
    /// The name of the entry.
    #[must_use]
    pub fn dn(&self) -> &str {
        match self {
            Record::Entry(entry) => &entry.dn,
            Record::Change(change) => &change.dn,
        }
    }

    /// Number of the line with the name.
    #[must_use]
    pub fn line(&self) -> u64 {
        match self {
            Record::Entry(entry) => entry.line,
            Record::Change(change) => change.line,
        }
    }
}

/// Reads up to and including the name.
pub(super) fn read_front(
    lines: &mut Lines<'_>,
    folded: &mut Vec<u8>,
    urls: UrlValues,
    dn: &mut String,
    dn_line: &mut u64,
) -> Result<Front, LdifError> {
    while let Some(line) = lines.next(folded) {
        let at = |fault| LdifError::new(line.number, fault);
        let (description, spec) = split(line.text).map_err(at)?;
        if is_word(description, "version") {
            match spec {
                Spec::Plain(version) if version.trim_ascii() == b"1" => continue,
                Spec::Plain(version) => return Err(at(LdifFault::BadVersion(lossy(version)))),
                _ => return Err(at(LdifFault::BadVersion(String::new()))),
            }
        }
        if !is_word(description, "dn") {
            return Err(at(LdifFault::DnMissing));
        }
        dn.clear();
        *dn_line = line.number;
        if let Spec::Plain(text) = spec {
            dn.push_str(std::str::from_utf8(text).map_err(|_| at(LdifFault::NotUtf8("name")))?);
        } else {
            dn.push_str(&text_value(spec, description, urls, "name").map_err(at)?);
        }
        return Ok(Front::Dn);
    }
    Ok(Front::Nothing)
}

/// A value that is text.
pub(super) fn text_value(
    spec: Spec<'_>,
    name: &[u8],
    urls: UrlValues,
    what: &'static str,
) -> Result<String, LdifFault> {
    let mut value = Vec::new();
    append(spec, name, urls, &mut value)?;
    String::from_utf8(value).map_err(|_| LdifFault::NotUtf8(what))
}

#[inline]
pub(super) fn is_word(description: &[u8], word: &str) -> bool {
    description.eq_ignore_ascii_case(word.as_bytes())
}
