//! Where a part of an instruction stands in its text.

use std::ops::Range;

/// A range of bytes of the text that was parsed.
///
/// Two instructions are equal when they mean the same, wherever their parts stand: hence all spans are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Past the last byte.
    pub end: u32,
}

impl Span {
    /// From byte `start` to before byte `end`. Texts are far shorter than 4 GiB.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Span {
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { start: place(start), end: place(end) }
    }

    /// The bytes.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The part of `text`; empty when `text` is not what was parsed.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}
