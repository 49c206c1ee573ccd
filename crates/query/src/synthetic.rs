//! Entries that are in no backend: the root DSE, the schema, the monitor.
//!
//! Each is a record with tables of its own, so that filters, selection and encoding treat it like every other entry.

use schema::NormalizedDn;
use store::index::SchemaTypes;
use store::{DescId, EntryId, Interner, RecordBuilder, RecordView, StoreError, Tables};

use crate::entry::{DnParts, EachRow, EntrySource, EntryView};
use crate::facts::Facts;

/// An entry made by the server itself.
#[derive(Debug)]
pub struct SyntheticEntry {
    dn: String,
    normalized: NormalizedDn,
    children: u64,
    tables: Tables,
    record: Vec<u8>,
}

/// Collects the attributes of a [`SyntheticEntry`].
#[derive(Debug, Default)]
pub struct Attributes(Vec<(String, Vec<Vec<u8>>)>);

impl Attributes {
    /// No attributes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds values to an attribute.
    pub fn add<V: Into<Vec<u8>>>(&mut self, description: &str, values: impl IntoIterator<Item = V>) {
        let values = values.into_iter().map(Into::into);
        match self.0.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(description)) {
            Some((_, list)) => list.extend(values),
            None => self.0.push((description.to_owned(), values.collect())),
        }
    }
}

impl SyntheticEntry {
    /// The entry `dn` with `attributes`.
    ///
    /// # Errors
    /// When it is larger than a record may be.
    pub fn new(facts: &Facts, dn: &str, attributes: &Attributes) -> Result<SyntheticEntry, StoreError> {
        Self::below(facts, EntryId::ROOT, dn, dn, attributes)
    }

    /// The entry `dn` below `parent`, where `rdn` names it: one that is not there yet.
    ///
    /// # Errors
    /// When it is larger than a record may be.
    pub fn below(
        facts: &Facts,
        parent: EntryId,
        rdn: &str,
        dn: &str,
        attributes: &Attributes,
    ) -> Result<SyntheticEntry, StoreError> {
        let mut tables = Tables::new(SchemaTypes::shared(&facts.schema));
        let mut builder = RecordBuilder::new(parent, rdn.as_bytes());
        for (description, values) in &attributes.0 {
            let desc = Interner::description(&mut tables, description)?;
            builder.push(desc, values.iter().map(Vec::as_slice), &mut tables)?;
        }
        let normalized = NormalizedDn::parse(&facts.schema, dn.as_bytes()).unwrap_or_default();
        Ok(SyntheticEntry { dn: dn.to_owned(), normalized, children: 0, record: builder.finish()?, tables })
    }

    /// Sets the number of children that it says it has.
    pub fn set_children(&mut self, children: u64) {
        self.children = children;
    }

    /// Its name.
    #[must_use]
    pub fn dn(&self) -> &str {
        &self.dn
    }

    /// Its name's normal form.
    #[must_use]
    pub fn normalized(&self) -> &NormalizedDn {
        &self.normalized
    }

    /// The entry as operations see it.
    ///
    /// # Errors
    /// Never for a record made here.
    pub fn view(&self) -> Result<EntryView<'_>, StoreError> {
        let record = RecordView::parse(&self.record, &self.tables)?;
        Ok(EntryView { id: EntryId::ROOT, record, dn: DnParts::whole(self.dn.as_bytes()), source: self })
    }
}

impl EntrySource for SyntheticEntry {
    fn children_count(&self, _id: EntryId) -> Result<u64, StoreError> {
        Ok(self.children)
    }

    fn large_rows(&self, _id: EntryId, _desc: DescId, _behind: &[u8], _each: EachRow<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn large_contains(&self, _id: EntryId, _desc: DescId, _normal_form: &[u8]) -> Result<bool, StoreError> {
        Ok(false)
    }
}
