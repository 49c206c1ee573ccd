//! VLV indexes: all entries that match a filter, in one order, so that a page in the middle of a million entries is a
//! short read.
//!
//! A VLV index is a posting index like every other: the key is the entry's sort key, entries of equal rank share its
//! list in the order of their ids. It holds the matching entries of the *whole backend*: base and scope say which
//! searches it is for, and are applied when searching. So moving a subtree changes no VLV index.
//!
//! Filters are evaluated by another crate ([`CompileFilter`](super::filter::CompileFilter)); the same object serves
//! updates, import, verify and rebuild.
//!
//! Keys longer than 239 bytes end in a hash: entries whose keys agree so far have no defined order.

use std::fmt;
use std::sync::Arc;

use ldap::Scope;
use schema::{NormalizedDn, Schema, TypeIndex};
use xxhash_rust::xxh3::xxh3_64;

use super::config::{IndexConfigs, VlvConfig};
use super::error::IndexError;
use super::filter::IndexFilter;
use super::indexed_entry::IndexedEntry;
use super::sort_key::SortOrder;
use crate::IndexId;

/// One VLV index.
#[derive(Clone)]
pub struct VlvIndex {
    /// Its number, under which [`IndexSet`](super::IndexSet) has the rest of it.
    pub id: IndexId,
    /// As configured, without `vlv.`.
    pub name: String,
    /// `base-dn` as configured.
    pub base_dn: String,
    /// Its normal form.
    pub base: NormalizedDn,
    /// `scope`
    pub scope: Scope,
    /// `filter`
    pub filter: Arc<dyn IndexFilter>,
    /// `sort-order`
    pub order: SortOrder,
}

impl fmt::Debug for VlvIndex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("VlvIndex");
        shown.field("id", &self.id).field("name", &self.name).field("base_dn", &self.base_dn);
        shown.field("scope", &self.scope).field("filter", &self.filter.text()).field("order", &self.order).finish()
    }
}

impl VlvIndex {
    /// Works out what `config` means. The index has no number yet.
    pub(super) fn new(schema: &Arc<Schema>, configs: &IndexConfigs, config: &VlvConfig) -> Result<Self, IndexError> {
        let failed = |reason: String| IndexError::Vlv { name: config.name.clone(), reason };
        if config.name.is_empty() || config.name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(failed("its name must have letters and no blanks".to_owned()));
        }
        let base = NormalizedDn::parse(schema, config.base_dn.as_bytes())
            .map_err(|_| failed(format!("its base-dn \"{}\" is not a distinguished name", config.base_dn)))?;
        let order = SortOrder::parse(schema, &config.sort_order).map_err(|error| failed(error.to_string()))?;
        let filters = configs.filters.as_ref().ok_or_else(|| failed("nothing here evaluates its filter".to_owned()))?;
        let filter = filters
            .compile(schema, &config.filter)
            .map_err(|reason| failed(format!("its filter \"{}\" {reason}", config.filter)))?;
        let (id, name, base_dn, scope) = (IndexId(0), config.name.clone(), config.base_dn.clone(), config.scope);
        Ok(Self { id, name, base_dn, base, scope, filter, order })
    }

    /// A short text of everything but the entry that keys depend on: an index with another filter or order is another
    /// index.
    pub(super) fn stamp(&self) -> String {
        let collation =
            if self.order.keys().iter().any(|key| key.rule.is_collation()) { schema::COLLATION_VERSION } else { "" };
        format!("{:016x}", xxh3_64(format!("{}\0{}\0{collation}", self.order, self.filter.text()).as_bytes()))
    }

    /// Whether the key, or whether there is one, depends on values of that attribute type.
    pub(super) fn is_about(&self, schema: &Schema, attribute: TypeIndex) -> bool {
        let own = schema.attribute_by_index(attribute);
        let is_asked = |asked: &TypeIndex| own.is_some_and(|own| own.is_subtype_of(*asked));
        self.filter.attributes().iter().any(is_asked) || self.order.is_about(schema, attribute)
    }

    /// Makes the entry's key in `room`; `false` when the entry is not in the list.
    pub(super) fn key_of(&self, schema: &Schema, entry: &dyn IndexedEntry, room: &mut Vec<u8>) -> bool {
        let is_in = self.filter.matches(entry);
        if is_in {
            room.clear();
            self.order.put_key(schema, entry, room);
        }
        is_in
    }
}
