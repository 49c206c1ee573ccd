//! `addrate`: how many adds a server answers, and how fast; with deletes between them, as many as are wished.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ber::{SEQUENCE, Writer};
use clap::{Args, ValueEnum};
use crossbeam_channel::{Receiver, Sender, bounded};
use ldap::ldif::{AttributeLines, LdifChange, LdifOperation};
use ldap::{ResultCode, client};

use crate::failure::{Context, Failure, Outcome};
use crate::ldap_client::ConnectionOptions;
use crate::makeldif::{Entry, Generator, Random, TemplateFile, ValueForm};
use crate::output::errln;
use crate::rate::{Answer, Asker, Extra, Then, Workload};
use crate::tools::load::{Load, RateOptions, SharingOptions};
use crate::tools::makeldif::{any_template, constant};

/// Entries that are made before they are wanted.
const ENTRIES_AHEAD: usize = 1024;
/// Entries that are there before deletes begin, where nothing else is said.
const SIZE_THRESHOLD: u64 = 10_000;

const EXAMPLE: &str = "\
Example: adds, and from 10,000 entries on as many deletes of random ones
  pando addrate -p 1389 -D 'cn=Directory Manager' -w secret12 -F -c 10 -C random -s 10000 add.template";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// Template of the entries, as for makeldif; a subordinateTemplate without a number makes entries without end
    #[arg(value_name = "TEMPLATE")]
    template: PathBuf,
    /// Which entries are deleted: fifo the oldest, random any, off none
    #[arg(short = 'C', long = "deleteMode", value_name = "MODE", default_value = "fifo", ignore_case = true)]
    mode: DeleteMode,
    /// Entries that are added before deletes begin [default: 10000]
    #[arg(short = 's', long = "deleteSizeThreshold", value_name = "NUMBER", conflicts_with = "age",
          value_parser = clap::value_parser!(u64).range(1..))]
    size: Option<u64>,
    /// Seconds after which an entry is deleted
    #[arg(short = 'a', long = "deleteAgeThreshold", value_name = "SECONDS",
          value_parser = clap::value_parser!(u32).range(1..))]
    age: Option<u32>,
    /// Seed of the random values; the same seed gives the same entries
    #[arg(short = 'R', long = "randomSeed", value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Set a constant; overrides its definition in the template
    #[arg(short = 'g', long = "constant", value_name = "NAME=VALUE", value_parser = constant)]
    constants: Vec<(String, String)>,
    /// Directory of the files that the template names
    #[arg(short = 'r', long = "resourcePath", value_name = "DIR")]
    resource_path: Option<PathBuf>,
    /// Leave what was added, and not deleted, when the tool ends
    #[arg(short = 'n', long = "noPurge")]
    no_purge: bool,
    #[command(flatten)]
    rate: RateOptions,
    #[command(flatten)]
    sharing: SharingOptions,
    #[command(flatten)]
    connection: ConnectionOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeleteMode {
    Fifo,
    Random,
    Off,
}

pub fn run(options: &Options) -> Outcome {
    let load = Load::sharing(&options.connection, &options.rate, &options.sharing, "add")?;
    let deletes = Deletes::new(options)?;
    let file = any_template(Some(&options.template), options.resource_path.as_deref(), &options.constants)?;
    for warning in &file.warnings {
        errln!("pando addrate: {warning}");
    }
    if file.has_urls() {
        return Err(Failure::new("the template has values by URL (attribute:< …): addrate sends values as they are"));
    }
    add_branches(&file, options)?;
    thread::scope(|scope| {
        let (sender, made) = bounded(ENTRIES_AHEAD);
        scope.spawn(|| make_entries(&file, options.seed, sender));
        let adds = Adds {
            made,
            deletes,
            most: (options.rate.operations > 0).then_some(options.rate.operations),
            begun: AtomicU64::new(0),
            purges: AtomicBool::new(false),
            added: Mutex::default(),
        };
        // The number of operations is one of adds: deletes come beside them.
        Load { extra: Extra::AddPercent, operations: 0, ..load }.run(&adds)
    })
}

/// Adds the entries of the branches where they are missing; they are neither measured nor deleted.
fn add_branches(file: &TemplateFile, options: &Options) -> Result<(), Failure> {
    let mut connection = options.connection.target()?.connect(&options.connection.login()?)?;
    for entry in Generator::new(file, options.seed).branches() {
        let mut request = Vec::new();
        client::change(&mut request, connection.next_id(), &added(&entry), &[]);
        let result = connection.ask(&request, &mut |_| {}).context("adding a branch")?;
        if !matches!(result.code, ResultCode::SUCCESS | ResultCode::ENTRY_ALREADY_EXISTS) {
            return Err(Failure::new(format_args!("adding the branch {}: {result}", entry.dn)));
        }
    }
    Ok(())
}

/// Makes entries until nobody wants more, or the template ends.
fn make_entries(file: &TemplateFile, seed: u64, made: Sender<Made>) {
    let ended = Generator::new(file, seed).run(&mut |entry: &Entry| {
        if file.has_branch(&entry.dn) {
            return Ok(());
        }
        let mut operation = Vec::new();
        client::change_op(&mut Writer::new(&mut operation), &added(entry));
        made.send(Made { dn: entry.dn.clone(), operation })
    });
    // The other end is gone when the measuring has ended.
    drop(ended);
}

/// An entry as a change.
fn added(entry: &Entry) -> LdifChange {
    let decoded: Vec<(&str, Vec<u8>)> = entry
        .values
        .iter()
        .map(|(name, form, value)| {
            let bytes = match form {
                ValueForm::Base64 => STANDARD.decode(value).unwrap_or_else(|_| value.clone().into_bytes()),
                _ => value.clone().into_bytes(),
            };
            (name.as_str(), bytes)
        })
        .collect();
    let lines = AttributeLines::from_parts(decoded.iter().map(|(name, value)| (*name, value.as_slice())));
    LdifChange { dn: entry.dn.clone(), line: 0, controls: Vec::new(), operation: LdifOperation::Add(lines) }
}

/// An entry that waits for being added.
struct Made {
    dn: String,
    operation: Vec<u8>,
}

/// When entries are deleted.
#[derive(Debug, Clone, Copy)]
struct Deletes {
    mode: DeleteMode,
    begin: Begin,
    purges: bool,
}

/// From when on.
#[derive(Debug, Clone, Copy)]
enum Begin {
    /// So many entries are there.
    Size(u64),
    /// An entry is there for so long.
    Age(Duration),
}

impl Deletes {
    fn new(options: &Options) -> Result<Deletes, Failure> {
        let operations = options.rate.operations;
        match (options.mode, options.size, options.age) {
            (DeleteMode::Off, Some(_), _) | (DeleteMode::Off, _, Some(_)) => Err(Failure::new(
                "--deleteMode off deletes nothing: leave --deleteSizeThreshold and --deleteAgeThreshold out",
            )),
            (DeleteMode::Random, _, Some(_)) => Err(Failure::new(
                "--deleteMode random does not look at ages: give --deleteSizeThreshold instead of --deleteAgeThreshold",
            )),
            (_, Some(size), _) if operations > 0 && operations < size => Err(Failure::new(format_args!(
                "--maxIterations {operations} ends before --deleteSizeThreshold {size} is reached: nothing would be \
                 deleted; --deleteMode off says so"
            ))),
            (mode, size, age) => {
                let age = age.map(|seconds| Begin::Age(Duration::from_secs(u64::from(seconds))));
                let begin = age.unwrap_or(Begin::Size(size.unwrap_or(SIZE_THRESHOLD)));
                Ok(Deletes { mode, begin, purges: !options.no_purge && mode != DeleteMode::Off })
            }
        }
    }
}

/// Adds, and deletes of what was added.
struct Adds {
    made: Receiver<Made>,
    deletes: Deletes,
    most: Option<u64>,
    begun: AtomicU64,
    /// Everything that was added is deleted, and nothing is added any more.
    purges: AtomicBool,
    added: Mutex<VecDeque<(Instant, String)>>,
}

impl Adds {
    fn added(&self) -> MutexGuard<'_, VecDeque<(Instant, String)>> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An entry that is to be deleted now.
    fn deletable(&self, random: &mut Random) -> Option<String> {
        if self.deletes.mode == DeleteMode::Off {
            return None;
        }
        let mut added = self.added();
        let is_time = self.purges.load(Ordering::Acquire)
            || match self.deletes.begin {
                Begin::Size(size) => added.len() as u64 > size,
                Begin::Age(age) => added.front().is_some_and(|(since, _)| since.elapsed() > age),
            };
        let taken = match self.deletes.mode {
            _ if !is_time => None,
            DeleteMode::Random => {
                let at = random.below(added.len() as u64) as usize;
                added.swap_remove_back(at)
            }
            _ => added.pop_front(),
        };
        taken.map(|(_, dn)| dn)
    }

    /// The next entry to add.
    fn addable(&self) -> Option<Made> {
        if self.purges.load(Ordering::Acquire) {
            return None;
        }
        let has_ended = self.most.is_some_and(|most| self.begun.fetch_add(1, Ordering::Relaxed) >= most);
        let made = if has_ended { None } else { self.made.recv().ok() };
        if made.is_none() && self.deletes.purges {
            self.purges.store(true, Ordering::Release);
        }
        made
    }
}

impl Workload for Adds {
    fn asker(&self, places: usize) -> Box<dyn Asker + '_> {
        Box::new(Adder { adds: self, pending: (0..places).map(|_| Pending::Delete).collect() })
    }

    fn wind_down(&self) -> bool {
        self.purges.store(self.deletes.purges, Ordering::Release);
        self.deletes.purges
    }
}

struct Adder<'a> {
    adds: &'a Adds,
    pending: Vec<Pending>,
}

/// What waits for its answer.
enum Pending {
    Add(String),
    Delete,
}

impl Adder<'_> {
    fn put_delete(&mut self, place: usize, dn: &str, id: i32, out: &mut Vec<u8>) {
        client::delete(out, id, dn, &[]);
        if let Some(pending) = self.pending.get_mut(place) {
            *pending = Pending::Delete;
        }
    }
}

impl Asker for Adder<'_> {
    fn put_request(&mut self, place: usize, random: &mut Random, id: i32, out: &mut Vec<u8>) -> bool {
        if let Some(dn) = self.adds.deletable(random) {
            self.put_delete(place, &dn, id, out);
            return true;
        }
        if let Some(made) = self.adds.addable() {
            let mut writer = Writer::new(out);
            let mark = writer.begin(SEQUENCE);
            writer.integer(ber::INTEGER, i64::from(id));
            writer.raw(&made.operation);
            writer.end(mark);
            if let Some(pending) = self.pending.get_mut(place) {
                *pending = Pending::Add(made.dn);
            }
            return true;
        }
        // The purge may have begun just now.
        match self.adds.deletable(random) {
            Some(dn) => {
                self.put_delete(place, &dn, id, out);
                true
            }
            None => false,
        }
    }

    fn answered(&mut self, answer: &Answer<'_>, _: &mut Random, _: i32, _: &mut Vec<u8>) -> Then {
        let is_error = answer.code != ResultCode::SUCCESS;
        let pending = self.pending.get_mut(answer.place).map(|own| std::mem::replace(own, Pending::Delete));
        let Some(Pending::Add(dn)) = pending else { return Then::Ended { is_error, extra: 0 } };
        if !is_error && self.adds.deletes.mode != DeleteMode::Off {
            self.adds.added().push_back((Instant::now(), dn));
        }
        Then::Ended { is_error, extra: 1 }
    }
}
