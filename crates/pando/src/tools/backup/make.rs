//! Making backups.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::backup::check_id;
use ::backup::make::Protection;
use clap::Args;
use config::BackendConfig;
use jiff::Timestamp;

use super::following::Following;
use super::place::{KeyOptions, PlaceOptions};
use super::retention::{RetentionOptions, length};
use super::work::Work;
use crate::authorize::authorize;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::owner::Owner;
use crate::server_options::ServerOptions;
use crate::terminal::Watcher;

/// How often a follower makes full backups.
const FULL_EVERY: Duration = Duration::from_hours(24);

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
    /// Go on until stopped: back up the changes each so often, such as 1m, and all of it when the changes are not there
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with_all = ["id", "incremental"])]
    every: Option<Duration>,
    /// Make a full backup each so often [default: 1d]
    #[arg(long = "fullEvery", value_name = "TIME", value_parser = length, requires = "every")]
    full_every: Option<Duration>,
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
    let protection = if options.encrypt { Protection::Encrypted } else { Protection::Signed };
    let work = Work {
        config: &config,
        schema: &schema,
        storage: &*storage,
        seal: key.as_ref().map(|key| (key, protection)),
        rest: options.rest,
        is_quiet: options.quiet,
        retention: options.retention.retention(),
    };
    let mut watcher = Watcher::new(options.quiet)?;
    if let Some(every) = options.every {
        let full_every = options.full_every.unwrap_or(FULL_EVERY);
        Following { work, owner, directory, every, full_every }.run(&backends, &mut watcher)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut made = Vec::new();
    for backend in backends {
        let begun = Instant::now();
        let manifest = match options.incremental {
            true => work.incremental(backend, &id, options.base.as_deref(), &mut watcher)?,
            false => work.full(backend, &id, &mut watcher)?,
        };
        made.push((manifest, begun.elapsed()));
    }
    drop(watcher);
    for (manifest, elapsed) in &made {
        work.report(manifest, elapsed.as_secs_f64());
        work.purge(&manifest.backend)?;
    }
    owner.settle(directory)?;
    Ok(ExitCode::SUCCESS)
}
