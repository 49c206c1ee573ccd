//! `undo`: takes back changes of entries, by number, by who made them, by when.
//!
//! The history and the entries are read from the files, so that nothing needs a server until something is to be done.
//! What would be done is first done in memory, by the rules of the server; so conflicts are known before anything
//! changes.

mod apply;
mod find;
mod plan;
mod print;
mod time;

use std::{path::Path, process::ExitCode, sync::Arc, time::Duration};

use change::history::Bounds;
use clap::Args;
use config::Config;
use schema::Schema;

use crate::{
    failure::{Failure, Outcome},
    instance,
    owner::Owner,
    server_options::ServerOptions,
};
use find::{Found, Source};
use plan::Plan;

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
    /// Do it, on the running server; otherwise it is only shown
    #[arg(long = "apply", conflicts_with = "dry_run")]
    apply: bool,
    /// Only show what would be done [default]
    #[arg(long = "dry-run")]
    dry_run: bool,
    /// Also where entries were changed since: what they have now is overwritten
    #[arg(long = "force")]
    force: bool,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
}

/// Which changes are meant: those to which everything applies that is given.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct Which {
    /// The change with this number
    #[arg(value_name = "CHANGE_NUMBER", conflicts_with_all = ["from", "to", "by", "since", "until"])]
    number: Option<u64>,
    /// Changes from this number on
    #[arg(long = "from", value_name = "NUMBER")]
    from: Option<u64>,
    /// Changes up to this number
    #[arg(long = "to", value_name = "NUMBER")]
    to: Option<u64>,
    /// Changes that this identity asked for
    #[arg(long = "by", value_name = "DN")]
    by: Option<String>,
    /// Changes at or after this time: "2026-11-21 10:00" (local), 2026-11-21T10:00:00Z, or "2h" for two hours ago
    #[arg(long = "since", value_name = "TIME", value_parser = time::parse)]
    since: Option<u64>,
    /// Changes before this time
    #[arg(long = "until", value_name = "TIME", value_parser = time::parse)]
    until: Option<u64>,
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
        print::text(&plan, options, is_possible, applied.as_ref())?;
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

impl Which {
    fn describe_none(&self, Bounds { first, last }: Bounds) -> Failure {
        let what = match self.number {
            Some(number) => format!("there is no change {number}"),
            None => "no change is like that".to_owned(),
        };
        match last.checked_sub(first) {
            Some(_) => Failure::new(format_args!("{what}: the history has changes {first} to {last}")),
            None => Failure::new(format_args!("{what}: the history has no changes")),
        }
    }
}
