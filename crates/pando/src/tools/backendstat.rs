//! `backendstat`: what backends and indexes hold. Reads a snapshot, so it may run beside a server.

use std::{ops::Bound, path::Path, process::ExitCode, sync::Arc};

use clap::{Args, Subcommand};
use config::{BackendConfig, Config};
use schema::Schema;
use store::{IndexId, IndexKey, Snapshot};

use crate::{
    failure::{Failure, Outcome},
    instance::{self, Reader},
    owner::Owner,
    table::Table,
};

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::enum_variant_names, reason = "the names are those of the command line")]
enum What {
    /// The backends
    ListBackends,
    /// The base DNs of a backend
    ListBaseDns(OfBackend),
    /// The indexes of a backend and how many keys they have
    ListIndexes(OfBackend),
}

#[derive(Debug, Args)]
struct OfBackend {
    /// The backend
    #[arg(short = 'n', long = "backendID", alias = "backendId", value_name = "ID")]
    backend: String,
    /// Only what belongs to this base DN
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    base_dn: Option<String>,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    match &options.what {
        What::ListBackends => list_backends(&config),
        What::ListBaseDns(of) => list_base_dns(&config, of)?,
        What::ListIndexes(of) => list_indexes(&config, of)?,
    }
    owner.settle(directory)?;
    Ok(ExitCode::SUCCESS)
}

fn list_backends(config: &Config) {
    let mut table = Table::new(&["Backend ID", "Storage"]);
    for backend in &config.backends {
        table.row(vec![backend.id.clone(), "LMDB".to_owned()]);
    }
    finish(&table, config.backends.len());
}

fn list_base_dns(config: &Config, of: &OfBackend) -> Result<(), Failure> {
    let backend = instance::backend(config, Some(&of.backend))?;
    let mut table = Table::new(&["Base DN"]);
    for base_dn in &backend.base_dns {
        table.row(vec![base_dn.clone()]);
    }
    finish(&table, backend.base_dns.len());
    Ok(())
}

fn list_indexes(config: &Config, of: &OfBackend) -> Result<(), Failure> {
    let backend = instance::backend(config, Some(&of.backend))?;
    let schema = instance::schema(config)?;
    let base_dns = chosen_base_dns(config, backend, &schema, of.base_dn.as_deref())?;
    let mut reader = Reader::open(config, backend, &schema)?;
    let snapshot = reader.snapshot()?;
    let indexes = Indexes::count(&reader, &snapshot)?;
    let mut table = Table::new(&["Index Name", "Raw DB Name", "Type", "Record Count"]);
    let mut rows = 0;
    for base_dn in &base_dns {
        if of.base_dn.is_none() {
            table.row(vec![format!("Base DN: {base_dn}")]);
        }
        let container = raw_name(base_dn);
        for (name, kind, count) in &indexes.rows {
            table.row(vec![name.clone(), format!("/{container}/{name}"), (*kind).to_owned(), count.to_string()]);
            rows += 1;
        }
    }
    finish(&table, rows);
    Ok(())
}

fn chosen_base_dns(
    config: &Config,
    backend: &BackendConfig,
    schema: &Arc<Schema>,
    asked: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let Some(asked) = asked else { return Ok(backend.base_dns.clone()) };
    let holder = instance::backend_of_base(config, schema, asked)?;
    if holder.id != backend.id {
        return Err(Failure::new(format_args!(
            "\"{asked}\" belongs to the backend \"{}\", not to \"{}\"",
            holder.id, backend.id
        )));
    }
    Ok(vec![asked.to_owned()])
}

/// Name, type and number of keys of each index, the tree's first. A backend keeps one set of indexes for all its base DNs.
struct Indexes {
    rows: Vec<(String, &'static str, u64)>,
}

impl Indexes {
    fn count(reader: &Reader, snapshot: &Snapshot) -> Result<Self, Failure> {
        let entries = snapshot.entry_count().map_err(Failure::new)?;
        let configured = reader.indexer.indexes();
        let mut rows = vec![
            ("dn2id".to_owned(), "DN2ID", keys(snapshot, IndexId::DN)?),
            ("id2entry".to_owned(), "ID2Entry", entries),
            ("referral".to_owned(), "DN2URI", referrals(reader, snapshot)?),
            ("id2childrencount".to_owned(), "ID2ChildrenCount", keys(snapshot, IndexId::CHILDREN)?),
            ("state".to_owned(), "State", configured.iter().count() as u64),
        ];
        for index in configured.iter() {
            rows.push((index.name.clone(), "MatchingRuleIndex", keys(snapshot, index.id)?));
        }
        Ok(Self { rows })
    }
}

fn keys(snapshot: &Snapshot, index: IndexId) -> Result<u64, Failure> {
    let mut scan = snapshot.scan(index, Bound::Unbounded, Bound::Unbounded).map_err(Failure::new)?;
    let mut count = 0;
    while let Some((_, postings)) = scan.next().map_err(Failure::new)? {
        count += u64::from(postings.count() > 0);
    }
    Ok(count)
}

/// Entries that refer elsewhere, which the index of object classes knows.
fn referrals(reader: &Reader, snapshot: &Snapshot) -> Result<u64, Failure> {
    let Some(index) = reader.indexer.indexes().iter().find(|index| index.name == "objectClass.objectIdentifierMatch")
    else {
        return Ok(0);
    };
    let schema = reader.indexer.schema();
    let mut key = Vec::new();
    let rule = schema.matching_rule(b"objectIdentifierMatch");
    if rule.is_none_or(|rule| rule.normalize(schema, b"referral", &mut key).is_err()) {
        return Ok(0);
    }
    Ok(snapshot.postings(&IndexKey::new(index.id, &key)).map_err(Failure::new)?.count())
}

/// The base DN from the root down, as OpenDJ names its trees.
fn raw_name(base_dn: &str) -> String {
    let Ok(dn) = ldap::Dn::parse(base_dn) else { return base_dn.to_owned() };
    let rdns: Vec<String> = dn.rdns().iter().rev().map(|rdn| rdn.to_string().to_lowercase()).collect();
    rdns.join(",")
}

fn finish(table: &Table, rows: usize) {
    print!("{}", table.render());
    println!("\nTotal: {rows}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_names_begin_at_the_root() {
        assert_eq!(raw_name("dc=Example, dc=com"), "dc=com,dc=example");
    }
}
