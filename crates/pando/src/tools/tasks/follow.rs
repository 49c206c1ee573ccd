//! Waits for a task to end, showing how far it is. Ctrl-C asks whether it is to go on without this tool.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tasks::State;

use super::book;
use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::output::outln;
use crate::terminal::{self, Progress};

/// Between two looks at the task.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Follows the task until it has ended; fails if it did not complete successfully.
pub fn follow(client: &mut Client, id: &str, is_quiet: bool) -> Outcome {
    let interrupted = terminal::cancel_on_signal()?;
    let begun = Instant::now();
    let mut told = 0;
    let progress = Progress::new("waiting", None, is_quiet);
    loop {
        let task = book::find(client, id)?;
        let task = task.ok_or_else(|| Failure::new(format_args!("There are no tasks with ID {id}")))?;
        let messages = task.values("ds-task-log-message");
        let title = task.title().to_owned();
        if task.state().is_none_or(State::is_done) {
            drop(progress);
            if !is_quiet {
                messages.iter().skip(told).for_each(|message| outln!("{message}"));
            }
            if task.state() == Some(State::CompletedSuccessfully) {
                if !is_quiet {
                    outln!("{title} task {id} has been successfully completed");
                }
                return Ok(ExitCode::SUCCESS);
            }
            let words = task.state_words();
            return Err(Failure::new(format_args!("{title} task {id} did not complete successfully: {words}")));
        }
        if interrupted.is_cancelled() {
            drop(progress);
            return leave_or_cancel(client, &task, id);
        }
        if !is_quiet && messages.len() > told {
            messages.iter().skip(told).for_each(|message| outln!("{message}"));
            told = messages.len();
        }
        let number = |name: &str| task.first(name).and_then(|value| value.parse::<u64>().ok());
        if let Some(phase) = task.first("ds-task-phase") {
            let entries = number("ds-task-processed-entry-count").unwrap_or_default();
            progress.phase(phase, number("ds-task-phase-total"));
            let rate = jobs::progress::rate(entries, begun.elapsed()) as u64;
            progress.at(number("ds-task-phase-done").unwrap_or_default(), format!("{entries} entries, {rate}/s"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Who cannot be asked leaves the task running, because nothing is lost by that.
fn leave_or_cancel(client: &mut Client, task: &book::TaskEntry, id: &str) -> Outcome {
    let title = task.title();
    let cancels = terminal::is_interactive() && {
        let answer = terminal::ask(&format!("{title} task {id} runs in the server. Cancel it? (yes/no)"), "no")?;
        answer.eq_ignore_ascii_case("yes") || answer.eq_ignore_ascii_case("y")
    };
    if cancels {
        book::cancel(client, task)?;
        return Err(Failure::new(format_args!("{title} task {id} was canceled")));
    }
    Err(Failure::new(format_args!("{title} task {id} goes on: see pando manage-tasks --info {id}")))
}
