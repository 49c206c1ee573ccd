//! Connects the indexer to the store: keys of records, types of attribute descriptions, normal forms of names.
//!
//! Knows schema and records; does not decide when keys are written.

use std::borrow::Cow;
use std::sync::Arc;

use schema::{NormalizedDn, Schema, TypeIndex};

use super::config::IndexConfigs;
use super::configured::ConfiguredIndexes;
use super::indexed_entry::IndexedEntry;
use super::indexer::Indexer;
use super::set::{Index, IndexSet, Method};
use super::state::IndexStates;
use crate::extract::{IndexBinder, KeyExtractor};
use crate::record::{Content, Header, RecordView, put_value};
use crate::tables::{Tables, TypeResolver};
use crate::{DescId, IndexId};

/// A schema as the store needs it: says which attribute types a description belongs to, and makes indexers.
#[derive(Debug, Clone)]
pub struct SchemaTypes {
    schema: Arc<Schema>,
    /// What keys need beside the schema: filters and secret.
    makers: IndexConfigs,
}

impl SchemaTypes {
    /// For number tables, which share it.
    #[must_use]
    pub fn shared(schema: &Arc<Schema>) -> Arc<Self> {
        Self::with_makers(schema, &IndexConfigs::default())
    }

    /// For indexes too, with the filters and the secret of `configs`.
    #[must_use]
    pub fn with_makers(schema: &Arc<Schema>, configs: &IndexConfigs) -> Arc<Self> {
        let makers = IndexConfigs { attributes: Vec::new(), vlv: Vec::new(), ..configs.clone() };
        Arc::new(Self { schema: Arc::clone(schema), makers })
    }
}

impl IndexBinder for SchemaTypes {
    fn bind(&self, configured: &ConfiguredIndexes, states: &IndexStates) -> Arc<dyn KeyExtractor> {
        let IndexConfigs { attributes, vlv, .. } = configured.configs.clone();
        let configs = IndexConfigs { attributes, vlv, ..self.makers.clone() };
        let set = IndexSet::bound(&self.schema, &configs, states);
        Arc::new(Indexer::new(Arc::clone(&self.schema), Arc::new(set)))
    }
}

impl TypeResolver for SchemaTypes {
    fn types_of(&self, description: &str, out: &mut Vec<u32>) {
        let mut next = self.schema.type_of_description(description.as_bytes());
        while let Some(attribute) = next {
            out.push(attribute.index.0);
            next = attribute.superior.and_then(|superior| self.schema.attribute_by_index(superior));
        }
    }
}

impl IndexedEntry for RecordView<'_> {
    fn each_attribute<'s>(
        &'s self,
        wanted: &dyn Fn(TypeIndex) -> bool,
        visit: &mut dyn FnMut(TypeIndex, Cow<'s, [u8]>),
    ) {
        let of_type = |desc| self.tables().type_of(desc).map(TypeIndex).filter(|of_type| wanted(*of_type));
        if let Some(of_type) = of_type(DescId::OBJECT_CLASS)
            && self.stored(DescId::OBJECT_CLASS).is_none()
        {
            visit(of_type, Cow::Borrowed(self.object_classes().body()));
        }
        for desc in Header::DESCRIPTIONS {
            let mut text = Vec::new();
            if let Some(of_type) = of_type(desc)
                && self.header().put_value(desc, self.tables(), &mut text)
            {
                visit(of_type, Cow::Owned(text));
            }
        }
        for attribute in self.attributes() {
            if let Content::Inline(values) = attribute.content
                && let Some(of_type) = of_type(attribute.desc)
            {
                visit(of_type, Cow::Borrowed(values.body()));
            }
        }
    }

    fn each_large(&self, visit: &mut dyn FnMut(TypeIndex)) {
        for attribute in self.attributes() {
            if let Content::Large(_) = attribute.content
                && let Some(of_type) = self.tables().type_of(attribute.desc)
            {
                visit(TypeIndex(of_type));
            }
        }
    }
}

impl KeyExtractor for Indexer {
    fn indexes(&self) -> Arc<IndexSet> {
        Arc::clone(Indexer::indexes(self))
    }

    fn changes(
        &self,
        old: Option<&RecordView<'_>>,
        new: Option<&RecordView<'_>>,
        change: &mut dyn FnMut(bool, IndexId, &[u8]),
    ) {
        let changes = Indexer::changes(self, old, new);
        for (index, key) in &changes.removed {
            change(false, *index, key);
        }
        for (index, key) in &changes.added {
            change(true, *index, key);
        }
    }

    fn value_keys(&self, tables: &Tables, desc: DescId, value: &[u8], key: &mut dyn FnMut(IndexId, &[u8], bool)) {
        let Some(of_type) = tables.type_of(desc).map(TypeIndex) else { return };
        let mut body = Vec::with_capacity(value.len() + 6);
        put_value(&mut body, value);
        let mut sink = |index: IndexId, found: &[u8]| {
            // Values of an attribute differ in their normal forms, so no two make the same equality key.
            let equality = self.schema().attribute_by_index(of_type).and_then(|attribute| attribute.equality);
            let method = Indexer::indexes(self).get(index).map(|index| index.method);
            let unique =
                matches!((method, equality), (Some(Method::Normal(own)), Some(rule)) if own.shares_form_with(rule));
            key(index, found, unique);
        };
        self.attribute_keys(of_type, &body, &mut Vec::new(), &mut sink);
    }

    fn feeds(&self, tables: &Tables, desc: DescId, index: IndexId) -> bool {
        let Some(own) = tables.type_of(desc).and_then(|t| self.schema().attribute_by_index(TypeIndex(t))) else {
            return false;
        };
        // Values outside the record are no part of a sort key.
        let feeds = |index: &Index| !matches!(index.method, Method::Vlv) && own.is_subtype_of(index.attribute);
        Indexer::indexes(self).get(index).is_some_and(feeds)
    }

    fn normalize_rdn(&self, rdn: &[u8], is_whole_dn: bool, out: &mut Vec<u8>) -> bool {
        let Ok(dn) = NormalizedDn::parse(self.schema(), rdn) else { return false };
        if is_whole_dn {
            out.extend_from_slice(dn.as_bytes());
            return true;
        }
        let only = dn.rdn().filter(|_| dn.len() == 1);
        only.map(|rdn| out.extend_from_slice(rdn.as_bytes())).is_some()
    }
}
