//! `entry-sizes` and `show-cache-sizes`: the sums that operators used to work out from page counts by hand.
//!
//! There is no cache to set: the page cache of the system is the only one. What is worth knowing is whether it can hold
//! enough.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;

use config::Config;
use serde_json::json;
use store::env::TableSize;
use store::{Content, EntryId};

use super::form::{Form, print_json};
use super::of_backend::OfBackend;
use super::source::Source;
use super::tree::{ALL, Record, Tree, Value};
use crate::failure::Failure;
use crate::instance;
use crate::output::outln;
use crate::table::Table;
use crate::terminal::{Progress, bytes_text};

/// Sizes up to this are counted exactly, larger ones to two digits and more, so that there are few different ones.
const EXACT_BYTES: u64 = 4096;
/// Significant bits of a larger size.
const LARGE_BITS: u32 = 7;
/// Entries between two signs of life.
const PROGRESS_ENTRIES: u64 = 10_000;

/// Sizes of entries, counted.
#[derive(Debug, Default)]
struct Sizes {
    entries: u64,
    bytes: u64,
    /// Of that, values too many or too large for a record.
    large_bytes: u64,
    counts: BTreeMap<u64, u64>,
    largest: Option<(u64, EntryId)>,
}

impl Sizes {
    fn add(&mut self, id: EntryId, bytes: u64) {
        self.entries += 1;
        self.bytes += bytes;
        let spare_bits = (u64::BITS - bytes.leading_zeros()).saturating_sub(LARGE_BITS);
        let class = if bytes <= EXACT_BYTES { bytes } else { bytes >> spare_bits << spare_bits };
        *self.counts.entry(class).or_default() += 1;
        if self.largest.is_none_or(|(most, _)| bytes > most) {
            self.largest = Some((bytes, id));
        }
    }

    fn average(&self) -> u64 {
        self.bytes.checked_div(self.entries).unwrap_or(0)
    }

    /// The size that so many of a hundred entries do not exceed.
    fn percentile(&self, percent: u64) -> u64 {
        let wanted = (self.entries * percent).div_ceil(100);
        let mut seen = 0;
        let reached = self.counts.iter().find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        reached.map_or(0, |(bytes, _)| *bytes)
    }
}

pub(super) fn entry_sizes(config: &Config, of: &OfBackend, form: Form) -> Result<(), Failure> {
    let backend = instance::backend(config, of.backend.as_deref())?;
    let mut source = Source::open(config, backend)?;
    let total = source.snapshot.entry_count().map_err(Failure::new)?;
    let progress = Progress::new("entries", Some(total), false);
    let mut sizes = Sizes::default();
    Tree::Entries.walk(&mut source, ALL, &mut |record| {
        let (record_bytes, large_bytes) = bytes_of(record)?;
        sizes.add(super::tree::entry_id(record.key), record_bytes + large_bytes);
        sizes.large_bytes += large_bytes;
        if sizes.entries.is_multiple_of(PROGRESS_ENTRIES) {
            progress.at(sizes.entries, sizes.entries.to_string());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    let largest = sizes.largest.map_or(0, |(bytes, _)| bytes);
    let largest_dn = match sizes.largest {
        Some((_, id)) => source.snapshot.dn_of(id).map_err(Failure::new)?.unwrap_or_default(),
        None => String::new(),
    };
    let [p50, p95, p99] = [50, 95, 99].map(|percent| sizes.percentile(percent));
    if form == Form::Json {
        print_json(&json!({
            "entries": sizes.entries, "totalBytes": sizes.bytes, "largeValueBytes": sizes.large_bytes,
            "averageBytes": sizes.average(), "percentileBytes": { "50": p50, "95": p95, "99": p99 },
            "largestBytes": largest, "largestDN": largest_dn,
        }));
        return Ok(());
    }
    let mut table = Table::new(&["Entries", "Average", "50%", "95%", "99%", "Largest", "All Entries"]);
    let sized = [sizes.average(), p50, p95, p99, largest, sizes.bytes].map(bytes_text);
    table.row([sizes.entries.to_string()].into_iter().chain(sized).collect());
    table.print();
    if !largest_dn.is_empty() {
        outln!("\nThe largest entry is {largest_dn}");
    }
    if sizes.large_bytes > 0 {
        outln!(
            "Attributes of many or large values, kept beside their entries, have {} of all",
            bytes_text(sizes.large_bytes)
        );
    }
    Ok(())
}

/// Bytes of the record, and of what it keeps outside.
fn bytes_of(record: &Record<'_, '_>) -> Result<(u64, u64), Failure> {
    let Value::Entry(entry) = &record.value else { return Ok((0, 0)) };
    let view = entry.view().map_err(Failure::new)?;
    let large = |content: Content<'_>| match content {
        Content::Large(stub) => stub.bytes,
        Content::Inline(_) => 0,
    };
    Ok((entry.stored_bytes().len() as u64, view.attributes().map(|attribute| large(attribute.content)).sum()))
}

/// The sums of a database's pages, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sums {
    /// Pages on the way to others: passed by every search.
    ways: u64,
    /// These and everything of indexes and names.
    indexes: u64,
    everything: u64,
}

impl Sums {
    fn of(tables: &[TableSize]) -> Self {
        let branch = |table: &TableSize| table.branch_pages * table.page_bytes;
        let is_index = |table: &&TableSize| matches!(table.name, "postings" | "chunks");
        let ways = tables.iter().map(branch).sum();
        let indexes: u64 = tables.iter().filter(is_index).map(|table| bytes(table) - branch(table)).sum();
        Self { ways, indexes: ways + indexes, everything: tables.iter().map(bytes).sum() }
    }

    fn verdict(self, memory: u64) -> &'static str {
        if memory >= self.everything {
            "Everything fits into memory: the disk is read once."
        } else if memory >= self.indexes {
            "The indexes fit into memory, the entries do not: the first reading of an entry may wait for the disk."
        } else if memory >= self.ways {
            "Neither entries nor indexes fit into memory: searches for what is seldom asked wait for the disk. More \
             memory would help."
        } else {
            "Not even the ways through the indexes fit into memory: every search may wait for the disk. Give this \
             machine more memory."
        }
    }
}

fn bytes(table: &TableSize) -> u64 {
    (table.branch_pages + table.leaf_pages + table.overflow_pages) * table.page_bytes
}

/// What the store's tables hold, in an operator's words.
fn contents(table: &str) -> &'static str {
    match table {
        "entries" => "entries",
        "postings" => "names, index keys, short lists",
        "chunks" => "long lists of indexes",
        "values" => "values too many or too large for an entry",
        _ => "state of the backend",
    }
}

pub(super) fn cache_sizes(config: &Config, of: &OfBackend, form: Form) -> Result<(), Failure> {
    let backend = instance::backend(config, of.backend.as_deref())?;
    let source = Source::open(config, backend)?;
    let (dbs, txn) = source.snapshot.base();
    let tables = dbs.sizes(txn).map_err(Failure::new)?;
    let sums = Sums::of(&tables);
    let file = fs::metadata(store::database_path(&backend.directory).join("data.mdb")).map_or(0, |file| file.len());
    let memory = available_memory();
    if form == Form::Json {
        let told: Vec<_> = tables
            .iter()
            .map(|table| {
                json!({
                    "table": table.name,
                    "rows": table.rows,
                    "branchPages": table.branch_pages,
                    "leafPages": table.leaf_pages,
                    "overflowPages": table.overflow_pages,
                    "pageBytes": table.page_bytes,
                    "bytes": bytes(table),
                })
            })
            .collect();
        print_json(&json!({
            "tables": told, "waysBytes": sums.ways, "indexesBytes": sums.indexes, "everythingBytes": sums.everything,
            "fileBytes": file, "availableMemoryBytes": memory, "verdict": memory.map(|memory| sums.verdict(memory)),
        }));
        return Ok(());
    }
    let mut printed = Table::new(&["Table", "Rows", "Branch Pages", "Leaf Pages", "Size", "Holds"]);
    for table in &tables {
        printed.row(vec![
            table.name.to_owned(),
            table.rows.to_string(),
            table.branch_pages.to_string(),
            (table.leaf_pages + table.overflow_pages).to_string(),
            bytes_text(bytes(table)),
            contents(table.name).to_owned(),
        ]);
    }
    printed.print();
    outln!("\nAt least (branch pages):   {}", bytes_text(sums.ways));
    outln!("With all indexes:          {}", bytes_text(sums.indexes));
    outln!("Everything:                {}", bytes_text(sums.everything));
    outln!("Database file:             {}", bytes_text(file));
    if let Some(memory) = memory {
        outln!("Memory for the page cache: {}", bytes_text(memory));
        outln!("\n{}", sums.verdict(memory));
    }
    Ok(())
}

/// Memory that the system can give to the page cache, what it has of it already included; a container's limit counts.
fn available_memory() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<u64>().ok())?;
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|limit| limit.trim().parse::<u64>().ok());
    Some((kib * 1024).min(limit.unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_sizes_that_so_many_do_not_exceed() {
        let mut sizes = Sizes::default();
        for bytes in 1..=100 {
            sizes.add(EntryId(bytes), bytes);
        }
        sizes.add(EntryId(101), 1_000_001);
        assert_eq!((sizes.percentile(50), sizes.percentile(95)), (51, 96));
        assert_eq!(sizes.largest, Some((1_000_001, EntryId(101))));
        assert_eq!(sizes.average(), (5050 + 1_000_001) / 101);
        let large = sizes.percentile(100);
        assert!((985_000..=1_000_001).contains(&large), "{large}");
        assert_eq!(Sizes::default().percentile(50), 0);
    }

    #[test]
    fn sums_count_a_branch_page_once() {
        let table = |name, branch_pages, leaf_pages| TableSize {
            name,
            rows: 0,
            branch_pages,
            leaf_pages,
            overflow_pages: 0,
            page_bytes: 10,
        };
        let sums = Sums::of(&[table("entries", 1, 100), table("postings", 2, 30), table("chunks", 0, 5)]);
        assert_eq!(sums, Sums { ways: 30, indexes: 380, everything: 1380 });
        assert!(sums.verdict(1380).starts_with("Everything"));
        assert!(sums.verdict(380).starts_with("The indexes"));
        assert!(sums.verdict(30).starts_with("Neither"));
        assert!(sums.verdict(29).starts_with("Not even"));
    }
}
