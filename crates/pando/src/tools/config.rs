//! `config`: the configurations that an instance had, what differs between them, and going back to one.
//!
//! Knows the history and the file; what a running server makes of it, the server says.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use config::{Config, ConfigHistory, Difference, Edit, Fate, Instance, Version, differences};
use server::{Beside, check_start};

use crate::administration::{self, Reloaded};
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::owner::Owner;
use crate::table::Table;

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the configurations that the server took, with who changed them and when
    History {
        /// Print JSON
        #[arg(long = "json")]
        json: bool,
    },
    /// Show what differs between two configurations
    Diff {
        /// Number of the earlier one [default: the newest that the server took]
        #[arg(value_name = "N")]
        from: Option<u64>,
        /// Number of the later one [default: pando.toml as it is]
        #[arg(value_name = "M")]
        to: Option<u64>,
        /// Print JSON
        #[arg(long = "json")]
        json: bool,
    },
    /// Make an earlier configuration that of the server again
    Rollback {
        /// Its number in the history
        #[arg(value_name = "N")]
        number: u64,
        /// Print nothing but errors
        #[arg(short = 'Q', long = "quiet")]
        quiet: bool,
    },
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let instance = instance::find(directory)?;
    match &options.what {
        What::History { json } => show_history(&instance, *json),
        What::Diff { from, to, json } => diff(&instance, *from, *to, *json),
        What::Rollback { number, quiet } => rollback(&instance, *number, *quiet),
    }
}

fn history(instance: &Instance) -> (ConfigHistory, String) {
    let folder = instance.config_history();
    (ConfigHistory::new(&folder), folder.display().to_string())
}

fn show_history(instance: &Instance, json: bool) -> Outcome {
    let (history, folder) = history(instance);
    let versions = history.versions().context(folder)?;
    if json {
        let row = |version: &Version| {
            let Version { number, at, door, by } = version;
            serde_json::json!({
                "number": number,
                "at": at,
                "door": door,
                "by": by,
            })
        };
        let rows = versions.iter().map(row).collect();
        outln!("{}", serde_json::Value::Array(rows));
        return Ok(ExitCode::SUCCESS);
    }
    if versions.is_empty() {
        outln!("No server has taken a configuration of this instance yet.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["Number", "Taken", "Door", "By"]);
    for Version { number, at, door, by } in versions {
        table.row(vec![number.to_string(), at, door, by]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

/// The text of a kept configuration.
fn kept(instance: &Instance, number: u64) -> Result<String, Failure> {
    let (history, folder) = history(instance);
    let found = history.read(number).context(folder)?;
    found.map(|(_, text)| text).ok_or_else(|| {
        Failure::new(format_args!(
            "there is no configuration {number}: pando config history --instance {} lists those that are kept",
            instance.directory().display()
        ))
    })
}

fn kept_config(instance: &Instance, number: u64) -> Result<Config, Failure> {
    let parsed = Config::parse(&kept(instance, number)?, &instance.config_file());
    parsed.map_err(|faults| Failure::new(format_args!("configuration {number} is not valid today: {faults}")))
}

fn diff(instance: &Instance, from: Option<u64>, to: Option<u64>, json: bool) -> Outcome {
    let (history, folder) = history(instance);
    let newest = history.versions().context(folder)?.last().map(|version| version.number);
    let Some(from) = from.or(newest) else {
        return Err(Failure::new(
            "no server has taken a configuration of this instance yet: there is nothing to compare",
        ));
    };
    let old = kept_config(instance, from)?;
    let new = match to {
        Some(to) => kept_config(instance, to)?,
        None => Config::load(&instance.config_file())?,
    };
    let found = differences(&old, &new);
    if json {
        outln!("{}", serde_json::Value::Array(found.iter().map(as_json).collect()));
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        outln!("Nothing differs.");
    }
    for difference in &found {
        let sign = match difference.fate {
            Fate::Added => "+",
            Fate::Changed => " ",
            Fate::Removed => "-",
        };
        outln!("{sign} {}", difference.title);
        for value in &difference.values {
            let line = |sign: &str, values: &[String]| {
                if !values.is_empty() {
                    outln!("{sign}   {} = {}", value.property.name, values.join(", "));
                }
            };
            line("-", &value.before);
            line("+", &value.after);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(difference: &Difference) -> serde_json::Value {
    let fate = match difference.fate {
        Fate::Added => "added",
        Fate::Changed => "changed",
        Fate::Removed => "removed",
    };
    let values: Vec<_> = difference
        .values
        .iter()
        .map(|value| serde_json::json!({"property": value.property.name, "before": value.before, "after": value.after}))
        .collect();
    serde_json::json!({"object": difference.title, "dn": difference.dn, "change": fate, "values": values})
}

/// A rollback is a change like others: judged whole, written, taken by a running server or taken back.
fn rollback(instance: &Instance, number: u64, quiet: bool) -> Outcome {
    let owner = Owner::of(instance.directory())?;
    let _only_one = instance::lock_configuration(instance)?;
    let text = kept(instance, number)?;
    let mut edit = Edit::open(&instance.config_file()).map_err(Failure::new)?;
    edit.replace(&text).map_err(Failure::new)?;
    directory::hash_root_passwords(&mut edit).map_err(Failure::new)?;
    let new = edit.config().map_err(Failure::new)?;
    let beside = if instance::running(instance).is_some() { Beside::AnotherProcess } else { Beside::Nobody };
    check_start(&new, &beside).map_err(Failure::new)?;
    edit.save().map_err(Failure::new)?;
    owner.settle(instance.directory())?;
    let take_back = || {
        edit.take_back().map_err(Failure::new)?;
        owner.settle(instance.directory())
    };
    let sentences = match administration::reload(instance) {
        Ok(Some(Reloaded { process, verdict: Ok(taken) })) => {
            let taken_by = format!("The server (process {process}) has taken configuration {number}.");
            [vec![taken_by], taken.at_restart.iter().map(|what| format!("{what}.")).collect()].concat()
        }
        Ok(Some(Reloaded { verdict: Err(reason), .. })) => {
            take_back()?;
            let _ = administration::reload(instance);
            return Err(Failure::new(format_args!("the server refuses this, and nothing was changed: {reason}")));
        }
        Ok(None) => {
            let directory = instance.directory().display();
            vec![format!("pando.toml is configuration {number} again; a server on {directory} takes it at its start.")]
        }
        Err(failure) => {
            take_back()?;
            return Err(failure);
        }
    };
    if !quiet {
        sentences.iter().for_each(|sentence| outln!("{sentence}"));
    }
    Ok(ExitCode::SUCCESS)
}
