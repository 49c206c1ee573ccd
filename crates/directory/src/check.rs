//! Whether a configuration can be served at all, without opening it for service: what a tool asks before it changes the
//! file.
//!
//! What depends on the data (an index that is not built yet) is said when the running server takes the configuration.

use std::sync::Arc;

use config::{BackendConfig, Config};
use schema::Schema;
use store::{BackendOptions, ReadOnlyBackend};

use crate::access_settings::access_settings;
use crate::identity_mappers::IdentityMappers;
use crate::open_error::OpenError;
use crate::password_keys::read_password_keys;
use crate::root_users::RootUsers;
use crate::sasl::SaslSettings;
use crate::update::check_declared_plugins;
use access::AccessControl;
use access::limits::LiveLimits;
use change::apply::UpdateRules;
use query::computed::check_tables;
use query::configured::{all_suffixes, configured_indexes, leniency, suffixes};
use query::configured_names::check_names;
use query::facts::Facts;
use query::policies::ConfiguredPolicies;

/// Looks at base DNs, indexes, plugins, virtual attributes, limits, root users, password policies, identity mappers and
/// SASL mechanisms under a schema.
///
/// # Errors
/// The first that is not valid, with what to do.
pub fn check_configuration(config: &Config, schema: &Arc<Schema>) -> Result<(), OpenError> {
    all_suffixes(config, schema)?;
    for backend in &config.backends {
        configured_indexes(schema, backend)?;
    }
    check_declared_plugins(config, schema)?;
    check_tables(&Facts::new(Arc::clone(schema)), &config.virtual_attributes)?;
    LiveLimits::new(config, schema)?;
    RootUsers::new(config, schema)?;
    ConfiguredPolicies::new(config, schema)?;
    check_names(config, schema)?;
    IdentityMappers::new(config, schema)?;
    SaslSettings::new(config, schema)?;
    read_password_keys(config)?;
    AccessControl::new(access_settings(config, schema)?)?;
    Ok(())
}

/// Opens a backend that has data, for reading only; also beside a server that serves it.
///
/// # Errors
/// When it cannot be opened.
pub fn open_read_only(
    config: &Config,
    backend: &BackendConfig,
    schema: &Arc<Schema>,
) -> Result<ReadOnlyBackend, OpenError> {
    let indexes = configured_indexes(schema, backend)?;
    let options = BackendOptions::of_schema(backend.directory.clone(), schema, indexes);
    let rules =
        UpdateRules::new(suffixes(schema, backend)?, leniency(config), Arc::new(Facts::new(Arc::clone(schema))));
    ReadOnlyBackend::open(options, Box::new(rules))
        .map_err(|error| OpenError::Store { backend: backend.id.clone(), error })
}
