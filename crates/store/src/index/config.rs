//! The indexes that an operator configures: the `backend-index` and `backend-vlv-index` objects of the configuration.
//!
//! Holds the configured words and numbers; what they mean under a schema is worked out by
//! [`IndexSet`](super::IndexSet).

use std::sync::Arc;

use ldap::Scope;

use super::filter::CompileFilter;
use super::kind::IndexKind;
use super::secret::IndexSecret;

/// The indexes of one attribute (`backend-index`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexConfig {
    /// Name or OID of the attribute type; its subtypes and options are indexed with it.
    pub attribute: String,
    /// Which kinds.
    pub kinds: Vec<IndexKind>,
    /// Length of the windows of a substring index, in bytes of the normalised value.
    pub substring_length: usize,
    /// Most entries of a key that the planner uses; 0 is no limit.
    pub entry_limit: u32,
    /// `index-extensible-matching-rule`: names or OIDs of matching rules, or of languages (`fr`, `en-US.sub`).
    pub extensible_rules: Vec<String>,
    /// `confidentiality-enabled`: keys on disk are hashed with [`IndexConfigs::secret`].
    pub is_confidential: bool,
}

/// A list of entries kept in order (`backend-vlv-index`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlvConfig {
    /// Its name; tools call the index `vlv.NAME`.
    pub name: String,
    /// Which searches it is for: their base,
    pub base_dn: String,
    /// their scope,
    pub scope: Scope,
    /// their filter,
    pub filter: String,
    /// and their order (`+sn -givenName`).
    pub sort_order: String,
}

/// All configured indexes of one backend, and what is needed to make their keys.
#[derive(Clone, Default)]
pub struct IndexConfigs {
    /// Indexes of attributes.
    pub attributes: Vec<IndexConfig>,
    /// Lists kept in order.
    pub vlv: Vec<VlvConfig>,
    /// Compiles the filters of VLV indexes; needed when there are any.
    pub filters: Option<Arc<dyn CompileFilter>>,
    /// Hashes the keys of confidential indexes; needed when there are any.
    pub secret: Option<IndexSecret>,
}

impl From<Vec<IndexConfig>> for IndexConfigs {
    fn from(attributes: Vec<IndexConfig>) -> Self {
        Self { attributes, ..Self::default() }
    }
}

impl std::fmt::Debug for IndexConfigs {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = out.debug_struct("IndexConfigs");
        shown.field("attributes", &self.attributes).field("vlv", &self.vlv).finish_non_exhaustive()
    }
}

/// OpenDJ's `substring-length`.
pub const DEFAULT_SUBSTRING_LENGTH: usize = 6;

/// OpenDJ's `index-entry-limit`.
pub const DEFAULT_ENTRY_LIMIT: u32 = 4000;

impl IndexConfig {
    /// The indexes `kinds` of `attribute` with the default window length and limit.
    #[must_use]
    pub fn new(attribute: &str, kinds: &[IndexKind]) -> Self {
        Self {
            attribute: attribute.to_owned(),
            kinds: kinds.to_vec(),
            substring_length: DEFAULT_SUBSTRING_LENGTH,
            entry_limit: DEFAULT_ENTRY_LIMIT,
            extensible_rules: Vec::new(),
            is_confidential: false,
        }
    }
}

/// The indexes that OpenDJ gives a new backend.
#[must_use]
pub fn default_indexes() -> Vec<IndexConfig> {
    use IndexKind::{Equality, Ordering, Presence, Substring};
    let both = [Equality, Substring];
    vec![
        IndexConfig::new("aci", &[Presence]),
        IndexConfig::new("cn", &both),
        IndexConfig::new("ds-sync-conflict", &[Equality]),
        IndexConfig::new("ds-sync-hist", &[Ordering]),
        IndexConfig::new("entryUUID", &[Equality]),
        IndexConfig::new("givenName", &both),
        IndexConfig::new("mail", &both),
        IndexConfig::new("member", &[Equality]),
        IndexConfig::new("objectClass", &[Equality]),
        IndexConfig::new("sn", &both),
        IndexConfig::new("telephoneNumber", &both),
        IndexConfig::new("uid", &[Equality]),
        IndexConfig::new("uniqueMember", &[Equality]),
    ]
}
