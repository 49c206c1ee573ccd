//! The files of a backend as jobs open them: for reading beside a server, or all in the database before work on it.

use std::sync::Arc;

use change::apply::{RULES_VERSION, UpdateRules};
use config::{BackendConfig, Config};
use query::configured::{ConfiguredError, configured_indexes, leniency, suffixes};
use query::facts::Facts;
use query::own_names::OWN_NAMES;
use schema::{NormalizedDn, Schema};
use store::log::Log;
use store::{BackendOptions, Image, LogRepair, ReadOnlyBackend, Rules, Snapshot, StoreError, Trial};

use crate::JobError;

/// The backend that a job works on.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The whole configuration.
    pub config: &'a Config,
    /// The backend in it.
    pub backend: &'a BackendConfig,
    /// The schema of the instance.
    pub schema: &'a Arc<Schema>,
}

impl Target<'_> {
    /// Brings everything that the log has into the database, as work on the files needs it; what the changelog has of
    /// the log stays. Takes the backend's lock for that long.
    ///
    /// # Errors
    /// When the backend cannot be opened or written.
    pub fn fold(self) -> Result<(), JobError> {
        if self.require_data().is_err() {
            return Ok(());
        }
        let options = BackendOptions { keep_log_from: Some(0), ..self.options()? };
        let open = store::Backend::open(options, self.rules()?).map_err(|error| self.failed(error))?;
        open.close().map_err(|error| self.failed(error))
    }

    /// Looks for changes that the log has lost; if the loss is accepted, the backend goes on without them.
    ///
    /// # Errors
    /// When there is no data, or it cannot be read or written.
    pub fn repair_log(self, accepts_loss: bool) -> Result<LogRepair, JobError> {
        self.require_data()?;
        store::repair_log(self.options()?, self.rules()?, accepts_loss).map_err(|error| self.failed(error))
    }

    /// The base DNs of all other backends; where this one holds every other name, also those that lie in no backend.
    pub(crate) fn other_base_dns(self) -> Vec<String> {
        let others = self.config.backends.iter().filter(|other| other.id != self.backend.id);
        let others = others.flat_map(|other| other.base_dns.iter().cloned());
        let holds_all = self.backend.base_dns.iter().any(String::is_empty);
        let own = if holds_all { &OWN_NAMES[..] } else { &[] };
        others.chain(own.iter().map(|dn| (*dn).to_owned())).collect()
    }

    /// Those in normal form that lie below a base DN of this backend.
    pub(crate) fn base_dns_within(self) -> Result<Vec<NormalizedDn>, JobError> {
        let own = suffixes(self.schema, self.backend)?;
        let mut within = Vec::new();
        for dn in self.other_base_dns() {
            let other = NormalizedDn::parse(self.schema, dn.as_bytes())
                .map_err(|_| ConfiguredError::BadDn { what: "the base DN", dn: dn.clone() })?;
            if own.iter().any(|own| own.normalized.is_ancestor_or_equal(&other)) {
                within.push(other);
            }
        }
        Ok(within)
    }

    fn require_data(self) -> Result<(), JobError> {
        if store::database_path(&self.backend.directory).exists() {
            return Ok(());
        }
        Err(JobError::NoData { backend: self.backend.id.clone() })
    }

    /// Version of the rules by which its log is replayed.
    #[must_use]
    pub fn rules_version(self) -> u32 {
        RULES_VERSION
    }

    /// How the store is opened. The indexes are those that the backend knows; the configuration's only if it knows
    /// none.
    ///
    /// # Errors
    /// When the configuration names indexes that are not possible.
    pub fn options(self) -> Result<BackendOptions, JobError> {
        let indexes = configured_indexes(self.schema, self.backend)?;
        Ok(BackendOptions::of_schema(self.backend.directory.clone(), self.schema, indexes))
    }

    /// The rules by which its log is replayed.
    ///
    /// # Errors
    /// When a base DN is not valid.
    pub fn rules(self) -> Result<Box<dyn Rules>, JobError> {
        let facts = Arc::new(Facts::new(Arc::clone(self.schema)));
        let suffixes = suffixes(self.schema, self.backend)?;
        Ok(Box::new(UpdateRules::new(suffixes, leniency(self.config), facts)))
    }

    fn failed(self, error: StoreError) -> JobError {
        JobError::Store { backend: self.backend.id.clone(), error }
    }
}

/// A backend opened for reading, also beside a running server.
pub struct Reader {
    id: String,
    store: ReadOnlyBackend,
}

impl Reader {
    /// Opens the backend's files; nothing is written. `is_served`: a server runs on them, so its indexes count, even if
    /// the configuration says otherwise by now.
    ///
    /// # Errors
    /// When there are none, or they cannot be read.
    pub fn open(target: Target<'_>, is_served: bool) -> Result<Self, JobError> {
        target.require_data()?;
        let opened = ReadOnlyBackend::open(target.options()?, target.rules()?);
        let store = opened.map_err(|error| target.failed(error))?;
        let store = if is_served { store } else { store.with_configured_indexes() };
        Ok(Self { id: target.backend.id.clone(), store })
    }

    /// The log with all that is kept of it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn log(&self) -> Result<Arc<dyn Log>, JobError> {
        self.store.log().map_err(|error| self.failed(error))
    }

    /// A copy of the database with the log behind it, of this moment.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn image(&self) -> Result<Image, JobError> {
        self.store.image().map_err(|error| self.failed(error))
    }

    /// Identity of the data.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn data(&self) -> Result<[u8; 16], JobError> {
        self.store.data().map_err(|error| self.failed(error))
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

    /// The same as backends in service that are only read; see [`ReadOnlyBackend::into_backends`].
    ///
    /// # Errors
    /// When it cannot be read, or a proposal is refused.
    pub fn into_backends<const N: usize>(self, tried: [Vec<Vec<u8>>; N]) -> Result<[store::Backend; N], JobError> {
        self.store.into_backends(tried).map_err(|error| JobError::Store { backend: self.id, error })
    }

    fn failed(&self, error: StoreError) -> JobError {
        JobError::Store { backend: self.id.clone(), error }
    }
}
