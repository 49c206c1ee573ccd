//! Filters as VLV indexes need them: compiled and evaluated by whoever knows filters.

use std::sync::Arc;

use schema::{Schema, TypeIndex};

use super::indexed_entry::IndexedEntry;

/// Makes filters of their text.
pub trait CompileFilter: Send + Sync {
    /// The filter that `text` says, under `schema`.
    ///
    /// # Errors
    /// In words that follow "its filter": when it is none, or asks what an entry's attributes do not tell.
    fn compile(&self, schema: &Arc<Schema>, text: &str) -> Result<Arc<dyn IndexFilter>, String>;
}

/// A filter as a VLV index needs it. Deterministic: nothing but the entry decides.
pub trait IndexFilter: Send + Sync {
    /// The filter, written in the one way in which all equal texts are written.
    fn text(&self) -> &str;

    /// The attribute types that it asks for; their subtypes are meant too.
    fn attributes(&self) -> &[TypeIndex];

    /// Whether the entry belongs to the list. Where values outside the record would decide, it does: the search looks
    /// again.
    fn matches(&self, entry: &dyn IndexedEntry) -> bool;
}
