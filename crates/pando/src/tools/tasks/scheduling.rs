//! The options by which a tool has its work done by the running server, at a time, after others or by a schedule.

use std::process::ExitCode;

use clap::Args;
use config::Config;
use jiff::Zoned;
use jiff::tz::TimeZone;
use tasks::work::Kind;
use tasks::{DependencyAction, Schedule, parse_start};

use super::{book, follow};
use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::output::outln;
use crate::server_options::ServerOptions;

/// Heading of these options.
const HEADING: &str = "Task scheduling";

#[derive(Debug, Args)]
pub struct SchedulingOptions {
    /// Have the running server do it: at this time (YYYYMMDDhhmmss, with Z at its end for UTC), or now (0)
    #[arg(short = 't', long = "start", value_name = "TIME", help_heading = HEADING)]
    start: Option<String>,
    /// Have the running server do it again and again, by a schedule such as "0 2 * * sun" (see crontab)
    #[arg(long = "recurringTask", value_name = "SCHEDULE", conflicts_with = "start", help_heading = HEADING)]
    schedule: Option<String>,
    /// After the task of this id has ended; may be given several times
    #[arg(long = "dependency", value_name = "ID", help_heading = HEADING)]
    dependencies: Vec<String>,
    /// If such a task fails: process, cancel or disable [default: cancel]
    #[arg(
        long = "failedDependencyAction",
        value_name = "ACTION",
        requires = "dependencies",
        value_parser = action,
        help_heading = HEADING
    )]
    on_failure: Option<DependencyAction>,
}

fn action(text: &str) -> Result<DependencyAction, String> {
    DependencyAction::parse(text).ok_or_else(|| "write process, cancel or disable".to_owned())
}

impl SchedulingOptions {
    /// Whether the work is to be a task.
    pub fn is_given(&self) -> bool {
        self.start.is_some() || self.schedule.is_some() || !self.dependencies.is_empty()
    }

    /// Adds a task of that kind; waits for its end if it is to begin at once.
    pub fn schedule(
        &self,
        config: &Config,
        server: &ServerOptions,
        (kind, options): (Kind, Vec<(&str, String)>),
        is_quiet: bool,
    ) -> Outcome {
        let start = self.start.as_deref().unwrap_or("0");
        let start_time = parse_start(start, &TimeZone::system()).ok_or_else(|| {
            Failure::new(format_args!("\"{start}\" is no time: write YYYYMMDDhhmmss, with Z at its end for UTC, or 0"))
        })?;
        if let Some(schedule) = &self.schedule {
            Schedule::parse(schedule).map_err(Failure::new)?;
        }
        let mut client = Client::connect(config, server)?;
        let title = kind.title();
        let id = Zoned::now().strftime("%Y%m%d%H%M%S%3f").to_string();
        let mut attributes: Vec<(&str, String)> = ["top", "ds-task"]
            .into_iter()
            .chain(kind.object_class())
            .chain(self.schedule.as_ref().map(|_| "ds-recurring-task"))
            .map(|class| ("objectClass", class.to_owned()))
            .collect();
        attributes.push(("ds-task-class-name", kind.class_name().to_owned()));
        attributes.extend(options);
        if start_time.is_some() {
            attributes.push(("ds-task-scheduled-start-time", start.to_owned()));
        }
        attributes.extend(self.schedule.iter().map(|schedule| ("ds-recurring-task-schedule", schedule.clone())));
        attributes.extend(self.dependencies.iter().map(|id| ("ds-task-dependency-id", id.clone())));
        attributes.extend(self.on_failure.map(|action| ("ds-task-failed-dependency-action", action.name().to_owned())));
        book::add(&mut client, &id, self.schedule.as_deref(), &attributes)?;
        let say = |text: String| {
            if !is_quiet {
                outln!("{text}");
            }
        };
        if self.schedule.is_some() {
            say(format!("Recurring {title} task {id} scheduled successfully"));
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(time) = start_time {
            let time = time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %Z");
            say(format!("{title} task {id} scheduled to start {time}"));
            return Ok(ExitCode::SUCCESS);
        }
        if !self.dependencies.is_empty() {
            say(format!("{title} task {id} scheduled to start after {}", self.dependencies.join(", ")));
            return Ok(ExitCode::SUCCESS);
        }
        say(format!("{title} task {id} scheduled to start immediately"));
        follow::follow(&mut client, &id, is_quiet)
    }
}
