//! One command, done: an object created, changed, deleted or shown, a list printed.
//!
//! Knows doors and what was asked for; reads no command line, and asks nobody.

use std::process::ExitCode;

use clap::Args;
use config::{Property, Step};

use super::display::{Reader, show};
use super::door::Door;
use super::request::{ObjectRequest, Verb};
use crate::failure::{Failure, Outcome};
use crate::output::{errln, outln};
use crate::table::Table;

/// What is printed.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Print nothing but errors and what was asked for
    #[arg(short = 'Q', long = "quiet", global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say which configuration is worked on
    #[arg(short = 'v', long = "verbose", global = true)]
    pub verbose: bool,
    /// Print for scripts: no headings, and tabs between values
    #[arg(short = 's', long = "script-friendly", global = true)]
    script_friendly: bool,
    /// Show advanced properties, too: there is none that is not always shown
    #[arg(long = "advanced", global = true)]
    advanced: bool,
}

impl OutputOptions {
    /// For whom things are printed.
    pub fn reader(self) -> Reader {
        if self.script_friendly { Reader::Script } else { Reader::Person }
    }

    /// What either asks for.
    pub fn or(self, other: Self) -> Self {
        Self {
            quiet: self.quiet || other.quiet,
            verbose: self.verbose || other.verbose,
            script_friendly: self.script_friendly || other.script_friendly,
            advanced: self.advanced || other.advanced,
        }
    }
}

/// Does a command.
pub fn run_one(door: &mut dyn Door, asked: &ObjectRequest, output: OutputOptions) -> Outcome {
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
    let proposed = asked.proposed()?;
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

pub fn list(door: &mut dyn Door, asked: &ObjectRequest, output: OutputOptions) -> Result<(), Failure> {
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
