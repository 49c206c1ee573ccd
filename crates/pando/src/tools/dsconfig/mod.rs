//! `dsconfig`: the configuration shown and changed as OpenDJ's tool of that name does it, for all that is declared.

mod batch;
mod categories;
mod changes;
mod display;
mod door;
mod file_door;
mod properties;
mod request;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, FromArgMatches};
use config::{Property, Step};

use display::{Reader, show};
use door::{Door, Proposed};
use file_door::FileDoor;
use request::{ObjectRequest, Request, Verb};

use crate::authorize::authorize;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::{errln, outln};
use crate::server_options::ServerOptions;
use crate::table::Table;

/// Exit status where nothing says what to do.
const NO_SUBCOMMAND: u8 = 2;

/// Heading of the options that say what is run.
const RUNNING: &str = "What is run";

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    request: Option<Request>,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    lists: categories::Lists,
}

/// Where the configuration is, and which commands are done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where the configuration is, and who asks")]
struct RunOptions {
    #[command(flatten)]
    server: ServerOptions,
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

/// What is printed.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Output")]
struct OutputOptions {
    /// Print nothing but errors and what was asked for
    #[arg(short = 'Q', long = "quiet", global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say which configuration is worked on
    #[arg(short = 'v', long = "verbose", global = true)]
    verbose: bool,
    /// Print for scripts: no headings, and tabs between values
    #[arg(short = 's', long = "script-friendly", global = true)]
    script_friendly: bool,
    /// Show advanced properties, too: there is none that is not always shown
    #[arg(long = "advanced", global = true)]
    advanced: bool,
}

impl OutputOptions {
    fn reader(self) -> Reader {
        if self.script_friendly { Reader::Script } else { Reader::Person }
    }

    /// What either asks for.
    fn or(self, other: Self) -> Self {
        Self {
            quiet: self.quiet || other.quiet,
            verbose: self.verbose || other.verbose,
            script_friendly: self.script_friendly || other.script_friendly,
            advanced: self.advanced || other.advanced,
        }
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
        Some(Request::Objects(asked)) => run_one(&mut *open_door(directory, options)?, asked, options.output),
        None if is_batch => run_batch(directory, options),
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
    let config = instance::open(directory)?;
    authorize(&config, &options.run.server, !options.run.no_prompt && !options.run.batch)?;
    let door = FileDoor::new(directory, config, options.run.offline);
    if options.output.verbose {
        outln!("The configuration is {}.", door.place());
    }
    Ok(Box::new(door))
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
    let usage = |error: clap::Error| {
        let message = crate::cli::mistake(&error, Some("dsconfig"));
        Failure::new(message).with_status(crate::cli::status_of_mistake(Some("dsconfig")))
    };
    let matches = command().try_get_matches_from(line.words()?).map_err(usage)?;
    let parsed = Options::from_arg_matches(&matches).map_err(usage)?;
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

/// Does one command.
fn run_one(door: &mut dyn Door, asked: &ObjectRequest, output: OutputOptions) -> Outcome {
    match asked.verb {
        Verb::List => list(door, asked, output)?,
        Verb::Get => get(door, asked, output)?,
        Verb::Create => change(door, asked, output, "was created")?,
        Verb::Set => {
            warn_of_all_indexes(asked, output);
            change(door, asked, output, "has changed")?;
        }
        Verb::Delete if asked.force && door.seen(&asked.path()?)?.is_none() => {
            if !output.quiet {
                outln!("There is no {}: nothing to delete.", asked.title());
            }
        }
        Verb::Delete => change(door, asked, output, "was deleted")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn change(door: &mut dyn Door, asked: &ObjectRequest, output: OutputOptions, done: &str) -> Result<(), Failure> {
    let proposed: Proposed<'_> = asked.proposed()?;
    if asked.verb == Verb::Set && proposed.changes.is_empty() {
        if door.seen(&proposed.path)?.is_none() {
            return Err(no_such(&proposed.path));
        }
        if !output.quiet {
            outln!("The {} is as before: no --set, --add, --remove or --reset says what changes.", asked.title());
        }
        return Ok(());
    }
    let told = door.change(&proposed)?;
    if !output.quiet {
        outln!("The {} {done}.", asked.title());
        told.iter().for_each(|line| outln!("{line}"));
    }
    Ok(())
}

/// Prints what an object is set to, defaults included.
fn get(door: &mut dyn Door, asked: &ObjectRequest, output: OutputOptions) -> Result<(), Failure> {
    let path = asked.path()?;
    let form = asked.display.form(output.reader())?;
    let Some(seen) = door.seen(&path)? else { return Err(no_such(&path)) };
    let known: Vec<&'static Property> = seen.variant.properties.iter().collect();
    let chosen = asked.display.chosen(asked.component, &known)?;
    show(&seen, chosen.as_deref(), form, asked.by_value);
    Ok(())
}

fn no_such(object: &[Step<'_>]) -> Failure {
    let names: Vec<String> = object.iter().rev().map(|(class, name)| format!("{class} \"{name}\"")).collect();
    Failure::new(format_args!("there is no {}", names.join(" in ")))
}

fn list(door: &mut dyn Door, asked: &ObjectRequest, output: OutputOptions) -> Result<(), Failure> {
    let (above, component) = (asked.path()?, asked.component);
    let class = component.class();
    let form = asked.display.form(output.reader())?;
    let known: Vec<&'static Property> = class.variants.iter().flat_map(|variant| variant.properties).collect();
    let columns = asked.display.chosen(component, &known)?.unwrap_or_else(|| component.listed());
    let Some(objects) = door.list(&above, class.name)? else { return Err(no_such(&above)) };
    if form.reader() == Reader::Script {
        objects.iter().for_each(|object| outln!("{}", object.name));
        return Ok(());
    }
    let (title, has_types) = (component.title(), component.types().next().is_some());
    let mut headings = vec![title.as_str()];
    headings.extend(has_types.then_some("Type"));
    headings.extend(columns.iter().map(|property| property.name));
    let mut table = Table::new(&headings).with_colons();
    for object in objects {
        let path = [above.as_slice(), &[(class.name, object.name.as_str())]].concat();
        // One that went meanwhile is left out.
        let Some(seen) = door.seen(&path)? else { continue };
        let mut row = vec![object.name.clone()];
        row.extend(has_types.then(|| object.type_name.to_owned()));
        row.extend(columns.iter().map(|property| form.cell(&seen, property)));
        table.row(row);
    }
    table.print();
    Ok(())
}

/// To make a few keys usable, no other index needs a larger limit.
fn warn_of_all_indexes(asked: &ObjectRequest, output: OutputOptions) {
    let of_all = |given: &String| given.starts_with("index-entry-limit:");
    if asked.component.name() == "backend" && asked.changes.set.iter().any(of_all) && !output.quiet {
        errln!(
            "The index-entry-limit of a backend holds for every index that sets none of its own. To make a few keys \
             usable, change \
             these indexes alone: dsconfig set-backend-index-prop --set index-entry-limit:NUMBER"
        );
    }
}
