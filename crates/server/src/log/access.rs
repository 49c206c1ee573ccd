//! The access log: OpenDJ's `multi-line` and `combined` text formats, field for field.
//!
//! Knows the fields and their order. What a request says is written by `request_fields` into a scratch buffer once and
//! then used for each configured log.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use config::EtimeResolution;
use runtime::end::EndReason;
use runtime::log::clock::{LogClock, TimeFormat};
use runtime::log::file::LogFileSettings;
use runtime::log::text::{decimal, escaped, number_field, quoted_field, signed, word_field};
use runtime::log::writer::{BUFFER_BYTES_MAX, FileId, LogThreadBuilder, Overload, Sink};

use crate::metrics::OperationKind;

/// `log-format` of a file-based access log publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// A `REQ` line when a request is read and a `RES` line when it is answered.
    #[default]
    MultiLine,
    /// One line when it is answered, with the fields of both.
    Combined,
}

/// One access log as configured.
#[derive(Debug, Clone)]
pub struct AccessLogSettings {
    /// The file and its policies.
    pub file: LogFileSettings,
    /// Line format.
    pub format: LogFormat,
    /// Time stamps.
    pub time_format: TimeFormat,
    /// Unit of `etime`.
    pub etime: EtimeResolution,
    /// Whether `requestControls` and `responseControls` are written (`log-control-oids`).
    pub control_oids: bool,
    /// What to do when the disk does not keep up.
    pub overload: Overload,
    /// Most bytes that one event loop may have waiting for the file (`queue-size`, there in lines).
    pub queue_bytes_max: usize,
}

impl AccessLogSettings {
    /// OpenDJ's defaults for a file.
    pub fn new(file: LogFileSettings) -> Self {
        Self {
            file,
            format: LogFormat::default(),
            time_format: TimeFormat::default(),
            etime: EtimeResolution::Milliseconds,
            control_oids: false,
            overload: Overload::default(),
            queue_bytes_max: BUFFER_BYTES_MAX,
        }
    }
}

/// Why a connection ended, in OpenDJ's words: the text of the `reason` field.
fn reason_text(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Goodbye => "Client Unbind",
        EndReason::ClientDisconnect => "Client Disconnect",
        EndReason::Rejected => "Client Connection Rejected",
        EndReason::IoError => "I/O Error",
        EndReason::ProtocolError => "Protocol Error",
        EndReason::InvalidCredentials => "Invalid Credentials",
        EndReason::Administrator => "Administrative Termination",
        EndReason::ServerShutdown => "Server Shutdown",
        EndReason::SecurityProblem => "Security Problem",
        EndReason::MaxRequestSize => "Maximum Request Size Exceeded",
        EndReason::IdleTimeLimit => "Idle Time Limit Exceeded",
        EndReason::IoTimeout => "I/O Timeout",
        EndReason::ServerError => "Server Error",
    }
}

/// One end of a connection as it is printed.
#[derive(Debug, Clone, Copy)]
pub enum EndPoint<'a> {
    /// TCP.
    Address(SocketAddr),
    /// A local process (ldapi), by its credentials.
    Process {
        /// User of the process.
        uid: u32,
        /// Process id.
        pid: i32,
    },
    /// The path of a unix socket.
    Path(&'a str),
}

/// Which operation a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationIds {
    /// Connection number, unique in the life of the server.
    pub connection: u64,
    /// Number of the request on its connection, from 0.
    pub operation: u64,
    /// The client's message id.
    pub message: i32,
}

/// What the response part of a line says.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultFields<'a> {
    /// LDAP result code.
    pub code: i32,
    /// Diagnostic message, if any.
    pub message: &'a str,
    /// Why a bind failed; not sent to the client.
    pub auth_failure: Option<&'a str>,
    /// Who a bind authenticated, or tried to.
    pub auth_dn: Option<&'a str>,
    /// Entries returned; searches only.
    pub entries: Option<u64>,
    /// The search had to look at entries one by one.
    pub is_unindexed: bool,
    /// Further items, already formatted, each with a leading blank.
    pub additional: &'a [u8],
    /// Who the operation acted as (proxied authorization), if that is not the connection's user.
    pub acting_as: Option<&'a str>,
    /// Where the time of an update went: `queue` (waiting for other updates), `apply`, `sync`, in the unit of `etime`.
    pub phases: Option<&'a store::Phases>,
    /// Time from the end of decoding to the response.
    pub elapsed: Duration,
    /// OIDs of response controls, separated by commas.
    pub response_controls: &'a str,
}

/// One loop's end of all configured access logs.
#[derive(Debug)]
pub struct AccessLog {
    publishers: Vec<Publisher>,
    now: SystemTime,
}

#[derive(Debug)]
struct Publisher {
    sink: Sink,
    clock: LogClock,
    format: LogFormat,
    etime: EtimeResolution,
    control_oids: bool,
}

/// An access log whose file is open, ready to give each loop its end.
#[derive(Debug)]
pub struct OpenAccessLog {
    file: FileId,
    settings: AccessLogSettings,
}

impl OpenAccessLog {
    /// Opens the file.
    pub fn open(builder: &mut LogThreadBuilder, settings: AccessLogSettings) -> std::io::Result<Self> {
        let file = builder.open(settings.file.clone(), settings.time_format.clone(), drop_note)?;
        Ok(Self { file, settings })
    }
}

impl AccessLog {
    /// One loop's ends of `logs`.
    pub fn new(builder: &mut LogThreadBuilder, logs: &[OpenAccessLog]) -> Self {
        let publishers = logs
            .iter()
            .map(|log| Publisher {
                sink: builder.sink_with_limit(log.file, log.settings.overload, log.settings.queue_bytes_max),
                clock: LogClock::new(log.settings.time_format.clone()),
                format: log.settings.format,
                etime: log.settings.etime,
                control_oids: log.settings.control_oids,
            })
            .collect();
        Self { publishers, now: SystemTime::UNIX_EPOCH }
    }

    /// Whether there is anything to write for.
    pub fn is_enabled(&self) -> bool {
        !self.publishers.is_empty()
    }

    /// Whether any log wants the OIDs of controls.
    pub fn wants_control_oids(&self) -> bool {
        self.publishers.iter().any(|publisher| publisher.control_oids)
    }

    /// Sets the time that the following lines carry.
    pub fn set_time(&mut self, now: SystemTime) {
        self.now = now;
    }

    /// Lines dropped because the disk did not keep up.
    pub fn dropped(&self) -> u64 {
        self.publishers.iter().map(|publisher| publisher.sink.dropped()).sum()
    }

    /// A client connected.
    pub fn connect(&mut self, connection: u64, from: EndPoint<'_>, to: EndPoint<'_>, protocol: &str) {
        self.each(|out, _| {
            out.extend_from_slice(b"CONNECT");
            number_field(out, "conn", connection);
            end_point(out, " from=", from);
            end_point(out, " to=", to);
            word_field(out, "protocol", protocol.as_bytes());
        });
    }

    /// A connection ended.
    pub fn disconnect(&mut self, connection: u64, reason: EndReason, message: &str) {
        self.each(|out, _| {
            out.extend_from_slice(b"DISCONNECT");
            number_field(out, "conn", connection);
            quoted_field(out, "reason", reason_text(reason).as_bytes());
            if !message.is_empty() {
                quoted_field(out, "msg", message.as_bytes());
            }
        });
    }

    /// A request was read: a line of its own in the multi-line format, and always where the response comes never
    /// (unbind) or perhaps days later (`is_endless`: a persistent search).
    pub fn request(&mut self, kind: OperationKind, ids: OperationIds, fields: &[u8], controls: &str, is_endless: bool) {
        for publisher in &mut self.publishers {
            if publisher.format == LogFormat::Combined && kind != OperationKind::Unbind && !is_endless {
                continue;
            }
            publisher.line(self.now, |out, publisher| {
                head(out, kind, " REQ", ids);
                out.extend_from_slice(fields);
                publisher.controls(out, "requestControls", controls);
            });
        }
    }

    /// A request was answered.
    pub fn response(
        &mut self,
        kind: OperationKind,
        ids: OperationIds,
        fields: &[u8],
        controls: &str,
        result: &ResultFields<'_>,
    ) {
        for publisher in &mut self.publishers {
            let format = publisher.format;
            publisher.line(self.now, |out, publisher| {
                match format {
                    LogFormat::MultiLine => head(out, kind, " RES", ids),
                    LogFormat::Combined => {
                        head(out, kind, "", ids);
                        out.extend_from_slice(fields);
                        publisher.controls(out, "requestControls", controls);
                    }
                }
                result_fields(out, result, publisher);
            });
        }
    }

    /// A change that the server made by itself, because of the operation `ids`. `fields` say what was changed.
    pub fn internal(&mut self, kind: OperationKind, ids: OperationIds, fields: &[u8], result: &ResultFields<'_>) {
        for publisher in &mut self.publishers {
            publisher.line(self.now, |out, publisher| {
                head(out, kind, "", ids);
                word_field(out, "type", b"internal");
                out.extend_from_slice(fields);
                result_fields(out, result, publisher);
            });
        }
    }

    fn each(&mut self, mut write: impl FnMut(&mut Vec<u8>, &PublisherView)) {
        for publisher in &mut self.publishers {
            publisher.line(self.now, &mut write);
        }
    }
}

/// The parts of a publisher that shape a line.
struct PublisherView {
    etime: EtimeResolution,
    control_oids: bool,
}

impl PublisherView {
    fn controls(&self, out: &mut Vec<u8>, label: &str, oids: &str) {
        if self.control_oids && !oids.is_empty() {
            word_field(out, label, oids.as_bytes());
        }
    }
}

impl Publisher {
    fn line(&mut self, now: SystemTime, write: impl FnOnce(&mut Vec<u8>, &PublisherView)) {
        let view = PublisherView { etime: self.etime, control_oids: self.control_oids };
        let stamp = self.clock.stamp(now);
        self.sink.append(|out| {
            out.extend_from_slice(stamp);
            write(out, &view);
            out.push(b'\n');
        });
    }
}

fn head(out: &mut Vec<u8>, kind: OperationKind, part: &str, ids: OperationIds) {
    out.extend_from_slice(kind.log_name().as_bytes());
    out.extend_from_slice(part.as_bytes());
    number_field(out, "conn", ids.connection);
    number_field(out, "op", ids.operation);
    out.extend_from_slice(b" msgID=");
    signed(out, i64::from(ids.message));
}

fn result_fields(out: &mut Vec<u8>, result: &ResultFields<'_>, publisher: &PublisherView) {
    out.extend_from_slice(b" result=");
    signed(out, i64::from(result.code));
    if !result.message.is_empty() {
        quoted_field(out, "message", result.message.as_bytes());
    }
    if let Some(reason) = result.auth_failure {
        quoted_field(out, "authFailureReason", reason.as_bytes());
    }
    if let Some(dn) = result.auth_dn {
        quoted_field(out, "authDN", dn.as_bytes());
    }
    if let Some(entries) = result.entries {
        number_field(out, "nentries", entries);
    }
    if result.is_unindexed {
        out.extend_from_slice(b" unindexed");
    }
    out.extend_from_slice(result.additional);
    if let Some(dn) = result.acting_as {
        quoted_field(out, "authzDN", dn.as_bytes());
    }
    publisher.controls(out, "responseControls", result.response_controls);
    let mut time_field = |label: &str, time: Duration| {
        let time = match publisher.etime {
            EtimeResolution::Milliseconds => time.as_millis(),
            EtimeResolution::Microseconds => time.as_micros(),
            EtimeResolution::Nanoseconds => time.as_nanos(),
        };
        number_field(out, label, u64::try_from(time).unwrap_or(u64::MAX));
    };
    if let Some(phases) = result.phases {
        let us = |us: u32| Duration::from_micros(us.into());
        time_field("queue", us(phases.queue_us) + us(phases.batch_us));
        time_field("apply", us(phases.apply_us));
        time_field("sync", us(phases.sync_us));
    }
    time_field("etime", result.elapsed);
}

fn end_point(out: &mut Vec<u8>, label: &str, end: EndPoint<'_>) {
    out.extend_from_slice(label.as_bytes());
    match end {
        EndPoint::Address(address) => {
            // Rare enough (once a connection) for `fmt`.
            out.extend_from_slice(address.to_string().as_bytes());
        }
        EndPoint::Process { uid, pid } => {
            out.extend_from_slice(b"uid:");
            decimal(out, u64::from(uid));
            out.extend_from_slice(b",pid:");
            signed(out, i64::from(pid));
        }
        EndPoint::Path(path) => escaped(out, path.as_bytes()),
    }
}

fn drop_note(out: &mut Vec<u8>, count: u64) {
    out.extend_from_slice(b"DROPPED");
    number_field(out, "lines", count);
    quoted_field(out, "reason", b"the disk did not keep up");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(format: LogFormat, etime: EtimeResolution, write: impl FnOnce(&mut AccessLog)) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access");
        let mut builder = LogThreadBuilder::default();
        let settings = AccessLogSettings {
            format,
            etime,
            control_oids: true,
            ..AccessLogSettings::new(LogFileSettings::new(path.clone()))
        };
        let open = OpenAccessLog::open(&mut builder, settings).unwrap();
        let mut log = AccessLog::new(&mut builder, &[open]);
        let thread = builder.start().unwrap();
        write(&mut log);
        thread.flush();
        let text = std::fs::read_to_string(path).unwrap();
        // `[dd/MMM/yyyy:HH:mm:ss +zzzz] ` is 29 characters.
        text.lines().map(|line| line[29..].to_owned()).collect()
    }

    const IDS: OperationIds = OperationIds { connection: 10, operation: 1, message: 2 };
    const SEARCH: &[u8] = b" base=\"dc=example,dc=com\" scope=sub filter=\"(objectclass=*)\" attrs=\"+,*\"";

    fn scan() -> ResultFields<'static> {
        ResultFields {
            entries: Some(10003),
            is_unindexed: true,
            elapsed: Duration::from_micros(6_542_345),
            ..ResultFields::default()
        }
    }

    #[test]
    fn combined_search_line_of_the_seed() {
        // S0-44
        let found = lines(LogFormat::Combined, EtimeResolution::Milliseconds, |log| {
            log.request(OperationKind::Search, IDS, SEARCH, "", false);
            log.response(OperationKind::Search, IDS, SEARCH, "", &scan());
        });
        assert_eq!(
            found,
            ["SEARCH conn=10 op=1 msgID=2 base=\"dc=example,dc=com\" scope=sub filter=\"(objectclass=*)\" \
              attrs=\"+,*\" result=0 nentries=10003 unindexed etime=6542"]
        );
    }

    #[test]
    fn multi_line_search_with_controls_and_microseconds() {
        // S3-10, S3-12
        let found = lines(LogFormat::MultiLine, EtimeResolution::Microseconds, |log| {
            log.request(OperationKind::Search, IDS, SEARCH, "1.2.840.113556.1.4.319,2.16.840.1.113730.3.4.2", false);
            let result = ResultFields {
                code: 50,
                message: "You do not have sufficient privileges to perform an unindexed search",
                entries: Some(0),
                response_controls: "1.2.840.113556.1.4.319",
                ..scan()
            };
            log.response(OperationKind::Search, IDS, SEARCH, "1.2.840.113556.1.4.319", &result);
        });
        assert_eq!(
            found,
            [
                "SEARCH REQ conn=10 op=1 msgID=2 base=\"dc=example,dc=com\" scope=sub filter=\"(objectclass=*)\" \
                 attrs=\"+,*\" requestControls=1.2.840.113556.1.4.319,2.16.840.1.113730.3.4.2",
                "SEARCH RES conn=10 op=1 msgID=2 result=50 message=\"You do not have sufficient privileges to perform \
                 an unindexed search\" nentries=0 unindexed responseControls=1.2.840.113556.1.4.319 etime=6542345",
            ]
        );
    }

    #[test]
    fn connection_lines_and_binds() {
        let found = lines(LogFormat::Combined, EtimeResolution::Nanoseconds, |log| {
            let from = EndPoint::Address("127.0.0.1:49708".parse().unwrap());
            log.connect(4, from, EndPoint::Address("127.0.0.1:1389".parse().unwrap()), "LDAP");
            log.connect(5, EndPoint::Process { uid: 1000, pid: 77 }, EndPoint::Path("inst/ldapi"), "LDAPI");
            let ids = OperationIds { connection: 5, operation: 0, message: 1 };
            let fields = b" version=3 type=SIMPLE dn=\"cn=My App,ou=Apps,dc=example,dc=com\"";
            let failed = ResultFields {
                code: 49,
                auth_failure: Some("The provided password did not match"),
                auth_dn: Some("cn=My App,ou=Apps,dc=example,dc=com"),
                elapsed: Duration::from_nanos(1500),
                ..ResultFields::default()
            };
            log.response(OperationKind::Bind, ids, fields, "", &failed);
            log.request(OperationKind::Unbind, OperationIds { operation: 1, message: 2, ..ids }, b"", "", false);
            log.disconnect(5, EndReason::Goodbye, "");
            log.disconnect(4, EndReason::ProtocolError, "bad\nbytes");
        });
        assert_eq!(
            found,
            [
                "CONNECT conn=4 from=127.0.0.1:49708 to=127.0.0.1:1389 protocol=LDAP",
                "CONNECT conn=5 from=uid:1000,pid:77 to=inst/ldapi protocol=LDAPI",
                "BIND conn=5 op=0 msgID=1 version=3 type=SIMPLE dn=\"cn=My App,ou=Apps,dc=example,dc=com\" result=49 \
                 authFailureReason=\"The provided password did not match\" \
                 authDN=\"cn=My App,ou=Apps,dc=example,dc=com\" etime=1500",
                "UNBIND REQ conn=5 op=1 msgID=2",
                "DISCONNECT conn=5 reason=\"Client Unbind\"",
                "DISCONNECT conn=4 reason=\"Protocol Error\" msg=\"bad\\0abytes\"",
            ]
        );
    }
}
