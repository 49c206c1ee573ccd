//! `show-index-status`: which indexes may be used, and which of their keys have how many entries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use clap::Args;
use config::Config;
use serde_json::{Value, json};
use store::index::{Distrust, Index, Method};

use super::form::{Form, finish, print_json};
use super::of_backend::OfBackend;
use super::source::{Source, base_dns, warn_of_shared_trees};
use super::tree::{self, ALL, Tree, indexes, is_over, shown_index_key};
use crate::failure::Failure;
use crate::instance;
use crate::output::outln;
use crate::table::Table;
use crate::terminal::Progress;

/// Keys over the limit that are named, of one index; the others are counted.
const OVER_KEYS_MAX: usize = 100_000;
/// Frequent keys that are named, of one index.
const FREQUENT_KEYS_MAX: usize = 1000;
/// Keys between two signs of life.
const PROGRESS_KEYS: u64 = 10_000;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    of: OfBackend,
    /// A base DN of the backend; may be given several times [default: all]
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    base_dns: Vec<String>,
    /// Only this index; may be given several times
    #[arg(short = 'i', long = "indexName", value_name = "INDEX")]
    indexes: Vec<String>,
    /// Name the keys that more than N entries have, with the numbers of entries, the most frequent first
    #[arg(long = "min-count", value_name = "N")]
    min_count: Option<u64>,
}

/// What is found out about one index.
struct Status {
    index: Index,
    distrust: Option<Distrust>,
    /// The numbers of an index that is not built are not reliable.
    records: Option<u64>,
    figures: Option<Figures>,
}

#[derive(Default)]
struct Figures {
    records: u64,
    over: u64,
    /// Keys with at least 95 %, 90 % and 80 % of the limit and less than the next: OpenDJ's last column is headed 85 %.
    near: [u64; 3],
    over_keys: Vec<String>,
    /// Keys of more than the wanted number of entries.
    frequent: u64,
    /// The most frequent of them.
    frequent_keys: BinaryHeap<Reverse<(u64, Reverse<String>)>>,
}

pub(super) fn run(config: &Config, options: &Options, form: Form) -> Result<(), Failure> {
    let backend = instance::backend(config, options.of.backend.as_deref())?;
    let base_dns = base_dns(config, backend, &options.base_dns)?;
    let mut source = Source::open(config, backend)?;
    let chosen = chosen(&source, &options.indexes)?;
    let progress = Progress::new("keys", None, false);
    let mut all = Vec::with_capacity(chosen.len());
    let mut done = 0;
    for index in chosen {
        all.push(look(&mut source, index, options.min_count, &mut done, &progress)?);
    }
    drop(progress);
    let entries = source.snapshot.entry_count().map_err(Failure::new)?;
    if form == Form::Json {
        let told = base_dns.iter().flat_map(|base_dn| all.iter().map(move |status| (base_dn, status)));
        let told: Vec<Value> = told.map(|(dn, status)| json_of(dn, status, entries, options.min_count)).collect();
        print_json(&json!({ "total": told.len(), "indexes": told }));
        return Ok(());
    }
    let mut table = Table::new(&[
        "Index Name",
        "Raw DB Name",
        "Valid",
        "Confidential",
        "Record Count",
        "Over Entry Limit",
        "95%",
        "90%",
        "85%",
    ]);
    for base_dn in &base_dns {
        all.iter().for_each(|status| table.row(row(base_dn, status, entries)));
    }
    finish(&table, base_dns.len() * all.len());
    for base_dn in &base_dns {
        all.iter().for_each(|status| trailer(base_dn, status, entries, options.min_count));
    }
    let is_frequent = |status: &Status| status.figures.as_ref().is_some_and(|figures| figures.frequent > 0);
    if let Some(min) = options.min_count.filter(|_| !all.iter().any(is_frequent)) {
        outln!("\nNo key is in more than {min} entries.");
    }
    warn_of_shared_trees(backend);
    Ok(())
}

/// The indexes that names mean: index ids, raw names or attributes. All without names.
fn chosen(source: &Source, names: &[String]) -> Result<Vec<Index>, Failure> {
    let mut chosen: Vec<Index> = Vec::new();
    for name in names {
        let before = chosen.len();
        chosen.extend(indexes(source).filter(|index| tree::is_named(&index.name, name)));
        if chosen.len() == before {
            return Err(tree::no_such_index(source, name));
        }
    }
    if names.is_empty() {
        return Ok(indexes(source).collect());
    }
    chosen.sort_by_key(|index| index.id);
    chosen.dedup_by_key(|index| index.id);
    Ok(chosen)
}

fn look(
    source: &mut Source,
    index: Index,
    min_count: Option<u64>,
    done: &mut u64,
    progress: &Progress,
) -> Result<Status, Failure> {
    let distrust = source.snapshot.indexes().why_untrusted(index.id);
    if distrust.is_some() {
        return Ok(Status { index, distrust, records: None, figures: None });
    }
    if matches!(index.method, Method::Vlv) {
        // A sorted list has no limit that keys could be near to, so OpenDJ shows no more of it.
        let records = Some(Tree::Index(index.clone()).count(source)?);
        return Ok(Status { index, distrust, records, figures: None });
    }
    let mut figures = Figures::default();
    let mut over_keys: Vec<Vec<u8>> = Vec::new();
    let mut frequent: BinaryHeap<Reverse<(u64, Reverse<Vec<u8>>)>> = BinaryHeap::new();
    let limit = f64::from(index.entry_limit);
    Tree::Index(index.clone()).walk(source, ALL, &mut |record| {
        let tree::Value::List(list) = &record.value else { return Ok(ControlFlow::Continue(())) };
        let count = list.count();
        figures.records += 1;
        *done += 1;
        if done.is_multiple_of(PROGRESS_KEYS) {
            progress.at(*done, index.name.clone());
        }
        if is_over(&index, count) {
            figures.over += 1;
            if over_keys.len() < OVER_KEYS_MAX {
                over_keys.push(record.key.to_vec());
            }
        } else if index.entry_limit > 0 {
            let reached = [0.95, 0.9, 0.8].iter().position(|part| count as f64 >= limit * part);
            if let Some(bucket) = reached.and_then(|at| figures.near.get_mut(at)) {
                *bucket += 1;
            }
        }
        if min_count.is_some_and(|min| count > min) {
            figures.frequent += 1;
            frequent.push(Reverse((count, Reverse(record.key.to_vec()))));
            if frequent.len() > FREQUENT_KEYS_MAX {
                frequent.pop();
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    // Keys are stored by OIDs and other forms, but read by their names.
    figures.over_keys = over_keys.iter().map(|key| shown_index_key(&source.schema, &index, key)).collect();
    figures.over_keys.sort_unstable();
    figures.frequent_keys = frequent
        .into_iter()
        .map(|Reverse((count, Reverse(key)))| Reverse((count, Reverse(shown_index_key(&source.schema, &index, &key)))))
        .collect();
    Ok(Status { index, distrust: None, records: Some(figures.records), figures: Some(figures) })
}

impl Figures {
    /// The most frequent keys first.
    fn frequent_keys(&self) -> Vec<(u64, &str)> {
        let mut keys: Vec<(u64, &str)> =
            self.frequent_keys.iter().map(|Reverse((count, Reverse(key)))| (*count, key.as_str())).collect();
        keys.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        keys
    }
}

/// How much of an index is built.
fn percent(done: u64, entries: u64) -> u64 {
    done.saturating_mul(100).checked_div(entries).unwrap_or(100).min(100)
}

fn row(base_dn: &str, status: &Status, entries: u64) -> Vec<String> {
    let tree = Tree::Index(status.index.clone());
    let valid = match status.distrust {
        None => "true".to_owned(),
        Some(Distrust::Building { entries: done }) => format!("false ({}%)", percent(done, entries)),
        Some(_) => "false".to_owned(),
    };
    let over_and_near = status.figures.as_ref().map(|it| [it.over, it.near[0], it.near[1], it.near[2]]);
    let over_and_near = over_and_near.map_or([None; 4], |figures| figures.map(Some));
    let figures = [status.records].into_iter().chain(over_and_near);
    let figures = figures.map(|figure| figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string()));
    let head =
        [tree.name().to_owned(), tree.raw_name(base_dn), valid, tree::is_confidential(&status.index).to_string()];
    head.into_iter().chain(figures).collect()
}

fn trailer(base_dn: &str, status: &Status, entries: u64, min_count: Option<u64>) {
    let raw_name = Tree::Index(status.index.clone()).raw_name(base_dn);
    if let Some(why) = &status.distrust {
        outln!("\nIndex: {raw_name}\nNot used by searches: {}", why_text(why, base_dn, status, entries));
    }
    let Some(figures) = &status.figures else { return };
    if figures.over > 0 {
        let keys: Vec<String> = figures.over_keys.iter().map(|key| format!("[{key}]")).collect();
        let more = figures.over.saturating_sub(keys.len() as u64);
        let more = if more > 0 { format!(" ... and {more} more") } else { String::new() };
        outln!("\nIndex: {raw_name}\nOver index-entry-limit keys: {}{more}", keys.join(" "));
    }
    if let Some(min) = min_count.filter(|_| figures.frequent > 0) {
        let keys = figures.frequent_keys();
        let first =
            if (keys.len() as u64) < figures.frequent { format!(", the first {}", keys.len()) } else { String::new() };
        outln!("\nIndex: {raw_name}\nKeys in more than {min} entries: {}{first}", figures.frequent);
        let width = keys.first().map_or(0, |(count, _)| count.to_string().len());
        keys.iter().for_each(|(count, key)| outln!("{count:>width$}  [{key}]"));
    }
}

fn why_text(why: &Distrust, base_dn: &str, status: &Status, entries: u64) -> String {
    let rebuild =
        || format!("run pando rebuild-index -b {} -i {}", instance::shown_base_dn(base_dn), status.index.name);
    match why {
        Distrust::Degraded => format!("entries may be missing in it; {}", rebuild()),
        Distrust::Building { entries: 0 } => {
            format!("it is not built yet; a running server is about to, else {}", rebuild())
        }
        Distrust::Building { entries: done } => {
            format!("it is being built, {done} of {entries} entries ({}%) are in it", percent(*done, entries))
        }
        Distrust::OtherDerivation => format!("its keys were made by an older version; {}", rebuild()),
    }
}

fn json_of(base_dn: &str, status: &Status, entries: u64, min_count: Option<u64>) -> Value {
    let tree = Tree::Index(status.index.clone());
    let mut told = json!({
        "baseDN": base_dn,
        "name": tree.name(),
        "rawDBName": tree.raw_name(base_dn),
        "valid": status.distrust.is_none(),
        "confidential": tree::is_confidential(&status.index),
        "indexEntryLimit": status.index.entry_limit,
    });
    if let Some(why) = &status.distrust {
        told["notUsedBecause"] = why_text(why, base_dn, status, entries).into();
        if let Distrust::Building { entries: done } = why {
            told["built"] = json!({ "entries": done, "of": entries });
        }
    }
    if let Some(records) = status.records {
        told["recordCount"] = records.into();
    }
    if let Some(it) = &status.figures {
        let [near95, near90, near80] = it.near;
        told["overEntryLimit"] = it.over.into();
        told["near"] = json!({ "95%": near95, "90%": near90, "85%": near80 });
        told["overEntryLimitKeys"] = it.over_keys.clone().into();
        if let Some(min) = min_count {
            let keys: Vec<Value> =
                it.frequent_keys().iter().map(|(count, key)| json!({ "key": key, "entries": count })).collect();
            told["frequent"] = json!({ "moreThan": min, "count": it.frequent, "keys": keys });
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_is_not_built_has_no_figures() {
        let index = Index {
            id: store::IndexId::FIRST_CONFIGURED,
            name: "l.presence".to_owned(),
            attribute: schema::TypeIndex(0),
            method: Method::Presence,
            entry_limit: 4000,
            secret: None,
        };
        let status = |why| Status { index: index.clone(), distrust: Some(why), records: None, figures: None };
        let building = status(Distrust::Building { entries: 45 });
        let shown = row("dc=a", &building, 100);
        assert_eq!(shown, ["l.presence", "/dc=a/l.presence", "false (45%)", "false", "-", "-", "-", "-", "-"]);
        assert_eq!(
            why_text(&Distrust::Building { entries: 45 }, "dc=a", &building, 100),
            "it is being built, 45 of 100 entries (45%) are in it"
        );
        let new = status(Distrust::OtherDerivation);
        assert_eq!(row("dc=a", &new, 100)[2], "false");
        assert_eq!(json_of("dc=a", &new, 100, None)["valid"], false);
        assert!(json_of("dc=a", &new, 100, None).get("recordCount").is_none());
    }
}
