//! One event loop: a thread with its poller, its listeners, its connections.
//!
//! 1. A connection belongs to one loop from accept to close; its requests are executed there, on one core.
//! 2. The loop sleeps only in the poller. Nothing on it waits for a disk, a lock held long, or a client.
//! 3. Without clients and limits of time, it does not wake up at all.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use ldap::{ResultCode, encode};
use mio::{Events, Interest, Poll, Token};
use runtime::log::error::{Category, message_id};
use slab::Slab;

use crate::{
    accept::ListenSocket,
    connection::{Connection, Partial, Peer, Phase},
    engine::{End, Engine},
    limits::ACCEPT_PAUSE,
    listener::ListenAt,
    log::{DisconnectReason, access::EndPoint},
    mailbox::{Address, ChunkEnd, Mail, Mailbox},
    reply,
};

/// Token of the mailbox's waker.
pub(crate) const WAKER: Token = Token(0);
/// First token of a listener.
const LISTENERS: usize = 1;
/// First token of a connection; fewer listeners than this fit, far more than anybody has.
pub(crate) const CONNECTIONS: usize = 1024;
/// Events taken from the system at once.
const EVENTS_PER_TURN: usize = 512;

/// How the loops know each other.
pub(crate) struct LoopHandle {
    pub(crate) mailbox: Arc<Mailbox>,
    /// Connections that the loop has, counting those on their way to it.
    pub(crate) connections: AtomicUsize,
}

/// What all loops share.
pub(crate) struct Shared {
    pub(crate) loops: Vec<LoopHandle>,
    pub(crate) next_connection: AtomicU64,
    /// Most connections at once since the start.
    pub(crate) connections_peak: AtomicUsize,
}

impl Shared {
    /// Connections of the whole server.
    pub(crate) fn connections(&self) -> usize {
        self.loops.iter().map(|one| one.connections.load(Ordering::Relaxed)).sum()
    }

    /// The loop with the fewest connections; `own` if it is one of those.
    pub(crate) fn least_loaded(&self, own: usize) -> usize {
        let load = |index: &usize| self.loops.get(*index).map_or(0, |one| one.connections.load(Ordering::Relaxed));
        let least = (0..self.loops.len()).min_by_key(load).unwrap_or(own);
        if load(&own) <= load(&least) { own } else { least }
    }
}

pub(crate) struct Listener {
    pub(crate) socket: ListenSocket,
    /// Index in the server's list of settings.
    pub(crate) settings: usize,
    /// The socket may have connections to accept.
    pub(crate) is_ready: bool,
}

/// See the module.
pub(crate) struct EventLoop {
    pub(crate) poll: Poll,
    pub(crate) engine: Engine,
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) connections: Slab<Connection>,
    /// Connections that could not do all in their turn.
    ready: VecDeque<usize>,
    /// Connections whose output grew outside their turn.
    written: Vec<usize>,
    mails: Vec<Mail>,
    next_tick: Instant,
    pub(crate) accept_again: Option<Instant>,
    pub(crate) stop_at: Option<Instant>,
    /// Whose turn it is.
    serving: Option<usize>,
}

impl EventLoop {
    pub(crate) fn new(
        poll: Poll,
        engine: Engine,
        index: usize,
        shared: Arc<Shared>,
        sockets: Vec<(usize, ListenSocket)>,
    ) -> io::Result<Self> {
        let mut listeners = Vec::new();
        for (at, (settings, mut socket)) in sockets.into_iter().enumerate() {
            poll.registry().register(socket.source(), Token(LISTENERS + at), Interest::READABLE)?;
            listeners.push(Listener { socket, settings, is_ready: true });
        }
        let next_tick = Instant::now() + engine.limits.tick;
        Ok(Self {
            poll,
            engine,
            index,
            shared,
            listeners,
            connections: Slab::new(),
            ready: VecDeque::new(),
            written: Vec::new(),
            mails: Vec::new(),
            next_tick,
            accept_again: None,
            stop_at: None,
            serving: None,
        })
    }

    /// Runs until the server stops. Operations have their own guard against panics; should one happen elsewhere, the
    /// connection that was being served pays for it, and the loop goes on.
    pub(crate) fn run(mut self) {
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_until_stopped())) {
            let text = reply::panic_text(panic.as_ref());
            self.engine.errors.error(
                Category::Core,
                message_id::PANIC,
                format_args!("an event loop failed by a defect of the server: {text}"),
            );
            self.engine.recover();
            if let Some(slot) = self.serving.take() {
                self.close(slot, &End::new(DisconnectReason::ServerError, reply::DEFECT));
            }
        }
    }

    fn run_until_stopped(&mut self) {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        loop {
            let timeout = self.timeout();
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.engine.errors.error(Category::Core, message_id::OTHER, format_args!("poll: {error}"));
                    std::thread::sleep(ACCEPT_PAUSE);
                }
            }
            self.engine.moment = Instant::now();
            let now = SystemTime::now();
            let unix_seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            self.engine.unix_seconds = i64::try_from(unix_seconds).unwrap_or(i64::MAX);
            self.engine.log.set_time(now);
            self.engine.metrics.turns.add(1);
            self.engine.metrics.minute.set(unix_seconds / 60);
            for event in &events {
                self.take_event(event);
            }
            self.accept_all();
            self.read_mail();
            self.serve_ready();
            self.tick();
            if self.stop_at.is_some() && self.connections.is_empty() {
                return;
            }
        }
    }

    /// How long the poller may sleep.
    fn timeout(&self) -> Option<Duration> {
        let accepts_left = self.accept_again.is_none() && self.listeners.iter().any(|listener| listener.is_ready);
        if !self.ready.is_empty() || !self.mails.is_empty() || accepts_left {
            return Some(Duration::ZERO);
        }
        let tick = (self.engine.has_deadlines && !self.connections.is_empty()).then_some(self.next_tick);
        let until = [tick, self.accept_again, self.stop_at].into_iter().flatten().min()?;
        Some(until.saturating_duration_since(Instant::now()))
    }

    fn take_event(&mut self, event: &mio::event::Event) {
        let token = event.token().0;
        if token >= CONNECTIONS {
            let slot = token - CONNECTIONS;
            let Some(connection) = self.connections.get_mut(slot) else { return };
            connection.is_hung_up |= event.is_read_closed() || event.is_error();
            connection.is_readable |= event.is_readable() || connection.is_hung_up;
            // A socket that is writable and had nothing to write needs no turn.
            if connection.is_readable || connection.is_blocked {
                self.serve(slot);
            }
        } else if let Some(listener) = token.checked_sub(LISTENERS).and_then(|at| self.listeners.get_mut(at)) {
            listener.is_ready = true;
        }
    }

    /// Gives a connection its turn.
    fn serve(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        self.serving = Some(slot);
        let ended = self.engine.turn(slot, connection);
        self.serving = None;
        let has_more = connection.has_work(self.engine.limits.outstanding_max);
        match ended {
            Some(end) => self.close(slot, &end),
            None if has_more => self.queue(slot),
            None => self.say_goodbye_if_stopping(slot),
        }
    }

    fn queue(&mut self, slot: usize) {
        if let Some(connection) = self.connections.get_mut(slot)
            && !connection.is_queued
        {
            connection.is_queued = true;
            self.ready.push_back(slot);
        }
    }

    fn serve_ready(&mut self) {
        for _ in 0..self.ready.len() {
            let Some(slot) = self.ready.pop_front() else { return };
            if let Some(connection) = self.connections.get_mut(slot)
                && connection.is_queued
            {
                connection.is_queued = false;
                self.serve(slot);
            }
        }
    }

    /// One connection less.
    pub(crate) fn forget(&self) {
        if let Some(handle) = self.shared.loops.get(self.index) {
            handle.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn close(&mut self, slot: usize, end: &End) {
        let Some(mut connection) = self.connections.try_remove(slot) else { return };
        connection.cancel_all();
        if !matches!(connection.phase, Phase::Farewell { .. }) {
            self.engine.log_disconnect(&connection, end);
            if connection.transport.is_tls() {
                connection.transport.shut_down();
            }
        }
        connection.transport.deregister(self.poll.registry());
        self.engine.metrics.connections_closed.add(1);
        self.forget();
    }

    fn read_mail(&mut self) {
        // What a panic left over comes first. Taken from the end, hence turned around.
        if self.mails.is_empty() {
            self.engine.mailbox.take(&mut self.mails);
            self.mails.reverse();
        }
        while let Some(mail) = self.mails.pop() {
            match mail {
                Mail::Accepted(accepted) => self.adopt(*accepted),
                Mail::Chunk(address, ..) | Mail::Finished(address, _) => self.read_answer(address, mail),
                Mail::Stop(until) => self.begin_stop(until),
            }
        }
        let mut written = std::mem::take(&mut self.written);
        written.sort_unstable();
        written.dedup();
        for slot in written.drain(..) {
            // The turn writes everything at once, and goes on with requests that waited for room.
            self.serve(slot);
        }
        self.written = written;
    }

    /// Part of an answer, or its end; put off while a message of another operation is incomplete.
    fn read_answer(&mut self, address: Address, mail: Mail) {
        let Some(connection) = find(&mut self.connections, address) else { return };
        if let Some(partial) = &mut connection.partial
            && partial.operation != address.operation
        {
            return partial.deferred.push(mail);
        }
        match mail {
            Mail::Chunk(_, bytes, end) => {
                let Some(deferred) = deliver(connection, address.operation, bytes, end) else { return };
                self.written.push(address.slot);
                // Read next, in their order; the list is taken from its end.
                self.mails.extend(deferred.into_iter().rev());
            }
            Mail::Finished(..) if connection.partial.is_some() => {
                // The rest of the message will never come, and nothing else can follow.
                let message = "an answer could not be completed: see the free space of the folder for temporary files";
                self.close(address.slot, &End::new(DisconnectReason::ServerError, message));
            }
            Mail::Finished(_, encode) => {
                self.serving = Some(address.slot);
                self.engine.finished(connection, address.operation, encode);
                self.serving = None;
                self.written.push(address.slot);
            }
            Mail::Accepted(_) | Mail::Stop(_) => {}
        }
    }

    /// Looks at the limits of time.
    fn tick(&mut self) {
        self.engine.metrics.log_lines_dropped.set(self.engine.log.dropped());
        let now = self.engine.moment;
        let must_end = self.stop_at.is_some_and(|until| now >= until);
        if now < self.next_tick && !must_end {
            return;
        }
        self.next_tick = now + self.engine.limits.tick;
        let mut ended = Vec::new();
        let mut released = Vec::new();
        self.engine.has_deadlines = false;
        for (slot, connection) in &mut self.connections {
            if connection.held_until.is_some_and(|until| now >= until) {
                connection.held_until = None;
                released.push(slot);
            }
            let idle_time = connection.session.idle_limit();
            self.engine.has_deadlines |=
                connection.deadline.is_some() || connection.held_until.is_some() || idle_time.is_some();
            let overdue = connection.deadline.filter(|(until, _)| now >= *until).map(|(_, reason)| reason);
            let is_idle = idle_time.is_some_and(|limit| {
                connection.outstanding.is_empty() && now.saturating_duration_since(connection.last_request) >= limit
            });
            if must_end {
                ended.push((slot, DisconnectReason::ServerShutdown));
            } else if let Some(reason) = overdue {
                ended.push((slot, reason));
            } else if is_idle {
                ended.push((slot, DisconnectReason::IdleTimeLimit));
            }
        }
        for slot in released {
            self.serve(slot);
        }
        for (slot, reason) in ended {
            self.end_overdue(slot, reason);
        }
    }

    fn end_overdue(&mut self, slot: usize, reason: DisconnectReason) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let end = match reason {
            DisconnectReason::IdleTimeLimit => {
                self.engine.metrics.connections_idle.add(1);
                self.engine.notice_and_flush(
                    connection,
                    ResultCode::ADMIN_LIMIT_EXCEEDED,
                    "idle for longer than idle-time-limit",
                );
                End::new(reason, "")
            }
            DisconnectReason::SecurityProblem => {
                self.engine.metrics.tls_failures.add(1);
                End::new(reason, "the TLS handshake or the PROXY header took too long")
            }
            DisconnectReason::IoTimeout => End::new(reason, "the client left answers unread for too long"),
            _ => End::new(reason, ""),
        };
        self.close(slot, &end);
    }

    fn begin_stop(&mut self, until: Instant) {
        if self.stop_at.is_some() {
            return;
        }
        self.stop_at = Some(until);
        for mut listener in std::mem::take(&mut self.listeners) {
            let _ = self.poll.registry().deregister(listener.socket.source());
        }
        let slots: Vec<usize> = self.connections.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if let Some(connection) = self.connections.get_mut(slot) {
                connection.is_stopping = true;
            }
            self.say_goodbye_if_stopping(slot);
        }
    }

    /// While the server stops: a connection ends when its last answer is sent.
    fn say_goodbye_if_stopping(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot).filter(|one| one.is_stopping) else { return };
        if !connection.outstanding.is_empty() || connection.is_blocked {
            return;
        }
        if connection.phase == Phase::Open && !connection.transport.is_handshaking() {
            self.engine.notice_and_flush(connection, ResultCode::UNAVAILABLE, "the server is stopping");
        }
        self.close(slot, &End::new(DisconnectReason::ServerShutdown, ""));
    }
}

/// The connection that mail is for, unless it is gone.
fn find(connections: &mut Slab<Connection>, address: Address) -> Option<&mut Connection> {
    connections.get_mut(address.slot).filter(|connection| connection.id == address.connection)
}

/// Appends part of an answer to the connection's output, unless nobody wants it any more: then it says `None`. Otherwise it says what was
/// put off until now.
fn deliver(connection: &mut Connection, operation: u64, bytes: Vec<u8>, end: ChunkEnd) -> Option<Vec<Mail>> {
    let outstanding = connection.outstanding.iter_mut().find(|one| one.ids.operation == operation)?;
    if outstanding.is_abandoned {
        outstanding.stream.sent(bytes.len());
        return None;
    }
    outstanding.unacknowledged_bytes += bytes.len();
    if connection.output_bytes() == 0 && connection.output.capacity() < bytes.len() {
        connection.output = bytes;
        connection.output_start = 0;
    } else {
        connection.output.extend_from_slice(&bytes);
    }
    match end {
        ChunkEnd::Within => {
            connection.partial.get_or_insert_with(|| Box::new(Partial { operation, deferred: Vec::new() }));
            Some(Vec::new())
        }
        ChunkEnd::Whole => Some(connection.partial.take().map(|partial| partial.deferred).unwrap_or_default()),
    }
}

impl Engine {
    pub(crate) fn log_connect(&mut self, connection: &mut Connection) {
        if connection.is_logged || !self.log.is_enabled() {
            return;
        }
        connection.is_logged = true;
        let Some(settings) = self.listeners.get(connection.listener) else { return };
        let path;
        let (from, to) = match (connection.peer, &settings.at) {
            (Peer::Tcp { remote, local }, _) => (EndPoint::Address(remote), EndPoint::Address(local)),
            (Peer::Local(peer), ListenAt::Path(at)) => {
                path = at.to_string_lossy();
                (EndPoint::Process { uid: peer.uid, pid: peer.pid }, EndPoint::Path(&path))
            }
            (Peer::Local(peer), ListenAt::Tcp(at)) => {
                (EndPoint::Process { uid: peer.uid, pid: peer.pid }, EndPoint::Address(*at))
            }
        };
        self.log.connect(connection.id, from, to, settings.protocol());
    }

    pub(crate) fn log_disconnect(&mut self, connection: &Connection, end: &End) {
        self.log.disconnect(connection.id, end.reason, &end.message);
    }

    /// A last word, if the socket takes it.
    fn notice_and_flush(&mut self, connection: &mut Connection, code: ResultCode, text: &str) {
        let is_within = connection.is_blocked || connection.partial.is_some();
        if is_within || connection.phase != Phase::Open || connection.transport.is_handshaking() {
            return;
        }
        self.lend_output(connection);
        encode::notice_of_disconnection(&mut connection.output, code, text);
        // Best effort: the connection ends in any case.
        let _ = self.flush(connection);
    }
}
