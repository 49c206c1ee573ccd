//! The plugins of the configuration on their way into the backends: judged against schema and indexes, then proposed,
//! so that they change in the order of each log.

use std::sync::Arc;

use config::{Config, PluginConfig, PluginKind, SetExpression, SetExpressionError};
use schema::Schema;
use schema::syntax::oid;
use store::index::IndexKind;

use super::context::UpdateContext;
use super::inbound::Inbound;
use super::kept_settings::kept;
use crate::open_error::OpenError;
use change::apply::{PLUGINS_KEY, ReferenceProbe, Standing, plugins_text, standing};
use change::proposal::Kind;
use query::backend::{Backend, numbered};
use query::dynamic_entry::EXPIRY;
use query::plan::remedy::{Remedy, Step, WantedIndex};
use query::virtual_attributes::VirtualAttribute;

/// The syntaxes of references.
const REFERENCE_SYNTAXES: [&str; 2] = [oid::DN, oid::NAME_AND_OPTIONAL_UID];

impl UpdateContext<'_> {
    /// Whether every backend can carry the plugins of a configuration, and the indexes that it gives them.
    pub(crate) fn check_plugins(&self, config: &Config) -> Result<(), OpenError> {
        let text = plugins_text(config);
        let schema = self.schema();
        for backend in self.backends.iter() {
            for plugin in &config.plugins {
                if let Some(configured) = config.backend(&backend.id) {
                    check_kept_indexes(&schema, configured, plugin)?;
                }
                // A plugin in force stays so while its index is built anew.
                if kept(backend, PLUGINS_KEY)? != text {
                    check(&schema, backend, plugin)?;
                }
            }
        }
        Ok(())
    }

    /// Brings what the backends keep of the plugins up to what a configuration says, and starts whoever does their
    /// work. Tells whether anything changed.
    pub(crate) fn set_plugins(&self, config: &Config) -> Result<bool, OpenError> {
        self.check_plugins(config)?;
        let text = plugins_text(config);
        let mut is_changed = false;
        for (at, backend) in numbered(self.backends) {
            if kept(backend, PLUGINS_KEY)? != text {
                self.propose_kept(at, Kind::ConfigurePlugins, text.clone())?;
                is_changed = true;
            }
        }
        self.updates.inbound.store(Arc::new(Inbound::new(config)));
        let intake = Arc::clone(&self.updates.intake);
        let probe = ReferenceProbe::new(&self.facts(), &text);
        let started = self.updates.references.start(Arc::clone(self.backends), intake, self.schema(), probe);
        started.map_err(|error| OpenError::Thread { error })?;
        self.set_dynamic_entries(config)?;
        Ok(is_changed)
    }
}

/// An index that a plugin looks into is not to be taken away from it.
fn check_kept_indexes(
    schema: &Schema,
    backend: &config::BackendConfig,
    plugin: &PluginConfig,
) -> Result<(), OpenError> {
    let (attributes, _) = looked_up(&plugin.kind);
    let is_indexed = |name: &&str| {
        let attribute = schema.attribute_type(name.as_bytes()).map(|it| it.index);
        backend.indexes.iter().any(|index| {
            index.kinds.contains(&config::IndexKind::Equality)
                && schema.attribute_type(index.attribute.as_bytes()).map(|it| it.index) == attribute
        })
    };
    match attributes.into_iter().find(|name| !is_indexed(name)) {
        None => Ok(()),
        Some(name) => {
            let step = match backend.indexes.iter().any(|index| index.attribute.eq_ignore_ascii_case(name)) {
                true => Step::Add(WantedIndex::Kind(IndexKind::Equality)),
                false => Step::Create(WantedIndex::Kind(IndexKind::Equality)),
            };
            let remedy = Remedy { backend: backend.id.as_str().into(), attribute: name.into(), step };
            let reason = format!(
                "{name} has no equality index in backend \"{}\" ({}), so that every update would read all entries: \
                 run {}",
                backend.id,
                backend.base_dns.join("; "),
                remedy.command()
            );
            Err(refused(plugin, reason))
        }
    }
}

/// The attributes that a plugin looks up by their equality indexes, and whether it needs keys in the order of the
/// values.
fn looked_up(kind: &PluginKind) -> (Vec<&str>, bool) {
    match kind {
        PluginKind::ReferentialIntegrity(configured) => {
            (configured.attributes.iter().map(String::as_str).collect(), true)
        }
        PluginKind::UniqueAttribute { attributes, .. } => (attributes.iter().map(String::as_str).collect(), false),
        PluginKind::DynamicEntries(configured) => {
            let counted = configured.max_objects.map(|_| "objectClass");
            ([EXPIRY].into_iter().chain(counted).collect(), true)
        }
        _ => (Vec::new(), false),
    }
}

/// Whether the schema and the configured indexes carry the plugins of a configuration.
pub(crate) fn check_declared_plugins(config: &Config, schema: &Schema) -> Result<(), OpenError> {
    for plugin in &config.plugins {
        check_names(schema, plugin).map_err(|reason| refused(plugin, reason))?;
        for backend in &config.backends {
            check_kept_indexes(schema, backend, plugin)?;
        }
    }
    Ok(())
}

/// Whether a backend can carry a plugin: its attributes are known, and those that are looked up are indexed.
fn check(schema: &Schema, backend: &Backend, plugin: &PluginConfig) -> Result<(), OpenError> {
    let checked = check_names(schema, plugin).and_then(|()| check_built(schema, backend, plugin));
    checked.map_err(|reason| refused(plugin, reason))
}

fn refused(plugin: &PluginConfig, reason: String) -> OpenError {
    OpenError::Plugin { name: plugin.name.clone(), line: plugin.line, column: plugin.column, reason }
}

/// Whether the schema knows the attributes of a plugin, and their values are what it needs.
fn check_names(schema: &Schema, plugin: &PluginConfig) -> Result<(), String> {
    let known = |names: &[String]| match names.iter().find(|name| schema.attribute_type(name.as_bytes()).is_none()) {
        Some(name) => Err(format!("the schema has no attribute type \"{name}\"")),
        None => Ok(()),
    };
    match &plugin.kind {
        PluginKind::ReferentialIntegrity(configured) => {
            known(&configured.attributes)?;
            for name in &configured.attributes {
                let syntax = schema.attribute_type(name.as_bytes()).map(|attribute| attribute.syntax.oid());
                if !syntax.is_some_and(|oid| REFERENCE_SYNTAXES.contains(&oid)) {
                    return Err(format!("the values of {name} are no names of entries"));
                }
            }
            let checked: Vec<String> = configured.check_filters.iter().map(|(name, _)| name.clone()).collect();
            known(&checked)
        }
        PluginKind::UniqueAttribute { attributes, .. } | PluginKind::SevenBitClean { attributes } => known(attributes),
        PluginKind::Constraint(configured) => {
            known(&configured.attributes)?;
            for text in [&configured.set, &configured.forbidden_set].into_iter().flatten() {
                check_set(schema, text)?;
            }
            let mut urls = configured.value_uris.iter().filter_map(|text| ldap::LdapUrl::parse(text).ok());
            urls.try_for_each(|url| known(&url.attributes))
        }
        PluginKind::AttributeCleanup { .. } | PluginKind::DynamicEntries(_) => Ok(()),
    }
}

/// Whether a set expression names attributes whose values stand in entries.
fn check_set(schema: &Schema, text: &str) -> Result<(), String> {
    let expression: SetExpression = text.parse().map_err(|error: SetExpressionError| error.to_string())?;
    for name in expression.attributes() {
        let Some(attribute) = schema.attribute_type(name.as_bytes()) else {
            return Err(format!("the schema has no attribute type \"{name}\", which the set {text} names"));
        };
        let mut computed = VirtualAttribute::ALL.iter().filter(|known| **known != VirtualAttribute::EntryDn);
        if computed.any(|known| attribute.has_name(known.name())) {
            return Err(format!("{name}, which the set {text} names, is computed: constraints know what is stored"));
        }
    }
    Ok(())
}

/// Whether the indexes that a plugin looks into can be used now.
fn check_built(schema: &Schema, backend: &Backend, plugin: &PluginConfig) -> Result<(), String> {
    let (attributes, is_ordered) = looked_up(&plugin.kind);
    attributes.into_iter().try_for_each(|name| check_index(schema, backend, name, is_ordered))
}

/// An attribute that is not indexed is named together with the suffixes where it is not.
fn check_index(schema: &Schema, backend: &Backend, name: &str, is_ordered: bool) -> Result<(), String> {
    let indexes = backend.store.indexes();
    match standing(schema, &indexes, name) {
        Standing::Ready => return Ok(()),
        Standing::Confidential if !is_ordered => return Ok(()),
        Standing::Unknown => return Err(format!("the values of {name} cannot be compared")),
        Standing::Confidential => {
            return Err(format!(
                "the index of {name} in backend \"{}\" is confidential, so that names below a name are not found: set \
                 its confidentiality-enabled to false",
                backend.id
            ));
        }
        // Said of the configuration already.
        Standing::Missing => return Ok(()),
        Standing::Untrusted => {}
    }
    let base_dn: Box<str> = backend.suffixes.first().map(|suffix| suffix.dn.as_str()).unwrap_or_default().into();
    let step = Step::Rebuild { base_dn };
    let remedy = Remedy { backend: backend.id.as_str().into(), attribute: name.into(), step };
    Err(format!(
        "the equality index of {name} in backend \"{}\" is not built yet: wait until it is, or run {}",
        backend.id,
        remedy.command()
    ))
}
