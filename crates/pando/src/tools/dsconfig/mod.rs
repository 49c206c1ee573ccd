//! `dsconfig`: the configuration shown and changed as OpenDJ's tool of that name does it, for all that is declared.

mod batch;
mod categories;
mod changes;
mod commands;
mod display;
mod door;
mod file_door;
mod guided;
mod ldap_door;
mod properties;
mod remote;
mod request;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, FromArgMatches};
use commands::{OutputOptions, run_one};
use door::Door;
use file_door::FileDoor;
use guided::{Guide, Recording};
use ldap_door::LdapDoor;
use remote::RemoteOptions;
use request::Request;

use crate::authorize::authorize;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::server_options::ServerOptions;
use crate::terminal;
use crate::usage;

/// Exit status where nothing says what to do.
const NO_SUBCOMMAND: u8 = 2;

/// Heading of the options that say what is run.
const RUNNING: &str = "What is run";

/// Which configuration is worked on.
const WHERE: &str = "\
Without --hostname and --port, and where they name a port of the instance here (--instance), its files are changed,
and a running server takes the change. Otherwise the server is asked over LDAP with TLS: an entry below cn=config for
each object. At a terminal, dsconfig asks for what is missing, and for everything if nothing is said.";

#[derive(Debug, Args)]
#[command(after_help = WHERE)]
pub struct Options {
    #[command(subcommand)]
    request: Option<Request>,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    recording: Recording,
    #[command(flatten)]
    lists: categories::Lists,
}

/// Where the configuration is, and which commands are done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where the configuration is, and who asks")]
struct RunOptions {
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    remote: RemoteOptions,
    /// Change only the file; a running server does not take the change
    #[arg(long = "offline", global = true)]
    offline: bool,
    /// Do the commands of standard input, one a line, up to the first that fails
    #[arg(long = "batch", conflicts_with = "batch_file", help_heading = RUNNING)]
    batch: bool,
    /// Do the commands of a file, one a line, up to the first that fails
    #[arg(short = 'F', long = "batchFilePath", value_name = "FILE", help_heading = RUNNING)]
    batch_file: Option<PathBuf>,
    /// Do not ask for anything
    #[arg(short = 'n', long = "no-prompt", global = true, help_heading = RUNNING)]
    no_prompt: bool,
}

impl RunOptions {
    /// Whether there is a person to ask.
    fn may_ask(&self) -> bool {
        !self.no_prompt && terminal::is_interactive()
    }
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    if let Some(category) = options.lists.asked() {
        categories::print(category, command().get_subcommands(), request::component_of);
        return Ok(ExitCode::SUCCESS);
    }
    let is_batch = options.run.batch || options.run.batch_file.is_some();
    match &options.request {
        Some(_) if is_batch => {
            Err(Failure::new("a batch has its commands in its lines: leave out the subcommand, or the batch"))
        }
        Some(Request::Properties(asked)) => {
            properties::list(asked, options.output.reader())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Request::Objects(asked)) if options.run.may_ask() && asked.lacks() => {
            let mut door = open_door(directory, options)?;
            Guide::new(&mut *door, options.output, &options.recording)?.complete(asked)
        }
        Some(Request::Objects(asked)) => run_one(&mut *open_door(directory, options)?, asked, options.output),
        None if is_batch => run_batch(directory, options),
        None if options.run.may_ask() => {
            let mut door = open_door(directory, options)?;
            Guide::new(&mut *door, options.output, &options.recording)?.main_menu()
        }
        None => Err(Failure::new(
            "say what to do with a subcommand, such as list-backends: --help-all lists them; --batch reads them from \
             standard input",
        )
        .with_status(NO_SUBCOMMAND)),
    }
}

/// The options and subcommands by themselves, for lines of a batch and for lists.
fn command() -> Command {
    let bare = Command::new("dsconfig").no_binary_name(true);
    Options::augment_args(bare.disable_help_flag(true).disable_help_subcommand(true))
}

/// The configuration that the options lead to.
fn open_door<'d>(directory: &'d Path, options: &Options) -> Result<Box<dyn Door + 'd>, Failure> {
    let run = &options.run;
    let may_ask = !run.no_prompt && !run.batch;
    let door: Box<dyn Door + 'd> = match is_elsewhere(directory, run)? {
        true => {
            let connected = run.remote.connect(&run.server, may_ask);
            let (client, server) = connected.map_err(|failure| with_own_ports(failure, directory, run))?;
            Box::new(LdapDoor::new(client, server))
        }
        false => {
            let config = instance::open(directory)?;
            if let Some(option) = run.remote.given() {
                let directory = directory.display();
                return Err(Failure::new(format_args!(
                    "{option} is for a server on the network, and this works on the files of {directory}: leave it \
                     out, or give --hostname and --port"
                )));
            }
            authorize(&config, &run.server, may_ask)?;
            Box::new(FileDoor::new(directory, config, run.offline))
        }
    };
    if options.output.verbose {
        outln!("The configuration is {}.", door.place());
    }
    Ok(door)
}

/// Whether the options lead to a server on the network: they name a place, and it is not one of the instance here.
fn is_elsewhere(directory: &Path, run: &RunOptions) -> Result<bool, Failure> {
    if run.offline || run.server.place() == (None, None) {
        return Ok(false);
    }
    match instance::open(directory) {
        Ok(config) => Ok(run.remote.given().is_some() || run.server.check_place(&config).is_err()),
        Err(_) => Ok(true),
    }
}

/// Why there is no connection, and which ports the instance here has: one of them may have been meant.
fn with_own_ports(failure: Failure, directory: &Path, run: &RunOptions) -> Failure {
    let config = instance::open(directory).ok().filter(|_| run.server.is_here().unwrap_or(false));
    match config.map(|config| run.server.check_port(&config)) {
        Some(Err(other)) => Failure::new(format_args!("{failure}; {other}")),
        _ => failure,
    }
}

/// Does the commands of a batch. Each is judged by itself; those before one that fails stay done.
fn run_batch(directory: &Path, options: &Options) -> Outcome {
    let lines = batch::lines(&batch::read(options.run.batch_file.as_deref())?);
    let mut door = open_door(directory, options)?;
    for line in lines {
        let place = format!("line {}", line.number);
        let at = |failure: Failure| failure.prefixed(&place);
        let parsed = parse_line(&line).map_err(at)?;
        let output = parsed.output.or(options.output);
        if !output.quiet {
            outln!("{}", line.text);
        }
        match &parsed.request {
            Some(Request::Objects(asked)) => drop(run_one(&mut *door, asked, output).map_err(at)?),
            Some(Request::Properties(asked)) => properties::list(asked, output.reader()).map_err(at)?,
            None => return Err(at(Failure::new("the line has no subcommand").with_status(NO_SUBCOMMAND))),
        }
        if !output.quiet {
            outln!("");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a line of a batch says.
fn parse_line(line: &batch::Line) -> Result<Options, Failure> {
    let mistaken = |error: clap::Error| {
        let message = usage::mistake(&error, &command(), "subcommand");
        Failure::new(message).with_status(usage::status_of_mistake(Some("dsconfig")))
    };
    let matches = command().try_get_matches_from(line.words()?).map_err(mistaken)?;
    let parsed = Options::from_arg_matches(&matches).map_err(mistaken)?;
    let of_the_run = [
        (parsed.run.server.is_given(), "options of the connection belong"),
        (parsed.run.offline, "--offline belongs"),
        (parsed.run.batch || parsed.run.batch_file.is_some(), "a further batch does not belong"),
        (parsed.lists.asked().is_some(), "help does not belong"),
    ];
    match of_the_run.iter().find(|(is_given, _)| *is_given) {
        Some((_, what)) if what.contains("not") => Err(Failure::new(format_args!("{what} into a batch"))),
        Some((_, what)) => Err(Failure::new(format_args!("{what} to the command that reads the batch"))),
        None => Ok(parsed),
    }
}
