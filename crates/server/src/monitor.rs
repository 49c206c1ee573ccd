//! What the server tells `cn=monitor`: connections, operations with their latencies, pools, logs.
//!
//! Reads counters that the loops write; names are OpenDJ's where it has the figure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use directory::MonitorProvider;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use query::monitor_entry::MonitorEntry;
use runtime::listener::{Audience, ListenAt};
use runtime::loops::ConnectionCounts;
use runtime::metrics::{Counter, LatencySummary, MINUTES};
use runtime::survey::Survey;
use runtime::tls::TlsAcceptor;
use web::listener::HttpListener;

use crate::listener::LdapListener;
use crate::log::publishers::{LogCounts, Publishers};
use crate::metrics::{LdapMetrics, OperationKind};
use crate::operation::Pools;
use crate::password_servers::PasswordServers;
use crate::stalls::Stalls;

/// The product's name, as `vendorVersion` and `cn=Version` show it.
const PRODUCT: &str = "Pando";

/// Percentiles that are shown: name and parts of a million.
const PERCENTILES: [(&str, u64); 5] =
    [("p50", 500_000), ("p95", 950_000), ("p99", 990_000), ("p99-9", 999_000), ("p99-99", 999_900)];

/// See the module.
pub(crate) struct Monitor {
    pub(crate) connections: ConnectionCounts,
    pub(crate) metrics: Vec<Arc<LdapMetrics>>,
    pub(crate) listeners: Arc<[LdapListener]>,
    pub(crate) http: Vec<HttpListener>,
    pub(crate) pools: Pools,
    pub(crate) password_servers: Arc<PasswordServers>,
    pub(crate) stalls: Arc<Stalls>,
    pub(crate) survey: Arc<dyn Survey>,
    pub(crate) logs: Arc<Publishers>,
    pub(crate) begun: Instant,
    pub(crate) begun_at: SystemTime,
}

impl MonitorProvider for Monitor {
    fn monitor_entries(&self) -> Vec<MonitorEntry> {
        let mut entries = vec![self.overview(), version(), self.statistics(), self.operations(), self.work_queue()];
        entries.extend([self.longest(now_minute()), self.stalls.monitor_entry()]);
        entries.extend([self.client_connections(), self.process()]);
        entries.extend(self.listeners.iter().map(handler));
        entries.extend(self.http.iter().map(http_handler));
        entries.extend(self.password_servers.monitor_entries());
        entries.extend(self.logs.counts().iter().map(log_publisher));
        entries
    }
}

impl Monitor {
    pub(crate) fn sum(&self, counter: impl Fn(&LdapMetrics) -> &Counter) -> u64 {
        self.metrics.iter().map(|metrics| counter(metrics).get()).sum()
    }

    fn overview(&self) -> MonitorEntry {
        MonitorEntry::new("")
            .with("startTime", generalized_time(self.begun_at))
            .with("currentTime", generalized_time(SystemTime::now()))
            .with("upTime", up_time(self.begun.elapsed()))
            .with("currentConnections", self.connections.now())
            .with("maxConnections", self.connections.peak())
            .with("totalConnections", self.sum(|metrics| &metrics.network.connections_established))
            .with("productName", PRODUCT)
            .with("vendorName", "the Pando project")
            .with("fullVersion", full_version())
    }

    fn statistics(&self) -> MonitorEntry {
        let initiated: u64 = OperationKind::ALL.iter().map(|kind| self.requests(*kind)).sum();
        let completed: u64 = OperationKind::ALL.iter().map(|kind| self.responses(*kind)).sum();
        let entries = self.sum(|metrics| &metrics.entries_returned);
        let references = self.sum(|metrics| &metrics.references_returned);
        // An abandon is concluded without a response.
        let answers = completed.saturating_sub(self.responses(OperationKind::Abandon));
        let mut entry = MonitorEntry::new("LDAP Statistics")
            .with("connectionsEstablished", self.sum(|metrics| &metrics.network.connections_established))
            .with("connectionsClosed", self.sum(|metrics| &metrics.network.connections_closed))
            .with("connectionsRejected", self.sum(|metrics| &metrics.network.connections_rejected))
            .with("bytesRead", self.sum(|metrics| &metrics.network.bytes_read))
            .with("bytesWritten", self.sum(|metrics| &metrics.network.bytes_written))
            .with("ldapMessagesRead", initiated)
            .with("ldapMessagesWritten", answers + entries + references)
            .with("operationsInitiated", initiated)
            .with("operationsCompleted", completed)
            .with("operationsAbandoned", self.sum(|metrics| &metrics.abandoned));
        for kind in OperationKind::ALL {
            entry = entry.with(&format!("{}Requests", kind.monitor_name()), self.requests(kind));
            if !matches!(kind, OperationKind::Abandon | OperationKind::Unbind | OperationKind::Search) {
                entry = entry.with(&format!("{}Responses", kind.monitor_name()), self.responses(kind));
            }
        }
        entry
            .with("searchBaseRequests", self.sum(|metrics| &metrics.searches_base))
            .with("searchOneRequests", self.sum(|metrics| &metrics.searches_one))
            .with("searchSubRequests", self.sum(|metrics| &metrics.searches_sub))
            .with("searchResultEntries", entries)
            .with("searchResultReferences", references)
            .with("searchResultsDone", self.responses(OperationKind::Search))
            .with("searchesUnindexed", self.sum(|metrics| &metrics.searches_unindexed))
            .with("searchesOverSizeLimit", self.sum(|metrics| &metrics.searches_over_size))
            .with("searchesOverTimeLimit", self.sum(|metrics| &metrics.searches_over_time))
            .with("searchesOverLookthroughLimit", self.sum(|metrics| &metrics.searches_over_lookthrough))
            .with("connectionsOverIdleTimeLimit", self.sum(|metrics| &metrics.network.connections_idle))
            .with("bindsFailed", self.sum(|metrics| &metrics.binds_failed))
            .with("protocolErrors", self.sum(|metrics| &metrics.network.protocol_errors))
            .with("operationsBusy", self.sum(|metrics| &metrics.busy))
            .with("operationsPanicked", self.sum(|metrics| &metrics.network.panics))
            .with("tlsHandshakes", self.sum(|metrics| &metrics.network.tls_handshakes))
            .with("tlsFailures", self.sum(|metrics| &metrics.network.tls_failures))
            .with("logLinesDropped", self.logs.counts().iter().map(|log| log.dropped).sum::<u64>())
    }

    fn operations(&self) -> MonitorEntry {
        let mut entry = MonitorEntry::new("Operations");
        for kind in OperationKind::ALL {
            let name = kind.monitor_name();
            let (latency, elapsed) = self.latency(kind);
            let total_ms = elapsed.as_millis();
            entry = entry
                .with(&format!("ds-mon-{name}-operations-total-count"), latency.count())
                .with(&format!("ds-mon-resident-time-{name}-operations-total-time"), total_ms);
            for (label, per_million) in PERCENTILES {
                let time_us = latency.percentile(per_million).as_nanos().div_ceil(1000);
                entry = entry.with(&format!("ds-mon-{name}-operations-{label}-us"), time_us);
            }
        }
        let times = OperationKind::ALL.iter().filter_map(|kind| {
            let (latency, _) = self.latency(*kind);
            let buckets: Vec<String> = latency.buckets().map(|(ns, count)| format!(" {ns}:{count}")).collect();
            (!buckets.is_empty()).then(|| format!("{}{}", kind.monitor_name(), buckets.concat()))
        });
        entry.attributes.push(("operation-times".to_owned(), times.collect()));
        entry
    }

    /// What the connections did when somebody asked last: the loops tell it for the next one who asks.
    fn client_connections(&self) -> MonitorEntry {
        let told = self.survey.look();
        let left_out: usize = told.iter().map(|one| one.left_out).sum();
        let mut entry = MonitorEntry::new("Client Connections").with("connections-left-out", left_out);
        let connections = told.iter().flat_map(|one| one.connections.iter().cloned()).collect();
        entry.attributes.push(("connection".to_owned(), connections));
        match told.iter().map(|one| one.at.elapsed().as_millis()).max() {
            Some(age) => entry.with("connections-age-ms", age),
            None => entry,
        }
    }

    /// What the system says of this process: bytes that went to and came from disks, and waits for them.
    fn process(&self) -> MonitorEntry {
        let figures = runtime::process::figures();
        let entry = MonitorEntry::new("Process")
            .with("diskBytesRead", figures.disk_bytes_read)
            .with("diskBytesWritten", figures.disk_bytes_written)
            .with("majorPageFaults", figures.major_faults)
            .with("residentMemoryBytes", figures.resident_bytes);
        // The administration socket lies in the folder of the instance.
        let sockets = self.listeners.iter().filter(|one| one.network.audience == Audience::LocalAdministrator);
        let mut folders = sockets.filter_map(|listener| match &listener.network.at {
            ListenAt::Path(path) => path.parent(),
            ListenAt::Tcp(_) => None,
        });
        match folders.find_map(|folder| runtime::sys::free_disk_space(folder).ok()) {
            Some(free) => entry.with("diskBytesFree", free),
            None => entry,
        }
    }

    /// The longest operation of each minute of the last hour, by kind, in µs.
    fn longest(&self, now: u64) -> MonitorEntry {
        let mut minutes: BTreeMap<u64, Vec<(OperationKind, Duration)>> = BTreeMap::new();
        for kind in OperationKind::ALL {
            let all = self.metrics.iter().flat_map(|metrics| metrics.of(kind).longest_per_minute());
            let mut own: BTreeMap<u64, Duration> = BTreeMap::new();
            for (minute, time) in all.filter(|(minute, _)| minute + MINUTES as u64 > now) {
                let longest = own.entry(minute).or_default();
                *longest = time.max(*longest);
            }
            for (minute, time) in own {
                minutes.entry(minute).or_default().push((kind, time));
            }
        }
        let mut entry = MonitorEntry::new("Longest Operations");
        let values = minutes.iter().map(|(minute, kinds)| {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(minute * 60);
            let kinds: Vec<String> =
                kinds.iter().map(|(kind, time)| format!(" {}={}", kind.monitor_name(), time.as_micros())).collect();
            format!("{}{}", generalized_time(at), kinds.concat())
        });
        entry.attributes.push(("longest-operations-us".to_owned(), values.collect()));
        entry
    }

    fn work_queue(&self) -> MonitorEntry {
        let hashes = self.pools.hash.counts();
        MonitorEntry::new("Work Queue")
            .with("currentRequestBacklog", self.pools.search.backlog() + self.pools.hash.backlog())
            .with("searchBacklog", self.pools.search.backlog())
            .with("searchesBetweenTurns", self.pools.search.between_turns())
            .with("passwordBacklog", self.pools.hash.backlog())
            .with("passwordsHashed", hashes.ended)
            .with("passwordsHashedPerSecond", hashes.ended_per_second)
            .with("passwordsRefused", hashes.refused)
            .with("passwordWait-us", hashes.wait.as_micros())
            .with("passwordTime-us", hashes.time.as_micros())
            .with("requestsRejectedDueToQueueFull", self.sum(|metrics| &metrics.busy))
    }

    /// How long the operations of a kind took, and all together.
    pub(crate) fn latency(&self, kind: OperationKind) -> (LatencySummary, Duration) {
        let mut latency = LatencySummary::default();
        let mut elapsed_ns = 0;
        for metrics in &self.metrics {
            metrics.of(kind).merge_latency(&mut latency);
            elapsed_ns += metrics.of(kind).elapsed_ns.get();
        }
        (latency, Duration::from_nanos(elapsed_ns))
    }

    /// When the first certificate of each handler that has some ends.
    pub(crate) fn certificate_ends(&self) -> impl Iterator<Item = (&str, SystemTime)> {
        let mut ends: BTreeMap<&str, SystemTime> = BTreeMap::new();
        for listener in &*self.listeners {
            for end in listener.certificates().filter_map(|certificate| certificate.expires_at()) {
                let first = ends.entry(listener.handler.as_str()).or_insert(end);
                *first = end.min(*first);
            }
        }
        for listener in &self.http {
            if let Some(end) = listener.tls.as_ref().and_then(|certificate| certificate.expires_at()) {
                ends.insert(&listener.handler, end);
            }
        }
        ends.into_iter()
    }

    pub(crate) fn requests(&self, kind: OperationKind) -> u64 {
        self.sum(|metrics| &metrics.of(kind).requests)
    }

    fn responses(&self, kind: OperationKind) -> u64 {
        self.sum(|metrics| &metrics.of(kind).responses)
    }
}

fn now_minute() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() / 60
}

fn version() -> MonitorEntry {
    MonitorEntry::new("Version")
        .with("productName", PRODUCT)
        .with("shortName", PRODUCT)
        .with("fullVersion", full_version())
        .with("majorVersion", env!("CARGO_PKG_VERSION_MAJOR"))
        .with("minorVersion", env!("CARGO_PKG_VERSION_MINOR"))
        .with("pointVersion", env!("CARGO_PKG_VERSION_PATCH"))
}

fn handler(settings: &LdapListener) -> MonitorEntry {
    handler_entry(settings.protocol(), &settings.network.at, settings.certificates())
}

/// What a log has done since it was opened.
fn log_publisher(log: &LogCounts) -> MonitorEntry {
    MonitorEntry::new(&format!("Log Publisher {}", log.name))
        .with("linesDropped", log.dropped)
        .with("writeFailures", log.failures)
}

fn http_handler(settings: &HttpListener) -> MonitorEntry {
    let protocol = if settings.tls.is_some() { "HTTPS" } else { "HTTP" };
    handler_entry(protocol, &ListenAt::Tcp(settings.at), settings.tls.iter())
}

fn handler_entry<'c>(
    protocol: &str,
    at: &ListenAt,
    certificates: impl Iterator<Item = &'c Arc<TlsAcceptor>>,
) -> MonitorEntry {
    let name = match at {
        ListenAt::Tcp(address) => format!("{protocol} Connection Handler {} port {}", address.ip(), address.port()),
        ListenAt::Path(path) => format!("{protocol} Connection Handler {}", path.display()),
    };
    let entry = MonitorEntry::new(&name)
        .with("ds-connectionhandler-protocol", protocol)
        .with("ds-connectionhandler-listener", at);
    match certificates.filter_map(|certificate| certificate.expires_at()).min() {
        Some(end) => entry
            .with("certificateExpires", generalized_time(end))
            .with("certificateDaysLeft", days_until(end, SystemTime::now())),
        None => entry,
    }
}

/// Whole days from one time to another; below zero when it is over.
fn days_until(end: SystemTime, now: SystemTime) -> i64 {
    const DAY_SECONDS: u64 = 86_400;
    let days = |time: Duration| i64::try_from(time.as_secs() / DAY_SECONDS).unwrap_or(i64::MAX);
    end.duration_since(now).map_or_else(|over| -1 - days(over.duration()), days)
}

fn full_version() -> String {
    format!("{PRODUCT} {}", env!("CARGO_PKG_VERSION"))
}

fn generalized_time(time: SystemTime) -> String {
    let timestamp = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.to_zoned(TimeZone::UTC).strftime("%Y%m%d%H%M%SZ").to_string()
}

/// OpenDJ's words.
fn up_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    format!("{days} days {hours} hours {minutes} minutes {} seconds", seconds % 60)
}

#[cfg(test)]
mod tests {
    use runtime::log::error::ErrorLog;
    use runtime::survey::LoopSurvey;

    use crate::password_servers::Checked;

    use super::*;

    /// A loop that has been asked.
    struct Told;

    impl Survey for Told {
        fn look(&self) -> Vec<Arc<LoopSurvey>> {
            vec![Arc::new(LoopSurvey { at: Instant::now(), connections: vec!["{}".to_owned()], left_out: 3 })]
        }
    }

    #[test]
    fn times() {
        assert_eq!(up_time(Duration::from_secs(93_784)), "1 days 2 hours 3 minutes 4 seconds");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_473_683_131);
        assert_eq!(generalized_time(time), "20160912122531Z");
        let hours = |hours: u64| time + Duration::from_secs(hours * 3600);
        assert_eq!(days_until(hours(49), time), 2);
        assert_eq!(days_until(hours(23), time), 0);
        assert_eq!(days_until(time, hours(1)), -1);
        assert_eq!(days_until(time, hours(25)), -2);
    }

    #[test]
    fn figures_of_all_loops_are_added_up() {
        let loops: Vec<_> = (0..2).map(|_| Arc::new(LdapMetrics::new(Arc::default()))).collect();
        for metrics in &loops {
            metrics.of(OperationKind::Search).requests.add(3);
            metrics.record(OperationKind::Search, now_minute(), Duration::from_micros(100));
            metrics.network.bytes_read.add(50);
        }
        let monitor = Monitor {
            connections: ConnectionCounts::new(Vec::new(), Arc::new(7.into())),
            metrics: loops,
            listeners: vec![LdapListener::new(ListenAt::Tcp("127.0.0.1:1389".parse().unwrap()))].into(),
            http: Vec::new(),
            pools: Pools::new(1),
            password_servers: Arc::new(PasswordServers::start(Checked::default(), ErrorLog::silent()).unwrap()),
            stalls: Arc::new(Stalls::new(ErrorLog::silent(), None)),
            survey: Arc::new(Told),
            logs: Arc::new(Publishers::new()),
            begun: Instant::now(),
            begun_at: SystemTime::now(),
        };
        let entries = monitor.monitor_entries();
        let schema = schema::Schema::standard();
        for (name, _) in entries.iter().flat_map(|entry| &entry.attributes) {
            assert!(
                schema.attribute_type(name.as_bytes()).is_some(),
                "no filter can ask for {name}: see 06-monitor.ldif"
            );
        }
        let value = |entry: &str, attribute: &str| {
            let entry = entries.iter().find(|one| one.name == entry).unwrap();
            entry.attributes.iter().find(|(name, _)| name == attribute).unwrap().1[0].clone()
        };
        assert_eq!(value("", "maxConnections"), "7");
        assert_eq!(value("Client Connections", "connection"), "{}");
        assert_eq!(value("Client Connections", "connections-left-out"), "3");
        let times = value("Operations", "operation-times");
        assert!(times.starts_with("search 1") && times.ends_with(":2"), "{times}");
        assert_eq!(value("LDAP Statistics", "searchRequests"), "6");
        assert_eq!(value("LDAP Statistics", "bytesRead"), "100");
        assert_eq!(value("Operations", "ds-mon-search-operations-total-count"), "2");
        let p99: u64 = value("Operations", "ds-mon-search-operations-p99-us").parse().unwrap();
        assert!((100..=107).contains(&p99));
        assert!(value("Longest Operations", "longest-operations-us").ends_with("Z search=100"));
        assert_eq!(value("LDAP Connection Handler 127.0.0.1 port 1389", "ds-connectionhandler-protocol"), "LDAP");
    }
}
