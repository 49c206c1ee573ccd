//! Whether a configuration can be served at all, said without opening a backend: what a tool asks before it changes the file.
//!
//! What depends on the data (an index that is not built yet) is said when the running server takes the configuration.

use std::sync::Arc;

use config::Config;
use schema::Schema;

use crate::open::OpenError;
use crate::root_users::RootUsers;
use crate::update::check_declared_plugins;
use access::limits::LiveLimits;
use query::computed::check_tables;
use query::configured::{all_suffixes, configured_indexes};
use query::facts::Facts;

/// Looks at base DNs, indexes, plugins, virtual attributes, limits and root users under a schema.
///
/// # Errors
/// The first that cannot be, with what to do.
pub fn check_configuration(config: &Config, schema: &Arc<Schema>) -> Result<(), OpenError> {
    all_suffixes(config, schema)?;
    for backend in &config.backends {
        configured_indexes(schema, backend)?;
    }
    check_declared_plugins(config, schema)?;
    check_tables(&Facts::new(Arc::clone(schema)), &config.virtual_attributes)?;
    LiveLimits::new(config, schema)?;
    RootUsers::new(config, schema)?;
    Ok(())
}
