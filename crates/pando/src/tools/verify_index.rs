//! `verify-index`: proves that entries, tree and indexes agree, also beside a running server.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use jobs::files::Target;
use jobs::verify::Verify;

use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::owner::Owner;
use crate::terminal::Watcher;

/// Problems that are printed; the others are counted.
const PROBLEMS_SHOWN: u64 = 1000;

#[derive(Debug, Args)]
pub struct Options {
    /// A base DN of the backend
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    base_dn: String,
    /// Only this index or attribute, such as cn or cn.caseIgnoreMatch; may be given several times
    #[arg(short = 'i', long = "index", value_name = "INDEX")]
    indexes: Vec<String>,
    /// Also look for keys without entries, in one index (this is always done)
    #[arg(short = 'c', long = "clean", requires = "indexes")]
    clean: bool,
    /// Exit with the number of problems as status, at most 255
    #[arg(long = "countErrors")]
    count_errors: bool,
    /// Print nothing but problems
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    if options.clean && options.indexes.len() > 1 {
        return Err(Failure::new("only one index at a time may be verified with --clean: give one --index"));
    }
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    let schema = instance::schema(&config)?;
    let backend = instance::backend_of_base(&config, &schema, &options.base_dn)?;
    let mut reader = instance::reader(&config, backend, &schema)?;
    let snapshot = reader.snapshot()?;
    let target = Target { config: &config, backend, schema: &schema };
    let job = Verify { indexes: options.indexes.clone() };
    let mut watcher = Watcher::new(options.quiet)?;
    let mut shown = 0;
    let verified = job.run(target, &snapshot, &mut watcher, &mut |problem| {
        shown += 1;
        if shown <= PROBLEMS_SHOWN {
            outln!("{problem}");
        }
    });
    drop(watcher);
    owner.settle(directory)?;
    let summary = verified?;
    if shown > PROBLEMS_SHOWN {
        outln!("... and {} more", shown - PROBLEMS_SHOWN);
    }
    if !options.quiet {
        outln!(
            "Verified {} entries and {} index keys in {:.1} seconds: {}",
            summary.entries,
            summary.keys,
            summary.elapsed.as_secs_f64(),
            match summary.problems {
                0 => "no problem found".to_owned(),
                1 => "1 problem found".to_owned(),
                count => format!("{count} problems found"),
            }
        );
    }
    Ok(match (summary.problems, options.count_errors) {
        (0, _) => ExitCode::SUCCESS,
        (count, true) => ExitCode::from(u8::try_from(count).unwrap_or(u8::MAX)),
        (_, false) => ExitCode::FAILURE,
    })
}
