//! The plugins in force, as data: what the tables of a backend mean under a schema.
//!
//! What they do with entries is for `references`, `unique` and `constraint`.

use std::path::Path;

use config::{Config, DynamicEntries, PluginKind, SetExpression};
use ldap::{LdapUrl, Scope as SearchScope};
use query::facts::Facts;
use query::filter::Matcher;
use regex::bytes::{Regex, RegexBuilder};
use schema::{NormalizedDn, TypeIndex};

use super::lookup::Lookup;
use super::scope::{Scope, matcher};

/// The plugins of a backend, ready to judge.
#[derive(Default)]
pub(in crate::apply) struct Plugins {
    pub(super) references: Option<References>,
    pub(super) unique: Vec<Unique>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) dynamic: Option<Dynamic>,
}

/// Which references follow entries.
pub(super) struct References {
    pub(super) name: String,
    pub(super) attributes: Vec<Lookup>,
    pub(super) scope: Scope,
    pub(super) interval_us: u64,
    /// Entries of other backends may refer to this one's.
    pub(super) has_others: bool,
    pub(super) check: Option<Check>,
}

/// `check-references`
pub(super) struct Check {
    /// Attribute type → what the entry referred to must match.
    pub(super) filters: Vec<(TypeIndex, Matcher)>,
    pub(super) within_context: bool,
}

/// Which values no two entries have.
pub(super) struct Unique {
    pub(super) name: String,
    /// A value of one must not be a value of another either.
    pub(super) attributes: Vec<Lookup>,
    pub(super) scope: Scope,
}

/// What values may be.
pub(super) struct Constraint {
    pub(super) name: String,
    pub(super) attributes: Vec<TypeIndex>,
    pub(super) count: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) pattern: Option<Regex>,
    pub(super) forbidden_pattern: Option<Regex>,
    pub(super) values: Vec<Vec<u8>>,
    pub(super) sources: Vec<ValueSource>,
    pub(super) sets: Vec<AskedSet>,
    pub(super) scope: Scope,
}

/// A set expression, and what it must give.
pub(super) struct AskedSet {
    pub(super) text: String,
    pub(super) expression: SetExpression,
    /// Nothing; else something.
    pub(super) is_forbidden: bool,
}

/// Entries that a URL finds: whose values are allowed, or taken.
pub(super) struct ValueSource {
    pub(super) text: String,
    pub(super) base: NormalizedDn,
    pub(super) scope: SearchScope,
    pub(super) filter: Option<Matcher>,
    pub(super) attributes: Vec<Lookup>,
}

/// Entries that live for a time.
pub(super) struct Dynamic {
    pub(super) name: String,
    pub(super) default_ttl_us: u64,
    /// Most dynamic entries of the backend, and how they are counted.
    pub(super) most: Option<(u64, Lookup)>,
    pub(super) scope: Scope,
}

impl Plugins {
    /// What a kept text means under a schema. It was judged before it was kept; what the schema no longer carries is
    /// left out.
    pub(in crate::apply) fn of(facts: &Facts, text: &[u8]) -> Self {
        let mut plugins = Self::default();
        let Some((has_others, text)) = text.split_first() else { return plugins };
        let text = String::from_utf8_lossy(text);
        let Ok(config) = Config::parse(&text, Path::new("plugins")) else { return plugins };
        for plugin in &config.plugins {
            let name = &plugin.name;
            let scope = |filter: Option<&str>| Scope::new(facts, &plugin.base_dns, filter);
            match &plugin.kind {
                PluginKind::ReferentialIntegrity(configured) => {
                    plugins.references = Some(References::new(facts, name, configured, scope(None), *has_others == 1));
                }
                PluginKind::UniqueAttribute { attributes, filter } => {
                    plugins.unique.push(Unique::new(facts, &plugin.name, attributes, scope(filter.as_deref())));
                }
                PluginKind::Constraint(configured) => {
                    let scope = scope(configured.filter.as_deref());
                    plugins.constraints.extend(Constraint::new(facts, &plugin.name, configured, scope));
                }
                PluginKind::DynamicEntries(configured) => {
                    plugins.dynamic = Some(Dynamic::new(facts, name, configured, scope(None)));
                }
                // These are about requests, before anything is proposed.
                PluginKind::SevenBitClean { .. } | PluginKind::AttributeCleanup { .. } => {}
            }
        }
        plugins
    }

    /// Whether there is anything to judge entries by.
    pub(in crate::apply) fn judges(&self) -> bool {
        self.references.is_some() || !self.unique.is_empty() || !self.constraints.is_empty()
    }
}

impl References {
    pub(super) fn new(
        facts: &Facts,
        name: &str,
        configured: &config::ReferentialIntegrity,
        scope: Scope,
        has_others: bool,
    ) -> Self {
        let schema = &facts.schema;
        let filter = |(attribute, filter): &(String, String)| {
            Some((schema.attribute_type(attribute.as_bytes())?.index, matcher(facts, filter)))
        };
        Self {
            name: name.to_owned(),
            attributes: configured.attributes.iter().filter_map(|name| Lookup::new(schema, name)).collect(),
            scope,
            interval_us: u64::try_from(configured.update_interval.as_micros()).unwrap_or(u64::MAX),
            has_others,
            check: configured.check_references.then(|| Check {
                filters: configured.check_filters.iter().filter_map(filter).collect(),
                within_context: configured.check_within_context,
            }),
        }
    }
}

impl Unique {
    pub(super) fn new(facts: &Facts, name: &str, attributes: &[String], scope: Scope) -> Self {
        let attributes = attributes.iter().filter_map(|name| Lookup::new(&facts.schema, name)).collect();
        Self { name: name.to_owned(), attributes, scope }
    }
}

impl Constraint {
    /// None when a pattern or URL cannot be read, which was found out when it was configured.
    pub(super) fn new(facts: &Facts, name: &str, configured: &config::Constraint, scope: Scope) -> Option<Self> {
        let pattern = |text: &String| RegexBuilder::new(text).size_limit(config::PATTERN_BYTES_MAX).build().ok();
        let of_type = |name: &String| facts.schema.attribute_type(name.as_bytes()).map(|attribute| attribute.index);
        Some(Self {
            name: name.to_owned(),
            attributes: configured.attributes.iter().filter_map(of_type).collect(),
            count: configured.count,
            size: configured.size,
            pattern: configured.pattern.as_ref().map(|text| pattern(text).ok_or(())).transpose().ok()?,
            forbidden_pattern: configured
                .forbidden_pattern
                .as_ref()
                .map(|text| pattern(text).ok_or(()))
                .transpose()
                .ok()?,
            values: configured.values.iter().map(|value| value.clone().into_bytes()).collect(),
            sources: configured.value_uris.iter().map(|text| ValueSource::new(facts, text)).collect::<Option<_>>()?,
            sets: [(&configured.set, false), (&configured.forbidden_set, true)]
                .into_iter()
                .filter_map(|(text, is_forbidden)| Some((text.clone()?, is_forbidden)))
                .map(|(text, is_forbidden)| Some(AskedSet { expression: text.parse().ok()?, text, is_forbidden }))
                .collect::<Option<_>>()?,
            scope,
        })
    }
}

impl ValueSource {
    fn new(facts: &Facts, text: &str) -> Option<Self> {
        Self::of_url(facts, text, &LdapUrl::parse(text).ok()?)
    }

    /// Of a URL that was read already.
    pub(super) fn of_url(facts: &Facts, text: &str, url: &LdapUrl) -> Option<Self> {
        Some(Self {
            text: text.to_owned(),
            base: NormalizedDn::parse(&facts.schema, url.dn.as_bytes()).ok()?,
            scope: url.effective_scope(),
            filter: url.filter.as_ref().map(|filter| matcher(facts, &filter.filter().to_string())),
            attributes: url.attributes.iter().filter_map(|name| Lookup::new(&facts.schema, name)).collect(),
        })
    }
}

impl Dynamic {
    pub(super) fn new(facts: &Facts, name: &str, configured: &DynamicEntries, scope: Scope) -> Self {
        let lookup = Lookup::new(&facts.schema, "objectClass");
        Self {
            name: name.to_owned(),
            default_ttl_us: configured.default_ttl_seconds * 1_000_000,
            most: configured.max_objects.zip(lookup),
            scope,
        }
    }
}
