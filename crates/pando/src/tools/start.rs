//! `start`: runs the server, in the foreground or detached from the terminal.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use config::{Config, Instance};
use directory::Directory;
use runtime::handed;
use runtime::listener::ListenAt;
use runtime::pid_file::PidFile;
use runtime::signals::Signals;
use server::{Ended, Server};

use super::first_start;
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::{errln, out};
use crate::owner::Owner;

/// What a detached server writes to its standard error: nothing, unless it cannot start or panics.
const OUTPUT_FILE: &str = "server.out";

/// Longest message of a detached server that did not start.
const MESSAGE_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug, Args)]
pub struct Options {
    /// Set the instance up first if there is none, without asking: each option of setup has a variable, such as
    /// PANDO_LDAP_PORT
    #[arg(long = "setup")]
    sets_up: bool,
    /// Return when the server is ready, and leave it running
    #[arg(long = "detach")]
    detach: bool,
    /// Stay in the foreground (as without --detach)
    #[arg(short = 'N', long = "nodetach", conflicts_with = "detach", hide = true)]
    no_detach: bool,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    if options.sets_up {
        first_start::make_if_absent(directory)?;
    }
    let instance = instance::find(directory)?;
    Owner::of(directory)?.must_be_same(directory)?;
    let config = Config::load(&instance.config_file()).map_err(|faults| {
        server::report_failed_start(&instance, None, &faults.to_string());
        Failure::from(faults)
    })?;
    if options.detach { detach(&config.instance, options.quiet) } else { serve(&config, "", options.quiet) }
}

/// What the file says now that this process alone serves it, with its clear root passwords hashed.
fn own_config(file: &Path) -> Result<Config, Failure> {
    let hashed = directory::hash_root_passwords_in_file(file).map_err(Failure::new)?;
    if !hashed.is_empty() {
        let users = hashed.join(", ");
        errln!("The clear passwords of {users} are hashed in {}", file.display());
    }
    Ok(Config::load(file)?)
}

/// Serves until a signal ends it; `more` is printed when the server is ready.
pub fn serve(config: &Config, more: &str, quiet: bool) -> Outcome {
    let begun = Instant::now();
    let lock = PidFile::acquire(&config.instance.pid_file()).map_err(Failure::new)?;
    let mut signals = Signals::install().context("signals")?;
    handed::receive().context("sockets of the service manager")?;
    let file = config.instance.config_file();
    let config = &own_config(&file).inspect_err(|failure| {
        server::report_failed_start(&config.instance, Some(config), failure.message());
    })?;
    let (directory, server) = open(config).inspect_err(|failure| {
        server::report_failed_start(&config.instance, Some(config), failure.message());
    })?;
    if !quiet {
        // The one for administrators is no place for clients.
        let own = ListenAt::Path(config.instance.administration_socket());
        let places = server.addresses().iter().filter(|at| **at != own);
        let http = server.http_addresses().into_iter().map(|(at, is_tls)| http_url(at, is_tls));
        let places: Vec<String> = places.map(|at| url(config, at)).chain(http).collect();
        // The reader of this may be gone; the server serves all the same.
        let _ = writeln!(
            std::io::stdout(),
            "Pando {} serves {} at {} (process {}, ready after {} ms)\n{more}",
            env!("CARGO_PKG_VERSION"),
            config.instance.directory().display(),
            places.join(", "),
            std::process::id(),
            begun.elapsed().as_millis()
        );
    }
    let waited = server.run_until_signal(&mut signals).context("signals");
    directory.close().map_err(Failure::new)?;
    match waited? {
        Ended::Stopped => Ok(ExitCode::SUCCESS),
        Ended::ForRestart => {
            drop(lock);
            Err(start_again())
        }
    }
}

/// Becomes this program anew, with the same arguments; returns only when that is not possible.
fn start_again() -> Failure {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    // The program may have been replaced since it was started: that one is meant.
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map_or(program.clone(), Into::into);
    let kept = handed::keep_over_exec();
    let error = kept.err().unwrap_or_else(|| Command::new(&program).arg0(name).args(arguments).exec());
    Failure::new(format_args!("the server has stopped and cannot be started again: {}: {error}", program.display()))
}

fn open(config: &Config) -> Result<(Arc<Directory>, Server), Failure> {
    let directory = Arc::new(Directory::open(config).map_err(Failure::new)?);
    let server = Server::start(Arc::clone(&directory)).map_err(Failure::new)?;
    match handed::unclaimed().as_slice() {
        [] => Ok((directory, server)),
        all => {
            let places: Vec<String> = all.iter().map(ToString::to_string).collect();
            Err(Failure::new(format_args!(
                "the service manager listens at {} for this server, and no connection handler does: change \
                 listen-address and listen-port of one, or the socket unit",
                places.join(", ")
            )))
        }
    }
}

/// A listener as clients name it.
fn url(config: &Config, at: &ListenAt) -> String {
    let address = match at {
        ListenAt::Tcp(address) => *address,
        ListenAt::Path(path) => {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            return format!("ldapi://{}", path.display().to_string().replace('/', "%2F"));
        }
    };
    let listens = |handler: &&config::LdapHandler| handler.listen.contains(&config::ListenAddress::Tcp(address));
    let is_tls = config.handlers.iter().find(listens).is_some_and(|handler| handler.use_ssl);
    format!("{}://{address}", if is_tls { "ldaps" } else { "ldap" })
}

fn http_url(at: SocketAddr, is_tls: bool) -> String {
    format!("{}://{at}", if is_tls { "https" } else { "http" })
}

/// Starts this program again, away from the terminal, and waits until it is ready or has failed.
fn detach(instance: &Instance, quiet: bool) -> Outcome {
    let file = instance.logs().join(OUTPUT_FILE);
    fs::create_dir_all(instance.logs()).context(instance.logs().display())?;
    let mut output = OpenOptions::new().create(true).append(true).read(true).open(&file).context(file.display())?;
    let before = output.seek(SeekFrom::End(0)).context(file.display())?;
    let program = std::env::current_exe().context("this program")?;
    let directory = fs::canonicalize(instance.directory()).context(instance.directory().display())?;
    let mut child = Command::new(program)
        .arg("start")
        .arg("--instance")
        .arg(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(output.try_clone().context(file.display())?)
        .process_group(0)
        .spawn()
        .context("cannot start the server")?;
    let mut ready = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut ready).context("the server's output")?;
    }
    if ready.is_empty() {
        let status = child.wait().context("the server")?;
        let mut said = String::new();
        output.seek(SeekFrom::Start(before)).context(file.display())?;
        output.take(MESSAGE_BYTES_MAX).read_to_string(&mut said).context(file.display())?;
        let said: Vec<&str> = said.lines().map(|line| line.trim_start_matches("pando start: ")).collect();
        return Err(Failure::new(if said.is_empty() {
            format!("the server ended at once ({status})")
        } else {
            said.join("\n")
        }));
    }
    if !quiet {
        out!("{ready}");
    }
    Ok(ExitCode::SUCCESS)
}
