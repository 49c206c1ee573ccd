//! LDIF (RFC 2849): content and change records, read and written.
//!
//! [`LdifEntry::parse`] reads one record from a slice, for importers that cut files themselves; [`Reader`] cuts a
//! stream into records. After an error the reader stands at the next record, and [`Reader::raw_record`] still has the
//! text of the bad one, so that importers can set it aside and go on. Names are not looked at here: a DN is text, an
//! attribute description a word.
//!
//! More is accepted than the RFC writes: UTF-8 in plain values, a version line in front of any record (files get
//! concatenated), a last modification without its `-`. `:<` values are refused unless the caller allows them.

mod change;
mod error;
mod line;
mod reader;
mod record;
mod value;
mod writer;

#[cfg(test)]
mod tests;

pub use error::{LdifError, LdifFault};
pub use line::{LDIF_RECORD_BYTES_MAX, LDIF_URL_VALUE_BYTES_MAX};
pub use reader::Reader;
pub use record::{AttributeLine, AttributeLines, LdifChange, LdifEntry, LdifModification, LdifOperation, Record};
pub use writer::{WRAP_COLUMNS, Writer, put_comment, put_line};

/// What a reader does with values that are named by a URL (`description:< file:///etc/motd`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UrlValues {
    /// They are errors: a file that somebody sent must not be able to read what its reader can.
    #[default]
    Refuse,
    /// `file:` URLs are read, up to [`LDIF_URL_VALUE_BYTES_MAX`].
    ReadFiles,
}
