//! `undo`: takes back changes of entries, by number, by who made them, by when.
//!
//! The history and the entries are read from the files, so that nothing needs a server until something is to be done.
//! What would be done is first done in memory, by the rules of the server; so conflicts are known before anything
//! changes.

mod apply;
mod find;
mod plan;
mod print;
mod which;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use config::Config;
use find::{Found, Source};
use plan::Plan;
use schema::Schema;
use which::Which;

use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::owner::Owner;
use crate::server_options::ServerOptions;

/// How often the logs are read when a running server changes them meanwhile.
const ATTEMPTS: u32 = 5;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  pando undo 17\n      show what takes change 17 back, as LDIF for ldapmodify\n  \
        pando undo 17 --apply\n      do it\n  pando undo --by uid=ann,ou=People,dc=example,dc=com --since \"2026-11-21 \
        09:00\" --until \"2026-11-21 10:30\"\n      everything that ann did in that time\n\n\
        Numbers are in the audit log (changenumber=) and in cn=changelog. A change is undone with what belongs to it: \
        the other updates \
                       of its transaction, the other entries of a subtree delete, and references that followed it. \
                       Nothing is done if \
                       entries were changed since in a way that this would overwrite, unless --force says so."
)]
pub struct Options {
    #[command(flatten)]
    which: Which,
    /// Undo the changes on the running server; without it they are only shown
    #[arg(long = "apply", conflicts_with = "dry_run")]
    apply: bool,
    /// Only show what would be undone [default]
    #[arg(long = "dry-run")]
    dry_run: bool,
    /// Undo also where entries were changed later; the later changes are overwritten
    #[arg(long = "force")]
    force: bool,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    let schema = instance::schema(&config)?;
    let (mut source, found) = look(&config, &schema, &options.which)?;
    if found.is_empty() {
        return Err(options.which.describe_none(source.bounds()));
    }
    let plan = Plan::make(&mut source, found)?;
    owner.settle(directory)?;
    let is_possible = plan.is_possible(options.force);
    let applied = match options.apply && is_possible {
        true => Some(apply::apply(&config, &options.server, &plan)?),
        false => None,
    };
    if options.json {
        print::json(&plan, is_possible, applied.as_ref());
    } else {
        print::text(&plan, is_possible, applied.as_ref())?;
    }
    let is_done = applied.as_ref().is_none_or(|applied| applied.failure.is_none());
    Ok(if is_possible && is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The changes that are meant. A running server may let logs go while they are read: then it is tried again.
fn look<'c>(config: &'c Config, schema: &Arc<Schema>, which: &Which) -> Result<(Source<'c>, Vec<Found>), Failure> {
    let mut attempt = 1;
    loop {
        let looked = Source::open(config, schema).and_then(|source| source.find(which).map(|found| (source, found)));
        if looked.is_ok() || attempt == ATTEMPTS {
            return looked;
        }
        attempt += 1;
        std::thread::sleep(PAUSE);
    }
}
