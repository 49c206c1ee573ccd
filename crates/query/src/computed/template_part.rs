//! A part of a template: text, or the values of an attribute.

use schema::TypeIndex;

/// One part of the values.
#[derive(Debug)]
pub(super) enum Part {
    Text(Vec<u8>),
    Attribute { index: TypeIndex, default: Option<Vec<u8>> },
}
