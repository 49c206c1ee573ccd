//! `dsconfig`: changes of the configuration as OpenDJ's tool of that name makes them, for everything that is declared.
//! The file is the truth: it is changed in place, checked, and a running server reads it again; if the server refuses
//! it, the file is as before.

mod changes;
mod request;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use config::{Applier, Change, Config, Edit, Instance, Step};
use directory::RootPasswordError;
use request::{Request, Verb};
use server::{Beside, check_start};

use crate::administration::{self, Reloaded};
use crate::authorize::authorize;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::{errln, outln};
use crate::owner::Owner;
use crate::server_options::ServerOptions;
use crate::table::Table;

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    request: Request,
    #[command(flatten)]
    connection: Connection,
}

/// How the tool goes about it.
#[derive(Debug, Args)]
struct Connection {
    #[command(flatten)]
    server: ServerOptions,
    /// Do not ask for anything
    #[arg(short = 'n', long = "no-prompt", global = true)]
    no_prompt: bool,
    /// Print nothing but errors and what was asked for
    #[arg(short = 'Q', long = "quiet", global = true)]
    quiet: bool,
    /// Change only the file; a running server does not take the change
    #[arg(long = "offline", global = true)]
    offline: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let (request, connection) = (&options.request, &options.connection);
    let (title, path) = (request.title(), request.path());
    let config = instance::open(directory)?;
    authorize(&config, &connection.server, !connection.no_prompt)?;
    match request.verb {
        Verb::List => list(&config, request),
        Verb::Get => show_properties(&config, &path),
        Verb::Create => changing(directory, connection, &format!("The {title} was created."), |edit| {
            edit.create(&path, request.type_name.as_deref()).map_err(Failure::new)?;
            request.changes.make(edit, &path)?;
            match edit.missing(&path).as_slice() {
                [] => give_default_indexes(edit, &path),
                missing => Err(Failure::new(request.needs(missing))),
            }
        }),
        Verb::Set => {
            warn_of_all_indexes(request, connection);
            let done = format!("The {title} has changed.");
            changing(directory, connection, &done, |edit| request.changes.make(edit, &path))
        }
        Verb::Delete => {
            let done = format!("The {title} was deleted.");
            changing(directory, connection, &done, |edit| edit.delete(&path).map_err(Failure::new))
        }
    }
}

/// A new backend has the indexes that `setup` gives the first one.
fn give_default_indexes(edit: &mut Edit, path: &[Step<'_>]) -> Result<(), Failure> {
    let [backend @ ("backend", _)] = path else { return Ok(()) };
    for index in config::default_indexes() {
        let index_path = [*backend, ("index", index.attribute.as_str())];
        let kinds: Vec<String> = index.kinds.iter().map(|kind| kind.word().to_owned()).collect();
        edit.create(&index_path, None).map_err(Failure::new)?;
        edit.change(&index_path, "index-type", Change::Set, &kinds).map_err(Failure::new)?;
    }
    Ok(())
}

/// Prints what an object is set to, defaults included.
fn show_properties(config: &Config, object: &[Step<'_>]) -> Outcome {
    let Some(properties) = config.properties_of(object) else { return Err(no_such(object)) };
    let mut table = Table::new(&["Property", "Value(s)"]).with_colons();
    for (name, values) in properties {
        table.row(vec![name.to_owned(), shown(&values)]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

fn no_such(object: &[Step<'_>]) -> Failure {
    let names: Vec<String> = object.iter().rev().map(|(class, name)| format!("{class} \"{name}\"")).collect();
    Failure::new(format_args!("there is no {}", names.join(" in ")))
}

fn shown(values: &[String]) -> String {
    if values.is_empty() { "-".to_owned() } else { values.join(", ") }
}

fn list(config: &Config, request: &Request) -> Outcome {
    let (above, component) = (request.path(), request.component);
    let class = component.class();
    let Some(objects) = config.list(&above, class.name) else { return Err(no_such(&above)) };
    let (title, has_types, listed) = (component.title(), component.types().next().is_some(), component.listed());
    let mut headings = vec![title.as_str()];
    headings.extend(has_types.then_some("Type"));
    headings.extend(listed.iter().map(|property| property.name));
    let mut table = Table::new(&headings).with_colons();
    for object in objects {
        let path = [above.as_slice(), &[(class.name, object.name.as_str())]].concat();
        let properties = config.properties_of(&path).unwrap_or_default();
        let value = |name: &str| properties.iter().find(|(own, _)| *own == name).map(|(_, values)| shown(values));
        let mut row = vec![object.name.clone()];
        row.extend(has_types.then(|| object.type_name.to_owned()));
        row.extend(listed.iter().map(|property| value(property.name).unwrap_or_default()));
        table.row(row);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

/// To make a few keys usable, no other index needs a larger limit.
fn warn_of_all_indexes(request: &Request, connection: &Connection) {
    let of_all = |given: &String| given.starts_with("index-entry-limit:");
    if request.component.name() == "backend" && request.changes.set.iter().any(of_all) && !connection.quiet {
        errln!(
            "The index-entry-limit of a backend holds for every index that sets none of its own. To make a few keys \
             usable, change \
             these indexes alone: dsconfig set-backend-index-prop --set index-entry-limit:NUMBER"
        );
    }
}

/// Changes the file, if a server would start with what comes of it; has a running server take it; says what happens
/// now.
fn changing(
    directory: &Path,
    connection: &Connection,
    done: &str,
    change: impl FnOnce(&mut Edit) -> Result<(), Failure>,
) -> Outcome {
    let instance = instance::open(directory)?.instance;
    let owner = Owner::of(directory)?;
    // Until the server has answered: another tool's change comes after this one, or is refused.
    let _only_one = instance::lock_configuration(&instance)?;
    let file = instance.config_file();
    let is_hashed = match directory::hash_root_passwords_in_file(&file) {
        Ok(_) => true,
        // This change may be the one that sets a valid password.
        Err(RootPasswordError::InFile { .. }) => false,
        Err(error) => return Err(Failure::new(error)),
    };
    let mut edit = Edit::open(&file).map_err(Failure::new)?;
    let config = edit.config().map_err(Failure::new)?;
    change(&mut edit)?;
    directory::hash_root_passwords(&mut edit).map_err(Failure::new)?;
    let new = edit.config().map_err(Failure::new)?;
    let beside = if instance::running(&instance).is_some() { Beside::AnotherProcess } else { Beside::Nobody };
    check_start(&new, &beside).map_err(Failure::new)?;
    // A clear password must not be kept in the copy of what was before.
    let saved = if is_hashed { edit.save() } else { edit.save_without_backup() };
    saved.map_err(Failure::new)?;
    owner.settle(directory)?;
    let process = match connection.offline {
        true => None,
        false => taken_by_server(&instance).or_else(|failure| {
            edit.take_back().map_err(Failure::new)?;
            owner.settle(directory)?;
            Err(match failure {
                NotTaken::Refused(reason) => refused(&instance, &reason),
                NotTaken::Failed(failure) => failure,
            })
        })?,
    };
    if !connection.quiet {
        outln!("{done}");
        tell_what_happens(&config, &new, process);
    }
    Ok(ExitCode::SUCCESS)
}

/// Why a running server has not taken a change.
enum NotTaken {
    Refused(String),
    Failed(Failure),
}

/// Has a running server take the file; gives its process.
fn taken_by_server(instance: &Instance) -> Result<Option<u32>, NotTaken> {
    match administration::reload(instance).map_err(NotTaken::Failed)? {
        None => Ok(None),
        Some(Reloaded { process, verdict: Ok(_) }) => Ok(Some(process)),
        Some(Reloaded { verdict: Err(reason), .. }) => Err(NotTaken::Refused(reason)),
    }
}

/// What to say of a change that the server refuses. It may have taken a part before it came to what it cannot take: it
/// goes back to the file as it is again.
fn refused(instance: &Instance, reason: &str) -> Failure {
    match administration::reload(instance) {
        Ok(None | Some(Reloaded { verdict: Ok(_), .. })) => {
            Failure::new(format_args!("the server refuses this, and nothing was changed: {reason}"))
        }
        Ok(Some(Reloaded { process, .. })) => Failure::new(format_args!(
            "the server refuses this, and the file is as before: {reason}; but the server (process {process}) has not \
             taken the file again: see {}/errors",
            instance.logs().display()
        )),
        Err(failure) => failure,
    }
}

/// Says what takes effect when. "The server has taken the change" is said only of what it has taken.
fn tell_what_happens(old: &Config, new: &Config, process: Option<u32>) {
    let changes = old.changes_to(new);
    let builds_indexes = changes.live.contains(&Applier::Indexes);
    let directory = new.instance.directory().display();
    match process {
        Some(process) => {
            changes.at_restart.iter().for_each(|what| outln!("{what}."));
            if changes.live.is_empty() {
                return;
            }
            outln!("The server (process {process}) has taken the change.");
            if builds_indexes {
                outln!(
                    "The server builds new indexes while it serves: watch pando backendstat show-index-status \
                     --instance {directory}, or the attribute ds-backend-index-state in cn=monitor."
                );
            }
        }
        None if builds_indexes => outln!(
            "The change takes effect when a server on {directory} starts or reloads; it builds indexes while it serves."
        ),
        None => outln!("The change takes effect when a server on {directory} starts or reloads."),
    }
}
