//! Rehearses: reads the log, decides each operation twice, reports.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use directory::Directory;
use ldap::Scope;

use super::compared::Comparer;
use super::findings::NewFindings;
use super::log_files::{files, read};
use super::logged::Follower;
use super::proposed::Both;
use super::report::Report;
use super::written::Written;
use crate::failure::{Failure, Outcome};
use crate::output::errln;
use crate::tools::access::searching::{Asked, values};
use crate::tools::time;

/// Entries whose instructions are looked at for rules about time.
const HOLDERS_MAX: usize = 1_000_000;

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  pando access rehearse new.ldif --since 24h\n      what of yesterday would be \
        decided otherwise\n  pando access rehearse new.ldif --follow 1h\n      the same of the next hour, as it \
        comes\n\nThe file holds what ldapmodify takes, or entries with the aci values that they are to have. Global \
        instructions are ds-cfg-global-aci of cn=Access Control Handler,cn=config.\n\nThe exit status is 0 if \
        everything would be decided as it is now, 1 if something would not, 2 if that could not be found out."
)]
pub struct Options {
    /// The change
    #[arg(value_name = "NEW.ldif")]
    file: PathBuf,
    /// The access log [repeatable; default: the instance's, with what was put aside of it]
    #[arg(long = "log", value_name = "FILE")]
    logs: Vec<PathBuf>,
    /// Operations answered at or after this time: "2026-11-21 10:00", or "24h" for so long ago
    #[arg(long = "since", value_name = "TIME", value_parser = time::parse)]
    since: Option<u64>,
    /// Operations answered before this time
    #[arg(long = "until", value_name = "TIME", value_parser = time::parse)]
    until: Option<u64>,
    /// Decide the operations of the time to come, such as "1h", instead of those in the log
    #[arg(long = "follow", value_name = "DURATION", value_parser = duration, conflicts_with_all = ["since", "until"])]
    follow: Option<Duration>,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let milliseconds = config::parse_duration(text, config::Unit::Seconds);
    milliseconds.map(Duration::from_millis).ok_or_else(|| "write it like 30m or 1h".to_owned())
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let both = Both::open(directory, &options.file)?;
    let written = Written::read(&both.now)?;
    let files = files(both.now.config(), &options.logs)?;
    let by_time = looks_at_time(&both.now)? || looks_at_time(&both.then)?;
    let findings = NewFindings::of(&both)?;
    if !options.json {
        let noun = if both.changes == 1 { "change" } else { "changes" };
        errln!("{}: {} {noun}, tried in memory.", options.file.display(), both.changes);
        findings.print();
    }
    let started = now();
    let since = match options.follow {
        Some(_) => Some(started),
        None => options.since.map(seconds),
    };
    let until = options.until.map(seconds);
    let mut comparer = Comparer::new(&both, &written, by_time);
    let (mut follower, mut report, mut failure) = (Follower::default(), Report::default(), None);
    let mut without_time = 0_u64;
    read(&files, options.follow, &mut |line| {
        let Some(logged) = follower.line(line).filter(|_| failure.is_none()) else { return };
        let is_meant = match logged.unix_seconds {
            Some(time) => since.is_none_or(|since| time >= since) && until.is_none_or(|until| time < until),
            None => {
                without_time += 1;
                since.is_none() && until.is_none()
            }
        };
        if is_meant {
            match comparer.compare(&logged, started) {
                Ok(compared) => report.add(&logged, compared),
                Err(error) => failure = Some(error),
            }
        }
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    if without_time > 0 && (since.is_some() || until.is_some()) {
        return Err(Failure::new(format_args!(
            "{without_time} operations have times that are not written as dd/Mon/yyyy:hh:mm:ss zone, so that nothing \
             can be chosen by time: leave --since, --until and --follow out"
        )));
    }
    match options.json {
        true => report.print_json(follower.left_out, &findings.json()),
        false => report.print(follower.left_out),
    }
    Ok(if report.has_differences() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn seconds(microseconds: u64) -> i64 {
    i64::try_from(microseconds / 1_000_000).unwrap_or(i64::MAX)
}

fn now() -> i64 {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(unix.as_secs()).unwrap_or(i64::MAX)
}

/// Whether some instruction looks at the clock.
fn looks_at_time(directory: &Directory) -> Result<bool, Failure> {
    let looks = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.contains("timeofday") || text.contains("dayofweek")
    };
    if directory.config().access_control.global_acis.iter().any(|aci| looks(aci)) {
        return Ok(true);
    }
    let root = directory.administrator_session(0, Instant::now());
    for suffix in directory.backends().iter().flat_map(|backend| &backend.suffixes) {
        let asked = Asked {
            base: suffix.dn.clone(),
            scope: Scope::WholeSubtree,
            filter: "(aci=*)".to_owned(),
            attributes: vec!["aci".to_owned()],
        };
        let values = values(directory, &root, &asked, HOLDERS_MAX)?;
        if values.iter().any(|value| looks(&String::from_utf8_lossy(value))) {
            return Ok(true);
        }
    }
    Ok(false)
}
