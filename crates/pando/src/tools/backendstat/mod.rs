//! `backendstat`: what backends, indexes and trees hold. Reads snapshots, so it may run beside a server.
//!
//! The subcommands, options, columns and trailers are OpenDJ's; `--json`, `--min-count`, `entry-sizes` and
//! `show-cache-sizes` are our own.

mod dump;
mod form;
mod listing;
mod of_backend;
mod sizes;
mod source;
mod status;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use config::Config;

use form::{Form, finish, print_json};
use of_backend::OfBackend;

use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::owner::Owner;
use crate::table::Table;

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
    /// Print JSON; of a dump, one object a line
    #[arg(long = "json", global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The backends
    ListBackends,
    /// The base DNs of a backend
    #[command(name = "list-base-dns")]
    ListBaseDns(OfBackend),
    /// The trees and indexes of a backend and how many records they have
    ListIndexes(listing::Options),
    /// Which indexes may be used, and which of their keys are at or over the index-entry-limit; reads all of them
    ShowIndexStatus(status::Options),
    /// The records of an index or tree, readable
    DumpIndex(dump::IndexOptions),
    /// The trees of a backend with the sizes of their keys and values; reads all of them
    #[command(name = "list-raw-dbs")]
    ListRawDbs(listing::RawOptions),
    /// The records of a tree in hexadecimal
    DumpRawDb(dump::RawOptions),
    /// How large entries are: average, percentiles, the largest; reads all of them
    EntrySizes(OfBackend),
    /// How much memory for the page cache the data asks for, at least and at most, and whether it is there
    ShowCacheSizes(OfBackend),
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    let form = if options.json { Form::Json } else { Form::Table };
    match &options.what {
        What::ListBackends => list_backends(&config, form),
        What::ListBaseDns(of) => list_base_dns(&config, of, form)?,
        What::ListIndexes(own) => listing::list_indexes(&config, own, form)?,
        What::ShowIndexStatus(own) => status::run(&config, own, form)?,
        What::DumpIndex(own) => dump::dump_index(&config, own, form)?,
        What::ListRawDbs(own) => listing::list_raw_dbs(&config, own, form)?,
        What::DumpRawDb(own) => dump::dump_raw_db(&config, own, form)?,
        What::EntrySizes(of) => sizes::entry_sizes(&config, of, form)?,
        What::ShowCacheSizes(of) => sizes::cache_sizes(&config, of, form)?,
    }
    owner.settle(directory)?;
    Ok(ExitCode::SUCCESS)
}

fn list_backends(config: &Config, form: Form) {
    let ids = config.backends.iter().map(|backend| backend.id.as_str());
    if form == Form::Json {
        let backends: Vec<_> = ids.map(|id| serde_json::json!({ "backendID": id, "storage": "LMDB" })).collect();
        return print_json(&serde_json::json!({ "total": backends.len(), "backends": backends }));
    }
    let mut table = Table::new(&["Backend ID", "Storage"]);
    ids.for_each(|id| table.row(vec![id.to_owned(), "LMDB".to_owned()]));
    finish(&table, config.backends.len());
}

fn list_base_dns(config: &Config, of: &OfBackend, form: Form) -> Result<(), Failure> {
    let base_dns = &instance::backend(config, of.backend.as_deref())?.base_dns;
    if form == Form::Json {
        print_json(&serde_json::json!({ "total": base_dns.len(), "baseDNs": base_dns }));
        return Ok(());
    }
    let mut table = Table::new(&["Base DN"]);
    base_dns.iter().for_each(|base_dn| table.row(vec![instance::shown_base_dn(base_dn)]));
    finish(&table, base_dns.len());
    Ok(())
}
