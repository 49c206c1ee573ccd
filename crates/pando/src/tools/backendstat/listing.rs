//! `list-indexes` and `list-raw-dbs`: the trees and what is in them.

use clap::Args;
use config::Config;
use serde_json::json;

use super::form::{Form, finish, print_json};
use super::of_backend::OfBackend;
use super::source::{Source, base_dns, warn_of_shared_trees};
use super::tree::{ALL, Tree, raw_trees, trees_of};
use crate::failure::Failure;
use crate::instance;
use crate::table::Table;
use crate::terminal::Progress;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    of: OfBackend,
    /// Only what belongs to this base DN
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    base_dn: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct RawOptions {
    #[command(flatten)]
    of: OfBackend,
    /// Sizes in kb, mb, gb of 1000 instead of bytes
    #[arg(short = 'u', long = "useSIUnits", alias = "useSiUnits")]
    si_units: bool,
}

pub(super) fn list_indexes(config: &Config, options: &Options, form: Form) -> Result<(), Failure> {
    let backend = instance::backend(config, options.of.backend.as_deref())?;
    let asked: Vec<String> = options.base_dn.iter().cloned().collect();
    let base_dns = base_dns(config, backend, &asked)?;
    let mut source = Source::open(config, backend)?;
    let trees = trees_of(&source);
    let progress = Progress::new("trees", Some(trees.len() as u64), false);
    let mut counts = Vec::with_capacity(trees.len());
    for tree in &trees {
        progress.at(counts.len() as u64, tree.name().to_owned());
        counts.push(tree.count(&mut source)?);
    }
    drop(progress);
    let rows = || base_dns.iter().map(|base_dn| (base_dn, trees.iter().zip(&counts)));
    if form == Form::Json {
        let tell = |base_dn: &String, tree: &Tree, count: &u64| {
            json!({
                "baseDN": base_dn,
                "name": tree.name(),
                "rawDBName": tree.raw_name(base_dn),
                "type": tree.kind(),
                "recordCount": count,
            })
        };
        let told: Vec<_> =
            rows().flat_map(|(dn, trees)| trees.map(move |(tree, count)| tell(dn, tree, count))).collect();
        print_json(&json!({ "total": told.len(), "indexes": told }));
        return Ok(());
    }
    let mut table = Table::new(&["Index Name", "Raw DB Name", "Type", "Record Count"]);
    for (base_dn, trees) in rows() {
        if options.base_dn.is_none() {
            table.row(vec![format!("Base DN: {}", instance::shown_base_dn(base_dn))]);
        }
        for (tree, count) in trees {
            table.row(vec![tree.name().to_owned(), tree.raw_name(base_dn), tree.kind().to_owned(), count.to_string()]);
        }
    }
    finish(&table, base_dns.len() * trees.len());
    warn_of_shared_trees(backend);
    Ok(())
}

pub(super) fn list_raw_dbs(config: &Config, options: &RawOptions, form: Form) -> Result<(), Failure> {
    let backend = instance::backend(config, options.of.backend.as_deref())?;
    let mut source = Source::open(config, backend)?;
    let trees = raw_trees(&source, &backend.base_dns);
    let progress = Progress::new("trees", Some(trees.len() as u64), false);
    let mut sums = Vec::with_capacity(trees.len());
    for (name, tree) in &trees {
        progress.at(sums.len() as u64, name.clone());
        let mut sum = Sum::default();
        tree.walk(&mut source, ALL, &mut |record| sum.add(record.key.len(), record.value_bytes()?))?;
        sums.push(sum);
    }
    drop(progress);
    let rows = trees.iter().zip(&sums);
    if form == Form::Json {
        let tell = |((name, _), sum): (&(String, Tree), &Sum)| {
            json!({
                "name": name,
                "totalKeys": sum.records,
                "keysSize": sum.key_bytes,
                "valuesSize": sum.value_bytes,
                "totalSize": sum.key_bytes + sum.value_bytes,
            })
        };
        print_json(&json!({ "total": trees.len(), "rawDBs": rows.map(tell).collect::<Vec<_>>() }));
        return Ok(());
    }
    let size = |bytes: u64| if options.si_units { si_text(bytes) } else { bytes.to_string() };
    let mut table = Table::new(&["Raw DB Name", "Total Keys", "Keys Size", "Values Size", "Total Size"]);
    for ((name, _), sum) in rows {
        table.row(vec![
            name.clone(),
            sum.records.to_string(),
            size(sum.key_bytes),
            size(sum.value_bytes),
            size(sum.key_bytes + sum.value_bytes),
        ]);
    }
    finish(&table, trees.len());
    warn_of_shared_trees(backend);
    Ok(())
}

/// Records and their sizes added up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub records: u64,
    pub key_bytes: u64,
    pub value_bytes: u64,
}

impl Sum {
    /// Adds a record.
    pub(super) fn add(&mut self, key_bytes: usize, value_bytes: u64) -> super::tree::Visit {
        self.records += 1;
        self.key_bytes += key_bytes as u64;
        self.value_bytes += value_bytes;
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

/// OpenDJ's sizes in units of 1000: at most two decimals, none that are zero; up to 1000 bytes without a unit.
fn si_text(bytes: u64) -> String {
    if bytes <= 1000 {
        return bytes.to_string();
    }
    let units = [("tb", 1e12), ("gb", 1e9), ("mb", 1e6), ("kb", 1e3)];
    let (name, unit) = units.into_iter().find(|(_, unit)| bytes as f64 >= *unit).unwrap_or(("kb", 1e3));
    let text = format!("{:.2}", bytes as f64 / unit);
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn si_sizes_have_no_idle_digits() {
        let texts = [0, 1000, 1001, 1500, 2_000_000, 7_654_321_000].map(si_text);
        assert_eq!(texts, ["0", "1000", "1 kb", "1.5 kb", "2 mb", "7.65 gb"]);
    }
}
