//! One thread of the engine: its connections, and the operations on them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use super::connection::{Connection, Event, Ids, entry_name};
use super::figures::{Figures, Problem};
use super::plan::{Keeping, Plan};
use super::timer::Timer;
use super::workload::{Answer, Asker, Then, Workload};
use crate::makeldif::Random;

/// After a connection that failed, the next try.
const RETRY: Duration = Duration::from_millis(100);
/// How often it is looked whether it is time to end.
pub(super) const LOOK: Duration = Duration::from_millis(20);
const EVENTS: usize = 1024;
/// Of the timer; the others are places of connections.
const TIMER: Token = Token(usize::MAX);
/// All connections read into one buffer of this size.
const READ_BYTES: usize = 256 << 10;

/// What all threads share.
pub(super) struct Shared<'r> {
    pub(super) plan: &'r Plan,
    pub(super) workload: &'r dyn Workload,
    /// Operations that were begun.
    pub(super) begun: AtomicU64,
}

/// One thread.
pub(super) struct Worker<'r> {
    desk: Desk<'r>,
    poll: Poll,
    links: Vec<Link>,
    /// Places that wait for another try, and until when.
    resting: Vec<(Instant, usize)>,
    /// When operations are due, if that is said.
    pace: Option<Pace>,
    room: Vec<u8>,
}

/// When operations are due.
struct Pace {
    next: Instant,
    /// From one to the next.
    pause: Duration,
    timer: Timer,
}

/// A connection, and who waits for it.
#[derive(Default)]
struct Link {
    connection: Option<Connection>,
    /// Places that ask as soon as it is ready.
    waiting: Vec<usize>,
    /// It was bound for the next operation, or is new.
    is_fresh: bool,
}

/// The operations.
struct Desk<'r> {
    shared: &'r Shared<'r>,
    figures: &'r Mutex<Figures>,
    random: Random,
    asker: Box<dyn Asker + 'r>,
    places: Vec<Place>,
    /// Places that have nothing to wait for.
    idle: Vec<usize>,
    /// Places that will ask again.
    active: usize,
}

/// Where an operation at a time is done.
#[derive(Default)]
struct Place {
    /// When the operation was asked for, or was due.
    since: Option<Instant>,
    /// Message id of the request that waits for its answer.
    id: i32,
    entries: u64,
}

impl<'r> Worker<'r> {
    /// The `number`th of so many threads.
    pub(super) fn new(
        shared: &'r Shared<'r>,
        (number, threads): (usize, usize),
        figures: &'r Mutex<Figures>,
    ) -> io::Result<Worker<'r>> {
        let plan = shared.plan;
        let links = (plan.connections + threads - 1 - number) / threads;
        let count = links * plan.requests;
        let share = links as f64 / plan.connections as f64;
        let pause = plan.rate.map(|rate| Duration::from_secs_f64(1.0 / (rate * share)));
        let desk = Desk {
            shared,
            figures,
            random: Random::new(plan.seed.wrapping_add(number as u64)),
            asker: shared.workload.asker(count),
            places: (0..count).map(|_| Place::default()).collect(),
            idle: (0..count).rev().collect(),
            active: count,
        };
        let poll = Poll::new()?;
        // Threads take turns.
        let next = Instant::now() + pause.unwrap_or_default().mul_f64(number as f64 / threads as f64);
        let paced = |pause| Timer::new(poll.registry(), TIMER).map(|timer| Pace { next, pause, timer });
        let pace = pause.map(paced).transpose()?;
        Ok(Worker {
            desk,
            poll,
            links: (0..links).map(|_| Link::default()).collect(),
            resting: Vec::new(),
            pace,
            room: vec![0; READ_BYTES],
        })
    }

    /// Works until nobody asks any more, or `stops`.
    pub(super) fn run(&mut self, stops: &dyn Fn() -> bool) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !stops() && self.desk.active > 0 {
            let wait = self.begin_what_is_due()?;
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                self.go_on(event.token().0);
            }
        }
        self.links.iter_mut().filter_map(|link| link.connection.take()).for_each(Connection::close);
        Ok(())
    }

    /// Begins operations on idle places; how long there is nothing to do but to wait for answers.
    fn begin_what_is_due(&mut self) -> io::Result<Duration> {
        let now = Instant::now();
        let idle = &mut self.desk.idle;
        self.resting.retain(|(until, place)| {
            let rests = *until > now;
            if !rests {
                idle.push(*place);
            }
            rests
        });
        while let Some(place) = self.desk.idle.last().copied() {
            let due = match &mut self.pace {
                None => None,
                Some(pace) if pace.next > now => {
                    pace.timer.set(pace.next - now)?;
                    break;
                }
                Some(pace) => {
                    let due = pace.next;
                    pace.next += pace.pause;
                    Some(due)
                }
            };
            self.desk.idle.pop();
            self.begin(place, due);
        }
        Ok(LOOK)
    }

    /// Begins an operation: at once, or as soon as its connection is ready.
    fn begin(&mut self, place: usize, due: Option<Instant>) {
        let plan = self.desk.shared.plan;
        let at = place / plan.requests;
        let Some(link) = self.links.get_mut(at) else { return };
        if !self.desk.mark(place, due) {
            return;
        }
        let connection = match &mut link.connection {
            Some(connection) => connection,
            empty => match Connection::open(&plan.access, self.poll.registry(), Token(at)) {
                Ok(made) => {
                    link.is_fresh = true;
                    empty.insert(made)
                }
                Err(error) => return self.lose(at, &error),
            },
        };
        let has_to_bind = plan.keeping == Keeping::Rebinding && !link.is_fresh && !plan.access.login.is_anonymous();
        let sent = match () {
            () if !connection.is_ready() => {
                link.waiting.push(place);
                Ok(())
            }
            () if has_to_bind => {
                link.waiting.push(place);
                link.is_fresh = true;
                connection.rebind(&plan.access)
            }
            () => {
                link.is_fresh = false;
                connection.put(|ids, out| self.desk.ask(place, ids, out));
                connection.flush()
            }
        };
        if let Err(error) = sent {
            self.lose(at, &error);
        }
    }

    /// Something can be sent or read.
    fn go_on(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at) else { return };
        let Some(mut connection) = link.connection.take() else { return };
        let plan = self.desk.shared.plan;
        let goes_on_at_once = plan.keeping == Keeping::Open && self.pace.is_none();
        let (desk, mut ends) = (&mut self.desk, false);
        let mut take = |event: Event<'_>, ids: &mut Ids, out: &mut Vec<u8>| match event {
            Event::Ready => {
                link.is_fresh = false;
                link.waiting.drain(..).for_each(|place| desk.ask(place, ids, out));
            }
            Event::Entry(id, message) => desk.entry((at, id), message),
            Event::Answer(id, code, message) => {
                let Some(place) = desk.place_of(at, id) else { return };
                if desk.answered(place, (code, message), ids, out) {
                    if goes_on_at_once {
                        if desk.mark(place, None) {
                            desk.ask(place, ids, out);
                        }
                    } else {
                        desk.idle.push(place);
                        ends |= plan.keeping == Keeping::Never;
                    }
                }
            }
        };
        let went = connection.go_on(&plan.access, &mut self.room, &mut take);
        match went {
            Err(error) => self.lose(at, &error),
            Ok(()) if ends => connection.close(),
            Ok(()) => link.connection = Some(connection),
        }
    }

    /// A connection is lost: operations that wait for it have failed.
    fn lose(&mut self, at: usize, error: &io::Error) {
        let plan = self.desk.shared.plan;
        if let Some(link) = self.links.get_mut(at) {
            link.connection = None;
            link.waiting.clear();
        }
        let until = Instant::now() + RETRY;
        for place in at * plan.requests..(at + 1) * plan.requests {
            if self.desk.fail(place, error) {
                self.resting.push((until, place));
            }
        }
    }
}

impl Desk<'_> {
    /// An operation is wanted on this place; whether there is one left.
    fn mark(&mut self, place: usize, due: Option<Instant>) -> bool {
        let most = self.shared.plan.operations;
        if most.is_some_and(|most| self.shared.begun.fetch_add(1, Ordering::Relaxed) >= most) {
            self.active -= 1;
            return false;
        }
        if let Some(place) = self.places.get_mut(place) {
            *place = Place { since: Some(due.unwrap_or_else(Instant::now)), id: 0, entries: 0 };
        }
        true
    }

    /// Writes the first request of an operation, if there is anything left to ask.
    fn ask(&mut self, at: usize, ids: &mut Ids, out: &mut Vec<u8>) {
        let Some(place) = self.places.get_mut(at) else { return };
        let id = ids.next();
        if !self.asker.put_request(at, &mut self.random, id, out) {
            *place = Place::default();
            self.active -= 1;
            return;
        }
        place.id = id;
        if self.shared.plan.rate.is_none() {
            // Connecting and binding are not what is measured.
            place.since = Some(Instant::now());
        }
    }

    /// The place whose request has this message id, among those of a connection.
    fn place_of(&self, link: usize, id: i32) -> Option<usize> {
        let requests = self.shared.plan.requests;
        let own = self.places.get(link * requests..(link + 1) * requests)?;
        own.iter().position(|place| place.id == id && id != 0).map(|found| link * requests + found)
    }

    fn entry(&mut self, (link, id): (usize, i32), message: &[u8]) {
        let Some(at) = self.place_of(link, id) else { return };
        if let Some(place) = self.places.get_mut(at) {
            place.entries += 1;
        }
        if self.asker.wants_entries() {
            self.asker.entry(at, entry_name(message));
        }
    }

    /// A request is answered; whether the operation has ended with it.
    fn answered(
        &mut self,
        at: usize,
        (code, message): (ldap::ResultCode, &[u8]),
        ids: &mut Ids,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(place) = self.places.get_mut(at) else { return false };
        let took = place.since.map_or(Duration::ZERO, |since| since.elapsed());
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let answer = Answer { place: at, code, entries: place.entries, took_us, message };
        let id = ids.next();
        match self.asker.answered(&answer, &mut self.random, id, out) {
            Then::GoesOn => {
                (place.id, place.entries) = (id, 0);
                false
            }
            Then::Ended { is_error, extra } => {
                *place = Place::default();
                let problem = is_error.then_some(Problem::Refused(code));
                lock(self.figures).add(took, problem, extra);
                true
            }
        }
    }

    /// An operation ended without an answer; whether there was one.
    fn fail(&mut self, at: usize, error: &io::Error) -> bool {
        let Some(since) = self.places.get_mut(at).and_then(|place| std::mem::take(place).since) else { return false };
        self.asker.lost(at);
        lock(self.figures).add(since.elapsed(), Some(Problem::Lost(error.to_string())), 0);
        true
    }
}

/// Nobody leaves figures half changed.
pub(super) fn lock(figures: &Mutex<Figures>) -> MutexGuard<'_, Figures> {
    figures.lock().unwrap_or_else(PoisonError::into_inner)
}
