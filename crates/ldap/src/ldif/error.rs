//! What can be wrong with LDIF, and at which line.

use std::fmt;

/// A mistake in an LDIF file.
#[derive(Debug)]
pub struct LdifError {
    /// Number of the line, from 1.
    pub line: u64,
    /// What is wrong there.
    pub fault: LdifFault,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LdifFault {
    /// The stream cannot be read further.
    #[error("cannot read: {0}")]
    Io(#[source] std::io::Error),
    /// Over [`super::LDIF_RECORD_BYTES_MAX`].
    #[error("the record is larger than {} bytes", super::LDIF_RECORD_BYTES_MAX)]
    RecordTooLarge,
    /// The first line is another than `dn:`.
    #[error("a record begins with a line \"dn: …\"")]
    DnMissing,
    /// A second `dn:` line.
    #[error("a dn line inside a record: is the blank line before it missing?")]
    DnInside,
    /// The name is no UTF-8.
    #[error("the {0} is not UTF-8")]
    NotUtf8(&'static str),
    /// A line that begins with a space where nothing can be continued.
    #[error("a continuation line without a line that it continues")]
    NothingToContinue,
    /// No `name:` at the start of the line.
    #[error("the line is not of the form \"attribute: value\"")]
    NotAnAttribute,
    /// After `::`.
    #[error("the value of {0} is not base64")]
    BadBase64(String),
    /// After `:<`, and the reader was not told to follow it.
    #[error("the value of {0} is a URL, which is not allowed here")]
    UrlRefused(String),
    /// After `:<`.
    #[error("cannot read the URL {url}: {reason}")]
    BadUrl {
        /// The URL.
        url: String,
        /// Why.
        reason: String,
    },
    /// Another version than 1.
    #[error("LDIF version {0} is unknown; only version 1 is")]
    BadVersion(String),
    /// A change record where entries are wanted.
    #[error("a change record (changetype: {0}) where an entry is expected")]
    ChangeInContent(String),
    /// An unknown `changetype`.
    #[error("the changetype {0} is none of add, delete, modify, modrdn, moddn")]
    BadChangeType(String),
    /// Control lines that no changetype follows.
    #[error("control lines are for change records: a changetype line must follow")]
    ControlWithoutChange,
    /// A `control:` line of another form.
    #[error("the control line is not of the form \"control: OID [true|false][: value]\"")]
    BadControl,
    /// Lines after a delete or rename that belong to nothing.
    #[error("nothing may follow here in a {0} record")]
    NothingMayFollow(&'static str),
    /// A line of a rename that is missing.
    #[error("a line \"{0}: …\" must come here")]
    LineMissing(&'static str),
    /// A `deleteoldrdn` other than 0 and 1.
    #[error("deleteoldrdn is 0 or 1")]
    BadDeleteOldRdn,
    /// A modification that begins otherwise.
    #[error("a modification begins with add:, delete:, replace: or increment:")]
    BadModification,
    /// A value of another attribute inside a modification.
    #[error("the modification is of {expected}, the value is of {found}; modifications are separated by a line \"-\"")]
    OtherAttribute {
        /// Attribute of the modification.
        expected: String,
        /// Attribute of the line.
        found: String,
    },
}

impl LdifError {
    pub(super) fn new(line: u64, fault: LdifFault) -> Self {
        Self { line, fault }
    }

    /// Whether the stream itself failed, so that going on makes no sense. Otherwise the next record can be read.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(self.fault, LdifFault::Io(_))
    }
}

impl fmt::Display for LdifError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.fault)
    }
}

impl std::error::Error for LdifError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.fault)
    }
}
