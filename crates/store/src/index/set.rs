//! The indexes of a backend under a schema, by id and by OpenDJ's index id (`cn.caseIgnoreSubstringsMatch:6`).

use std::collections::BTreeMap;

use schema::{AttributeType, MatchingRule, Schema, TypeIndex};

use super::config::{IndexConfig, IndexKind, SUBSTRING_LENGTH_MIN};
use super::state::IndexStates;
use crate::IndexId;

/// One index: one set of keys.
#[derive(Debug, Clone)]
pub struct Index {
    /// Its number.
    pub id: IndexId,
    /// OpenDJ's index id, e.g. `sn.ds-mr-double-metaphone-approx`.
    pub name: String,
    /// The attribute type indexed, with its subtypes.
    pub attribute: TypeIndex,
    /// How values become keys.
    pub method: Method,
    /// Most entries of a key that the planner uses; 0 is no limit.
    pub entry_limit: u32,
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
}

/// Why a configured index cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The schema has no such attribute.
    #[error("the index of \"{attribute}\" cannot be: the schema has no such attribute type")]
    UnknownAttribute {
        /// As configured.
        attribute: String,
    },
    /// The attribute type has no rule for that kind.
    #[error("the {kind} index of \"{attribute}\" cannot be: its attribute type has no {kind} matching rule", kind = kind.name())]
    NoRule {
        /// As configured.
        attribute: String,
        /// The kind asked for.
        kind: IndexKind,
    },
    /// Windows too short.
    #[error(
        "the substring index of \"{attribute}\" needs a substring-length of at least {SUBSTRING_LENGTH_MIN}, not {length}"
    )]
    SubstringLength {
        /// As configured.
        attribute: String,
        /// As configured.
        length: usize,
    },
    /// All 65,520 numbers are taken by indexes that exist or existed.
    #[error("no index number is left for \"{name}\"")]
    TooMany {
        /// The index without a number.
        name: String,
    },
}

/// All configured indexes of a backend, in the order of their ids.
#[derive(Debug, Clone, Default)]
pub struct IndexSet {
    indexes: Vec<Index>,
    by_name: BTreeMap<String, IndexId>,
}

impl IndexSet {
    /// Works out the indexes of `configs`. Numbers of known names are taken from `states`, new ones are added to it:
    /// untrusted, which the caller turns into trusted when the backend is empty.
    ///
    /// # Errors
    /// When the schema does not carry an index asked for.
    pub fn new(schema: &Schema, configs: &[IndexConfig], states: &mut IndexStates) -> Result<Self, IndexError> {
        let mut set = Self::default();
        for config in configs {
            let attribute = schema.attribute_type(config.attribute.as_bytes());
            let attribute =
                attribute.ok_or_else(|| IndexError::UnknownAttribute { attribute: config.attribute.clone() })?;
            let mut kinds = config.kinds.clone();
            kinds.sort_unstable();
            kinds.dedup();
            for kind in kinds {
                let (suffix, method) = method_of(attribute, kind, config)?;
                let name = format!("{}.{suffix}", attribute.name());
                // The ordering index of most attributes is its equality index: same keys, and they are ordered.
                if set.by_name.contains_key(&name) {
                    continue;
                }
                let id = states.number(&name)?;
                set.by_name.insert(name.clone(), id);
                set.indexes.push(Index {
                    id,
                    name,
                    attribute: attribute.index,
                    method,
                    entry_limit: config.entry_limit,
                });
            }
        }
        set.indexes.sort_by_key(|index| index.id);
        Ok(set)
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
        self.indexes.binary_search_by_key(&id, |index| index.id).ok().and_then(|at| self.indexes.get(at))
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

    /// The indexes that belong to an attribute as configured (`cn`), for tools that name attributes.
    pub fn of_attribute(&self, attribute: TypeIndex) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(move |index| index.attribute == attribute)
    }

    /// The index that answers equality assertions of `attribute`.
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

    /// The index that answers substring assertions of `attribute`.
    #[must_use]
    pub fn substring(&self, attribute: TypeIndex) -> Option<&Index> {
        self.of_attribute(attribute).find(|index| matches!(index.method, Method::Substrings { .. }))
    }
}

/// The name after the dot and the method of one kind of index.
fn method_of(attribute: &AttributeType, kind: IndexKind, config: &IndexConfig) -> Result<(String, Method), IndexError> {
    let missing = || IndexError::NoRule { attribute: config.attribute.clone(), kind };
    Ok(match kind {
        IndexKind::Presence => ("presence".to_owned(), Method::Presence),
        IndexKind::Equality => {
            let rule = attribute.equality.ok_or_else(missing)?;
            (rule.name().to_owned(), Method::Normal(rule))
        }
        IndexKind::Ordering => {
            let ordering = attribute.ordering.ok_or_else(missing)?;
            let rule = attribute.equality.filter(|rule| rule.shares_form_with(ordering)).unwrap_or(ordering);
            (rule.name().to_owned(), Method::Normal(rule))
        }
        IndexKind::Approximate => {
            let rule = attribute.approximate.ok_or_else(missing)?;
            (rule.name().to_owned(), Method::Normal(rule))
        }
        IndexKind::Substring => {
            let rule = attribute.substring.ok_or_else(missing)?;
            let length = config.substring_length;
            if length < SUBSTRING_LENGTH_MIN {
                return Err(IndexError::SubstringLength { attribute: config.attribute.clone(), length });
            }
            (format!("{}:{length}", rule.name()), Method::Substrings { rule, length })
        }
    })
}
