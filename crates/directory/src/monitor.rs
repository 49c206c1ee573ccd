//! What is told to `cn=monitor`: by a [`MonitorProvider`] (the server: connections, operations) and by the backends.
//!
//! Knows no entries: what is told becomes some when somebody asks.

use std::time::{SystemTime, UNIX_EPOCH};

use store::Minute;
use store::index::{Distrust, Index};

use crate::search::advice::ShapeTable;
use change::csn::Csn;
use query::backend::Backend;
use query::facts::Facts;
use query::monitor_entry::MonitorEntry;
use query::plan::remedy::Remedy;

/// Tells what is going on above the directory.
pub trait MonitorProvider: Send + Sync {
    /// The entries as they are now; several with one name are one entry.
    fn monitor_entries(&self) -> Vec<MonitorEntry>;
}

/// What the backends tell: entries, sizes, writer, log, fold, readers. Names follow OpenDJ where it has the figure.
pub(crate) fn backend_entries(facts: &Facts, backends: &[Backend], shapes: &[ShapeTable]) -> Vec<MonitorEntry> {
    let all = backends.iter().zip(shapes);
    all.flat_map(|(backend, shapes)| [backend_entry(backend), advice_entry(facts, backend, shapes)]).collect()
}

/// What [`advice`](crate::search::advice) says.
fn advice_entry(facts: &Facts, backend: &Backend, shapes: &ShapeTable) -> MonitorEntry {
    let indexes = backend.store.indexes();
    let is_followed = |remedy: &Remedy| remedy.is_followed(&facts.schema, &indexes);
    shapes.monitor_entry(&backend.id, is_followed)
}

fn backend_entry(backend: &Backend) -> MonitorEntry {
    let stats = backend.store.stats();
    let us = |time: std::time::Duration| time.as_micros();
    let mut entry = MonitorEntry::new(&format!("{} Backend", backend.id)).with("ds-backend-id", &backend.id);
    let names = backend.suffixes.iter().map(|suffix| suffix.dn.clone()).collect();
    entry.attributes.push(("ds-backend-base-dn".to_owned(), names));
    let reason = format!("{:?}", stats.wait_max_reason).to_ascii_lowercase();
    let mean_us = us(stats.sync_total) / u128::from(stats.batches.max(1));
    let batch_mean = stats.proposals / stats.batches.max(1);
    let doing = format!("{:?}", stats.doing).to_ascii_lowercase();
    let (fold_done, fold_total) = stats.fold_progress;
    entry.attributes.push(("ds-backend-index-state".to_owned(), index_states(backend, stats.entries)));
    entry.attributes.push(("writer-minutes".to_owned(), stats.minutes.iter().map(minute).collect()));
    let entry = entry
        .with("ds-backend-entry-count", stats.entries)
        .with("ds-backend-writability-mode", format!("{:?}", backend.writability).to_ascii_lowercase())
        .with("database-bytes", stats.database_bytes)
        .with("database-bytes-max", stats.database_bytes_max)
        .with("writer-queue-length", stats.queue_length)
        .with("writer-queue-bytes", stats.queue_bytes)
        .with("writer-state", doing)
        .with("writer-state-time-us", us(stats.doing_for))
        .with("writer-hold-time-max-us", us(stats.hold_max))
        .with("writer-hold-time-max-connection", stats.hold_max_submitter.0)
        .with("proposals", stats.proposals)
        .with("proposals-accepted", stats.accepted)
        .with("batches", stats.batches)
        .with("batch-size-mean", batch_mean)
        .with("batch-size-max", stats.batch_max)
        .with("log-bytes-written", stats.logged_bytes)
        .with("log-bytes-per-second", bytes_per_second(&stats.minutes))
        .with("log-bytes", stats.log.bytes)
        .with("log-segments", stats.log.segments)
        .with("commit-time-mean-us", mean_us)
        .with("commit-time-max-us", us(stats.sync_max))
        .with("apply-time-total-us", us(stats.apply_total))
        .with("wait-time-max-us", us(stats.wait_max))
        .with("wait-time-max-reason", reason)
        .with("overlay-changes", stats.overlay_ops + stats.frozen_ops)
        .with("overlay-bytes", stats.overlay_bytes + stats.frozen_bytes)
        .with("folds", stats.folds)
        .with("folded-changes", stats.folded_ops)
        .with("fold-time-last-us", us(stats.fold_last))
        .with("fold-time-max-us", us(stats.fold_max))
        .with("fold-commit-time-last-us", us(stats.fold_commit_last))
        .with("fold-rows-done", fold_done)
        .with("fold-rows-total", fold_total)
        .with("writer-slowed", stats.slowed)
        .with("writer-slowed-total-us", us(stats.slowed_total))
        .with("readers", stats.readers)
        .with("oldest-reader-us", us(stats.oldest_reader))
        .with("last-change-number", stats.seq)
        .with("changes-replayed-at-start", stats.replayed)
        .with("replay-time-us", us(stats.replay));
    let entry = match stats.log.trouble {
        Some(trouble) => entry.with("log-trouble", trouble),
        None => entry,
    };
    let entry = match stats.fold_trouble {
        Some(trouble) => entry.with("fold-trouble", trouble),
        None => entry,
    };
    let entry = match stats.order_trouble {
        Some(trouble) => entry.with("order-trouble", trouble),
        None => entry,
    };
    match stats.updates_stopped {
        Some(reason) => entry.with("updates-stopped", reason),
        None => entry,
    }
}

/// One minute of the writer: when it began, then what it did and the worst of it.
fn minute(minute: &Minute) -> String {
    let mut text = Vec::new();
    Csn { time_us: minute.minute * 60_000_000, ..Csn::default() }.write_timestamp(&mut text);
    let us = |time: std::time::Duration| time.as_micros();
    format!(
        "{} proposals={} batches={} log-bytes={} wait-max-us={} wait-max-reason={} hold-max-us={} commit-max-us={} \
         fold-max-us={} \
         slowed-us={}",
        String::from_utf8_lossy(&text),
        minute.proposals,
        minute.batches,
        minute.logged_bytes,
        us(minute.wait_max),
        format!("{:?}", minute.wait_max_reason).to_ascii_lowercase(),
        us(minute.hold_max),
        us(minute.sync_max),
        us(minute.fold_max),
        us(minute.slowed)
    )
}

/// What the last whole minute wrote to the log.
fn bytes_per_second(minutes: &[Minute]) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 60;
    minutes.iter().find(|minute| minute.minute + 1 == now).map_or(0, |minute| minute.logged_bytes / 60)
}

/// Each index and whether searches may use it: `sn.caseIgnoreMatch valid`, `cn.caseIgnoreMatch building 4000 of 10000`.
fn index_states(backend: &Backend, entries: u64) -> Vec<String> {
    let indexes = backend.store.indexes();
    let state = |index: &Index| match indexes.why_untrusted(index.id) {
        None => format!("{} valid", index.name),
        Some(Distrust::Building { entries: done }) => format!("{} building {done} of {entries}", index.name),
        Some(Distrust::Degraded | Distrust::OtherDerivation) => format!("{} invalid", index.name),
    };
    indexes.set().iter().map(state).collect()
}
