//! From the configuration to what it means: the schema, the base DNs and the indexes, as the server and jobs on files
//! both need them.
//!
//! Knows configuration and file names; opens no backend.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{BackendConfig, Behavior, Config};
use durable::ReadBound;
use schema::check::Leniency;
use schema::{NormalizedDn, Schema, SchemaBuilder, SchemaErrors, SchemaOptions};
use store::index::{ConfiguredIndexes, IndexConfig, IndexConfigs, IndexError, IndexKind, VlvConfig};

use crate::backend::Suffix;
use crate::filter::IndexFilters;
use crate::index_secret::load_or_make;
use crate::instance_secret::SecretError;

/// Largest schema file.
const SCHEMA_FILE: ReadBound = ReadBound::file(64 << 20);

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfiguredError {
    /// A schema file cannot be read.
    #[error("{}: {error}", path.display())]
    SchemaFile {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The schema has mistakes.
    #[error("the schema has mistakes:\n{0}")]
    Schema(SchemaErrors),
    /// A configured name is no DN.
    #[error("{what} \"{dn}\" is not a distinguished name")]
    BadDn {
        /// What the name is for.
        what: &'static str,
        /// As configured.
        dn: String,
    },
    /// Binds would write over what entries hold for their users.
    #[error(
        "the password policy \"{policy}\": last-login-time-attribute is \"{attribute}\"; it must be an operational \
         attribute of the schema, such as ds-pwp-last-login-time"
    )]
    LastLoginAttribute {
        /// The policy's name.
        policy: String,
        /// As configured.
        attribute: String,
    },
    /// Something goes by an attribute that no entry can have.
    #[error(
        "{of}: {property} is \"{attribute}\", which the schema does not have: name an attribute type of the schema, or \
         add this one to it"
    )]
    UnknownAttribute {
        /// What goes by it.
        of: String,
        /// Its property.
        property: &'static str,
        /// As configured.
        attribute: String,
    },
    /// The system's root would be nobody.
    #[error(
        "{of}: ldapi-map-root-to-dn is \"{dn}\", which is neither a root user (alternate-bind-dn of \
         [root-dn-user.NAME]) nor at or below the base DN of a backend: name one of them"
    )]
    LocalRoot {
        /// The handler.
        of: String,
        /// As configured.
        dn: String,
    },
    /// Two backends hold the same suffix.
    #[error("the base DN \"{dn}\" belongs to two backends: \"{first}\" and \"{second}\"")]
    DoubleSuffix {
        /// The suffix.
        dn: String,
        /// One backend.
        first: String,
        /// The other.
        second: String,
    },
    /// An index cannot be.
    #[error("backend \"{backend}\": {error}")]
    Index {
        /// Which backend.
        backend: String,
        /// Why.
        error: IndexError,
    },
    /// The secret of confidential indexes cannot be read or made.
    #[error("the secret of confidential indexes, {0}")]
    IndexSecret(#[from] SecretError),
}

/// The schema of an instance: what is shipped, then the `.ldif` files of its `schema/` folder by name.
///
/// # Errors
/// When a file cannot be read or the whole has mistakes.
pub fn load_schema(config: &Config) -> Result<Arc<Schema>, ConfiguredError> {
    let mut builder = SchemaBuilder::standard(schema_options(config));
    for path in schema_files(&config.instance.schema())? {
        let text =
            SCHEMA_FILE.text(&path).map_err(|error| ConfiguredError::SchemaFile { path: path.clone(), error })?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        builder.add_ldif(&name, &text);
    }
    builder.build().map_err(ConfiguredError::Schema)
}

/// The switches of the schema, by their configured values.
#[must_use]
pub fn schema_options(config: &Config) -> SchemaOptions {
    SchemaOptions {
        strict_format_country_string: config.schema.strict_country_string,
        strict_format_certificates: config.schema.strict_certificates,
        strict_format_jpeg_photos: config.schema.strict_jpeg_photos,
        strict_format_telephone_numbers: config.schema.strict_telephone_numbers,
        strict_format_booleans: config.schema.strict_booleans,
        allow_zero_length_values_directory_string: config.schema.allow_zero_length_directory_strings,
        allow_attribute_types_with_no_sup_or_syntax: config.schema.allow_types_without_syntax,
        allow_attribute_name_exceptions: config.global.allow_attribute_name_exceptions,
        strip_syntax_min_upper_bound_attribute_type_description: config.schema.strip_syntax_length,
    }
}

/// How strictly entries are checked.
#[must_use]
pub fn leniency(config: &Config) -> Leniency {
    let behavior = |configured: Behavior| match configured {
        Behavior::Reject => schema::check::Behavior::Reject,
        Behavior::Warn => schema::check::Behavior::Warn,
        Behavior::Accept => schema::check::Behavior::Accept,
    };
    Leniency {
        check_schema: config.global.check_schema,
        invalid_attribute_syntax_behavior: behavior(config.global.invalid_attribute_syntax_behavior),
        single_structural_objectclass_behavior: behavior(config.global.single_structural_objectclass_behavior),
    }
}

/// The names at the top of a backend.
///
/// # Errors
/// When one is no name under the schema.
pub fn suffixes(schema: &Schema, backend: &BackendConfig) -> Result<Vec<Suffix>, ConfiguredError> {
    let suffix = |dn: &String| match NormalizedDn::parse(schema, dn.as_bytes()) {
        Ok(normalized) => Ok(Suffix { dn: dn.clone(), normalized }),
        Err(_) => Err(ConfiguredError::BadDn { what: "the base DN", dn: dn.clone() }),
    };
    backend.base_dns.iter().map(suffix).collect()
}

/// The backends that are to be in service, each with its suffixes.
///
/// # Errors
/// As [`suffixes`], and when one belongs to two of them.
pub fn all_suffixes<'c>(
    config: &'c Config,
    schema: &Schema,
) -> Result<Vec<(&'c BackendConfig, Vec<Suffix>)>, ConfiguredError> {
    let mut all: Vec<(&BackendConfig, Vec<Suffix>)> = Vec::new();
    for backend in config.backends.iter().filter(|backend| backend.enabled) {
        let own = suffixes(schema, backend)?;
        for (other, known) in &all {
            if let Some(double) = own.iter().find(|it| known.iter().any(|its| its.normalized == it.normalized)) {
                let (first, second) = (other.id.clone(), backend.id.clone());
                return Err(ConfiguredError::DoubleSuffix { dn: double.dn.clone(), first, second });
            }
        }
        all.push((backend, own));
    }
    Ok(all)
}

/// The indexes of a backend in the store's words, with what it takes to make their keys. The secret of confidential
/// indexes is made when the first one needs it.
///
/// # Errors
/// When a secret is needed and cannot be read or made.
pub fn index_configs(backend: &BackendConfig) -> Result<IndexConfigs, ConfiguredError> {
    let kind = |configured: &config::IndexKind| match configured {
        config::IndexKind::Equality => IndexKind::Equality,
        config::IndexKind::Presence => IndexKind::Presence,
        config::IndexKind::Substring => IndexKind::Substring,
        config::IndexKind::Ordering => IndexKind::Ordering,
        config::IndexKind::Approximate => IndexKind::Approximate,
        config::IndexKind::Extensible => IndexKind::Extensible,
    };
    let index = |configured: &config::IndexConfig| IndexConfig {
        attribute: configured.attribute.clone(),
        kinds: configured.kinds.iter().map(kind).collect(),
        substring_length: configured.substring_length,
        entry_limit: u32::try_from(configured.entry_limit).unwrap_or(u32::MAX),
        extensible_rules: configured.extensible_rules.clone(),
        is_confidential: configured.is_confidential,
    };
    let vlv = |configured: &config::VlvIndexConfig| VlvConfig {
        name: configured.name.clone(),
        base_dn: configured.base_dn.clone(),
        scope: configured.scope,
        filter: configured.filter.clone(),
        sort_order: configured.sort_order.clone(),
    };
    let secret = backend.indexes.iter().any(|index| index.is_confidential);
    let secret = if secret { Some(load_or_make(&backend.index_secret)?) } else { None };
    Ok(IndexConfigs {
        attributes: backend.indexes.iter().map(index).collect(),
        vlv: backend.vlv_indexes.iter().map(vlv).collect(),
        filters: Some(Arc::new(IndexFilters)),
        secret,
    })
}

/// The indexes that a backend is configured with, worked out under a schema.
///
/// # Errors
/// When an index cannot be.
pub fn configured_indexes(schema: &Arc<Schema>, backend: &BackendConfig) -> Result<ConfiguredIndexes, ConfiguredError> {
    ConfiguredIndexes::new(schema, index_configs(backend)?)
        .map_err(|error| ConfiguredError::Index { backend: backend.id.clone(), error })
}

fn schema_files(folder: &Path) -> Result<Vec<PathBuf>, ConfiguredError> {
    let failed = |error| ConfiguredError::SchemaFile { path: folder.to_owned(), error };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "ldif") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
