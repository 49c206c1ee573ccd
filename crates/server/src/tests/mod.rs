//! The loop, over real sockets, with a small executor instead of a directory.
//!
//! Helpers here; each file beside it tests one concern. No test asserts how long something takes; time limits only end
//! a test that hangs.

mod access_log;
mod administration;
mod connections;
mod explained_access;
mod limits;
mod long_messages;
mod messages;
mod monitor_page;
mod operations;
mod over_directory;
mod proxied;
mod proxy;
mod sessions;
mod stalls;
mod stopping;
mod tls;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use ::directory::{Admitted, Bound, Identity, RequestTime, Session, SessionLimits, Standing};
use ber::{ENUMERATED, INTEGER, OCTET_STRING, Reader, SEQUENCE, Writer};
use ldap::{Authentication, LdapResult, Message, Operation, ResultCode, Update, encode};
use runtime::limits::NetworkLimits;
use runtime::listener::{Audience, ListenAt};
use runtime::log::clock::TimeFormat;
use runtime::log::file::LogFileSettings;
use runtime::pool::{Admission, Pool, PoolLimits, TURN};

use crate::answer::Answer;
use crate::executor::{Call, Executor, Step};
use crate::limits::Limits;
use crate::log::criteria::Groups;
use crate::log::format::Form;
use crate::log::publishers::Publishers;
use crate::log::{AccessLogSettings, ErrorLogSettings, LogSettings};
use crate::metrics::LdapMetrics;
use crate::refusal::Refusal;
use crate::remote::ChunkEnd;
use crate::{LdapListener, Server, Settings, reply};

/// Long enough that only a hanging test meets it.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Operations that wait until a test opens the gate.
#[derive(Default)]
pub(super) struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn wait_until(&self, mut enough: impl FnMut() -> bool) {
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open && !enough() {
            is_open = self.changed.wait_timeout(is_open, Duration::from_millis(5)).unwrap().0;
        }
    }
}

/// Does what the names in requests say.
pub(super) struct Fake {
    pub(super) gate: Arc<Gate>,
    pool: Pool,
    /// Access rules ask for the names of hosts.
    names_hosts: bool,
}

impl Groups for Fake {
    fn is_in_group(&self, _: &Identity, _: &str) -> bool {
        false
    }
}

impl Executor for Fake {
    fn session(&self, connection: u64, _audience: Audience, _now: Instant) -> Session {
        Session::anonymous(connection)
    }

    fn nobody(&self) -> Bound {
        Bound {
            identity: Identity::Anonymous,
            authentication: ::directory::Authentication::None,
            limits: SessionLimits::UNLIMITED,
            standing: Standing::default(),
        }
    }

    /// Names are asked for by the clients of some tests; they are known when the gate opens.
    fn look_up_host_name(&self, _session: &Session, told: Box<dyn FnOnce() + Send>) -> bool {
        if !self.names_hosts {
            return false;
        }
        let gate = Arc::clone(&self.gate);
        std::thread::spawn(move || {
            gate.wait_until(|| false);
            told();
        });
        true
    }

    fn revoked(&self, _session: &Session) -> Option<::directory::Revoked> {
        None
    }

    fn check_must_change(
        &self,
        _session: &Session,
        _message: &Message<'_>,
    ) -> Result<(), Box<(LdapResult, Option<ldap::ControlBuf>)>> {
        Ok(())
    }

    fn admit(&self, _session: &Session, _message: &Message<'_>, _time: RequestTime) -> Result<Admitted, LdapResult> {
        Ok(Admitted::default())
    }

    fn execute(&mut self, call: &mut Call<'_>, message: &Message<'_>) -> Step {
        let id = message.id;
        match &message.operation {
            Operation::Bind(bind) => {
                let is_right = matches!(bind.authentication, Authentication::Simple(b"secret"));
                let name = String::from_utf8_lossy(bind.name).into_owned();
                let decide = move |out: &mut Vec<u8>| {
                    let code = if is_right { ResultCode::SUCCESS } else { ResultCode::INVALID_CREDENTIALS };
                    reply::result(out, id, encode::tags::BIND, code, "");
                    let identity =
                        if is_right { Identity::Root { dn: name.as_str().into() } } else { Identity::Anonymous };
                    let mut limits = SessionLimits::UNLIMITED;
                    if name == "cn=restless" {
                        limits.idle = Some(Duration::from_millis(60));
                    }
                    Answer {
                        code,
                        auth_dn: Some(name),
                        auth_failure: (!is_right).then(|| "wrong password".to_owned()),
                        bound: Some(Box::new(Bound {
                            identity,
                            authentication: ::directory::Authentication::Simple,
                            limits,
                            standing: Standing::default(),
                        })),
                        ..Answer::default()
                    }
                };
                if bind.name == b"cn=slow" {
                    let remote = call.remote(false, Box::new(lost));
                    let gate = Arc::clone(&self.gate);
                    std::thread::spawn(move || {
                        gate.wait_until(|| false);
                        remote.finish(decide);
                    });
                    return Step::Pending;
                }
                Step::Done(decide(call.out))
            }
            Operation::Search(search) => self.search(call, id, &String::from_utf8_lossy(search.base)),
            Operation::Update(Update::Entry(update)) if update.request().entry() == b"cn=gate" => {
                let remote = call.remote(false, Box::new(lost));
                let gate = Arc::clone(&self.gate);
                std::thread::spawn(move || {
                    gate.wait_until(|| false);
                    remote.finish(move |out| {
                        encode::success(out, id, encode::tags::DELETE);
                        Answer::default()
                    });
                });
                Step::Pending
            }
            Operation::NotExecutable(request) if request.oid == b"1.2.3.who" => {
                let who = call.session.identity.dn().to_owned();
                encode::extended_response(call.out, id, &LdapResult::success(), None, Some(who.as_bytes()), &[]);
                Step::Done(Answer::default())
            }
            Operation::NotExecutable(request) if request.oid == b"1.2.3.facts" => {
                let session = call.session;
                let facts = (session.address, session.security_strength_bits, &session.authentication);
                let facts = format!("{facts:?}").into_bytes();
                encode::extended_response(call.out, id, &LdapResult::success(), None, Some(&facts), &[]);
                Step::Done(Answer::default())
            }
            refused @ Operation::NotExecutable(_) => {
                Step::Done(reply::refuse(call.out, id, refused, Refusal::UnknownExtended))
            }
            other => {
                if let Some(tag) = other.response_tag() {
                    encode::success(call.out, id, tag);
                }
                Step::Done(Answer::default())
            }
        }
    }
}

fn lost(_out: &mut Vec<u8>) -> Answer {
    Answer::of(ResultCode::OTHER, "lost")
}

impl Fake {
    fn search(&self, call: &mut Call<'_>, id: i32, base: &str) -> Step {
        let (word, number) = base.split_once(':').unwrap_or((base, "0"));
        let number: usize = number.parse().unwrap_or(0);
        match word {
            "panic" => std::panic::resume_unwind(Box::new("expected in this test")),
            "bytes" => {
                put_entry(call.out, id, number);
                encode::success(call.out, id, encode::tags::SEARCH_DONE);
                Step::Done(Answer { entries: Some(1), is_unindexed: true, ..Answer::default() })
            }
            "wait" => {
                let remote = call.remote(true, Box::new(lost));
                let gate = Arc::clone(&self.gate);
                std::thread::spawn(move || {
                    let backlog = Arc::clone(remote.backlog());
                    gate.wait_until(|| backlog.is_cancelled());
                    let code = if backlog.is_cancelled() { ResultCode::CANCELED } else { ResultCode::SUCCESS };
                    remote.finish(move |out| {
                        reply::result(out, id, encode::tags::SEARCH_DONE, code, "");
                        Answer { code, entries: Some(0), ..Answer::default() }
                    });
                });
                Step::Pending
            }
            "break" => {
                call.remote(true, Box::new(lost))
                    .finish(|_| std::panic::resume_unwind(Box::new("expected in this test, on the loop")));
                Step::Pending
            }
            "lose" => {
                drop(call.remote(
                    true,
                    Box::new(move |out| {
                        reply::result(out, id, encode::tags::SEARCH_DONE, ResultCode::OTHER, "lost");
                        Answer::of(ResultCode::OTHER, "lost")
                    }),
                ));
                Step::Pending
            }
            "stream" => {
                let remote = call.remote(true, Box::new(lost));
                let job = move |admission: Admission<'_>| {
                    let Admission::Running(turn) = admission else { return };
                    let mut sent = 0;
                    while sent < number && !remote.backlog().is_cancelled() {
                        let mut chunk = Vec::new();
                        put_entry(&mut chunk, id, 60_000);
                        sent += 1;
                        remote.chunk(chunk, ChunkEnd::Whole);
                        if remote.backlog().is_full() {
                            turn.wait(|| remote.backlog().wait_for_room(PATIENCE));
                        }
                    }
                    remote.finish(move |out| {
                        encode::success(out, id, encode::tags::SEARCH_DONE);
                        Answer { entries: Some(sent as u64), ..Answer::default() }
                    });
                };
                self.pool.submit(job);
                Step::Pending
            }
            _ => {
                encode::success(call.out, id, encode::tags::SEARCH_DONE);
                Step::Done(Answer { entries: Some(0), ..Answer::default() })
            }
        }
    }
}

fn put_entry(out: &mut Vec<u8>, id: i32, bytes: usize) {
    let value = vec![b'x'; bytes];
    let values = [value.as_slice()];
    encode::search_entry(out, id, "cn=entry", [(b"description".as_slice(), values)], &[]);
}

/// A server for a test, and where its files are.
pub(super) struct TestServer {
    server: Option<Server>,
    pub(super) gate: Arc<Gate>,
    pub(super) dir: tempfile::TempDir,
}

impl TestServer {
    pub(super) fn start() -> Self {
        Self::with(|_, _| ())
    }

    pub(super) fn with(change: impl FnOnce(&mut Settings, &std::path::Path)) -> Self {
        Self::naming_hosts(false, change)
    }

    pub(super) fn naming_hosts(names_hosts: bool, change: impl FnOnce(&mut Settings, &std::path::Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut access = AccessLogSettings::new("access", LogFileSettings::new(dir.path().join("access")));
        access.shape.form = Form::Text { combined: true, time_format: TimeFormat::default() };
        let mut settings = Settings {
            http: crate::http_settings::HttpSettings::default(),
            listeners: vec![LdapListener::new(ListenAt::Tcp("127.0.0.1:0".parse().unwrap()))],
            connection_rules: Arc::default(),
            limits: Limits {
                network: NetworkLimits { tick: Duration::from_millis(20), ..NetworkLimits::default() },
                ..Limits::default()
            },
            logs: LogSettings {
                access: vec![access],
                audit: Vec::new(),
                error: vec![ErrorLogSettings::new("errors", LogFileSettings::new(dir.path().join("errors")))],
            },
            stall_threshold: None,
            loops: 2,
        };
        change(&mut settings, dir.path());
        let gate = Arc::new(Gate::default());
        let limits =
            PoolLimits { running_max: 2, queue_max: 16, wait_max: None, threads_max: 8, turn: TURN, niceness: 0 };
        let pool = Pool::new("test", limits);
        let logs = Arc::new(Publishers::new());
        logs.set(&settings.logs, &schema::Schema::standard()).unwrap();
        let executor =
            || Box::new(Fake { gate: Arc::clone(&gate), pool: pool.clone(), names_hosts }) as Box<dyn Executor>;
        let server = Server::launch(settings, logs, executor).unwrap();
        Self { server: Some(server), gate, dir }
    }

    pub(super) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub(super) fn address(&self) -> SocketAddr {
        let at = self.server().addresses().iter().find_map(|at| match at {
            ListenAt::Tcp(address) => Some(*address),
            ListenAt::Path(_) => None,
        });
        at.unwrap()
    }

    pub(super) fn client(&self) -> Client<TcpStream> {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client::new(stream)
    }

    /// A sum over all loops.
    pub(super) fn sum(&self, counter: impl Fn(&LdapMetrics) -> u64) -> u64 {
        self.server().metrics().iter().map(|metrics| counter(metrics)).sum()
    }

    /// Lines of the access log without their time stamps.
    pub(super) fn access_lines(&self) -> Vec<String> {
        self.server().flush_logs();
        lines_of(self.dir.path().join("access"))
    }

    pub(super) fn stop(&mut self) {
        self.gate.open();
        self.server.take().unwrap().shutdown(PATIENCE);
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.gate.open();
    }
}

pub(super) fn lines_of(path: PathBuf) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| line[29..].to_owned()).collect()
}

/// Waits for something that happens on another thread.
pub(super) fn eventually(mut happened: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < until, "it did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A client that speaks BER by hand.
pub(super) struct Client<S> {
    pub(super) stream: S,
    received: Vec<u8>,
}

/// A response, as far as tests look at it.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(super) struct Response {
    pub(super) id: i64,
    pub(super) tag: u8,
    /// Result code; -1 for entries.
    pub(super) code: i64,
    pub(super) message: String,
    /// Response name and value of an extended response; name and attributes of an entry.
    pub(super) rest: Vec<Vec<u8>>,
}

impl<S: Read + Write> Client<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, received: Vec::new() }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next response; `None` when the server closed the connection.
    pub(super) fn next(&mut self) -> Option<Response> {
        loop {
            if let Ok(ber::Frame::Complete(length)) = ber::frame(&self.received, usize::MAX) {
                let message: Vec<u8> = self.received.drain(..length).collect();
                return Some(parse(&message));
            }
            let mut buffer = [0; 65536];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(length) => self.received.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The next response, which must be there.
    pub(super) fn expect(&mut self) -> Response {
        self.next().expect("a response")
    }

    /// Result of one search.
    pub(super) fn search(&mut self, id: i32, base: &str) -> Response {
        self.send(&search(id, base));
        self.done(id)
    }

    /// Skips entries until the response that ends operation `id`.
    pub(super) fn done(&mut self, id: i32) -> Response {
        loop {
            let response = self.expect();
            if response.tag != encode::tags::SEARCH_ENTRY {
                assert_eq!(response.id, i64::from(id), "{response:?}");
                return response;
            }
        }
    }

    pub(super) fn bind(&mut self, id: i32, name: &str, password: &str) -> Response {
        self.send(&bind(id, name, password));
        self.expect()
    }

    pub(super) fn expect_notice(&mut self, code: i64) {
        let notice = self.expect();
        assert_eq!((notice.id, notice.tag, notice.code), (0, encode::tags::EXTENDED, code), "{notice:?}");
        assert_eq!(notice.rest, [b"1.3.6.1.4.1.1466.20036".to_vec()]);
        assert_eq!(self.next(), None, "the connection ends");
    }
}

/// `name: value` for each value of an entry.
pub(super) fn entry_lines(entry: &Response) -> Vec<String> {
    let mut lines = Vec::new();
    let mut attributes = Reader::new(&entry.rest[1]);
    while !attributes.is_empty() {
        let mut attribute = attributes.sequence().unwrap();
        let name = attribute.octets().unwrap();
        let mut values = Reader::new(attribute.element().unwrap().1);
        while !values.is_empty() {
            let line = [name, b": ", values.octets().unwrap()].concat();
            lines.push(String::from_utf8_lossy(&line).into_owned());
        }
    }
    lines
}

fn parse(bytes: &[u8]) -> Response {
    let mut outer = Reader::new(bytes);
    let mut message = outer.sequence().unwrap();
    let id = message.integer().unwrap();
    let (tag, body) = message.element().unwrap();
    let mut body = Reader::new(body);
    if tag == encode::tags::SEARCH_ENTRY {
        let rest = vec![body.octets().unwrap().to_vec(), body.element().unwrap().1.to_vec()];
        return Response { id, tag, code: -1, message: String::new(), rest };
    }
    let code = body.enumerated().unwrap();
    body.octets().unwrap();
    let message = String::from_utf8(body.octets().unwrap().to_vec()).unwrap();
    let mut rest = Vec::new();
    while !body.is_empty() {
        rest.push(body.element().unwrap().1.to_vec());
    }
    Response { id, tag, code, message, rest }
}

pub(super) fn request(id: i32, op: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    let envelope = writer.begin(SEQUENCE);
    writer.integer(INTEGER, i64::from(id));
    op(&mut writer);
    writer.end(envelope);
    out
}

pub(super) fn search(id: i32, base: &str) -> Vec<u8> {
    search_for(id, base, &[])
}

pub(super) fn search_for(id: i32, base: &str, selectors: &[&str]) -> Vec<u8> {
    search_by(id, base, (0x87, b"objectClass"), selectors)
}

/// A search whose filter has that tag and content.
pub(super) fn search_by(id: i32, base: &str, filter: (ber::Tag, &[u8]), selectors: &[&str]) -> Vec<u8> {
    request(id, |writer| {
        let op = writer.begin(0x63);
        writer.octets(OCTET_STRING, base.as_bytes());
        writer.integer(ENUMERATED, 2);
        writer.integer(ENUMERATED, 0);
        writer.integer(INTEGER, 0);
        writer.integer(INTEGER, 0);
        writer.boolean(ber::BOOLEAN, false);
        writer.octets(filter.0, filter.1);
        let attributes = writer.begin(SEQUENCE);
        selectors.iter().for_each(|selector| writer.octets(OCTET_STRING, selector.as_bytes()));
        writer.end(attributes);
        writer.end(op);
    })
}

pub(super) fn bind(id: i32, name: &str, password: &str) -> Vec<u8> {
    bind_version(id, 3, name, password)
}

pub(super) fn bind_version(id: i32, version: i64, name: &str, password: &str) -> Vec<u8> {
    request(id, |writer| {
        let op = writer.begin(0x60);
        writer.integer(INTEGER, version);
        writer.octets(OCTET_STRING, name.as_bytes());
        writer.octets(0x80, password.as_bytes());
        writer.end(op);
    })
}

pub(super) fn delete(id: i32, dn: &str) -> Vec<u8> {
    request(id, |writer| writer.octets(0x4a, dn.as_bytes()))
}

pub(super) fn unbind(id: i32) -> Vec<u8> {
    request(id, |writer| writer.null(0x42))
}

pub(super) fn abandon(id: i32, target: i32) -> Vec<u8> {
    request(id, |writer| writer.integer(0x50, i64::from(target)))
}

pub(super) fn extended(id: i32, oid: &str, value: Option<&[u8]>) -> Vec<u8> {
    request(id, |writer| {
        let op = writer.begin(0x77);
        writer.octets(0x80, oid.as_bytes());
        if let Some(value) = value {
            writer.octets(0x81, value);
        }
        writer.end(op);
    })
}

pub(super) fn cancel(id: i32, target: i32) -> Vec<u8> {
    let mut value = Vec::new();
    let mut writer = Writer::new(&mut value);
    let sequence = writer.begin(SEQUENCE);
    writer.integer(INTEGER, i64::from(target));
    writer.end(sequence);
    extended(id, "1.3.6.1.1.8", Some(&value))
}
