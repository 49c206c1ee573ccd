//! `logstat`: what happened in an access log, of this server or of another kind.
//!
//! | file | what |
//! |---|---|
//! | `read` | the lines of all files, given to an analysis |
//! | `follow` | the lines of a file that is still written, and a row for each minute |
//! | `text` | the report for people |

mod follow;
mod read;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use config::EtimeResolution;
use logstat::analysis::Analysis;
use logstat::clock::{Clock, Limit};
use logstat::input::source::STANDARD_INPUT;
use logstat::line::LineReader;
use logstat::line::opendj::EtimeUnit;
use logstat::page::page;
use logstat::settings::Settings;
use logstat::summary::Summary;

use self::read::Fault;
use crate::failure::{Context, Failure, Outcome};
use crate::output::outln;
use crate::{instance, terminal};

/// Rows of a list, at most.
const ROWS_MAX: u16 = 1000;

/// Unit of `etime` in the text logs of OpenDJ and Pando, which do not tell it.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Unit {
    Ms,
    Us,
    Ns,
}

impl From<Unit> for EtimeUnit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Ms => EtimeUnit::Milliseconds,
            Unit::Us => EtimeUnit::Microseconds,
            Unit::Ns => EtimeUnit::Nanoseconds,
        }
    }
}

#[derive(Debug, Args)]
pub struct Options {
    /// Access logs of Pando, OpenDJ (text, JSON, CSV), DSEE, 389 DS or slapd, plain or compressed by gzip or zstd, in
    /// any order; - is standard input [default: the access log of the instance, with what was put aside of it]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Rows of each list
    #[arg(short = 's', long = "size", value_name = "ROWS", default_value_t = 20,
          value_parser = clap::value_parser!(u16).range(1..=i64::from(ROWS_MAX)))]
    size: u16,
    /// Leave out what came before this time: as the log writes it (01/Apr/2008:14:50:11), or 2008-04-01T14:50:11Z
    #[arg(short = 'S', long = "startTime", value_name = "TIME", value_parser = limit)]
    start: Option<Limit>,
    /// Leave out what came after this time
    #[arg(short = 'E', long = "endTime", value_name = "TIME", value_parser = limit)]
    end: Option<Limit>,
    /// Count operations by these base DNs (each with an option of its own) [default: the last part of each name]
    #[arg(short = 'b', long = "baseDN", value_name = "DN")]
    base_dns: Vec<String>,
    /// Leave out the operations of this client (may be given several times)
    #[arg(short = 'X', long = "excludeClient", value_name = "ADDRESS")]
    excluded: Vec<String>,
    /// Unit of etime in text logs of OpenDJ and Pando; other logs tell it [default: ms; for the log of the instance, as
    /// it is configured]
    #[arg(long = "etime-unit", value_name = "UNIT")]
    unit: Option<Unit>,
    /// Operations that took so long may have waited in a stall
    #[arg(long = "stall-ms", value_name = "MILLISECONDS", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    stall_ms: u64,
    /// Go on with what is written to the last file: print a row for each minute as it ends, and the report when this is
    /// interrupted (Ctrl-C)
    #[arg(short = 'f', long = "follow")]
    follow: bool,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
    /// Write the report as a page with pictures to this file, instead of printing it
    #[arg(long = "html", value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
}

fn limit(text: &str) -> Result<Limit, String> {
    Limit::parse(text).ok_or_else(|| "write it like 01/Apr/2008:14:50:11 or 2008-04-01T14:50:11Z".to_owned())
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    if options.excluded.iter().any(String::is_empty) || options.base_dns.iter().any(|dn| dn.trim().is_empty()) {
        return Err(Failure::new("--excludeClient and --baseDN need a value that is not empty"));
    }
    let (files, unit) = if options.files.is_empty() {
        let config = instance::open(directory)?;
        let own = match config.global.etime_resolution {
            EtimeResolution::Milliseconds => EtimeUnit::Milliseconds,
            EtimeResolution::Microseconds => EtimeUnit::Microseconds,
            EtimeResolution::Nanoseconds => EtimeUnit::Nanoseconds,
        };
        (instance::access_log_files(&config)?, options.unit.map_or(own, EtimeUnit::from))
    } else {
        (options.files.clone(), options.unit.map_or(EtimeUnit::default(), EtimeUnit::from))
    };
    let mut analysis = Analysis::new(settings(options), LineReader::new(unit, Clock::default()));
    let (before, followed) = split(&files, options.follow)?;
    let faults = read::files(before, &mut LineReader::new(unit, Clock::default()), &mut analysis)?;
    if let Some(path) = followed {
        follow::run(path, options.json, &mut analysis, &terminal::cancel_on_signal()?)?;
    }
    analysis.finish();
    if !analysis.has_records() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Failure::new(format_args!(
            "{}: no line is one of an access log of Pando, OpenDJ, DSEE, 389 DS or slapd",
            names.join(", ")
        )));
    }
    report(&files, &faults, &analysis.summary(), options)?;
    Ok(ExitCode::SUCCESS)
}

/// The files that are read to their ends, and the one that is followed.
fn split(files: &[PathBuf], follow: bool) -> Result<(&[PathBuf], Option<&Path>), Failure> {
    match files.split_last() {
        Some((last, _)) if follow && last.as_os_str() == STANDARD_INPUT => {
            Err(Failure::new("standard input ends by itself and is not followed: name a file, or leave -f out"))
        }
        Some((last, before)) if follow => Ok((before, Some(last))),
        _ => Ok((files, None)),
    }
}

fn report(files: &[PathBuf], faults: &[Fault], summary: &Summary, options: &Options) -> Result<(), Failure> {
    let title = match files {
        [only] => format!("Access log: {}", only.display()),
        files => format!("Access log: {} files", files.len()),
    };
    let notes: Vec<String> =
        faults.iter().map(|fault| format!("{} was not read to its end: {}", fault.file, fault.reason)).collect();
    let rows = options.size.into();
    if let Some(path) = &options.html {
        fs::write(path, page(&title, &notes, summary, rows)).context(path.display())?;
        outln!("{} is written", path.display());
    } else if options.json && options.follow {
        // One line, as the minutes before it.
        outln!("{}", read::json(files, faults, summary)?);
    } else if options.json {
        outln!("{:#}", read::json(files, faults, summary)?);
    } else {
        text::print(&title, &notes, summary, rows);
    }
    Ok(())
}

fn settings(options: &Options) -> Settings {
    Settings {
        rows: options.size.into(),
        base_dns: options.base_dns.clone(),
        stall_ns: options.stall_ms * 1_000_000,
        excluded_clients: options.excluded.clone(),
        from: options.start,
        until: options.end,
    }
}
