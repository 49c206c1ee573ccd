//! Indexes of a backend: create, change, show, list, delete.

use std::{path::Path, process::ExitCode};

use clap::Args;
use config::Step;

use super::{Changes, Connection, OfBackend, changing, show_properties};
use crate::{
    failure::{Failure, Outcome},
    instance,
    table::Table,
};

#[derive(Debug, Args)]
pub struct Create {
    #[command(flatten)]
    one: One,
    /// Give a property this value, such as index-type:equality; may be given several times
    #[arg(long = "set", value_name = "PROP:VALUE", required = true)]
    set: Vec<String>,
    /// The kind of index object (there is one)
    #[arg(short = 't', long = "type", hide = true)]
    kind: Option<String>,
}

#[derive(Debug, Args)]
pub struct SetProp {
    #[command(flatten)]
    one: One,
    #[command(flatten)]
    changes: Changes,
}

/// One index.
#[derive(Debug, Args)]
pub struct One {
    #[command(flatten)]
    of: OfBackend,
    /// The attribute type
    #[arg(long = "index-name", value_name = "NAME")]
    index: String,
}

impl One {
    fn path(&self) -> [Step<'_>; 2] {
        [("backend", &self.of.backend), ("index", &self.index)]
    }
}

pub fn create(directory: &Path, options: &Create, connection: &Connection) -> Outcome {
    let done = format!("The index {} was created.", options.one.index);
    changing(directory, connection, &done, |edit, _| {
        let path = options.one.path();
        edit.create(&path).map_err(Failure::new)?;
        let changes = Changes { set: options.set.clone(), add: Vec::new(), remove: Vec::new(), reset: Vec::new() };
        changes.make(edit, &path)
    })
}

pub fn set_prop(directory: &Path, options: &SetProp, connection: &Connection) -> Outcome {
    let done = format!("The index {} has changed.", options.one.index);
    changing(directory, connection, &done, |edit, _| options.changes.make(edit, &options.one.path()))
}

pub fn delete(directory: &Path, options: &One, connection: &Connection) -> Outcome {
    let done = format!("The index {} was deleted.", options.index);
    changing(directory, connection, &done, |edit, _| edit.delete(&options.path()).map_err(Failure::new))
}

pub fn get_prop(directory: &Path, options: &One) -> Outcome {
    show_properties(directory, &options.path(), &[("attribute", &options.index)])
}

pub fn list(directory: &Path, of: &OfBackend) -> Outcome {
    let config = instance::open(directory)?;
    let backend = instance::backend(&config, Some(&of.backend))?;
    let mut table = Table::new(&["Backend Index", "index-type", "index-entry-limit"]);
    for index in &backend.indexes {
        let kinds: Vec<&str> = index.kinds.iter().map(|kind| kind.word()).collect();
        table.row(vec![index.attribute.clone(), kinds.join(", "), index.entry_limit.to_string()]);
    }
    print!("{}", table.render());
    Ok(ExitCode::SUCCESS)
}
