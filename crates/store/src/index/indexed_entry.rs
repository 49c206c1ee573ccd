//! An entry as index keys are made from it.

use std::borrow::Cow;

use schema::TypeIndex;

/// What keys are made from: the attributes of an entry.
pub trait IndexedEntry {
    /// Calls `visit` for each attribute of a wanted type with its values in BER, see [`Values`](crate::record::Values).
    /// The same type may come several times (options).
    fn each_attribute<'s>(
        &'s self,
        wanted: &dyn Fn(TypeIndex) -> bool,
        visit: &mut dyn FnMut(TypeIndex, Cow<'s, [u8]>),
    );

    /// Calls `visit` with the type of each attribute whose values are outside the record.
    fn each_large(&self, visit: &mut dyn FnMut(TypeIndex));
}
