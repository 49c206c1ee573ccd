//! Change numbers: one ascending sequence over all backends, given by the writers while they apply, and what tells
//! readers how far all of it can be read.
//!
//! Invariants:
//! (1) No number is given twice.
//! (2) Every change with a number up to [`ChangeNumbers::settled`] is in its log, or never will be (the log refused
//!     it).
//! (3) Within a backend numbers ascend in the order of its log.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use store::log::LogPlace;

use super::points::{Point, Points};

/// No number is on its way.
const NONE: u64 = u64::MAX;

/// See the module.
pub struct ChangeNumbers {
    /// Whether changes are traced and numbered.
    is_on: AtomicBool,
    next: AtomicU64,
    lanes: Box<[Lane]>,
    follower_count: AtomicUsize,
    followers: Mutex<Followers>,
    more: Condvar,
}

/// What is known of one backend.
struct Lane {
    /// At most the lowest number that was given and is not settled.
    pending: AtomicU64,
    points: Mutex<Points>,
    /// When the latest change was proposed, in µs since 1970.
    latest_us: AtomicU64,
    /// The last number that stands in the log, or did; 0 for none.
    latest: AtomicU64,
}

#[derive(Default)]
struct Followers {
    next_key: u64,
    list: Vec<(u64, Wake)>,
}

/// Called on a writer's thread whenever there may be more changes; must be quick, and must not ask for changes itself.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A follower, which is woken when there are more changes, until this is dropped.
pub struct Follower {
    numbers: Arc<ChangeNumbers>,
    key: u64,
}

impl ChangeNumbers {
    /// For so many backends; off, so that what is replayed gets no numbers.
    pub fn new(backends: usize) -> Arc<Self> {
        let zero = || AtomicU64::new(0);
        let lane =
            || Lane { pending: AtomicU64::new(NONE), points: Mutex::default(), latest_us: zero(), latest: zero() };
        Arc::new(Self {
            is_on: AtomicBool::new(false),
            next: AtomicU64::new(1),
            lanes: (0..backends).map(|_| lane()).collect(),
            follower_count: AtomicUsize::new(0),
            followers: Mutex::default(),
            more: Condvar::new(),
        })
    }

    /// Whether changes are traced.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// From the next proposal on.
    pub fn switch(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Goes on with that number, before the first is given.
    pub fn begin_with(&self, next: u64) {
        self.next.fetch_max(next, Ordering::SeqCst);
    }

    /// The next number to be given.
    pub fn next(&self) -> u64 {
        self.next.load(Ordering::SeqCst)
    }

    /// Invariant 2: the last number up to which everything can be read; 0 when there is none.
    pub fn settled(&self) -> u64 {
        // In this order: a number that is given after this look was not reported to a follower yet.
        let next = self.next();
        let pending = self.lanes.iter().map(|lane| lane.pending.load(Ordering::SeqCst)).min().unwrap_or(NONE);
        next.min(pending).saturating_sub(1)
    }

    /// The known places of a backend's log.
    pub fn points(&self, lane: usize) -> Option<MutexGuard<'_, Points>> {
        Some(self.lanes.get(lane)?.points.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a place that was found when the log was opened; in their order.
    pub fn found(&self, lane: usize, point: Point) {
        if let Some(mut points) = self.points(lane) {
            points.push(point);
        }
    }

    /// Forgets the places that were found so far.
    pub fn forget(&self, lane: usize) {
        if let Some(mut points) = self.points(lane) {
            *points = Points::default();
        }
    }

    /// When the latest change of a backend was proposed, in µs since 1970; 0 when there is none.
    pub fn latest_us(&self, lane: usize) -> u64 {
        self.lanes.get(lane).map_or(0, |lane| lane.latest_us.load(Ordering::Relaxed))
    }

    /// The last number of a backend; 0 when there is none.
    pub fn latest(&self, lane: usize) -> u64 {
        self.lanes.get(lane).map_or(0, |lane| lane.latest.load(Ordering::Relaxed))
    }

    /// Number and time of the latest change that was found when the log was opened.
    pub fn set_latest(&self, lane: usize, number: u64, time_us: u64) {
        if let Some(lane) = self.lanes.get(lane) {
            lane.latest_us.fetch_max(time_us, Ordering::Relaxed);
            lane.latest.fetch_max(number, Ordering::Relaxed);
        }
    }

    /// Waits until more than `number` is settled; `false` when it took longer than `longest`.
    pub fn wait_beyond(&self, number: u64, longest: Duration) -> bool {
        let end = Instant::now() + longest;
        self.follower_count.fetch_add(1, Ordering::SeqCst);
        let mut guard = self.followers();
        let found = loop {
            if self.settled() > number {
                break true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break false;
            }
            guard =
                self.more.wait_timeout(guard, left).map_or_else(|poisoned| poisoned.into_inner().0, |(guard, _)| guard);
        };
        drop(guard);
        self.follower_count.fetch_sub(1, Ordering::SeqCst);
        found
    }

    /// Calls `wake` whenever there may be more.
    pub fn follow(self: &Arc<Self>, wake: Wake) -> Follower {
        let mut followers = self.followers();
        let key = followers.next_key;
        followers.next_key += 1;
        followers.list.push((key, wake));
        self.follower_count.fetch_add(1, Ordering::SeqCst);
        Follower { numbers: Arc::clone(self), key }
    }

    fn followers(&self) -> MutexGuard<'_, Followers> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        if self.follower_count.load(Ordering::SeqCst) > 0 {
            let followers = self.followers();
            self.more.notify_all();
            followers.list.iter().for_each(|(_, wake)| wake());
        }
    }
}

impl std::fmt::Debug for ChangeNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeNumbers").field("is_on", &self.is_on).field("next", &self.next).finish_non_exhaustive()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.numbers.followers().list.retain(|(key, _)| *key != self.key);
        self.numbers.follower_count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One writer's access to the numbers.
#[derive(Clone, Debug)]
pub struct Recorder {
    numbers: Arc<ChangeNumbers>,
    lane: usize,
    /// The latest time of a change, in µs since 1970.
    latest_us: u64,
    /// The last number that was given.
    latest: u64,
    has_given: bool,
}

impl Recorder {
    /// For the backend at that place.
    pub fn new(numbers: Arc<ChangeNumbers>, lane: usize) -> Self {
        Self { numbers, lane, latest_us: 0, latest: 0, has_given: false }
    }

    /// Whether changes are traced.
    pub fn is_on(&self) -> bool {
        self.numbers.is_on()
    }

    /// Gives the next `count` numbers: the first of them. `time_us` is when the changes were proposed.
    pub fn take(&mut self, count: u32, time_us: u64) -> u64 {
        let numbers = &self.numbers;
        if let Some(lane) = numbers.lanes.get(self.lane).filter(|_| !self.has_given) {
            // Before the number is taken: see `settled`.
            lane.pending.store(numbers.next(), Ordering::SeqCst);
        }
        self.has_given = true;
        self.latest_us = self.latest_us.max(time_us);
        let first = numbers.next.fetch_add(u64::from(count), Ordering::SeqCst);
        self.latest = (first + u64::from(count)).saturating_sub(1);
        first
    }

    /// The numbers given since the last time can be read, and the log goes on at that place; or they never can.
    pub fn settle(&mut self, place: Option<LogPlace>) {
        if !std::mem::take(&mut self.has_given) {
            return;
        }
        let Some(lane) = self.numbers.lanes.get(self.lane) else { return };
        if let Some(place) = place {
            let mut points = lane.points.lock().unwrap_or_else(PoisonError::into_inner);
            points.note(place, self.numbers.next(), self.latest_us);
            lane.latest_us.fetch_max(self.latest_us, Ordering::Relaxed);
            lane.latest.fetch_max(self.latest, Ordering::Relaxed);
        }
        lane.pending.store(NONE, Ordering::SeqCst);
        self.numbers.tell();
    }
}
