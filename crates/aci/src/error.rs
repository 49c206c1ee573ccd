//! Why text is no access control instruction, and where.

use std::borrow::Cow;

use ldap::filter::FilterSyntaxError;
use ldap::{DnError, UrlError};

use crate::limits::{BYTES_MAX, DEPTH_MAX};

/// Columns of the text that are shown around a mistake.
const COLUMNS_AROUND: usize = 36;

/// Why text is no access control instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {character}: {fault}")]
pub struct AciError {
    /// Byte offset.
    pub position: usize,
    /// Which character of the text it is, for people: the first is 1.
    pub character: usize,
    /// What is wrong there.
    pub fault: AciFault,
}

/// What is wrong at a place of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AciFault {
    /// Over [`BYTES_MAX`].
    #[error("an instruction has at most {BYTES_MAX} bytes")]
    TooLong,
    /// Over [`DEPTH_MAX`].
    #[error("the bind rule has more than {DEPTH_MAX} levels of parentheses, \"not\", and \"and\" beside \"or\"")]
    TooDeep,
    /// Something else may stand there.
    #[error("found {found}, expected {expected}")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What may.
        expected: Cow<'static, str>,
    },
    /// A word that is none of those known.
    #[error("{found:?} is not {what}; {hint}")]
    Unknown {
        /// What kind of word it should be, with its article.
        what: &'static str,
        /// The word.
        found: String,
        /// What may have been meant.
        hint: String,
    },
    /// A target keyword that stands twice, or one attribute or operation within one.
    #[error("{0} is written twice")]
    Repeated(String),
    /// A value of the wrong form.
    #[error("{found:?} is not a valid value of {keyword}: {expected}")]
    Value {
        /// The keyword.
        keyword: &'static str,
        /// The value.
        found: String,
        /// What a value is.
        expected: &'static str,
    },
    /// Not a distinguished name.
    #[error("{found:?} is not a valid distinguished name: {reason}")]
    Name {
        /// The text.
        found: String,
        /// What is wrong at the place.
        reason: &'static str,
    },
    /// Not a filter.
    #[error("{found:?} is not a valid filter: {reason}")]
    Filter {
        /// The text.
        found: String,
        /// What is wrong at the place.
        reason: &'static str,
    },
    /// Not a URL.
    #[error("{found:?} is not a valid LDAP URL: {reason}")]
    Url {
        /// The text.
        found: String,
        /// What is wrong with it.
        reason: UrlError,
    },
}

impl AciError {
    pub(crate) fn new(position: usize, fault: AciFault) -> AciError {
        AciError { position, character: position + 1, fault }
    }

    /// The same, of that text: not every character is one byte.
    pub(crate) fn of(self, text: &str) -> AciError {
        let before = text.floor_char_boundary(self.position);
        AciError { character: text[..before].chars().count() + 1, ..self }
    }

    pub(crate) fn unexpected(position: usize, found: String, expected: impl Into<Cow<'static, str>>) -> AciError {
        AciError::new(position, AciFault::Unexpected { found, expected: expected.into() })
    }

    /// A word that is none of `known`.
    pub(crate) fn unknown(position: usize, what: &'static str, found: &str, known: &[&str]) -> AciError {
        let found = excerpt(found);
        let hint = nearest::hint(&found, known);
        AciError::new(position, AciFault::Unknown { what, found, hint })
    }

    pub(crate) fn value(position: usize, keyword: &'static str, found: &str, expected: &'static str) -> AciError {
        AciError::new(position, AciFault::Value { keyword, found: excerpt(found), expected })
    }

    /// Of a name that begins at `position`.
    pub(crate) fn name(position: usize, found: &str, error: DnError) -> AciError {
        let fault = AciFault::Name { found: excerpt(found), reason: error.reason };
        AciError::new(position + error.position, fault)
    }

    /// Of a filter that begins at `position`.
    pub(crate) fn filter(position: usize, found: &str, error: &FilterSyntaxError) -> AciError {
        let fault = AciFault::Filter { found: excerpt(found), reason: error.reason };
        AciError::new(position + error.position, fault)
    }

    pub(crate) fn url(position: usize, found: &str, reason: UrlError) -> AciError {
        AciError::new(position, AciFault::Url { found: excerpt(found), reason })
    }

    /// Two lines that show the place: the text around it, and below it a caret.
    #[must_use]
    pub fn marked(&self, text: &str) -> String {
        let at = text.floor_char_boundary(self.position);
        let (before, after) = text.split_at(at);
        let start = before.char_indices().rev().nth(COLUMNS_AROUND - 1).map_or(0, |(start, _)| start);
        let end = after.char_indices().nth(COLUMNS_AROUND).map_or(after.len(), |(end, _)| end);
        let line = |part: &str| part.replace(char::is_control, " ");
        let mark = |is_cut: bool| if is_cut { "…" } else { "" };
        let before = format!("{}{}", mark(start > 0), line(&before[start..]));
        let caret = " ".repeat(before.chars().count());
        format!("{before}{}{}\n{caret}^", line(&after[..end]), mark(end < after.len()))
    }
}

/// Most characters of the text that a message repeats.
const EXCERPT_CHARACTERS: usize = 60;

/// The beginning of `text`, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
