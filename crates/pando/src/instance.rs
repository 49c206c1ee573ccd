//! An instance as the tools meet it: its configuration, its schema, whether a server runs on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::{AccessLogConfig, AccessLogFormat, BackendConfig, Config, FilteringPolicy, Instance};
use jobs::files::{Reader, Target};
use query::configured;
use runtime::log::rotated;
use runtime::pid_file::{PidFile, PidFileError};
use schema::{NormalizedDn, Schema};

use crate::failure::{Context, Failure};
use crate::owner::Owner;

/// Opens the configuration of the instance in `directory`.
pub fn open(directory: &Path) -> Result<Config, Failure> {
    Ok(Config::load(&find(directory)?.config_file())?)
}

/// The instance in `directory`, whatever its configuration says, and even if that is gone: its folders are there.
pub fn find(directory: &Path) -> Result<Instance, Failure> {
    let instance = Instance::new(directory);
    let file = instance.config_file();
    if directory.is_dir() {
        // Before anything else: to another user, even what is there may look as if it were not.
        Owner::of(directory)?;
    }
    if !file.try_exists().context(file.display())? && !instance.logs().is_dir() {
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
    configured::load_schema(config).map_err(Failure::new)
}

/// The files of the first access log in words and values that is enabled, one that has everything before others: those
/// that were put aside, the oldest first, then the one that is written.
pub fn access_log_files(config: &Config) -> Result<Vec<PathBuf>, Failure> {
    let is_text = |log: &&AccessLogConfig| log.enabled && matches!(log.format, AccessLogFormat::Text(_));
    let is_chosen = |log: &&AccessLogConfig| log.filter.policy != FilteringPolicy::NoFiltering;
    let files = config.access_logs.iter().filter(is_text).filter(|log| log.destination.file().is_some());
    let current = files
        .min_by_key(is_chosen)
        .and_then(|log| log.destination.file())
        .map(|file| &file.path)
        .ok_or_else(|| Failure::new("the configuration has no access log that is enabled: name a file"))?;
    let rotated = rotated::files(current).context(current.display())?;
    let mut files: Vec<PathBuf> = rotated.into_iter().map(|file| file.path).collect();
    if current.exists() {
        files.push(current.clone());
    }
    match files.is_empty() {
        true => Err(Failure::new(format_args!("there is no access log {}", current.display()))),
        false => Ok(files),
    }
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

/// Takes the configuration for this process, so that what two tools change at once is not lost; held until it is
/// dropped.
pub fn lock_configuration(instance: &Instance) -> Result<PidFile, Failure> {
    PidFile::acquire_within(&instance.edit_lock(), EDITED_WITHIN).map_err(|error| match error {
        PidFileError::Held { pid, path } => Failure::new(format_args!(
            "process {pid} is changing the configuration (it holds {}): give the command again when it has ended",
            path.display()
        )),
        error => Failure::new(error),
    })
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
    let known: Vec<String> =
        config.backends.iter().flat_map(|backend| backend.base_dns.iter().map(|base| shown_base_dn(base))).collect();
    let held = |backend: &&BackendConfig| {
        backend.base_dns.iter().any(|base| normalized(schema, base).is_ok_and(|base| base == wanted))
    };
    config.backends.iter().find(held).ok_or_else(|| {
        Failure::new(format_args!("no backend has the base DN \"{base_dn}\"; there are {}", known.join(", ")))
    })
}

/// A base DN as tables show it: an empty cell would look like none.
pub fn shown_base_dn(base_dn: &str) -> String {
    if base_dn.is_empty() { "\"\"".to_owned() } else { base_dn.to_owned() }
}

/// The backend that holds entries at or below a DN.
pub fn backend_above<'c>(config: &'c Config, schema: &Schema, dn: &str) -> Result<&'c BackendConfig, Failure> {
    let wanted = normalized(schema, dn)?;
    let depth_above = |base: &String| {
        let base = normalized(schema, base).ok().filter(|base| base.is_ancestor_or_equal(&wanted));
        base.map(|base| base.len())
    };
    // The longest base DN above a name holds it.
    let above = config
        .backends
        .iter()
        .filter_map(|backend| Some((backend.base_dns.iter().filter_map(depth_above).max()?, backend)));
    let found = above.max_by_key(|(depth, _)| *depth).map(|(_, backend)| backend);
    found.ok_or_else(|| Failure::new(format_args!("no backend holds \"{dn}\"")))
}

/// The normal form of a name.
pub fn normalized(schema: &Schema, dn: &str) -> Result<NormalizedDn, Failure> {
    NormalizedDn::parse(schema, dn.as_bytes()).context(format_args!("\"{dn}\" is not a DN"))
}

/// A backend opened for reading, also beside a running server.
pub fn reader(config: &Config, backend: &BackendConfig, schema: &Arc<Schema>) -> Result<Reader, Failure> {
    let target = Target { config, backend, schema };
    Ok(Reader::open(target, running(&config.instance).is_some())?)
}
