//! `dsconfig`: changes of the configuration as OpenDJ's tool of that name makes them, for everything that is declared.
//! The file is the truth: it is changed in place, checked, and a running server reads it again; if the server refuses
//! it, the file is as before.

mod request;

use std::{
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use config::{Change, Config, Edit, Instance, Step};
use schema::Schema;
use server::Settings;

use crate::{
    administration::{self, Reloaded},
    failure::{Failure, Outcome},
    instance,
    output::{errln, outln},
    owner::Owner,
    table::Table,
};
use request::{Request, Verb};

/// So long is waited for the server to take a change.
const TAKEN_WITHIN: Duration = Duration::from_secs(20);
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    request: Request,
    #[command(flatten)]
    connection: Connection,
}

/// What OpenDJ's tool needs to reach a server. This one works on the instance's own file.
#[derive(Debug, Args)]
struct Connection {
    /// Do not ask (this tool never does)
    #[arg(short = 'n', long = "no-prompt", global = true)]
    no_prompt: bool,
    /// Print nothing but errors and what was asked for
    #[arg(short = 'Q', long = "quiet", global = true)]
    quiet: bool,
    /// Change the file only, and leave a running server as it is
    #[arg(long = "offline", global = true)]
    offline: bool,
    /// Not needed: the instance is named with --instance
    #[arg(long = "hostname", global = true, hide = true)]
    host: Option<String>,
    #[arg(short = 'p', long = "port", global = true, hide = true)]
    port: Option<u16>,
    #[arg(short = 'D', long = "bindDN", alias = "bindDn", global = true, hide = true)]
    bind_dn: Option<String>,
    #[arg(short = 'w', long = "bindPassword", global = true, hide = true)]
    bind_password: Option<String>,
    #[arg(short = 'j', long = "bindPasswordFile", global = true, hide = true)]
    bind_password_file: Option<String>,
    #[arg(short = 'X', long = "trustAll", global = true, hide = true)]
    trust_all: bool,
}

/// How properties change.
#[derive(Debug, Default, Args)]
pub struct Changes {
    /// Give a property this value, such as enabled:false; given several times, these values
    #[arg(long = "set", value_name = "PROP:VALUE")]
    set: Vec<String>,
    /// Add a value
    #[arg(long = "add", value_name = "PROP:VALUE")]
    add: Vec<String>,
    /// Remove a value
    #[arg(long = "remove", value_name = "PROP:VALUE")]
    remove: Vec<String>,
    /// Back to the default
    #[arg(long = "reset", value_name = "PROP")]
    reset: Vec<String>,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let (request, connection) = (&options.request, &options.connection);
    let (title, path) = (request.title(), request.path());
    match request.verb {
        Verb::List => list(directory, request),
        Verb::Get => show_properties(directory, &path),
        Verb::Create => changing(directory, connection, &format!("The {title} was created."), |edit| {
            edit.create(&path, request.type_name.as_deref()).map_err(Failure::new)?;
            request.changes.make(edit, &path)?;
            match edit.missing(&path).as_slice() {
                [] => Ok(()),
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

/// Prints what an object is set to, defaults included.
fn show_properties(directory: &Path, object: &[Step<'_>]) -> Outcome {
    let config = instance::open(directory)?;
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

fn list(directory: &Path, request: &Request) -> Outcome {
    let config = instance::open(directory)?;
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

/// Whoever wants to make a few keys usable should not make all indexes larger.
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

impl Changes {
    /// Makes them to an object.
    fn make(&self, edit: &mut Edit, object: &[Step<'_>]) -> Result<(), Failure> {
        for (change, given) in [(Change::Set, &self.set), (Change::Add, &self.add), (Change::Remove, &self.remove)] {
            for (property, values) in by_property(given)? {
                edit.change(object, property, change, &values).map_err(Failure::new)?;
            }
        }
        for property in &self.reset {
            edit.change(object, property, Change::Reset, &[]).map_err(Failure::new)?;
        }
        Ok(())
    }
}

/// `PROP:VALUE` pairs, the values of one property together.
fn by_property(given: &[String]) -> Result<Vec<(&str, Vec<String>)>, Failure> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for pair in given {
        let Some((property, value)) = pair.split_once(':') else {
            return Err(Failure::new(format_args!("\"{pair}\" must be PROPERTY:VALUE, such as index-type:equality")));
        };
        match found.iter_mut().find(|(known, _)| *known == property) {
            Some((_, values)) => values.push(value.to_owned()),
            None => found.push((property, vec![value.to_owned()])),
        }
    }
    Ok(found)
}

/// Changes the file, if what comes of it can be served; has a running server take it; tells what happens now.
fn changing(
    directory: &Path,
    connection: &Connection,
    done: &str,
    change: impl FnOnce(&mut Edit) -> Result<(), Failure>,
) -> Outcome {
    let instance = instance::open(directory)?.instance;
    let owner = Owner::of(directory)?;
    // Until the server has answered: another tool's change comes after this one, or is told of it.
    let _only_one = instance::lock_configuration(&instance)?;
    let mut edit = Edit::open(&instance.config_file()).map_err(Failure::new)?;
    let config = edit.config().map_err(Failure::new)?;
    change(&mut edit)?;
    let new = edit.config().map_err(Failure::new)?;
    let schema = instance::schema(&new)?;
    directory::check_configuration(&new, &schema).map_err(Failure::new)?;
    Settings::from_config(&new).map_err(Failure::new)?;
    edit.save().map_err(Failure::new)?;
    owner.settle(directory)?;
    let take_back = |edit: &mut Edit| {
        edit.take_back().map_err(Failure::new)?;
        owner.settle(directory)
    };
    let (process, is_taken) = match connection.offline {
        true => (None, true),
        false => match administration::reload(&instance) {
            Ok(None) => (None, true),
            // Its schema is the one that it was started with.
            Ok(Some(Reloaded { process, verdict: Ok(_) })) => {
                (Some(process), is_taken_by_server(&new, &instance::schema(&config)?)?)
            }
            Ok(Some(Reloaded { verdict: Err(reason), .. })) => {
                take_back(&mut edit)?;
                return Err(refused(&instance, &reason));
            }
            Err(failure) => {
                take_back(&mut edit)?;
                return Err(failure);
            }
        },
    };
    if !connection.quiet {
        outln!("{done}");
        tell_what_happens(&config, &new, process, is_taken);
    }
    Ok(ExitCode::SUCCESS)
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
             taken the file \
             again: {}/errors tells why",
            instance.logs().display()
        )),
        Err(failure) => failure,
    }
}

/// Waits for the server, so that whoever looks next sees the change; not for ever.
fn is_taken_by_server(config: &Config, schema: &Arc<Schema>) -> Result<bool, Failure> {
    let until = Instant::now() + TAKEN_WITHIN;
    for backend in config.backends.iter().filter(|backend| backend.enabled) {
        let wanted = query::configured::configured_indexes(schema, backend).map_err(Failure::new)?;
        // A backend that was added to the file is opened at the restart.
        while store::database_path(&backend.directory).exists() {
            let snapshot = instance::reader(config, backend, schema)?.snapshot()?;
            if **snapshot.indexes().configured() == wanted {
                break;
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
    Ok(true)
}

fn tell_what_happens(old: &Config, new: &Config, process: Option<u32>, is_taken: bool) {
    for property in old.restart_needed_for(new) {
        outln!("{property} takes effect when the server is restarted.");
    }
    let directory = new.instance.directory().display();
    match process {
        Some(process) if !is_taken => outln!(
            "The server (process {process}) was told, but has not taken the change yet; {}/errors tells why.",
            new.instance.logs().display()
        ),
        Some(process) if !changes_indexes(old, new) => outln!("The server (process {process}) has taken the change."),
        Some(process) => {
            outln!(
                "The server (process {process}) has taken the change. An index that has to be built is built while it \
                 serves:"
            );
            outln!(
                "watch pando backendstat show-index-status --instance {directory}, or the attribute \
                 ds-backend-index-state in cn=monitor."
            );
        }
        None if !changes_indexes(old, new) => {
            outln!("The change takes effect when a server on {directory} starts or reloads.");
        }
        None => outln!(
            "The change takes effect when a server on {directory} starts or reloads; it builds indexes while it serves."
        ),
    }
}

fn changes_indexes(old: &Config, new: &Config) -> bool {
    let indexes = |config: &Config| -> Vec<_> {
        let of = |backend: &config::BackendConfig| (backend.indexes.clone(), backend.vlv_indexes.clone());
        config.backends.iter().map(of).collect()
    };
    indexes(old) != indexes(new)
}
