//! What the tools that measure rates have in common: their options, the check that the server answers, the rows.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;
use runtime::signals::{Signal, Signals};
use rustls::pki_types::ServerName;

use crate::failure::{Context, Failure, Outcome};
use crate::ldap_client::{ConnectionOptions, Login};
use crate::output::{errln, outln};
use crate::rate::{
    Access, Extra, Figures, Form, Generator, GeneratorError, HistogramFile, Keeping, Observer, Plan, Report, Times,
    VALUES_MAX, Workload, run as run_plan,
};
use crate::tools::makeldif::any_seed;

/// Each connection takes a descriptor.
const CONNECTIONS_MAX: u32 = 50_000;
/// Descriptors for everything else.
const OTHER_FILES: u64 = 64;

/// How much, for how long, and what is printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct RateOptions {
    /// Connections
    #[arg(short = 'c', long = "numConnections", value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(CONNECTIONS_MAX)))]
    pub connections: u32,
    /// Keep connections open, and bind again before each operation; without this each operation has its connection
    #[arg(short = 'f', long = "keepConnectionsOpen")]
    pub keeps_open: bool,
    /// Operations, all connections together, then end; 0 is no limit
    #[arg(short = 'm', long = "maxIterations", value_name = "NUMBER", default_value_t = 0)]
    pub operations: u64,
    /// Seconds, then end; 0 is no limit
    #[arg(short = 'd', long = "maxDuration", value_name = "SECONDS", default_value_t = 0)]
    duration: u32,
    /// Seconds in the beginning that do not count
    #[arg(short = 'B', long = "warmUpDuration", value_name = "SECONDS", default_value_t = 0)]
    warm_up: u32,
    /// Operations a second, all connections together; times count from when an operation was due. 0: as many as there
    /// can be
    #[arg(short = 'M', long = "targetThroughput", value_name = "NUMBER", default_value_t = 0)]
    rate: u32,
    /// Seconds between two rows
    #[arg(short = 'i', long = "statInterval", value_name = "SECONDS", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    interval: u32,
    /// Percentiles of the response times
    #[arg(short = 'e', long = "percentile", value_name = "PERCENT", value_parser = percentile,
          default_values_t = [99.9, 99.99, 99.999])]
    percentiles: Vec<f64>,
    /// Print comma separated values
    #[arg(short = 'S', long = "scriptFriendly", conflicts_with_all = ["boxed", "json"])]
    is_for_scripts: bool,
    /// Print lines around the columns, as OpenDJ does from version 4.0 on
    #[arg(long = "boxed", conflicts_with = "json")]
    boxed: bool,
    /// Print an object of JSON for each row
    #[arg(long = "json")]
    json: bool,
    /// Write a histogram of the response times for each interval: the log format of HdrHistogram, in microseconds
    #[arg(long = "histogramFile", value_name = "FILE")]
    histogram_file: Option<PathBuf>,
}

/// Requests that share a connection.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct SharingOptions {
    /// Requests at the same time on each connection; more than 1 need --noRebind
    #[arg(short = 't', long = "numThreads", alias = "numConcurrentRequests", value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    requests: u32,
    /// Keep connections open, and bind once
    #[arg(short = 'F', long = "noRebind")]
    no_rebind: bool,
}

/// Where values come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct GeneratorOptions {
    /// Makes a value for each operation, which stands where a template has %d or %s, %1$s for the first: inc(MIN,MAX),
    /// inc(FILE), rand(MIN,MAX), rand(FILE), randstr(LENGTH[,CHARACTERS]), or a text; the largest of inc is given, that
    /// of rand is not
    #[arg(short = 'g', long = "argument", value_name = "GENERATOR", value_parser = generator)]
    pub generators: Vec<Arc<Generator>>,
}

impl GeneratorOptions {
    /// How many there are.
    pub fn count(&self) -> Result<usize, Failure> {
        match self.generators.len() {
            count if count < VALUES_MAX => Ok(count),
            count => Err(Failure::new(format_args!("{count} generators are given: at most {} can be", VALUES_MAX - 1))),
        }
    }
}

/// What a tool adds to the options.
pub struct Load<'l> {
    /// Where the server is.
    pub connection: &'l ConnectionOptions,
    /// The options.
    pub rate: &'l RateOptions,
    /// Who binds each connection.
    pub login: Login,
    /// Connections, and requests at the same time on each.
    pub lanes: (u64, usize),
    /// What becomes of connections.
    pub keeping: Keeping,
    /// The last column.
    pub extra: Extra,
    /// What an operation is called: `search`.
    pub what: &'static str,
    /// Operations, all connections together; 0 is no limit.
    pub operations: u64,
}

impl<'l> Load<'l> {
    /// Of a tool whose operations may share connections.
    pub fn sharing(
        connection: &'l ConnectionOptions,
        rate: &'l RateOptions,
        sharing: &SharingOptions,
        what: &'static str,
    ) -> Result<Load<'l>, Failure> {
        if sharing.requests > 1 && !sharing.no_rebind {
            return Err(Failure::new(
                "--numThreads is more than 1, and a bind would end the other requests of its connection: give \
                 --noRebind, too",
            ));
        }
        let keeping = match (sharing.no_rebind, rate.keeps_open) {
            (true, _) => Keeping::Open,
            (false, true) => Keeping::Rebinding,
            (false, false) => Keeping::Never,
        };
        Ok(Load {
            connection,
            rate,
            login: connection.login()?,
            lanes: (u64::from(rate.connections), sharing.requests as usize),
            keeping,
            extra: Extra::Nothing,
            what,
            operations: rate.operations,
        })
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let (connections, requests) = self.lanes;
        if connections > u64::from(CONNECTIONS_MAX) {
            return Err(Failure::new(format_args!(
                "{connections} connections are wanted: at most {CONNECTIONS_MAX} can be made"
            )));
        }
        let files = runtime::sys::raise_open_files_limit().context("the limit of open files")?;
        if files.is_some_and(|most| most < connections + OTHER_FILES) {
            return Err(Failure::new(format_args!(
                "{connections} connections are wanted, and this process may open {} files: raise the limit (ulimit -n)",
                files.unwrap_or_default()
            )));
        }
        let rate = self.rate;
        let target = self.connection.target()?;
        let some = |seconds: u32| (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)));
        let name = ServerName::try_from(target.server.host.clone()).context(&target.server.host)?;
        let address = target.address()?;
        // What is wrong with TLS, the name or the password is found out, and said, before anything is measured.
        drop(target.connect(&self.login)?);
        let security = target.settings.security.clone();
        Ok(Plan {
            access: Access { address, name, security, login: self.login.clone() },
            connections: connections as usize,
            requests,
            keeping: self.keeping,
            operations: (self.operations > 0).then_some(self.operations),
            duration: some(rate.duration),
            warm_up: some(rate.warm_up).unwrap_or_default(),
            interval: Duration::from_secs(u64::from(rate.interval)),
            rate: (rate.rate > 0).then(|| f64::from(rate.rate)),
            seed: any_seed()?,
        })
    }

    fn report(&self) -> Report {
        let rate = self.rate;
        let form = match (rate.is_for_scripts, rate.boxed, rate.json) {
            (true, _, _) => Form::Csv,
            (_, true, _) => Form::Boxed,
            (_, _, true) => Form::Json,
            _ => Form::Columns,
        };
        let mut percentiles = rate.percentiles.clone();
        percentiles.sort_by(f64::total_cmp);
        Report::new(form, percentiles, self.extra)
    }

    /// Measures, and prints.
    pub fn run(&self, workload: &dyn Workload) -> Outcome {
        let plan = self.plan()?;
        let report = self.report();
        let path = self.rate.histogram_file.as_ref();
        let file = path.map(|path| HistogramFile::create(path).context(path.display())).transpose()?;
        let signals = counted_signals()?;
        let has_words = !self.rate.is_for_scripts && !self.rate.json;
        let mut printer = Printer { report: &report, file, failure: None, has_words };
        if let Some(head) = report.head() {
            outln!("{head}");
        }
        let figures = run_plan(&plan, workload, &signals, &mut printer).context("measuring")?;
        let Printer { file, failure, .. } = printer;
        let finished = file.map_or(Ok(()), HistogramFile::finish);
        if let (Some(path), Err(error)) = (path, failure.map_or(finished, Err)) {
            return Err(Failure::new(format_args!("{}: {error}", path.display())));
        }
        self.judge(&figures)
    }

    fn judge(&self, figures: &Figures) -> Outcome {
        let (all, what) = (figures.all, self.what);
        let because = figures.problem.as_ref().map(|problem| format!("; the first: {problem}")).unwrap_or_default();
        match (all.operations, all.errors) {
            (operations, errors) if operations <= errors => {
                Err(Failure::new(format_args!("no {what} succeeded of {operations}{because}")))
            }
            (_, 0) => Ok(ExitCode::SUCCESS),
            (operations, errors) => {
                errln!("{errors} of {operations} operations failed{because}");
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Prints rows and writes histograms.
struct Printer<'r> {
    report: &'r Report,
    file: Option<HistogramFile>,
    /// Of writing the file.
    failure: Option<std::io::Error>,
    has_words: bool,
}

impl Observer for Printer<'_> {
    fn interval(&mut self, figures: &Figures, now: Times) {
        outln!("{}", self.report.row(figures, now));
        if let Some(file) = &mut self.file
            && self.failure.is_none()
        {
            self.failure = file.put(figures.recent_latencies(), now).err();
        }
    }

    fn winding_down(&mut self) {
        if self.has_words {
            outln!("Purge phase...");
        }
    }
}

/// Counts how often somebody presses Ctrl-C: the last row is printed then.
fn counted_signals() -> Result<Arc<AtomicUsize>, Failure> {
    let count = Arc::new(AtomicUsize::new(0));
    let mut signals = Signals::install().context("signals")?;
    let told = Arc::clone(&count);
    std::thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            if signal == Signal::Stop {
                told.fetch_add(1, Ordering::AcqRel);
            }
        }
    });
    Ok(count)
}

fn generator(text: &str) -> Result<Arc<Generator>, GeneratorError> {
    text.parse().map(Arc::new)
}

fn percentile(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "it must be a number".to_owned())?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err("it must be from 0 to 100".to_owned()) }
}
