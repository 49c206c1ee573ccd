//! Search filters as flat programs (RFC 4511 §4.5.1.7).
//!
//! A filter is a list of nodes in prefix order; a node that holds others says where they end, so that evaluating and
//! planning walk a slice and never recurse over boxes. It knows nothing of attribute types or matching rules.

mod decode;
mod display;
mod parse;

pub use crate::limits::{FILTER_DEPTH_MAX, FILTER_NODES_MAX};
pub use display::write_escaped;
pub use parse::{FilterBuf, FilterSyntaxError, parse};

use smallvec::SmallVec;

/// One node; `end` is the index one past the node's last descendant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterNode<'a> {
    /// All of the children; none at all is absolutely true (RFC 4526).
    And {
        /// Index past the last descendant.
        end: usize,
    },
    /// Any of the children; none at all is absolutely false.
    Or {
        /// Index past the last descendant.
        end: usize,
    },
    /// Not the one child.
    Not {
        /// Index past the last descendant.
        end: usize,
    },
    /// `(attr=value)`
    Equality(Assertion<'a>),
    /// `(attr=initial*any*final)`
    Substring(Substrings<'a>),
    /// `(attr>=value)`
    GreaterOrEqual(Assertion<'a>),
    /// `(attr<=value)`
    LessOrEqual(Assertion<'a>),
    /// `(attr=*)`
    Present(&'a [u8]),
    /// `(attr~=value)`
    Approx(Assertion<'a>),
    /// `(attr:dn:rule:=value)`
    Extensible(ExtensibleMatch<'a>),
}

/// An attribute description and the value that is asserted of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assertion<'a> {
    /// Attribute description as it was sent.
    pub attribute: &'a [u8],
    /// Assertion value.
    pub value: &'a [u8],
}

/// The pieces of a substring assertion, still encoded; decoding has checked their order and that there is at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Substrings<'a> {
    /// Attribute description as it was sent.
    pub attribute: &'a [u8],
    /// Content of the SEQUENCE OF pieces.
    encoded: &'a [u8],
}

/// Where in a value a piece must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At its start.
    Initial,
    /// Anywhere after the pieces before it.
    Any,
    /// At its end.
    Final,
}

/// An extensible match; at least one of `rule` and `attribute` is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtensibleMatch<'a> {
    /// Matching rule, by name or OID.
    pub rule: Option<&'a [u8]>,
    /// Attribute description.
    pub attribute: Option<&'a [u8]>,
    /// Assertion value.
    pub value: &'a [u8],
    /// Whether the values of the entry's DN are looked at, too.
    pub dn_attributes: bool,
}

/// A decoded filter; borrows every name and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter<'a> {
    nodes: SmallVec<[FilterNode<'a>; 4]>,
}

impl<'a> Filter<'a> {
    /// The nodes in prefix order; never empty.
    #[inline]
    pub fn nodes(&self) -> &[FilterNode<'a>] {
        &self.nodes
    }
}

impl<'a> FilterNode<'a> {
    /// The attribute description it names; none for a node that holds others, and for an extensible match of any
    /// attribute.
    pub fn attribute(&self) -> Option<&'a [u8]> {
        match self {
            FilterNode::Equality(it)
            | FilterNode::GreaterOrEqual(it)
            | FilterNode::LessOrEqual(it)
            | FilterNode::Approx(it) => Some(it.attribute),
            FilterNode::Substring(it) => Some(it.attribute),
            FilterNode::Present(attribute) => Some(attribute),
            FilterNode::Extensible(it) => it.attribute,
            FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. } => None,
        }
    }

    /// Index past the last descendant of the node that stands at `index`.
    #[inline]
    pub fn end(&self, index: usize) -> usize {
        match *self {
            FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } => end,
            _ => index + 1,
        }
    }
}

impl<'a> Substrings<'a> {
    /// The pieces in order.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = (Position, &'a [u8])> + Clone + use<'a> {
        let mut reader = ber::Reader::new(self.encoded);
        std::iter::from_fn(move || {
            let (tag, piece) = reader.element().ok()?;
            let position = match tag {
                tags::INITIAL => Position::Initial,
                tags::ANY => Position::Any,
                _ => Position::Final,
            };
            Some((position, piece))
        })
    }
}

pub(crate) mod tags {
    //! Context tags of the Filter CHOICE and of what it holds.
    use ber::Tag;

    pub const AND: Tag = 0xa0;
    pub const OR: Tag = 0xa1;
    pub const NOT: Tag = 0xa2;
    pub const EQUALITY: Tag = 0xa3;
    pub const SUBSTRINGS: Tag = 0xa4;
    pub const GREATER_OR_EQUAL: Tag = 0xa5;
    pub const LESS_OR_EQUAL: Tag = 0xa6;
    pub const PRESENT: Tag = 0x87;
    pub const APPROX: Tag = 0xa8;
    pub const EXTENSIBLE: Tag = 0xa9;

    pub const INITIAL: Tag = 0x80;
    pub const ANY: Tag = 0x81;
    pub const FINAL: Tag = 0x82;

    pub const RULE: Tag = 0x81;
    pub const TYPE: Tag = 0x82;
    pub const VALUE: Tag = 0x83;
    pub const DN_ATTRIBUTES: Tag = 0x84;
}
