//! `top`: what a running server does now, drawn again and again from `cn=monitor`.
//!
//! | file | what |
//! |---|---|
//! | `sample` | what `cn=monitor` tells, and what happened between two looks |
//! | `picture` | that as lines of text, and as JSON |
//! | `screen` | the terminal |

mod picture;
mod sample;
mod screen;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use store::bulk::Cancel;

use self::picture::{Order, View};
use self::sample::Sample;
use self::screen::Screen;
use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::ldap_client::ConnectionOptions;
use crate::output::{outln, reader_is_gone};
use crate::terminal::cancel_on_signal;

/// A signal is noticed so soon.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Ctrl-C.
const INTERRUPT: u8 = 3;

const EXAMPLES: &str = "\
Keys: q quit, p pause and go on, o operations, c connections, s sort the connections otherwise
Without --bindDN it asks the server of the instance on this machine, and needs no password.
Examples: the server of an instance, and another one
  pando top --instance inst
  pando top -h ldap.example.com -p 636 -Z -D 'cn=Directory Manager' -j password-file";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Seconds between two looks
    #[arg(short = 's', long = "interval", value_name = "SECONDS", default_value_t = 2,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Print one picture of one interval, and end
    #[arg(long = "once")]
    once: bool,
    /// Print a line of JSON each interval
    #[arg(long = "json")]
    json: bool,
    #[command(flatten)]
    connection: ConnectionOptions,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let mut client = connect(directory, options)?;
    let cancel = cancel_on_signal()?;
    let is_live = !options.once && !options.json && io::stdout().is_terminal() && io::stdin().is_terminal();
    if is_live { show(&mut client, options, &cancel) } else { print(&mut client, options, &cancel) }
}

fn connect(directory: &Path, options: &Options) -> Result<Client, Failure> {
    let login = options.connection.login()?;
    if !login.is_anonymous() {
        return Ok(Client::over(options.connection.target()?.connect(&login)?));
    }
    let instance = instance::find(directory)?;
    let process = instance::running(&instance).ok_or_else(|| {
        let at = instance.directory().display();
        Failure::new(format_args!(
            "no server runs on {at}: start it with pando start --instance {at}, or name another with -h, -p and -D"
        ))
    })?;
    Client::of_administrator(&instance, process)
}

/// Text or JSON for a file, a program, or a person who wants to see it once.
fn print(client: &mut Client, options: &Options, cancel: &Cancel) -> Outcome {
    let mut before = Sample::take(client)?;
    loop {
        let until = Instant::now() + Duration::from_secs(options.seconds);
        while Instant::now() < until && !cancel.is_cancelled() {
            std::thread::sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now())));
        }
        if cancel.is_cancelled() {
            return Ok(ExitCode::SUCCESS);
        }
        let now = Sample::take(client)?;
        if options.json {
            outln!("{}", picture::json(&before, &now));
        } else {
            let lines = picture::lines(&before, &now, View::Operations, Order::Activity);
            lines.iter().for_each(|line| outln!("{line}"));
            let lines = picture::lines(&before, &now, View::Connections, Order::Activity);
            let connections = lines.iter().skip_while(|line| !line.starts_with("Connections by "));
            connections.for_each(|line| outln!("{line}"));
        }
        if options.once || !options.json || reader_is_gone() {
            return Ok(ExitCode::SUCCESS);
        }
        before = now;
    }
}

/// The live view.
fn show(client: &mut Client, options: &Options, cancel: &Cancel) -> Outcome {
    let mut before = Sample::take(client)?;
    let screen = Screen::open()?;
    let interval = Duration::from_secs(options.seconds);
    let (mut view, mut order, mut is_paused) = (View::Operations, Order::Activity, false);
    // At first there is nothing to compare with.
    let mut now = Sample::take(client)?;
    let mut next = Instant::now() + interval.min(Duration::from_secs(1));
    loop {
        let state = if is_paused { "paused, p goes on" } else { "p pause" };
        let foot = format!(
            " q quit  {state}  o operations  c connections  s sort by {}  every {} s ",
            order.next().name(),
            options.seconds
        );
        screen.draw(&picture::lines(&before, &now, view, order), &foot)?;
        loop {
            if cancel.is_cancelled() {
                return Ok(ExitCode::SUCCESS);
            }
            let left = next.saturating_duration_since(Instant::now());
            match screen.key(if is_paused { LOOK_EVERY } else { LOOK_EVERY.min(left) }) {
                Some(b'q' | b'Q' | INTERRUPT) => return Ok(ExitCode::SUCCESS),
                Some(b'p' | b'P') => is_paused = !is_paused,
                Some(b'o' | b'O') => view = View::Operations,
                Some(b'c' | b'C') => view = View::Connections,
                Some(b's' | b'S') => order = order.next(),
                Some(_) => continue,
                None if is_paused || Instant::now() < next => continue,
                None => {
                    before = std::mem::replace(&mut now, Sample::take(client)?);
                    next = Instant::now() + interval;
                }
            }
            break;
        }
    }
}
