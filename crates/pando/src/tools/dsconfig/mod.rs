//! `dsconfig`: changes of the configuration as OpenDJ's tool of that name makes them. The file is the truth: it is changed in place,
//! checked, and a running server reads it again.

mod backend_index;

use std::{
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::{Args, Subcommand};
use config::{Change, Config, Edit, Step};
use schema::Schema;

use super::reload;
use crate::{
    failure::{Failure, Outcome},
    instance::{self, Reader},
    owner::Owner,
    table::Table,
};

/// So long is waited for the server to take a change.
const TAKEN_WITHIN: Duration = Duration::from_secs(20);
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
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

#[derive(Debug, Subcommand)]
enum What {
    /// Create an index; a running server builds it in the background
    CreateBackendIndex(backend_index::Create),
    /// Change an index
    SetBackendIndexProp(backend_index::SetProp),
    /// Show the properties of an index
    GetBackendIndexProp(backend_index::One),
    /// List the indexes of a backend
    ListBackendIndexes(OfBackend),
    /// Delete an index
    DeleteBackendIndex(backend_index::One),
    /// Change a backend, for example its index-entry-limit
    SetBackendProp(SetBackendProp),
    /// Show the properties of a backend
    GetBackendProp(OfBackend),
}

/// The backend of an index.
#[derive(Debug, Args)]
pub struct OfBackend {
    /// The backend
    #[arg(long = "backend-name", value_name = "NAME")]
    backend: String,
}

#[derive(Debug, Args)]
struct SetBackendProp {
    #[command(flatten)]
    of: OfBackend,
    #[command(flatten)]
    changes: Changes,
}

/// How properties change.
#[derive(Debug, Args)]
pub struct Changes {
    /// Give a property this value; given several times, these values
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
    let connection = &options.connection;
    match &options.what {
        What::CreateBackendIndex(it) => backend_index::create(directory, it, connection),
        What::SetBackendIndexProp(it) => backend_index::set_prop(directory, it, connection),
        What::GetBackendIndexProp(it) => backend_index::get_prop(directory, it),
        What::ListBackendIndexes(of) => backend_index::list(directory, of),
        What::DeleteBackendIndex(it) => backend_index::delete(directory, it, connection),
        What::SetBackendProp(it) => set_backend_prop(directory, it, connection),
        What::GetBackendProp(of) => show_properties(directory, &[("backend", &of.backend)], &[]),
    }
}

/// Prints what an object is set to, defaults included; `first` are rows before.
fn show_properties(directory: &Path, object: &[Step<'_>], first: &[(&str, &str)]) -> Outcome {
    let config = instance::open(directory)?;
    let Some(properties) = config.properties_of(object) else {
        let names: Vec<String> = object.iter().map(|(class, name)| format!("{class} \"{name}\"")).collect();
        return Err(Failure::new(format_args!("there is no {}", names.join(" with "))));
    };
    let mut table = Table::new(&["Property", "Value(s)"]);
    for (name, value) in first {
        table.row(vec![(*name).to_owned(), (*value).to_owned()]);
    }
    for (name, values) in properties {
        table.row(vec![name.to_owned(), if values.is_empty() { "-".to_owned() } else { values.join(", ") }]);
    }
    print!("{}", table.render());
    Ok(ExitCode::SUCCESS)
}

fn set_backend_prop(directory: &Path, options: &SetBackendProp, connection: &Connection) -> Outcome {
    let of_all = |given: &String| given.starts_with("index-entry-limit:");
    if options.changes.set.iter().any(of_all) && !connection.quiet {
        eprintln!(
            "The index-entry-limit of a backend holds for every index that sets none of its own. To make a few keys usable, change \
             these indexes alone: dsconfig set-backend-index-prop --set index-entry-limit:NUMBER"
        );
    }
    changing(directory, connection, "The backend has changed.", |edit, _| {
        options.changes.make(edit, &[("backend", &options.of.backend)])
    })
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
    change: impl FnOnce(&mut Edit, &Arc<Schema>) -> Result<(), Failure>,
) -> Outcome {
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    let schema = instance::schema(&config)?;
    let mut edit = Edit::open(&config.instance.config_file()).map_err(Failure::new)?;
    change(&mut edit, &schema)?;
    let new = edit.config().map_err(Failure::new)?;
    check_indexes(&new, &schema)?;
    edit.save().map_err(Failure::new)?;
    owner.settle(directory)?;
    let process = if connection.offline { None } else { reload::reload(&new)? };
    let is_taken = process.is_none() || is_taken_by_server(&new, &schema)?;
    if !connection.quiet {
        println!("{done}");
        tell_what_happens(&config, &new, process, is_taken);
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the schema carries all indexes: said here, because the server would only say it in its log.
fn check_indexes(config: &Config, schema: &Arc<Schema>) -> Result<(), Failure> {
    for backend in &config.backends {
        directory::configured_indexes(schema, backend).map_err(Failure::new)?;
    }
    Ok(())
}

/// Waits for the server, so that whoever looks next sees the change; not for ever.
fn is_taken_by_server(config: &Config, schema: &Arc<Schema>) -> Result<bool, Failure> {
    let until = Instant::now() + TAKEN_WITHIN;
    for backend in config.backends.iter().filter(|backend| backend.enabled) {
        let wanted = directory::configured_indexes(schema, backend).map_err(Failure::new)?;
        // A backend that was added to the file is opened at the restart.
        while store::database_path(&backend.directory).exists() {
            let snapshot = Reader::open(config, backend, schema)?.snapshot()?;
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
        println!("{property} takes effect when the server is restarted.");
    }
    let directory = new.instance.directory().display();
    match process {
        Some(process) if !is_taken => println!(
            "The server (process {process}) was told, but has not taken the change yet; {}/errors tells why.",
            new.instance.logs().display()
        ),
        Some(process) => {
            println!(
                "The server (process {process}) has taken the change. An index that has to be built is built while it serves:"
            );
            println!(
                "watch pando backendstat show-index-status --instance {directory}, or the attribute ds-backend-index-state in cn=monitor."
            );
        }
        None => println!(
            "The change takes effect when a server on {directory} starts or reloads; it builds indexes while it serves."
        ),
    }
}
