//! `stop`: ends the server of an instance, and waits until it has.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use crate::authorize::authorize;
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::server_options::ServerOptions;

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub struct Options {
    /// Seconds to wait until the server has ended
    #[arg(long = "timeout", value_name = "SECONDS", default_value_t = 60)]
    timeout_seconds: u64,
    #[command(flatten)]
    server: ServerOptions,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    // A server can be stopped whatever the file says.
    let instance = instance::find(directory)?;
    if options.server.is_given() {
        authorize(&instance::open(directory)?, &options.server, true)?;
    }
    let Some(process) = instance::running(&instance) else {
        return Err(Failure::new(format_args!("no server is running on {}", directory.display())));
    };
    // The holder of the instance's lock: a number alone could be another process's by now.
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Failure::new(format_args!("process {process} is not valid")))?;
    kill_process(pid, Signal::TERM).context(format_args!("cannot signal process {process} to stop"))?;
    let until = Instant::now() + Duration::from_secs(options.timeout_seconds);
    while instance::running(&instance) == Some(process) {
        if Instant::now() >= until {
            return Err(Failure::new(format_args!(
                "process {process} has not ended after {} seconds; see {}",
                options.timeout_seconds,
                instance.logs().display()
            )));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    if !options.quiet {
        outln!("The server (process {process}) has stopped.");
    }
    Ok(ExitCode::SUCCESS)
}
