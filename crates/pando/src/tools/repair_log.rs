//! `repair-log`: looks for acknowledged changes that the log of a backend has lost, and lets the backend go on without
//! them.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use jobs::files::Target;
use store::LogRepair;

use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::owner::Owner;

#[derive(Debug, Args)]
pub struct Options {
    /// The backend [default: the only one]
    #[arg(short = 'n', long = "backendID", alias = "backendId", value_name = "ID")]
    backend: Option<String>,
    /// Go on without the changes that cannot be read
    #[arg(long = "acceptLoss")]
    accepts_loss: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    let _lock = instance::lock(&config.instance, "then look at the log")?;
    let schema = instance::schema(&config)?;
    let backend = instance::backend(&config, options.backend.as_deref())?;
    let repaired = Target { config: &config, backend, schema: &schema }.repair_log(options.accepts_loss);
    owner.settle(directory)?;
    let id = &backend.id;
    match repaired? {
        LogRepair { missing: None, .. } => {
            outln!("Backend \"{id}\": no change is missing from the log, nothing is to be repaired.");
            Ok(ExitCode::SUCCESS)
        }
        LogRepair { missing: Some(missing), last, put_aside } if options.accepts_loss => {
            outln!("Backend \"{id}\": {missing}. It goes on with the data up to change {last}.");
            if let Some(folder) = put_aside {
                outln!("The files of the log are in {} now; nothing needs them any more.", folder.display());
            }
            Ok(ExitCode::SUCCESS)
        }
        LogRepair { missing: Some(missing), last, .. } => Err(Failure::new(format_args!(
            "backend \"{id}\": {missing}. Restore the folders db and log of {} together from one backup, or go on with \
             the data up to \
             change {last}: pando repair-log --instance {} --backendID {id} --acceptLoss",
            backend.directory.display(),
            directory.display()
        ))),
    }
}
