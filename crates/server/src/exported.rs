//! What monitoring systems get: the figures of `cn=monitor` by names and units of Prometheus.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use directory::Directory;
use query::backend::Backend;
use runtime::metrics::{Counter, LatencySummary};
use store::Stats;
use store::index::Distrust;
use web::exposition::{Family, Kind, Value};

use crate::log::publishers::LogCounts;
use crate::metrics::{LdapMetrics, OperationKind};
use crate::monitor::Monitor;

/// Bounds of the buckets of times.
const BOUNDS_US: [u64; 17] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

/// Which of the counters of a loop.
type CounterOf = fn(&LdapMetrics) -> &Counter;

/// Everything, as it is now.
pub(crate) fn families(monitor: &Monitor, directory: &Directory, is_healthy: bool) -> Vec<Family> {
    let mut all = process(monitor, is_healthy);
    all.extend(network(monitor));
    all.extend(operations(monitor));
    all.extend(searches(monitor));
    all.extend(passwords(monitor));
    all.extend(certificates(monitor));
    all.extend(backends(directory.backends()));
    all
}

fn process(monitor: &Monitor, is_healthy: bool) -> Vec<Family> {
    let figures = runtime::process::figures();
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    vec![
        Family::new(Kind::Gauge, "pando_build_info", "Which program this is; always 1.").with(version, Value::Count(1)),
        Family::gauge(
            "pando_healthy",
            "Whether /healthy answers 200: 1, or 0 when something keeps the server from its work.",
            f64::from(u8::from(is_healthy)),
        ),
        Family::gauge(
            "process_start_time_seconds",
            "When the server started, in seconds since 1970.",
            seconds_since_1970(monitor.begun_at),
        ),
        Family::gauge(
            "process_resident_memory_bytes",
            "Memory in use, pages of the databases that are mapped included.",
            figures.resident_bytes as f64,
        ),
        Family::counter("pando_disk_read_bytes", "Bytes that came from disks.", figures.disk_bytes_read),
        Family::counter("pando_disk_written_bytes", "Bytes that went to disks.", figures.disk_bytes_written),
        Family::counter("pando_major_page_faults", "Waits for a page of memory from a disk.", figures.major_faults),
    ]
}

fn network(monitor: &Monitor) -> Vec<Family> {
    let network = |name, help, counter: CounterOf| Family::counter(name, help, monitor.sum(counter));
    vec![
        Family::gauge("pando_connections", "Connections that are open.", monitor.connections.now() as f64),
        network("pando_connections_established", "Connections that were accepted.", |it| {
            &it.network.connections_established
        }),
        network("pando_connections_closed", "Connections that ended.", |it| &it.network.connections_closed),
        network("pando_connections_rejected", "Connections refused at the door.", |it| {
            &it.network.connections_rejected
        }),
        network("pando_connections_idle", "Connections ended because they asked for nothing too long.", |it| {
            &it.network.connections_idle
        }),
        network("pando_received_bytes", "Bytes read from clients.", |it| &it.network.bytes_read),
        network("pando_sent_bytes", "Bytes written to clients.", |it| &it.network.bytes_written),
        network("pando_protocol_errors", "Messages that broke the rules of LDAP.", |it| &it.network.protocol_errors),
        network("pando_panics", "Operations that failed by a defect of the server.", |it| &it.network.panics),
        network("pando_tls_handshakes", "TLS handshakes that succeeded.", |it| &it.network.tls_handshakes),
        network("pando_tls_failures", "TLS handshakes that failed.", |it| &it.network.tls_failures),
        log_lines_dropped(monitor),
    ]
}

fn log_lines_dropped(monitor: &Monitor) -> Family {
    let help = "Lines of a log that could not be written in time.";
    let family = Family::new(Kind::Counter, "pando_log_lines_dropped", help);
    let with = |family: Family, log: LogCounts| family.with(vec![("publisher", log.name)], Value::Count(log.dropped));
    monitor.logs.counts().into_iter().fold(family, with)
}

fn operations(monitor: &Monitor) -> Vec<Family> {
    let mut requests = Family::new(Kind::Counter, "pando_requests", "Requests that were read.");
    let mut times = Family::new(
        Kind::Histogram,
        "pando_operation_duration_seconds",
        "Time from the request to the last octet of its answer, as in the access log.",
    );
    for kind in OperationKind::ALL {
        let labels = || vec![("operation", kind.monitor_name().to_ascii_lowercase())];
        requests = requests.with(labels(), Value::Count(monitor.requests(kind)));
        let (latency, elapsed) = monitor.latency(kind);
        times = times.with(labels(), histogram(&latency, elapsed));
    }
    let abandoned = monitor.sum(|it| &it.abandoned);
    vec![
        requests,
        times,
        Family::counter("pando_operations_abandoned", "Operations that were abandoned or cancelled.", abandoned),
        Family::counter("pando_operations_busy", "Operations refused with busy.", monitor.sum(|it| &it.busy)),
    ]
}

fn histogram(latency: &LatencySummary, elapsed: Duration) -> Value {
    let bucket = |us: u64| {
        let bound = Duration::from_micros(us);
        (bound.as_secs_f64(), latency.within(bound))
    };
    Value::Histogram { buckets: BOUNDS_US.map(bucket).to_vec(), sum: elapsed.as_secs_f64(), count: latency.count() }
}

fn searches(monitor: &Monitor) -> Vec<Family> {
    let by = |label, counts: [(&str, CounterOf); 3], mut family: Family| {
        for (word, counter) in counts {
            family = family.with(vec![(label, word.to_owned())], Value::Count(monitor.sum(counter)));
        }
        family
    };
    let entries = monitor.sum(|it| &it.entries_returned);
    let references = monitor.sum(|it| &it.references_returned);
    let unindexed = monitor.sum(|it| &it.searches_unindexed);
    let backlog = monitor.pools.search.backlog();
    vec![
        Family::counter("pando_search_entries", "Entries that searches returned.", entries),
        Family::counter("pando_search_references", "References that searches returned.", references),
        Family::counter("pando_searches_unindexed", "Searches that no index could answer.", unindexed),
        by(
            "scope",
            [("base", |it| &it.searches_base), ("one", |it| &it.searches_one), ("sub", |it| &it.searches_sub)],
            Family::new(Kind::Counter, "pando_searches", "Searches by scope."),
        ),
        by(
            "limit",
            [
                ("size", |it| &it.searches_over_size),
                ("time", |it| &it.searches_over_time),
                ("lookthrough", |it| &it.searches_over_lookthrough),
            ],
            Family::new(Kind::Counter, "pando_searches_limited", "Searches that ended at a limit."),
        ),
        Family::gauge("pando_search_backlog", "Long searches that wait for the pool.", backlog as f64),
    ]
}

fn passwords(monitor: &Monitor) -> Vec<Family> {
    let hashes = monitor.pools.hash.counts();
    let backlog = monitor.pools.hash.backlog();
    let failed = monitor.sum(|it| &it.binds_failed);
    vec![
        Family::counter("pando_binds_failed", "Binds refused with invalidCredentials.", failed),
        Family::gauge("pando_password_backlog", "Slow password checks that wait for the pool.", backlog as f64),
        Family::counter("pando_passwords_hashed", "Slow password checks that ended.", hashes.ended),
        Family::counter("pando_passwords_refused", "Slow password checks refused with busy.", hashes.refused),
    ]
}

fn certificates(monitor: &Monitor) -> Vec<Family> {
    let mut ends = Family::new(
        Kind::Gauge,
        "pando_certificate_expiry_timestamp_seconds",
        "When the certificate of a connection handler ends, in seconds since 1970.",
    );
    for (handler, end) in monitor.certificate_ends() {
        ends = ends.with(vec![("handler", handler.to_owned())], Value::Number(seconds_since_1970(end)));
    }
    vec![ends]
}

/// A figure of each backend.
struct Figure {
    kind: Kind,
    name: &'static str,
    help: &'static str,
    of: fn(&Stats) -> f64,
}

const BACKEND_FIGURES: [Figure; 22] = [
    gauge("pando_backend_entries", "Entries.", |it| it.entries as f64),
    gauge("pando_backend_database_bytes", "Size of the database.", |it| it.database_bytes as f64),
    gauge("pando_backend_database_limit_bytes", "Size that the database may grow to.", |it| {
        it.database_bytes_max as f64
    }),
    gauge("pando_backend_writer_queue_length", "Updates that wait for the writer.", |it| it.queue_length as f64),
    gauge("pando_backend_writer_queue_bytes", "Bytes of the updates that wait.", |it| it.queue_bytes as f64),
    counter("pando_backend_proposals", "Updates that were applied, refused ones included.", |it| it.proposals as f64),
    counter("pando_backend_accepted", "Updates that were accepted.", |it| it.accepted as f64),
    counter("pando_backend_batches", "Writes of the log.", |it| it.batches as f64),
    counter("pando_backend_log_written_bytes", "Bytes written to the log.", |it| it.logged_bytes as f64),
    gauge("pando_backend_log_bytes", "Size of the log on disk.", |it| it.log.bytes as f64),
    gauge("pando_backend_log_segments", "Files of the log whose records are still needed.", |it| {
        it.log.segments as f64
    }),
    counter("pando_backend_log_sync_seconds", "Time that the writer waited for the disk of the log.", |it| {
        it.sync_total.as_secs_f64()
    }),
    counter("pando_backend_apply_seconds", "Time that the writer applied updates.", |it| it.apply_total.as_secs_f64()),
    gauge("pando_backend_unfolded_bytes", "Changes in memory that are not in the database yet.", |it| {
        (it.overlay_bytes + it.frozen_bytes) as f64
    }),
    counter("pando_backend_folds", "Times that changes were brought into the database.", |it| it.folds as f64),
    gauge("pando_backend_last_fold_seconds", "How long the last fold took.", |it| it.fold_last.as_secs_f64()),
    counter("pando_backend_slowed_seconds", "Time that the writer waited for folds.", |it| {
        it.slowed_total.as_secs_f64()
    }),
    gauge("pando_backend_readers", "Searches that read the database.", |it| it.readers as f64),
    gauge("pando_backend_oldest_reader_seconds", "How long the oldest of them has read.", |it| {
        it.oldest_reader.as_secs_f64()
    }),
    gauge("pando_backend_last_change_number", "The last change.", |it| it.seq as f64),
    gauge("pando_backend_disk_trouble", "1 while the disk of the log or of the database refuses writes.", |it| {
        f64::from(u8::from(it.log.trouble.is_some() || it.fold_trouble.is_some()))
    }),
    gauge("pando_backend_updates_stopped", "1 when no update is taken until the server is started again.", |it| {
        f64::from(u8::from(it.updates_stopped.is_some()))
    }),
];

const fn gauge(name: &'static str, help: &'static str, of: fn(&Stats) -> f64) -> Figure {
    Figure { kind: Kind::Gauge, name, help, of }
}

const fn counter(name: &'static str, help: &'static str, of: fn(&Stats) -> f64) -> Figure {
    Figure { kind: Kind::Counter, name, help, of }
}

fn backends(backends: &[Backend]) -> Vec<Family> {
    let label = |backend: &Backend| ("backend", backend.id.clone());
    let all: Vec<(&Backend, Stats)> = backends.iter().map(|backend| (backend, backend.store.stats())).collect();
    let mut families: Vec<Family> = Vec::new();
    for Figure { kind, name, help, of } in BACKEND_FIGURES {
        let family = Family::new(kind, name, help);
        let with = |family: Family, (backend, stats): &(&Backend, Stats)| {
            family.with(vec![label(backend)], Value::Number(of(stats)))
        };
        families.push(all.iter().fold(family, with));
    }
    let mut indexes = Family::new(Kind::Gauge, "pando_backend_indexes", "Indexes by whether searches may use them.");
    for (backend, _) in &all {
        for (state, count) in index_states(backend) {
            indexes = indexes.with(vec![label(backend), ("state", state.to_owned())], Value::Count(count));
        }
    }
    families.push(indexes);
    families
}

fn index_states(backend: &Backend) -> [(&'static str, u64); 3] {
    let indexes = backend.store.indexes();
    let (mut valid, mut building, mut invalid) = (0, 0, 0);
    for index in indexes.set().iter() {
        match indexes.why_untrusted(index.id) {
            None => valid += 1,
            Some(Distrust::Building { .. }) => building += 1,
            Some(Distrust::Degraded | Distrust::OtherDerivation) => invalid += 1,
        }
    }
    [("valid", valid), ("building", building), ("invalid", invalid)]
}

fn seconds_since_1970(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
