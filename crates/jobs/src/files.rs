//! The files of a backend as jobs open them: for reading beside a server, or all in the database before work on it.

use std::sync::Arc;

use change::apply::UpdateRules;
use config::{BackendConfig, Config};
use query::{
    configured::{ConfiguredError, configured_indexes, leniency, suffixes},
    facts::Facts,
};
use schema::{NormalizedDn, Schema};
use store::{BackendOptions, LogRepair, ReadOnlyBackend, Rules, Snapshot, StoreError, Trial, log::Log};

use crate::JobError;

/// A backend opened for reading, also beside a running server.
pub struct Reader {
    id: String,
    store: ReadOnlyBackend,
}

impl Reader {
    /// Opens the backend's files; nothing is written. `is_served`: a server runs on them, so its indexes count, even if the
    /// configuration says otherwise by now.
    ///
    /// # Errors
    /// When there are none, or they cannot be read.
    pub fn open(
        config: &Config,
        backend: &BackendConfig,
        schema: &Arc<Schema>,
        is_served: bool,
    ) -> Result<Self, JobError> {
        if !store::database_path(&backend.directory).exists() {
            return Err(JobError::NoData { backend: backend.id.clone() });
        }
        let store = ReadOnlyBackend::open(options(backend, schema)?, rules(config, backend, schema)?)
            .map_err(|error| failed(backend, error))?;
        let store = if is_served { store } else { store.with_configured_indexes() };
        Ok(Self { id: backend.id.clone(), store })
    }

    /// The log with all that is kept of it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn log(&self) -> Result<Arc<dyn Log>, JobError> {
        self.store.log().map_err(|error| self.failed(error))
    }

    /// Everything as it is now, to try changes on.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn trial(&mut self) -> Result<Trial<'_>, JobError> {
        let id = self.id.clone();
        self.store.trial().map_err(|error| JobError::Store { backend: id, error })
    }

    /// Everything as it is now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn snapshot(&mut self) -> Result<Snapshot, JobError> {
        let id = self.id.clone();
        self.store.snapshot().map_err(|error| JobError::Store { backend: id, error })
    }

    fn failed(&self, error: StoreError) -> JobError {
        JobError::Store { backend: self.id.clone(), error }
    }
}

/// Brings everything that the log of a backend has into its database, as work on the files needs it; what the changelog has of the log
/// stays. Takes the backend's lock for that long.
///
/// # Errors
/// When the backend cannot be opened or written.
pub fn fold(config: &Config, backend: &BackendConfig, schema: &Arc<Schema>) -> Result<(), JobError> {
    if !store::database_path(&backend.directory).exists() {
        return Ok(());
    }
    let options = BackendOptions { keep_log_from: Some(0), ..options(backend, schema)? };
    let open =
        store::Backend::open(options, rules(config, backend, schema)?).map_err(|error| failed(backend, error))?;
    open.close().map_err(|error| failed(backend, error))
}

/// Looks for changes that the log of a backend has lost; if the loss is accepted, the backend goes on without them.
///
/// # Errors
/// When there is no data, or it cannot be read or written.
pub fn repair_log(
    config: &Config,
    backend: &BackendConfig,
    schema: &Arc<Schema>,
    accepts_loss: bool,
) -> Result<LogRepair, JobError> {
    if !store::database_path(&backend.directory).exists() {
        return Err(JobError::NoData { backend: backend.id.clone() });
    }
    store::repair_log(options(backend, schema)?, rules(config, backend, schema)?, accepts_loss)
        .map_err(|error| failed(backend, error))
}

/// The base DNs of all other backends.
pub(crate) fn other_base_dns(config: &Config, backend: &BackendConfig) -> Vec<String> {
    let others = config.backends.iter().filter(|other| other.id != backend.id);
    others.flat_map(|other| other.base_dns.iter().cloned()).collect()
}

/// Those in normal form that lie below a base DN of this backend.
pub(crate) fn base_dns_within(
    config: &Config,
    backend: &BackendConfig,
    schema: &Schema,
) -> Result<Vec<NormalizedDn>, JobError> {
    let own = suffixes(schema, backend)?;
    let mut within = Vec::new();
    for dn in other_base_dns(config, backend) {
        let other = NormalizedDn::parse(schema, dn.as_bytes())
            .map_err(|_| ConfiguredError::BadDn { what: "the base DN", dn: dn.clone() })?;
        if own.iter().any(|own| own.normalized.is_ancestor_or_equal(&other)) {
            within.push(other);
        }
    }
    Ok(within)
}

fn failed(backend: &BackendConfig, error: StoreError) -> JobError {
    JobError::Store { backend: backend.id.clone(), error }
}

/// How the store is opened. The indexes are those that the backend knows; the configuration's only if it knows none.
fn options(backend: &BackendConfig, schema: &Arc<Schema>) -> Result<BackendOptions, JobError> {
    let indexes = configured_indexes(schema, backend)?;
    Ok(BackendOptions::of_schema(backend.directory.clone(), schema, indexes))
}

fn rules(config: &Config, backend: &BackendConfig, schema: &Arc<Schema>) -> Result<Box<dyn Rules>, JobError> {
    let facts = Arc::new(Facts::new(Arc::clone(schema)));
    Ok(Box::new(UpdateRules::new(suffixes(schema, backend)?, leniency(config), facts)))
}
