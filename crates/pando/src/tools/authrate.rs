//! `authrate`: how many binds a server answers, and how fast.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use runtime::signals::Signals;
use zeroize::Zeroizing;

use crate::failure::{Context, Failure, Outcome};
use crate::makeldif::Random;
use crate::output::outln;
use crate::password_file::first_line;
use crate::rate::{Form, Generator, GeneratorError, Plan, Report, Template, Workload, run as run_plan};
use crate::tools::makeldif::any_seed;

const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Each connection takes a descriptor.
const CONNECTIONS_MAX: u32 = 50_000;

#[derive(Debug, Args)]
pub struct Options {
    /// Host of the server
    #[arg(short = 'h', long = "hostname", value_name = "HOST", default_value = "localhost")]
    host: String,
    /// Port of the server
    #[arg(short = 'p', long = "port", value_name = "PORT", default_value_t = 389)]
    port: u16,
    /// Names to bind as, with %d or %s (%1$s) where a generated value stands
    #[arg(short = 'D', long = "bindDN", alias = "bindDn", value_name = "TEMPLATE")]
    bind_dn: String,
    /// Password, with places for generated values as in the name
    #[arg(short = 'w', long = "bindPassword", value_name = "TEMPLATE", required_unless_present = "password_file")]
    password: Option<String>,
    /// File whose first line is the password
    #[arg(short = 'j', long = "bindPasswordFile", value_name = "FILE", conflicts_with = "password")]
    password_file: Option<std::path::PathBuf>,
    /// Makes a value for each bind: inc(MIN,MAX), inc(FILE), rand(MIN,MAX), rand(FILE), randstr(LENGTH[,CHARACTERS]);
    /// the largest of inc is given, that of rand is not
    #[arg(short = 'g', long = "argument", value_name = "GENERATOR", value_parser = generator)]
    generators: Vec<Arc<Generator>>,
    /// Percent of the binds that have a wrong password
    #[arg(short = 'I', long = "invalidPassword", value_name = "PERCENT", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    wrong_percent: u8,
    /// Connections
    #[arg(short = 'c', long = "numConnections", value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(CONNECTIONS_MAX)))]
    connections: u32,
    /// For each of the connections, so many that bind at the same time: binds share no connection
    #[arg(short = 't', long = "numConcurrentRequests", alias = "numThreads", value_name = "NUMBER",
          default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(CONNECTIONS_MAX)))]
    requests: u32,
    /// Keep connections open; without it each bind makes one
    #[arg(short = 'f', long = "keepConnectionsOpen")]
    keeps_open: bool,
    /// Binds of each connection, then end; 0 is no limit
    #[arg(short = 'm', long = "maxIterations", value_name = "NUMBER", default_value_t = 0)]
    iterations: u64,
    /// Seconds, then end; 0 is no limit
    #[arg(short = 'd', long = "maxDuration", value_name = "SECONDS", default_value_t = 0)]
    duration: u32,
    /// Seconds in the beginning that do not count
    #[arg(short = 'B', long = "warmUpDuration", value_name = "SECONDS", default_value_t = 0)]
    warm_up: u32,
    /// Seconds between two rows
    #[arg(short = 'i', long = "statInterval", value_name = "SECONDS", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    interval: u32,
    /// Binds a second, all connections together; times count from when a bind was due. 0: as many as there can be
    #[arg(short = 'M', long = "targetThroughput", value_name = "NUMBER", default_value_t = 0)]
    rate: u32,
    /// Percentiles of the response times
    #[arg(short = 'e', long = "percentile", value_name = "PERCENT", value_parser = percentile,
          default_values_t = [99.9, 99.99, 99.999])]
    percentiles: Vec<f64>,
    /// Print comma separated values
    #[arg(short = 'S', long = "scriptFriendly")]
    is_for_scripts: bool,
}

pub fn run(options: &Options) -> Outcome {
    let binds = Binds::new(options)?;
    let connections = u64::from(options.connections) * u64::from(options.requests);
    if connections > u64::from(CONNECTIONS_MAX) {
        return Err(Failure::new(format_args!(
            "{} connections with {} requests each are {connections} connections: at most {CONNECTIONS_MAX} can be made",
            options.connections, options.requests
        )));
    }
    let some = |seconds: u32| (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)));
    let plan = Plan {
        address: reached(&options.host, options.port)?,
        connections: connections as usize,
        keeps_open: options.keeps_open,
        iterations: (options.iterations > 0).then_some(options.iterations),
        duration: some(options.duration),
        warm_up: some(options.warm_up).unwrap_or_default(),
        interval: Duration::from_secs(u64::from(options.interval)),
        rate: (options.rate > 0).then(|| f64::from(options.rate)),
        seed: any_seed()?,
    };
    let form = if options.is_for_scripts { Form::Csv } else { Form::Columns };
    let report = Report::new(form, options.percentiles.clone());
    let stop = stopped_by_signal()?;
    outln!("{}", report.head());
    let figures = run_plan(&plan, &binds, &report, &stop, &mut |row| outln!("{row}")).context("measuring")?;
    match figures.all.operations > figures.all.errors {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Failure::new("no bind succeeded: look at the names and the password, or at the server's log")),
    }
}

/// The address at which the server answers.
fn reached(host: &str, port: u16) -> Result<SocketAddr, Failure> {
    let addresses = (host, port).to_socket_addrs().context(host)?;
    let mut failure = Failure::new(format_args!("{host} has no address"));
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIME_MAX) {
            Ok(_) => return Ok(address),
            Err(error) => failure = Failure::new(format_args!("{address}: {error}")),
        }
    }
    Err(failure)
}

/// Set when somebody presses Ctrl-C: the last row is printed then.
fn stopped_by_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::install().context("signals")?;
    let told = Arc::clone(&stop);
    std::thread::spawn(move || {
        if signals.wait().is_ok() {
            told.store(true, Ordering::Release);
        }
    });
    Ok(stop)
}

fn generator(text: &str) -> Result<Arc<Generator>, GeneratorError> {
    text.parse().map(Arc::new)
}

fn percentile(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "it must be a number".to_owned())?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err("it must be from 0 to 100".to_owned()) }
}

/// Binds of generated names.
struct Binds<'o> {
    name: Template,
    password: Template,
    generators: &'o [Arc<Generator>],
    wrong_percent: u64,
}

impl<'o> Binds<'o> {
    fn new(options: &'o Options) -> Result<Binds<'o>, Failure> {
        let count = options.generators.len();
        let password = match &options.password_file {
            Some(path) => Zeroizing::new(first_line(path)?),
            None => Zeroizing::new(options.password.clone().unwrap_or_default()),
        };
        Ok(Binds {
            name: Template::parse(&options.bind_dn, count).map_err(Failure::new)?,
            password: Template::parse(&password, count).map_err(Failure::new)?,
            generators: &options.generators,
            wrong_percent: u64::from(options.wrong_percent),
        })
    }
}

impl Workload for Binds<'_> {
    fn put_request(&self, random: &mut Random, id: i32, out: &mut Vec<u8>) {
        let values: Vec<String> = self
            .generators
            .iter()
            .map(|generator| {
                let mut value = String::new();
                generator.put(random, &mut value);
                value
            })
            .collect();
        let (mut name, mut password) = (String::new(), Zeroizing::new(String::new()));
        self.name.fill(&values, &mut name);
        self.password.fill(&values, &mut password);
        if random.below(100) < self.wrong_percent {
            password.push_str("-wrong");
        }
        ldap::client::bind(out, id, &name, password.as_bytes(), &[]);
    }
}
