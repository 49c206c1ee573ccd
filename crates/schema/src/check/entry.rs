//! What the checks need to know of an entry, in whatever form it is kept.

use crate::attribute::TypeIndex;

/// An attribute of an entry, by number if the schema knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeKey<'a> {
    /// A known type; options do not matter here.
    Known(TypeIndex),
    /// A name that the schema does not know.
    Unknown(&'a str),
}

/// The attributes of an entry, in whatever form they are kept: one item for each description, `objectClass` included.
pub trait EntryAttributes {
    /// Iterates over the values of one attribute.
    type Values<'v>: Iterator<Item = &'v [u8]>
    where
        Self: 'v;

    /// Iterates over the attributes.
    fn attributes(&self) -> impl Iterator<Item = (AttributeKey<'_>, Self::Values<'_>)>;
}

/// How the parent is governed by structure rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentRule {
    /// The entry is the base of a naming context: an administrative point.
    None,
    /// No rule governs the parent.
    Ungoverned,
    /// This rule governs the parent.
    Governed(u32),
}
