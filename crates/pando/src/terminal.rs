//! Talking to a person: questions, passwords without echo, progress that goes away.
//!
//! Everything here is silent when the other end is no terminal.

use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jobs::Unit;
use runtime::signals::{Signal, Signals};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetwinsize, tcsetattr};
use store::bulk::Cancel;

use crate::failure::{Context, Failure};
use crate::output::{errln, note};

/// Columns of a terminal that does not say.
const COLUMNS: usize = 80;

/// Longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// The columns of a table: those of the terminal that shows it; as many as it takes where no terminal does.
pub fn columns() -> Option<usize> {
    let output = io::stdout();
    if !output.is_terminal() {
        return None;
    }
    let size = tcgetwinsize(&output).ok();
    Some(size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS))
}

/// Whether a person can be asked.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a line; an empty answer is the default.
pub fn ask(question: &str, default: &str) -> Result<String, Failure> {
    note(format_args!("{question} [{default}]: "));
    let answer = read_line()?;
    Ok(if answer.is_empty() { default.to_owned() } else { answer })
}

/// The next line that is typed.
pub fn answer() -> Result<String, Failure> {
    read_line()
}

/// Waits until a person goes on.
pub fn wait_for_return() -> Result<(), Failure> {
    read_line().map(drop)
}

/// Asks until the answer will do; what is wrong with one is said before the question comes again.
pub fn ask_until<T>(question: &str, default: &str, check: impl Fn(&str) -> Result<T, Failure>) -> Result<T, Failure> {
    loop {
        match check(&ask(question, default)?) {
            Ok(answer) => return Ok(answer),
            Err(failure) => errln!("{failure}"),
        }
    }
}

/// Asks for a password without showing it.
pub fn ask_password(question: &str) -> Result<String, Failure> {
    let input = io::stdin();
    if !input.is_terminal() {
        return read_line();
    }
    let before = tcgetattr(&input).context("terminal")?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    silent.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(&input, OptionalActions::Now, &silent).context("terminal")?;
    // Asked sooner, a quick answer would be shown.
    note(format_args!("{question}: "));
    let answer = read_line();
    tcsetattr(&input, OptionalActions::Now, &before).context("terminal")?;
    answer
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    io::Read::take(io::stdin().lock(), ANSWER_BYTES_MAX).read_line(&mut line).context("standard input")?;
    if line.is_empty() {
        return Err(Failure::new("standard input ended before the answer"));
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// A switch that Ctrl-C or SIGTERM turns, so that long work ends in order.
pub fn cancel_on_signal() -> Result<Cancel, Failure> {
    let cancel = Cancel::default();
    let turned = cancel.clone();
    let mut signals = Signals::install().context("signals")?;
    std::thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            if signal == Signal::Stop {
                turned.cancel();
            }
        }
    });
    Ok(cancel)
}

/// Shows how far a job is, and stops it with Ctrl-C or SIGTERM.
pub struct Watcher {
    progress: Progress,
    cancel: Cancel,
}

impl Watcher {
    /// Shows nothing if standard error is no terminal or `quiet`.
    pub fn new(quiet: bool) -> Result<Self, Failure> {
        Ok(Self { progress: Progress::new("entries", None, quiet), cancel: cancel_on_signal()? })
    }
}

impl jobs::Watch for Watcher {
    fn progress(&mut self, now: &jobs::Progress) {
        self.progress.phase(now.phase, now.total);
        self.progress.at(now.done, job_text(now));
    }

    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

/// How far a job is, in words: `12345 entries, 6789/s, 3 rejected`.
fn job_text(now: &jobs::Progress) -> String {
    let entries = || {
        let rejected = if now.rejected > 0 { format!(", {} rejected", now.rejected) } else { String::new() };
        format!("{} entries, {}/s{rejected}", now.entries, now.entries_per_second() as u64)
    };
    match (now.phase, now.unit) {
        ("syncing", _) => String::new(),
        ("changes", _) => format!("{} changes, {}/s", now.done, now.entries_per_second() as u64),
        ("indexes" | "copying" | "verifying", Unit::Bytes) => bytes_text(now.done),
        _ => entries(),
    }
}

/// Progress of long work on standard error.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar if the total is known, otherwise a counter; nothing if standard error is no terminal or `quiet`.
    pub fn new(what: &str, total: Option<u64>, quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
        let bar = ProgressBar::with_draw_target(total, target);
        bar.set_style(style(total.is_some()));
        bar.set_prefix(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar }
    }

    /// The piece of work at hand and its total, if that is known.
    pub fn phase(&self, what: &str, total: Option<u64>) {
        if self.bar.prefix() != what {
            self.bar.reset();
            self.bar.set_prefix(what.to_owned());
            self.bar.set_message("");
        }
        if self.bar.length() != total {
            self.bar.set_style(style(total.is_some()));
            match total {
                Some(total) => self.bar.set_length(total),
                None => self.bar.unset_length(),
            }
        }
    }

    /// How far it is, and what to say about it.
    pub fn at(&self, position: u64, message: String) {
        self.bar.set_position(position);
        self.bar.set_message(message);
    }
}

fn style(total_is_known: bool) -> ProgressStyle {
    let template = match total_is_known {
        true => "{prefix} [{bar:30}] {percent:>3}%  {msg}  {elapsed} gone, {eta} left",
        false => "{prefix} {spinner}  {msg}  {elapsed} gone",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `4.9 MiB`
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or("bytes");
    if unit == 0 { format!("{bytes} {name}") } else { format!("{value:.1} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_tells_entries_and_bytes() {
        let mut now = jobs::Progress {
            phase: "entries",
            unit: Unit::Bytes,
            done: 1 << 20,
            total: None,
            entries: 30_000,
            rejected: 0,
            elapsed: Duration::from_secs(2),
        };
        assert_eq!(job_text(&now), "30000 entries, 15000/s");
        now.rejected = 1;
        assert_eq!(job_text(&now), "30000 entries, 15000/s, 1 rejected");
        assert_eq!(job_text(&jobs::Progress { phase: "indexes", ..now }), "1.0 MiB");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            (bytes_text(12), bytes_text(1536), bytes_text(5 << 30)),
            ("12 bytes".into(), "1.5 KiB".into(), "5.0 GiB".into())
        );
    }
}
