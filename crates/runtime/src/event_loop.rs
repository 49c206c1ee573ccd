//! One event loop: a thread with its poller, its listeners, its connections.
//!
//! 1. A connection belongs to one loop from accept to close; its requests are executed there, on one core.
//! 2. The loop sleeps only in the poller. Nothing on it waits for a disk, a lock held long, or a client.
//! 3. Without clients and limits of time, it does not wake up at all.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use mio::{Events, Poll, Token};
use slab::Slab;

use crate::accept::{Door, ListenSocket};
use crate::connection::{Accepted, Connection, ConnectionAddress, Peer, Phase};
use crate::end::{ADDRESS_NOT_ALLOWED, End, EndReason};
use crate::limits::ACCEPT_PAUSE;
use crate::listener::Audience;
use crate::log::message;
use crate::loop_core::Core;
use crate::mailbox::{Mail, Mailbox};
use crate::panics::panic_text;
use crate::protocol::Protocol;
use crate::survey::{DESCRIBED_MAX, LoopSurvey, SurveySlot};
use crate::turn::{Turn, has_work, say_last_words};

/// Token of the mailbox's waker.
pub(crate) const WAKER: Token = Token(0);
/// First token of a listener.
const LISTENERS: usize = 1;
/// First token of a connection; fewer listeners than this fit, far more than anybody has.
const CONNECTIONS: usize = 1024;
/// Events taken from the system at once.
const EVENTS_PER_TURN: usize = 512;

/// How the loops know each other.
pub(crate) struct LoopHandle<M> {
    pub(crate) mailbox: Arc<Mailbox<M>>,
    /// Connections that the loop has, counting those on their way to it.
    pub(crate) connections: Arc<AtomicUsize>,
    /// What its connections did when it was asked last.
    pub(crate) survey: SurveySlot,
}

/// What all loops share.
pub(crate) struct Shared<M> {
    pub(crate) loops: Vec<LoopHandle<M>>,
    pub(crate) next_connection: AtomicU64,
    /// Most connections at once since the start.
    pub(crate) connections_peak: Arc<AtomicUsize>,
}

impl<M> Shared<M> {
    /// Connections of the whole server.
    fn connections(&self) -> usize {
        self.loops.iter().map(|one| one.connections.load(Ordering::Relaxed)).sum()
    }

    /// The loop with the fewest connections; `own` if it is one of those.
    fn least_loaded(&self, own: usize) -> usize {
        let load = |index: &usize| self.loops.get(*index).map_or(0, |one| one.connections.load(Ordering::Relaxed));
        let least = (0..self.loops.len()).min_by_key(load).unwrap_or(own);
        if load(&own) <= load(&least) { own } else { least }
    }
}

/// See the module.
pub(crate) struct EventLoop<P: Protocol> {
    poll: Poll,
    core: Core,
    protocol: P,
    index: usize,
    shared: Arc<Shared<P::Mail>>,
    door: Door,
    connections: Slab<Connection<P::State>>,
    accepted: VecDeque<Accepted>,
    /// Connections that could not do all in their turn.
    ready: VecDeque<usize>,
    /// Connections whose output grew outside their turn.
    written: Vec<usize>,
    mails: Vec<Mail<P::Mail>>,
    next_tick: Instant,
    stop_at: Option<Instant>,
    /// Whose turn it is.
    serving: Option<usize>,
}

impl<P: Protocol> EventLoop<P> {
    pub(crate) fn new(
        poll: Poll,
        (core, protocol): (Core, P),
        index: usize,
        shared: Arc<Shared<P::Mail>>,
        sockets: Vec<(usize, ListenSocket)>,
    ) -> io::Result<Self> {
        let door = Door::open(poll.registry(), LISTENERS, sockets)?;
        let next_tick = Instant::now() + core.limits.tick;
        Ok(Self {
            poll,
            core,
            protocol,
            index,
            shared,
            door,
            connections: Slab::new(),
            accepted: VecDeque::new(),
            ready: VecDeque::new(),
            written: Vec::new(),
            mails: Vec::new(),
            next_tick,
            stop_at: None,
            serving: None,
        })
    }

    /// Runs until the server stops. Operations have their own guard against panics; should one happen elsewhere, the
    /// connection that was being served pays for it, and the loop goes on.
    pub(crate) fn run(mut self) {
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_until_stopped())) {
            let text = panic_text(panic.as_ref());
            self.core
                .errors
                .report(message::LOOP_PANIC, format_args!("an event loop failed by a defect of the server: {text}"));
            self.core.recover();
            if let Some(slot) = self.serving.take() {
                let text = "the connection failed by a defect of the server; the error log has the details";
                self.close(slot, &End::new(EndReason::ServerError, text));
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
                    self.core.errors.report(message::POLL_FAILED, format_args!("cannot wait for connections: {error}"));
                    std::thread::sleep(ACCEPT_PAUSE);
                }
            }
            self.begin_turn();
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

    fn begin_turn(&mut self) {
        self.core.moment = Instant::now();
        let now = SystemTime::now();
        let unix_seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        self.core.unix_seconds = i64::try_from(unix_seconds).unwrap_or(i64::MAX);
        self.core.minute = unix_seconds / 60;
        self.core.metrics.turns.add(1);
        self.protocol.begin_turn(now);
    }

    /// How long the poller may sleep.
    fn timeout(&self) -> Option<Duration> {
        let has_left = self.door.has_left() || !self.accepted.is_empty();
        if !self.ready.is_empty() || !self.mails.is_empty() || has_left {
            return Some(Duration::ZERO);
        }
        let tick = (self.core.has_deadlines && !self.connections.is_empty()).then_some(self.next_tick);
        let until = [tick, self.door.again_at, self.stop_at].into_iter().flatten().min()?;
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
        } else if let Some(listener) = token.checked_sub(LISTENERS) {
            self.door.wake(listener);
        }
    }

    fn accept_all(&mut self) {
        if let Err(error) = self.door.accept(self.core.moment, &mut self.accepted) {
            self.core.errors.report(message::ACCEPT_FAILED, format_args!("cannot accept connections: {error}"));
        }
        while let Some(accepted) = self.accepted.pop_front() {
            self.place(accepted);
        }
    }

    /// Gives a new connection to the loop that has the fewest.
    fn place(&mut self, accepted: Accepted) {
        let target = self.shared.least_loaded(self.index);
        let Some(handle) = self.shared.loops.get(target) else { return };
        handle.connections.fetch_add(1, Ordering::Relaxed);
        if target == self.index {
            self.adopt(accepted);
        } else {
            handle.mailbox.post(Mail::Accepted(Box::new(accepted)));
        }
    }

    fn adopt(&mut self, accepted: Accepted) {
        let count = self.shared.connections();
        self.shared.connections_peak.fetch_max(count, Ordering::Relaxed);
        let id = self.shared.next_connection.fetch_add(1, Ordering::Relaxed);
        let settings = self.core.listeners.get(accepted.listener);
        let (phase, is_admitted) = match (settings, &accepted.peer) {
            (Some(settings), Peer::Tcp { remote, .. }) if settings.trusts_proxy(remote.ip()) => {
                (Phase::ProxyHeader, true)
            }
            (_, Peer::Tcp { remote, .. }) => (Phase::Open, self.protocol.admits(accepted.listener, remote.ip())),
            (Some(settings), Peer::Local(credentials)) => (Phase::Open, settings.admits_process(*credentials)),
            (None, Peer::Local(_)) => (Phase::Open, true),
        };
        let audience = settings.map_or(Audience::Clients, |settings| settings.audience);
        let state = self.protocol.connect(id, accepted.peer, audience, self.core.moment);
        self.core.has_deadlines |= self.protocol.idle_limit(&state).is_some();
        let mut connection = Connection::new(id, accepted, phase, self.core.moment, state);
        self.core.metrics.connections_established.add(1);
        let connections_max = self.core.limits.connections_max;
        // The administrator is let in all the more when there are too many clients.
        let is_full = audience == Audience::Clients && connections_max > 0 && count > connections_max;
        if is_full || !is_admitted || self.stop_at.is_some() {
            let text = if is_full { "too many connections" } else { ADDRESS_NOT_ALLOWED };
            return self.reject(connection, text);
        }
        let entry = self.connections.vacant_entry();
        let slot = entry.key();
        connection.address.slot = slot;
        if let Err(error) = connection.transport.register(self.poll.registry(), Token(CONNECTIONS + slot)) {
            self.core.errors.report(message::REGISTER_FAILED, format_args!("cannot watch a connection: {error}"));
            return self.forget();
        }
        let connection = entry.insert(connection);
        let mut turn = Turn { core: &mut self.core, protocol: &mut self.protocol, connection };
        if phase != Phase::Open {
            turn.core.begin_handshake(turn.connection);
        } else if let Some(end) = turn.open() {
            self.close(slot, &end);
        }
    }

    /// Says no at the door.
    fn reject(&mut self, mut connection: Connection<P::State>, text: &str) {
        self.core.metrics.connections_rejected.add(1);
        connection.phase = Phase::Open;
        self.protocol.open(&mut connection);
        let settings = self.core.listeners.get(connection.listener);
        if settings.is_some_and(|settings| settings.tls.is_none()) {
            // Best effort: whoever is refused may not even read.
            let mut turn = Turn { core: &mut self.core, protocol: &mut self.protocol, connection: &mut connection };
            say_last_words(&mut turn, EndReason::Rejected, text);
        }
        self.protocol.close(&mut connection, &End::new(EndReason::Rejected, text));
        self.core.metrics.connections_closed.add(1);
        self.forget();
    }

    /// Gives a connection its turn.
    fn serve(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        self.serving = Some(slot);
        let ended = Turn { core: &mut self.core, protocol: &mut self.protocol, connection }.run();
        self.serving = None;
        match ended {
            Some(end) => self.close(slot, &end),
            None => self.follow_turn(slot),
        }
    }

    fn follow_turn(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if !has_work(&self.protocol, connection) {
            self.say_goodbye_if_stopping(slot);
        } else if !connection.is_queued {
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
    fn forget(&self) {
        if let Some(handle) = self.shared.loops.get(self.index) {
            handle.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn close(&mut self, slot: usize, end: &End) {
        let Some(mut connection) = self.connections.try_remove(slot) else { return };
        if !matches!(connection.phase, Phase::Farewell { .. }) {
            self.protocol.close(&mut connection, end);
            if connection.transport.is_tls() {
                connection.transport.shut_down();
            }
        }
        connection.transport.deregister(self.poll.registry());
        self.core.metrics.connections_closed.add(1);
        self.forget();
    }

    fn read_mail(&mut self) {
        // What a panic left over comes first. Taken from the end, hence turned around.
        if self.mails.is_empty() {
            if let Some(handle) = self.shared.loops.get(self.index) {
                handle.mailbox.take(&mut self.mails);
            }
            self.mails.reverse();
        }
        while let Some(mail) = self.mails.pop() {
            match mail {
                Mail::Accepted(accepted) => self.adopt(*accepted),
                Mail::Connection(address, mail) => self.deliver(address, mail),
                Mail::Survey => self.survey(),
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

    /// Looks at the connections: at busy ones first, because not all may be described.
    fn survey(&self) {
        let Some(handle) = self.shared.loops.get(self.index) else { return };
        handle.survey.begin();
        let open = || self.connections.iter().map(|(_, one)| one).filter(|one| one.phase == Phase::Open);
        let busy = open().filter(|one| self.protocol.is_busy(&one.state));
        let others = open().filter(|one| !self.protocol.is_busy(&one.state));
        let now = Instant::now();
        let described = busy.chain(others).take(DESCRIBED_MAX);
        let connections: Vec<String> = described.map(|one| self.protocol.describe(one, now)).collect();
        let left_out = self.connections.len().saturating_sub(connections.len());
        handle.survey.put(LoopSurvey { at: now, connections, left_out });
    }

    fn deliver(&mut self, address: ConnectionAddress, mail: P::Mail) {
        let slot = address.slot;
        let Some(connection) = self.connections.get_mut(slot).filter(|one| one.address == address) else { return };
        self.serving = Some(slot);
        let ended = self.protocol.mail(&mut self.core, connection, mail);
        self.serving = None;
        let Some(end) = ended else { return self.written.push(slot) };
        if matches!(connection.phase, Phase::Farewell { .. }) {
            return;
        }
        let mut turn = Turn { core: &mut self.core, protocol: &mut self.protocol, connection };
        if let Some(end) = turn.end(end) {
            self.close(slot, &end);
        }
    }

    /// Looks at the limits of time.
    fn tick(&mut self) {
        let now = self.core.moment;
        let must_end = self.stop_at.is_some_and(|until| now >= until);
        if now < self.next_tick && !must_end {
            return;
        }
        self.next_tick = now + self.core.limits.tick;
        let mut ended = Vec::new();
        let mut released = Vec::new();
        let mut over = Vec::new();
        self.core.has_deadlines = false;
        for (slot, connection) in &mut self.connections {
            if connection.held_until.is_some_and(|until| now >= until) {
                connection.held_until = None;
                released.push(slot);
            }
            let idle_time = self.protocol.idle_limit(&connection.state);
            self.core.has_deadlines |=
                connection.deadline.is_some() || connection.held_until.is_some() || idle_time.is_some();
            if self.protocol.is_watched(&connection.state) {
                self.core.has_deadlines = true;
                over.extend(self.protocol.over(&connection.state).map(|end| (slot, end)));
            }
            let overdue = connection.deadline.filter(|(until, _)| now >= *until).map(|(_, reason)| reason);
            let is_idle = idle_time.is_some_and(|limit| {
                let is_overdue = now.saturating_duration_since(connection.last_request) >= limit;
                is_overdue && !self.protocol.is_busy(&connection.state)
            });
            if must_end {
                ended.push((slot, EndReason::ServerShutdown));
            } else if let Some(reason) = overdue {
                ended.push((slot, reason));
            } else if is_idle {
                ended.push((slot, EndReason::IdleTimeLimit));
            }
        }
        for slot in released {
            self.serve(slot);
        }
        for (slot, reason) in ended {
            self.end_overdue(slot, reason);
        }
        for (slot, end) in over {
            self.end_over(slot, &end);
        }
    }

    fn end_over(&mut self, slot: usize, end: &End) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let mut turn = Turn { core: &mut self.core, protocol: &mut self.protocol, connection };
        say_last_words(&mut turn, end.reason, &end.message);
        self.close(slot, end);
    }

    fn end_overdue(&mut self, slot: usize, reason: EndReason) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let end = match reason {
            EndReason::IdleTimeLimit => {
                self.core.metrics.connections_idle.add(1);
                let mut turn = Turn { core: &mut self.core, protocol: &mut self.protocol, connection };
                say_last_words(&mut turn, reason, "idle for longer than idle-time-limit");
                End::new(reason, "")
            }
            EndReason::SecurityProblem => {
                self.core.metrics.tls_failures.add(1);
                End::new(reason, "the TLS handshake or the PROXY header took too long")
            }
            EndReason::IoTimeout => End::new(reason, "the client left answers unread for too long"),
            _ => End::new(reason, ""),
        };
        self.close(slot, &end);
    }

    fn begin_stop(&mut self, until: Instant) {
        if self.stop_at.is_some() {
            return;
        }
        self.stop_at = Some(until);
        self.door.shut(self.poll.registry());
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
        if self.protocol.is_busy(&connection.state) || connection.is_blocked {
            return;
        }
        let mut turn = Turn { core: &mut self.core, protocol: &mut self.protocol, connection };
        say_last_words(&mut turn, EndReason::ServerShutdown, "the server is stopping");
        self.close(slot, &End::new(EndReason::ServerShutdown, ""));
    }
}
