//! Making backups.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ::backup::chain::{Chain, Moment};
use ::backup::key::Key;
use ::backup::make::{Making, Protection};
use ::backup::manifest::{Kind, Manifest, Stream};
use ::backup::storage::Storage;
use ::backup::{BackupError, ContainedFile, check_id, manifests};
use clap::Args;
use config::{BackendConfig, Config};
use durable::ReadBound;
use jiff::Timestamp;
use jobs::Watch;
use jobs::files::Reader;
use schema::Schema;
use std::sync::Arc;

use super::place::{KeyOptions, PlaceOptions};
use super::retention::RetentionOptions;
use crate::authorize::authorize;
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::{errln, outln};
use crate::owner::Owner;
use crate::server_options::ServerOptions;
use crate::terminal::{Watcher, bytes_text};

/// Largest file of the instance that goes with a backup, and how many of a folder.
const FILE_BYTES_MAX: u64 = 16 << 20;
const FILES_MAX: usize = 1_000;
/// Beside a running server the work rests half of the time.
const REST_BESIDE_SERVER: f64 = 0.5;

#[derive(Debug, Args)]
pub struct MakeOptions {
    /// A backend; may be given several times [default: the only one]
    #[arg(short = 'n', long = "backendID", alias = "backendId", value_name = "ID", conflicts_with = "all")]
    backends: Vec<String>,
    /// All backends
    #[arg(short = 'a', long = "backUpAll")]
    all: bool,
    #[command(flatten)]
    place: PlaceOptions,
    /// Name of the backup [default: the time, such as 20261123190835Z]
    #[arg(short = 'I', long = "backupID", alias = "backupId", value_name = "ID")]
    id: Option<String>,
    /// Only what changed since another backup
    #[arg(short = 'i', long = "incremental")]
    incremental: bool,
    /// The backup that an incremental one follows on [default: the last one]
    #[arg(short = 'B', long = "incrementalBaseID", value_name = "ID", requires = "incremental")]
    base: Option<String>,
    /// Compress the backup (it always is)
    #[arg(short = 'c', long = "compress")]
    compress: bool,
    /// Encrypt the backup
    #[arg(short = 'y', long = "encrypt")]
    encrypt: bool,
    /// Store hashes with the backup (they always are)
    #[arg(short = 'A', long = "hash")]
    hash: bool,
    /// Sign the hashes, so that only whoever has the key can make such a backup; an encrypted one always is
    #[arg(short = 's', long = "signHash")]
    sign: bool,
    #[command(flatten)]
    key: KeyOptions,
    #[command(flatten)]
    retention: RetentionOptions,
    /// Share of the time in which the work rests, from 0 to 0.9 [default: 0.5 beside a running server, else 0]
    #[arg(long, value_name = "SHARE", value_parser = rest)]
    rest: Option<f64>,
    /// Work on the files, not through a server (this tool always does)
    #[arg(long = "offline")]
    offline: bool,
    #[command(flatten)]
    server: ServerOptions,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

fn rest(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=0.9).contains(share));
    share.ok_or_else(|| format!("\"{text}\" is no number from 0 to 0.9"))
}

pub fn run(directory: &Path, options: &MakeOptions) -> Outcome {
    let config = instance::open(directory)?;
    authorize(&config, &options.server, true)?;
    let owner = Owner::of(directory)?;
    let schema = instance::schema(&config)?;
    let backends: Vec<&BackendConfig> = match (options.all, options.backends.as_slice()) {
        (true, _) => config.backends.iter().collect(),
        (_, []) => vec![instance::backend(&config, None)?],
        (_, named) => named.iter().map(|id| instance::backend(&config, Some(id))).collect::<Result<_, _>>()?,
    };
    let id = options.id.clone().unwrap_or_else(|| Timestamp::now().strftime("%Y%m%d%H%M%SZ").to_string());
    check_id(&id)?;
    if options.key.is_given() && !options.encrypt && !options.sign {
        return Err(Failure::new("say what the key is for: --encrypt or --signHash"));
    }
    let key = match options.encrypt || options.sign {
        true => Some(options.key.for_new(&config.instance)?),
        false => None,
    };
    let storage = options.place.storage(directory);
    let work = Work { config: &config, schema: &schema, storage: &*storage, id: &id, key: key.as_ref(), options };
    let mut watcher = Watcher::new(options.quiet)?;
    let mut made = Vec::new();
    for backend in backends {
        let begun = Instant::now();
        made.push((work.back_up(backend, &mut watcher)?, begun.elapsed()));
    }
    drop(watcher);
    for (manifest, elapsed) in &made {
        work.report(manifest, elapsed.as_secs_f64());
        work.purge(&manifest.backend)?;
    }
    owner.settle(directory)?;
    Ok(ExitCode::SUCCESS)
}

/// What the backups of a run have in common.
struct Work<'a> {
    config: &'a Config,
    schema: &'a Arc<Schema>,
    storage: &'a dyn Storage,
    id: &'a str,
    key: Option<&'a Key>,
    options: &'a MakeOptions,
}

impl Work<'_> {
    fn back_up(&self, backend: &BackendConfig, watch: &mut dyn Watch) -> Result<Manifest, Failure> {
        let is_served = instance::running(&self.config.instance).is_some();
        let reader = instance::reader(self.config, backend, self.schema)?;
        let protection = if self.options.encrypt { Protection::Encrypted } else { Protection::Signed };
        let making = Making {
            storage: self.storage,
            backend: &backend.id,
            base_dns: &backend.base_dns,
            id: self.id,
            seal: self.key.map(|key| (key, protection)),
            rest: self.options.rest.unwrap_or(if is_served { REST_BESIDE_SERVER } else { 0.0 }),
            program: env!("CARGO_PKG_VERSION"),
        };
        if self.options.incremental {
            return self.incremental(&making, &reader, watch);
        }
        let files = contained(self.config, self.options.encrypt)?;
        let image = || reader.image().map_err(BackupError::from);
        Ok(making.full(&image, &files, watch)?)
    }

    fn incremental(&self, making: &Making<'_>, reader: &Reader, watch: &mut dyn Watch) -> Result<Manifest, Failure> {
        let (all, _) = manifests(self.storage)?;
        let moment = self.options.base.clone().map_or(Moment::Latest, Moment::Backup);
        let chain = Chain::find(&all, making.backend, &moment, &self.storage.place())?;
        let previous = chain.all().last().unwrap_or(chain.full);
        let (data, log) = (reader.data()?, reader.log()?);
        let made = making.since(&previous.manifest, Kind::Incremental, data, &*log, watch)?;
        made.ok_or_else(|| Failure::new("there is nothing to back up"))
    }

    fn report(&self, manifest: &Manifest, seconds: f64) {
        if self.options.quiet {
            return;
        }
        let Manifest { backend, id, first_change, last_change, .. } = manifest;
        let (stored, place) = (bytes_text(manifest.stored_bytes()), self.storage.place());
        match manifest.kind {
            Kind::Full => outln!(
                "Backed up backend \"{backend}\" up to change {last_change} as {id} in {place}: {} in {stored}, \
                 {seconds:.1} seconds",
                bytes_text(manifest.plain_bytes(Stream::Database) + manifest.plain_bytes(Stream::Records)),
            ),
            _ if first_change > last_change => {
                outln!("Backed up backend \"{backend}\" as {id} in {place}: nothing has changed since");
            }
            _ => outln!(
                "Backed up backend \"{backend}\", changes {first_change} to {last_change}, as {id} in {place}: \
                 {stored}, {seconds:.1} seconds"
            ),
        }
        if manifest.kind == Kind::Full && !manifest.is_encrypted() {
            errln!(
                "The keys of the instance (folder keys) are not in the backup, because it is not encrypted: keep a \
                 copy of them elsewhere, or back up with --encrypt."
            );
        }
    }

    fn purge(&self, backend: &str) -> Result<(), Failure> {
        let retention = self.options.retention.retention();
        if retention.keeps_all() {
            return Ok(());
        }
        let (all, _) = manifests(self.storage)?;
        let removed = retention.apply(self.storage, &all, backend)?;
        if !removed.is_empty() && !self.options.quiet {
            outln!("Removed {} backups: {}.", removed.len(), removed.join(", "));
        }
        Ok(())
    }
}

/// The files of the instance that go with a backup; keys only where it is encrypted.
fn contained(config: &Config, with_keys: bool) -> Result<Vec<ContainedFile>, Failure> {
    let instance = &config.instance;
    let mut paths = vec![instance.config_file(), instance.root_accounts()];
    let folders = [Some(instance.schema()), with_keys.then(|| instance.keys())];
    for folder in folders.into_iter().flatten() {
        let Ok(items) = std::fs::read_dir(&folder) else { continue };
        let mut files = Vec::new();
        for item in items.take(FILES_MAX) {
            let path = item.context(folder.display())?.path();
            // A key that opened its own backup would be of no use in it.
            if path.is_file() && path != instance.backup_key() {
                files.push(path);
            }
        }
        files.sort();
        paths.extend(files);
    }
    let mut found = Vec::new();
    for path in paths {
        let name = path.strip_prefix(instance.directory()).ok().and_then(Path::to_str);
        let Some(name) = name.filter(|_| path.exists()) else { continue };
        let bytes = ReadBound::file(FILE_BYTES_MAX).read(&path).context(path.display())?;
        found.push(ContainedFile { name: name.to_owned(), bytes });
    }
    Ok(found)
}
