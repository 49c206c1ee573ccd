//! Filters as VLV indexes need them: a crate that knows filters compiles and evaluates them.

use std::sync::Arc;

use schema::{Schema, TypeIndex};

use super::indexed_entry::IndexedEntry;

/// Compiles filters.
pub trait CompileFilter: Send + Sync {
    /// The filter that `text` means under `schema`.
    ///
    /// # Errors
    /// When the text is no filter, or asks for more than the attributes of an entry. The message follows the words "its
    /// filter".
    fn compile(&self, schema: &Arc<Schema>, text: &str) -> Result<Arc<dyn IndexFilter>, String>;
}

/// A filter as a VLV index needs it. Deterministic: it depends on the entry alone.
pub trait IndexFilter: Send + Sync {
    /// The filter in its canonical form: equal filters have equal texts.
    fn text(&self) -> &str;

    /// The attribute types that it asks for; their subtypes count too.
    fn attributes(&self) -> &[TypeIndex];

    /// Whether the entry belongs to the list. If that depends on values outside the record, it does: the search
    /// evaluates the whole filter again.
    fn matches(&self, entry: &dyn IndexedEntry) -> bool;
}
