//! The text of an instruction, read from left to right: white space, words, operators, values in quotation marks.

use crate::bind_rule::Comparison;
use crate::error::{AciError, excerpt};
use crate::parse::item::Item;
use crate::parse::reading::Reading;
use crate::span::Span;
use crate::warning::{Remark, Warning};

/// A place in the text, and what was remarked on the way there.
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
    reading: Reading,
    warnings: Vec<Warning>,
}

/// What stands between a keyword and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Operator {
    pub(super) at: usize,
    pub(super) negated: bool,
    pub(super) comparison: Comparison,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, reading: Reading) -> Cursor<'t> {
        Cursor { text, at: 0, reading, warnings: Vec::new() }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn warn(&mut self, span: Span, remark: Remark) {
        self.warnings.push(Warning { span, remark });
    }

    pub(super) fn into_warnings(self) -> Vec<Warning> {
        self.warnings
    }

    /// The next byte that is not white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.text.as_bytes().get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.as_bytes().get(self.at).copied()
    }

    /// Takes `byte` if it comes next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), AciError> {
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Takes the word that comes next: letters, digits, `_`, `-`, `.`; empty if none does.
    pub(super) fn word(&mut self) -> Item<'t> {
        self.peek();
        let rest = &self.text[self.at..];
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let length = rest.bytes().take_while(|b| is_part(b)).count();
        let word = Item { text: &rest[..length], at: self.at };
        self.at += length;
        word
    }

    /// Takes the word that comes next if it is `word`.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let start = self.at;
        let is_next = self.word().text.eq_ignore_ascii_case(word);
        if !is_next {
            self.at = start;
        }
        is_next
    }

    pub(super) fn operator(&mut self) -> Result<Operator, AciError> {
        self.peek();
        let at = self.at;
        let rest = &self.text[at..];
        let forms = [
            ("!=", true, Comparison::Equal),
            ("=", false, Comparison::Equal),
            ("<=", false, Comparison::LessOrEqual),
            (">=", false, Comparison::GreaterOrEqual),
            ("<", false, Comparison::Less),
            (">", false, Comparison::Greater),
        ];
        let Some((form, negated, comparison)) = forms.into_iter().find(|(form, _, _)| rest.starts_with(form)) else {
            return Err(self.unexpected("= or !="));
        };
        self.at += form.len();
        Ok(Operator { at, negated, comparison })
    }

    /// `"…"`; the content has no quotation mark and is not empty.
    pub(super) fn quoted(&mut self) -> Result<Item<'t>, AciError> {
        let value = self.quoted_or_empty()?;
        if value.text.trim_ascii().is_empty() {
            return Err(AciError::unexpected(value.at, "an empty value".to_owned(), "a value"));
        }
        Ok(value)
    }

    /// `"…"`
    pub(super) fn quoted_or_empty(&mut self) -> Result<Item<'t>, AciError> {
        self.expect(b'"', "a value in quotation marks")?;
        let at = self.at;
        let Some(length) = self.text[at..].find('"') else {
            let found = "no closing quotation mark".to_owned();
            return Err(AciError::unexpected(at - 1, found, "one before the end of the text"));
        };
        self.at += length + 1;
        Ok(Item { text: &self.text[at..at + length], at })
    }

    /// A value in quotation marks, or without them up to `end` outside of parentheses, where such values are read.
    pub(super) fn quoted_or_bare(&mut self, end: u8) -> Result<Item<'t>, AciError> {
        if self.reading == Reading::Strict || self.peek() == Some(b'"') {
            return if end == b';' { self.quoted_or_empty() } else { self.quoted() };
        }
        let at = self.at;
        let mut depth = 0_usize;
        for (offset, byte) in self.text.bytes().enumerate().skip(at) {
            match byte {
                _ if byte == end && depth == 0 => break,
                b'"' => break,
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at = offset + 1;
        }
        let text = self.text[at..self.at].trim_ascii_end();
        if text.is_empty() {
            return Err(self.unexpected("a value in quotation marks"));
        }
        self.warn(Span::new(at, at + text.len()), Remark::NotQuoted);
        Ok(Item { text, at })
    }

    /// That what comes next may not stand here.
    pub(super) fn unexpected(&mut self, expected: impl Into<std::borrow::Cow<'static, str>>) -> AciError {
        self.peek();
        let at = self.at;
        let word = self.word();
        self.at = at;
        let found = match self.text[at..].chars().next() {
            None => "the end of the text".to_owned(),
            Some(_) if !word.text.is_empty() => format!("{:?}", excerpt(word.text)),
            Some('"') => "a quotation mark".to_owned(),
            Some(other) => format!("{:?}", other.to_string()),
        };
        AciError::unexpected(at, found, expected)
    }
}
