//! `logstat`: what happened in an access log, of this server or of another kind.
//!
//! | file | what |
//! |---|---|
//! | `read` | the lines of all files, given to an analysis |
//! | `text` | the report for people |

mod read;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use config::EtimeResolution;
use logstat::analysis::Analysis;
use logstat::clock::{Clock, Limit};
use logstat::line::LineReader;
use logstat::line::opendj::EtimeUnit;
use logstat::settings::Settings;

use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;

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
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
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
    let faults = read::files(&files, &mut LineReader::new(unit, Clock::default()), &mut analysis)?;
    analysis.finish();
    if !analysis.has_records() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Failure::new(format_args!(
            "{}: no line is one of an access log of Pando, OpenDJ, DSEE, 389 DS or slapd",
            names.join(", ")
        )));
    }
    let summary = analysis.summary();
    if options.json {
        outln!("{:#}", read::json(&files, &faults, &summary)?);
    } else {
        text::print(&files, &faults, &summary, options.size.into());
    }
    Ok(ExitCode::SUCCESS)
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
