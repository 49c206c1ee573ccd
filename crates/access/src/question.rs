//! One question about one right.
//!
//! Knows no instruction and no entry.

use aci::Right;
use schema::TypeIndex;

/// A value that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenValue<'v> {
    /// It comes.
    Added(&'v [u8]),
    /// It goes.
    Deleted(&'v [u8]),
    /// Every value there is may come and go, so that none has to be asked about.
    Every,
}

/// One question: a right, to an entry as such, to an attribute of it, or to write one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'v> {
    /// Which right.
    pub right: Right,
    /// To which attribute; none: to the entry as such.
    pub attribute: Option<TypeIndex>,
    /// Of writing: the value.
    pub value: Option<WrittenValue<'v>>,
}

impl Question<'static> {
    /// About the entry as such.
    #[must_use]
    pub fn entry(right: Right) -> Question<'static> {
        Question { right, attribute: None, value: None }
    }

    /// About an attribute: of writing, whether some value of it may be written.
    #[must_use]
    pub fn attribute(right: Right, attribute: TypeIndex) -> Question<'static> {
        Question { right, attribute: Some(attribute), value: None }
    }
}

impl<'v> Question<'v> {
    /// About writing one value of an attribute: asked as `write`; that the own name may also be written with
    /// `selfwrite` is part of the answer.
    #[must_use]
    pub fn value(attribute: TypeIndex, value: WrittenValue<'v>) -> Question<'v> {
        Question { right: Right::Write, attribute: Some(attribute), value: Some(value) }
    }
}
