//! The indexes of a backend under a schema, by id and by OpenDJ's index id (`cn.caseIgnoreSubstringsMatch:6`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schema::{AttributeType, MatchingRule, RuleRole, Schema, TypeIndex};

use super::config::{IndexConfig, IndexConfigs, VlvConfig};
use super::error::IndexError;
use super::kind::{IndexKind, SUBSTRING_LENGTH_MIN};
use super::secret::IndexSecret;
use super::state::IndexStates;
use super::vlv::VlvIndex;
use crate::IndexId;

/// One index: one set of keys.
#[derive(Debug, Clone)]
pub struct Index {
    /// Its number.
    pub id: IndexId,
    /// OpenDJ's index id, e.g. `sn.ds-mr-double-metaphone-approx`.
    pub name: String,
    /// The attribute type indexed, with its subtypes; the first to sort by of a VLV index.
    pub attribute: TypeIndex,
    /// How values become keys.
    pub method: Method,
    /// Most entries of a key that the planner uses; 0 is no limit.
    pub entry_limit: u32,
    /// Keys are hashed with it: there is no order among them, and only exact keys are found.
    pub secret: Option<IndexSecret>,
}

impl Index {
    /// The key under which the entries with this normal form (or window) are.
    #[inline]
    #[must_use]
    pub fn key<'k>(&self, form: &'k [u8]) -> Cow<'k, [u8]> {
        match &self.secret {
            None => Cow::Borrowed(form),
            Some(secret) => Cow::Owned(secret.hashed(&self.name, form).to_vec()),
        }
    }

    /// Whether keys stand in the order of the values, so that ranges and prefixes can be read.
    #[inline]
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.secret.is_none()
    }
}

/// How values become keys.
#[derive(Debug, Clone, Copy)]
pub enum Method {
    /// The normal form of the value: equality, ordering, approximate.
    Normal(&'static MatchingRule),
    /// One key for every entry that has the attribute.
    Presence,
    /// The windows of the normal form.
    Substrings {
        /// The substring rule.
        rule: &'static MatchingRule,
        /// Window length in bytes.
        length: usize,
    },
    /// The sort key of the whole entry, see [`IndexSet::vlv_indexes`].
    Vlv,
}

/// Gives the number of a name, if it has one.
type Numbers<'n> = &'n mut dyn FnMut(&str) -> Result<Option<IndexId>, IndexError>;

/// All configured indexes of a backend, in the order of their ids.
#[derive(Debug, Clone, Default)]
pub struct IndexSet {
    indexes: Vec<Index>,
    by_name: BTreeMap<String, IndexId>,
    /// By ascending number.
    vlv: Vec<VlvIndex>,
}

impl IndexSet {
    /// Works out the indexes of `configs`. Numbers of known names are taken from `states`, new ones are added to it:
    /// untrusted, which the caller turns into trusted when the backend is empty.
    ///
    /// # Errors
    /// When a configured index is not valid under the schema.
    pub fn new(schema: &Arc<Schema>, configs: &IndexConfigs, states: &mut IndexStates) -> Result<Self, IndexError> {
        let mut set = Self::default();
        let mut number = |name: &str| states.number(name).map(Some);
        for config in &configs.attributes {
            set.add_attribute(schema, configs, config, &mut number)?;
        }
        for config in &configs.vlv {
            set.add_vlv(schema, configs, config, &mut number)?;
        }
        set.indexes.sort_by_key(|index| index.id);
        set.vlv.sort_by_key(|index| index.id);
        Ok(set)
    }

    /// Those indexes of `configs` that have a number in `states` and are valid under the schema.
    #[must_use]
    pub fn bound(schema: &Arc<Schema>, configs: &IndexConfigs, states: &IndexStates) -> Self {
        let numbers: BTreeMap<&str, IndexId> = states.iter().map(|(name, state)| (name, state.id)).collect();
        let mut number = |name: &str| Ok(numbers.get(name).copied());
        let mut set = Self::default();
        // Indexes that are not valid are left out.
        for config in &configs.attributes {
            let _ = set.add_attribute(schema, configs, config, &mut number);
        }
        for config in &configs.vlv {
            let _ = set.add_vlv(schema, configs, config, &mut number);
        }
        set.indexes.sort_by_key(|index| index.id);
        set.vlv.sort_by_key(|index| index.id);
        set
    }

    fn add_attribute(
        &mut self,
        schema: &Schema,
        configs: &IndexConfigs,
        config: &IndexConfig,
        number: Numbers<'_>,
    ) -> Result<(), IndexError> {
        let attribute = schema.attribute_type(config.attribute.as_bytes());
        let attribute =
            attribute.ok_or_else(|| IndexError::UnknownAttribute { attribute: config.attribute.clone() })?;
        let mut kinds = config.kinds.clone();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            for (suffix, method) in methods_of(schema, attribute, kind, config)? {
                let secret = secret_of(configs, config, kind, method)?;
                let hash = if secret.is_some() { ":hash" } else { "" };
                let name = format!("{}.{suffix}{hash}", attribute.name());
                let stamp = stamp_of(method, secret.as_ref());
                let entry_limit = config.entry_limit;
                let (id, attribute) = (IndexId(0), attribute.index);
                self.add(Index { id, name, attribute, method, entry_limit, secret }, &stamp, number)?;
            }
        }
        Ok(())
    }

    fn add_vlv(
        &mut self,
        schema: &Arc<Schema>,
        configs: &IndexConfigs,
        config: &VlvConfig,
        number: Numbers<'_>,
    ) -> Result<(), IndexError> {
        let mut vlv = VlvIndex::new(schema, configs, config)?;
        let attribute = vlv.order.keys().first().map_or(TypeIndex(0), |key| key.attribute);
        let (id, name, method) = (IndexId(0), format!("vlv.{}", config.name), Method::Vlv);
        let index = Index { id, name, attribute, method, entry_limit: 0, secret: None };
        if let Some(id) = self.add(index, &vlv.stamp(), number)? {
            vlv.id = id;
            self.vlv.push(vlv);
        }
        Ok(())
    }

    /// Adds an index with the number that belongs to its name; none when there is no number, or the index is there
    /// already: the ordering index of most attributes is its equality index, same keys, and they are ordered. `stamp`
    /// is part of the name that has the number: an index with other keys is another index, and is built before it is
    /// used.
    fn add(&mut self, mut index: Index, stamp: &str, number: Numbers<'_>) -> Result<Option<IndexId>, IndexError> {
        if self.by_name.contains_key(&index.name) {
            return Ok(None);
        }
        let at = if stamp.is_empty() { "" } else { "@" };
        let Some(id) = number(&format!("{}{at}{stamp}", index.name))? else { return Ok(None) };
        index.id = id;
        self.by_name.insert(index.name.clone(), id);
        self.indexes.push(index);
        Ok(Some(id))
    }

    /// All indexes by ascending id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Index> {
        self.indexes.iter()
    }

    /// How many indexes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indexes.len()
    }

    /// Whether nothing is indexed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// The index of that number.
    #[must_use]
    pub fn get(&self, id: IndexId) -> Option<&Index> {
        self.position(id).and_then(|at| self.indexes.get(at))
    }

    /// The position in [`IndexSet::iter`] of the index of that number.
    #[must_use]
    pub fn position(&self, id: IndexId) -> Option<usize> {
        self.indexes.binary_search_by_key(&id, |index| index.id).ok()
    }

    /// The index at that position of [`IndexSet::iter`].
    #[inline]
    #[must_use]
    pub fn at(&self, position: usize) -> Option<&Index> {
        self.indexes.get(position)
    }

    /// The index of that OpenDJ index id; letter case does not matter.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(name))
    }

    /// The indexes that belong to an attribute as configured (`cn`), for tools that name attributes. VLV indexes belong
    /// to none.
    pub fn of_attribute(&self, attribute: TypeIndex) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(move |index| index.attribute == attribute && !matches!(index.method, Method::Vlv))
    }

    /// The index of the normal forms that `rule` makes of `attribute`: it answers equality and, when it
    /// [is ordered](Index::is_ordered), ranges.
    #[must_use]
    pub fn equality(&self, attribute: TypeIndex, rule: &MatchingRule) -> Option<&Index> {
        self.of_attribute(attribute)
            .find(|index| matches!(index.method, Method::Normal(own) if own.shares_form_with(rule)))
    }

    /// The index that answers presence assertions of `attribute`.
    #[must_use]
    pub fn presence(&self, attribute: TypeIndex) -> Option<&Index> {
        self.of_attribute(attribute).find(|index| matches!(index.method, Method::Presence))
    }

    /// The index that answers substring assertions of `attribute` under `rule`.
    #[must_use]
    pub fn substring(&self, attribute: TypeIndex, rule: &MatchingRule) -> Option<&Index> {
        self.of_attribute(attribute)
            .find(|index| matches!(index.method, Method::Substrings { rule: own, .. } if own.shares_form_with(rule)))
    }

    /// The lists of entries kept in order, by ascending id.
    #[must_use]
    pub fn vlv_indexes(&self) -> &[VlvIndex] {
        &self.vlv
    }

    /// The list of that number.
    #[must_use]
    pub fn vlv(&self, id: IndexId) -> Option<&VlvIndex> {
        self.vlv.binary_search_by_key(&id, |index| index.id).ok().and_then(|at| self.vlv.get(at))
    }
}

/// Names after the dot and methods of one kind of index. Several only for `extensible`.
fn methods_of(
    schema: &Schema,
    attribute: &AttributeType,
    kind: IndexKind,
    config: &IndexConfig,
) -> Result<Vec<(String, Method)>, IndexError> {
    let missing = || IndexError::NoRule { attribute: config.attribute.clone(), kind };
    let normal = |rule: &'static MatchingRule| (rule.name().to_owned(), Method::Normal(rule));
    let one = match kind {
        IndexKind::Presence => ("presence".to_owned(), Method::Presence),
        IndexKind::Equality => normal(attribute.equality.ok_or_else(missing)?),
        IndexKind::Ordering => {
            let ordering = attribute.ordering.ok_or_else(missing)?;
            normal(attribute.equality.filter(|rule| rule.shares_form_with(ordering)).unwrap_or(ordering))
        }
        IndexKind::Approximate => normal(attribute.approximate.ok_or_else(missing)?),
        IndexKind::Substring => substrings(attribute.substring.ok_or_else(missing)?, config)?,
        IndexKind::Extensible => {
            if config.extensible_rules.is_empty() {
                return Err(IndexError::NoExtensibleRule { attribute: config.attribute.clone() });
            }
            let rules = config.extensible_rules.iter();
            return rules.map(|name| extensible(schema, attribute, name, config)).collect();
        }
    };
    Ok(vec![one])
}

fn substrings(rule: &'static MatchingRule, config: &IndexConfig) -> Result<(String, Method), IndexError> {
    let length = config.substring_length;
    if length < SUBSTRING_LENGTH_MIN {
        return Err(IndexError::SubstringLength { attribute: config.attribute.clone(), length });
    }
    Ok((format!("{}:{length}", rule.name()), Method::Substrings { rule, length }))
}

/// The index for `(attribute:rule:=value)`. Rules with the same normal forms share one, which has the name of their
/// equality rule: that of the attribute type where it is one of them.
fn extensible(
    schema: &Schema,
    attribute: &AttributeType,
    name: &str,
    config: &IndexConfig,
) -> Result<(String, Method), IndexError> {
    let rule = schema.matching_rule(name.as_bytes());
    let rule = rule
        .filter(|rule| rule.has_keys() && schema.rule_applies(rule, attribute))
        .ok_or_else(|| IndexError::ExtensibleRule { attribute: config.attribute.clone(), rule: name.to_owned() })?;
    if rule.role == RuleRole::Substring {
        return substrings(rule, config);
    }
    if config.is_confidential && !rule.is_exact() {
        return Err(IndexError::NotConfidential { attribute: config.attribute.clone(), what: name.to_owned() });
    }
    let own = attribute.equality.filter(|own| own.shares_form_with(rule));
    let rule = own.unwrap_or_else(|| rule.keyed_by());
    Ok((rule.name().to_owned(), Method::Normal(rule)))
}

/// What hashes the keys of a confidential index. A presence index has no values.
fn secret_of(
    configs: &IndexConfigs,
    config: &IndexConfig,
    kind: IndexKind,
    method: Method,
) -> Result<Option<IndexSecret>, IndexError> {
    if !config.is_confidential || matches!(method, Method::Presence | Method::Vlv) {
        return Ok(None);
    }
    if kind == IndexKind::Ordering {
        let (attribute, what) = (config.attribute.clone(), kind.name().to_owned());
        return Err(IndexError::NotConfidential { attribute, what });
    }
    let secret = configs.secret.clone();
    secret.map(Some).ok_or_else(|| IndexError::NoSecret { attribute: config.attribute.clone() })
}

/// What keys depend on beside value, rule and [`key_derivation`](super::key_derivation).
fn stamp_of(method: Method, secret: Option<&IndexSecret>) -> String {
    let collation = match method {
        Method::Normal(rule) | Method::Substrings { rule, .. } if rule.is_collation() => schema::COLLATION_VERSION,
        _ => "",
    };
    format!("{collation}{}", secret.map(|secret| format!("key-{}", secret.fingerprint())).unwrap_or_default())
}
