//! An instance as the tools meet it: its configuration, its schema, whether a server runs on it.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use change::apply::UpdateRules;
use config::{BackendConfig, Config, Instance};
use query::{backend::Suffix, facts::Facts};
use runtime::pid_file::{PidFile, PidFileError};
use schema::{NormalizedDn, Schema};
use store::{BackendOptions, LogRepair, ReadOnlyBackend, Snapshot, Trial, log::Log};

use crate::{
    failure::{Context, Failure},
    owner::Owner,
};

/// Opens the configuration of the instance in `directory`.
pub fn open(directory: &Path) -> Result<Config, Failure> {
    Ok(Config::load(&find(directory)?.config_file())?)
}

/// The instance in `directory`, whatever its configuration says.
pub fn find(directory: &Path) -> Result<Instance, Failure> {
    let instance = Instance::new(directory);
    let file = instance.config_file();
    if directory.is_dir() {
        // Before anything else: to another user, even what is there may look as if it were not.
        Owner::of(directory)?;
    }
    if !file.try_exists().context(file.display())? {
        return Err(Failure::new(format_args!(
            "there is no instance in {}: make one with pando setup --instance {}",
            directory.display(),
            directory.display()
        )));
    }
    Ok(instance)
}

/// The schema that the configuration names.
pub fn schema(config: &Config) -> Result<Arc<Schema>, Failure> {
    directory::load_schema(config).map_err(Failure::new)
}

/// The process that serves the instance, if one does.
pub fn running(instance: &Instance) -> Option<u32> {
    PidFile::holder(&instance.pid_file())
}

/// Takes the instance's files for this process; refuses if a server runs on them.
pub fn lock(instance: &Instance, instead: &str) -> Result<PidFile, Failure> {
    PidFile::acquire(&instance.pid_file()).map_err(|error| match error {
        PidFileError::Held { pid, .. } => Failure::new(format_args!(
            "a server or tool (process {pid}) is working on {0}: stop it with pando stop --instance {0}, {instead}",
            instance.directory().display()
        )),
        error => Failure::new(error),
    })
}

/// So long a tool waits for another one that is changing the configuration: longer than that one waits for the server.
const EDITED_WITHIN: Duration = Duration::from_secs(45);
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Takes the configuration for this process, so that what two tools change at once is not lost; held until it is
/// dropped.
pub fn lock_configuration(instance: &Instance) -> Result<PidFile, Failure> {
    let until = Instant::now() + EDITED_WITHIN;
    loop {
        match PidFile::acquire(&instance.edit_lock()) {
            Err(PidFileError::Held { .. }) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            Err(PidFileError::Held { pid, path }) => {
                return Err(Failure::new(format_args!(
                    "process {pid} is changing the configuration (it holds {}): give the command again when it has \
                     ended",
                    path.display()
                )));
            }
            taken => return taken.map_err(Failure::new),
        }
    }
}

/// The backend that an id names; without an id the only one there is.
pub fn backend<'c>(config: &'c Config, id: Option<&str>) -> Result<&'c BackendConfig, Failure> {
    let known = || config.backends.iter().map(|backend| backend.id.as_str()).collect::<Vec<_>>().join(", ");
    match (id, config.backends.as_slice()) {
        (Some(id), _) => config
            .backend(id)
            .ok_or_else(|| Failure::new(format_args!("there is no backend \"{id}\"; there is {}", known()))),
        (None, [only]) => Ok(only),
        (None, []) => Err(Failure::new("the configuration has no backend")),
        (None, _) => Err(Failure::new(format_args!("say which backend with --backendID: {}", known()))),
    }
}

/// The backend that holds a base DN.
pub fn backend_of_base<'c>(config: &'c Config, schema: &Schema, base_dn: &str) -> Result<&'c BackendConfig, Failure> {
    let wanted = normalized(schema, base_dn)?;
    let known: Vec<&str> =
        config.backends.iter().flat_map(|backend| backend.base_dns.iter().map(String::as_str)).collect();
    let held = |backend: &&BackendConfig| {
        backend.base_dns.iter().any(|base| normalized(schema, base).is_ok_and(|base| base == wanted))
    };
    config.backends.iter().find(held).ok_or_else(|| {
        Failure::new(format_args!("no backend has the base DN \"{base_dn}\"; there are {}", known.join(", ")))
    })
}

/// The backend that holds entries at or below a DN.
pub fn backend_above<'c>(config: &'c Config, schema: &Schema, dn: &str) -> Result<&'c BackendConfig, Failure> {
    let wanted = normalized(schema, dn)?;
    let above = |backend: &&BackendConfig| {
        backend
            .base_dns
            .iter()
            .any(|base| normalized(schema, base).is_ok_and(|base| base.is_ancestor_or_equal(&wanted)))
    };
    config.backends.iter().find(above).ok_or_else(|| Failure::new(format_args!("no backend holds \"{dn}\"")))
}

/// The normal form of a name.
pub fn normalized(schema: &Schema, dn: &str) -> Result<NormalizedDn, Failure> {
    NormalizedDn::parse(schema, dn.as_bytes()).context(format_args!("\"{dn}\" is not a DN"))
}

/// A backend opened for reading, also beside a running server.
pub struct Reader {
    store: ReadOnlyBackend,
}

impl Reader {
    /// Opens the backend's files; nothing is written.
    pub fn open(config: &Config, backend: &BackendConfig, schema: &Arc<Schema>) -> Result<Self, Failure> {
        if !store::database_path(&backend.directory).exists() {
            return Err(no_data(backend));
        }
        let store = ReadOnlyBackend::open(options(backend, schema)?, rules(config, backend, schema)?)
            .map_err(|error| in_backend(backend, error))?;
        // A running server's indexes are what it has, even if the file says otherwise by now.
        let is_served = running(&config.instance).is_some();
        let store = if is_served { store } else { store.with_configured_indexes() };
        Ok(Self { store })
    }

    /// The log with all that is kept of it.
    pub fn log(&self) -> Result<Arc<dyn Log>, Failure> {
        self.store.log().map_err(Failure::new)
    }

    /// Everything as it is now, to try changes on.
    pub fn trial(&mut self) -> Result<Trial<'_>, Failure> {
        self.store.trial().map_err(Failure::new)
    }

    /// Everything as it is now.
    pub fn snapshot(&mut self) -> Result<Snapshot, Failure> {
        self.store.snapshot().map_err(Failure::new)
    }
}

/// Brings everything that the log of a backend has into its database, as work on the files needs it; what the changelog
/// has of the log stays. Takes the backend's lock for that long.
pub fn fold(config: &Config, backend: &BackendConfig, schema: &Arc<Schema>) -> Result<(), Failure> {
    if !store::database_path(&backend.directory).exists() {
        return Ok(());
    }
    let options = BackendOptions { keep_log_from: Some(0), ..options(backend, schema)? };
    let open =
        store::Backend::open(options, rules(config, backend, schema)?).map_err(|error| in_backend(backend, error))?;
    open.close().map_err(|error| in_backend(backend, error))
}

/// Looks for changes that the log of a backend has lost; if the loss is accepted, the backend goes on without them.
pub fn repair_log(
    config: &Config,
    backend: &BackendConfig,
    schema: &Arc<Schema>,
    accepts_loss: bool,
) -> Result<LogRepair, Failure> {
    if !store::database_path(&backend.directory).exists() {
        return Err(no_data(backend));
    }
    store::repair_log(options(backend, schema)?, rules(config, backend, schema)?, accepts_loss)
        .map_err(|error| in_backend(backend, error))
}

fn no_data(backend: &BackendConfig) -> Failure {
    Failure::new(format_args!("the backend \"{}\" has no data yet: import some, or start the server once", backend.id))
}

fn in_backend(backend: &BackendConfig, error: impl std::fmt::Display) -> Failure {
    Failure::new(format_args!("backend \"{}\": {error}", backend.id))
}

/// How the store is opened. The indexes are those that the backend knows; the configuration's only if it knows none.
fn options(backend: &BackendConfig, schema: &Arc<Schema>) -> Result<BackendOptions, Failure> {
    let indexes = directory::configured_indexes(schema, backend).map_err(Failure::new)?;
    Ok(BackendOptions::of_schema(backend.directory.clone(), schema, indexes))
}

/// The names at the top of a backend.
pub fn suffixes(backend: &BackendConfig, schema: &Schema) -> Result<Vec<Suffix>, Failure> {
    directory::suffixes(schema, backend).map_err(Failure::new)
}

fn rules(config: &Config, backend: &BackendConfig, schema: &Arc<Schema>) -> Result<Box<dyn store::Rules>, Failure> {
    let suffixes = suffixes(backend, schema)?;
    let facts = Arc::new(Facts::new(Arc::clone(schema)));
    Ok(Box::new(UpdateRules::new(suffixes, directory::leniency(config), facts)))
}
