//! `manage-tasks`: the tasks of the running server, one of them, and an end to it.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::book::{self, TaskEntry};
use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::server_options::ServerOptions;
use crate::table::Table;
use crate::tools::time::zoned;

/// Below a heading.
const LINE: &str = "------------------------------------------------------";

#[derive(Debug, Args)]
pub struct Options {
    /// List all tasks (as without options)
    #[arg(short = 's', long = "summary", conflicts_with_all = ["info", "cancel"])]
    summary: bool,
    /// Show the task of this id
    #[arg(short = 'i', long = "info", value_name = "ID", conflicts_with = "cancel")]
    info: Option<String>,
    /// Cancel the task of this id, or end the schedule of a recurring one
    #[arg(short = 'c', long = "cancel", value_name = "ID")]
    cancel: Option<String>,
    /// Ask nothing (this tool never does)
    #[arg(short = 'n', long = "no-prompt", hide = true)]
    no_prompt: bool,
    #[command(flatten)]
    server: ServerOptions,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let mut client = Client::connect(&config, &options.server)?;
    let find = |client: &mut Client, id: &str| {
        book::find(client, id)?.ok_or_else(|| Failure::new(format_args!("There are no tasks with ID {id}")))
    };
    if let Some(id) = &options.info {
        show(&find(&mut client, id)?);
    } else if let Some(id) = &options.cancel {
        let task = find(&mut client, id)?;
        book::cancel(&mut client, &task)?;
        outln!("Task {id} canceled");
    } else {
        list(&book::all(&mut client)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn list(tasks: &[TaskEntry]) {
    if tasks.is_empty() {
        outln!("No tasks exist");
        return;
    }
    let mut table = Table::new(&["ID", "Type", "Status"]);
    for task in tasks {
        table.row(vec![task.id().to_owned(), task.title().to_owned(), task.state_words().to_owned()]);
    }
    table.print();
}

/// A time of an entry in local time.
fn time(task: &TaskEntry, name: &str) -> Option<String> {
    let written = task.first(name)?;
    let time = zoned(written).map(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    Some(time.map_or_else(|| written.to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%S %Z").to_string()))
}

fn show(task: &TaskEntry) {
    let none_or = |values: &[String]| if values.is_empty() { "None".to_owned() } else { values.join(", ") };
    let schedule = task.first("ds-recurring-task-schedule").map(str::to_owned);
    let start = schedule.or_else(|| time(task, "ds-task-scheduled-start-time"));
    heading("Task Details");
    for (name, value) in [
        ("ID", task.id().to_owned()),
        ("Type", task.title().to_owned()),
        ("Status", task.state_words().to_owned()),
        ("Scheduled Start Time", start.unwrap_or_else(|| "Immediate execution".to_owned())),
        ("Actual Start Time", time(task, "ds-task-actual-start-time").unwrap_or_default()),
        ("Completion Time", time(task, "ds-task-completion-time").unwrap_or_default()),
        ("Dependencies", none_or(task.values("ds-task-dependency-id"))),
        ("Failed Dependency Action", none_or(task.values("ds-task-failed-dependency-action"))),
    ] {
        outln!("{}", format!("{name:<31} {value}").trim_end());
    }
    let of_work = task.options();
    if !of_work.is_empty() {
        outln!("");
        heading(&format!("{} Options", task.title()));
        for (name, values) in of_work {
            for value in values {
                outln!("{name:<31} {value}");
            }
        }
    }
    let messages = task.values("ds-task-log-message");
    if !messages.is_empty() {
        outln!("");
        heading("Log Message(s)");
        messages.iter().for_each(|message| outln!("{message}"));
    }
}

fn heading(text: &str) {
    outln!("{text}\n{LINE}");
}
