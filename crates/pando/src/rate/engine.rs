//! Keeps connections busy, and prints what they measure.
//!
//! A thread for each CPU has its share of the connections. With a target rate an operation's time counts from when it
//! was due, so that a server which stands still is charged for what waits.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use super::connection::Connection;
use super::figures::Figures;
use super::report::Report;
use crate::makeldif::Random;

/// After a connection that failed, the next try.
const RETRY: Duration = Duration::from_millis(100);
/// How often it is looked whether it is time to end.
const LOOK: Duration = Duration::from_millis(20);
const EVENTS: usize = 1024;

/// What is asked of the server.
pub trait Workload: Sync {
    /// Appends the next request, with this message id.
    fn put_request(&self, random: &mut Random, id: i32, out: &mut Vec<u8>);
}

/// How much, and for how long.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub address: SocketAddr,
    /// Connections, each with one request at a time.
    pub connections: usize,
    /// Each goes on with the next request; otherwise each request has a connection of its own.
    pub keeps_open: bool,
    /// Requests of each connection; none: without end.
    pub iterations: Option<u64>,
    /// None: without end.
    pub duration: Option<Duration>,
    /// What is measured in the beginning does not count.
    pub warm_up: Duration,
    /// Between two rows.
    pub interval: Duration,
    /// Requests a second, all connections together; none: as many as there can be.
    pub rate: Option<f64>,
    /// Of what is random.
    pub seed: u64,
}

/// Runs until the plan, or `stop`, ends it; `print` gets the rows. Gives what was measured.
pub fn run(
    plan: &Plan,
    workload: &dyn Workload,
    report: &Report,
    stop: &AtomicBool,
    print: &mut dyn FnMut(&str),
) -> io::Result<Figures> {
    let threads = thread::available_parallelism().map_or(1, usize::from).clamp(1, plan.connections.max(1));
    let measured: Vec<Mutex<Figures>> = (0..threads).map(|_| Mutex::default()).collect();
    let running = AtomicUsize::new(threads);
    thread::scope(|scope| {
        let workers: Vec<_> = measured
            .iter()
            .enumerate()
            .map(|(number, figures)| {
                let running = &running;
                scope.spawn(move || {
                    let ended = Worker::new(plan, (number, threads), figures).and_then(|mut it| it.run(workload, stop));
                    running.fetch_sub(1, Ordering::AcqRel);
                    ended
                })
            })
            .collect();
        let all = observe(plan, report, &measured, || running.load(Ordering::Acquire) > 0, stop, print);
        stop.store(true, Ordering::Release);
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(all)
    })
}

/// Prints a row each interval, and one at the end.
fn observe(
    plan: &Plan,
    report: &Report,
    measured: &[Mutex<Figures>],
    goes_on: impl Fn() -> bool,
    stop: &AtomicBool,
    print: &mut dyn FnMut(&str),
) -> Figures {
    let mut all = Figures::default();
    let collect = |all: &mut Figures| measured.iter().for_each(|one| all.take(&mut lock(one)));
    let (begun, mut since) = (Instant::now(), Instant::now());
    let mut is_warm = plan.warm_up.is_zero();
    let mut start = begun;
    loop {
        thread::sleep(LOOK);
        let now = Instant::now();
        if !is_warm && now >= begun + plan.warm_up {
            collect(&mut all);
            (all, is_warm, start, since) = (Figures::default(), true, now, now);
        }
        let is_over = is_warm && plan.duration.is_some_and(|duration| now >= start + duration);
        let ends = is_over || !goes_on() || stop.load(Ordering::Acquire);
        if ends || (is_warm && now >= since + plan.interval) {
            collect(&mut all);
            if all.recent.operations > 0 || !ends {
                print(&report.row(&all, now - since, now - start));
            }
            all.recent = Default::default();
            since = now;
        }
        if ends {
            return all;
        }
    }
}

fn lock(figures: &Mutex<Figures>) -> MutexGuard<'_, Figures> {
    figures.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread, and its connections.
struct Worker<'w> {
    plan: &'w Plan,
    figures: &'w Mutex<Figures>,
    poll: Poll,
    random: Random,
    seats: Vec<Seat>,
    /// Seats that have nothing to wait for.
    idle: Vec<usize>,
    /// When the next request is due, and how long it is to the one after it.
    due: Option<(Instant, Duration)>,
}

/// A connection and what it waits for.
#[derive(Default)]
struct Seat {
    connection: Option<Connection>,
    /// When the request was sent, or was due.
    asked: Option<Instant>,
    /// Requests that it made.
    done: u64,
    /// Not before.
    retry: Option<Instant>,
}

impl<'w> Worker<'w> {
    fn new(plan: &'w Plan, (number, threads): (usize, usize), figures: &'w Mutex<Figures>) -> io::Result<Worker<'w>> {
        let count = (plan.connections + threads - 1 - number) / threads;
        let share = count as f64 / plan.connections as f64;
        let pause = plan.rate.map(|rate| Duration::from_secs_f64(1.0 / (rate * share)));
        Ok(Worker {
            plan,
            figures,
            poll: Poll::new()?,
            random: Random::new(plan.seed.wrapping_add(number as u64)),
            seats: (0..count).map(|_| Seat::default()).collect(),
            idle: (0..count).rev().collect(),
            due: pause.map(|pause| (Instant::now(), pause)),
        })
    }

    fn run(&mut self, workload: &dyn Workload, stop: &AtomicBool) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !stop.load(Ordering::Acquire) {
            let wait = self.ask_what_is_due(workload);
            if self.idle.is_empty() && self.seats.iter().all(|seat| seat.asked.is_none()) {
                break;
            }
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                self.go_on(event.token().0, workload);
            }
        }
        Ok(())
    }

    /// Sends requests on idle connections; how long there is nothing to do but to wait for answers.
    fn ask_what_is_due(&mut self, workload: &dyn Workload) -> Duration {
        let now = Instant::now();
        let mut later = Vec::new();
        let mut wait = LOOK;
        while let Some(at) = self.idle.pop() {
            if let Some(retry) = self.seats.get(at).and_then(|seat| seat.retry).filter(|retry| *retry > now) {
                wait = wait.min(retry - now);
                later.push(at);
                continue;
            }
            match self.due {
                Some((due, _)) if due > now => {
                    wait = wait.min(due - now);
                    later.push(at);
                    break;
                }
                Some((due, pause)) => {
                    self.due = Some((due + pause, pause));
                    self.ask(at, due, workload);
                }
                None => self.ask(at, now, workload),
            }
        }
        self.idle.append(&mut later);
        wait
    }

    fn ask(&mut self, at: usize, due: Instant, workload: &dyn Workload) {
        let (random, registry, address) = (&mut self.random, self.poll.registry(), self.plan.address);
        let Some(seat) = self.seats.get_mut(at) else { return };
        if self.plan.iterations.is_some_and(|most| seat.done >= most) {
            return;
        }
        seat.done += 1;
        seat.asked = Some(due);
        let connected = match &mut seat.connection {
            Some(connection) => Ok(connection),
            empty => Connection::open(address, registry, Token(at)).map(|made| empty.insert(made)),
        };
        let asked = connected.and_then(|it| it.ask(|id, out| workload.put_request(random, id, out)));
        if asked.is_err() {
            self.end(at, true);
        }
    }

    /// Something can be sent or read.
    fn go_on(&mut self, at: usize, workload: &dyn Workload) {
        let Some(seat) = self.seats.get_mut(at) else { return };
        let Some(connection) = &mut seat.connection else { return };
        match connection.go_on() {
            Ok(None) => {}
            // An answer to nothing: there is a request again soon.
            Ok(Some(_)) if seat.asked.is_none() => {}
            Ok(Some(code)) => {
                let closes = !self.plan.keeps_open;
                if closes {
                    seat.connection = None;
                }
                self.count(at, code != ldap::ResultCode::SUCCESS);
                if self.due.is_none() && self.idle.last() == Some(&at) {
                    self.idle.pop();
                    self.ask(at, Instant::now(), workload);
                }
            }
            Err(_) => self.end(at, seat_waits(&self.seats, at)),
        }
    }

    /// The connection is lost; a request that waits for it fails.
    fn end(&mut self, at: usize, is_asked: bool) {
        if let Some(seat) = self.seats.get_mut(at) {
            seat.connection = None;
            seat.retry = Some(Instant::now() + RETRY);
        }
        if is_asked {
            self.count(at, true);
        }
    }

    /// A request has ended.
    fn count(&mut self, at: usize, is_error: bool) {
        let Some(asked) = self.seats.get_mut(at).and_then(|seat| seat.asked.take()) else { return };
        lock(self.figures).add(asked.elapsed(), is_error);
        self.idle.push(at);
    }
}

fn seat_waits(seats: &[Seat], at: usize) -> bool {
    seats.get(at).is_some_and(|seat| seat.asked.is_some())
}
