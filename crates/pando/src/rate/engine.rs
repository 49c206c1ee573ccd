//! Keeps connections busy, and prints what they measure.
//!
//! A thread for each CPU has its share of the connections. With a target rate an operation's time counts from when it
//! was due, so that a server which stands still is charged for what waits.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::figures::Figures;
use super::plan::Plan;
use super::worker::{LOOK, Shared, Worker, lock};
use super::workload::Workload;

/// Gets what is measured.
pub trait Observer {
    /// An interval has ended.
    fn interval(&mut self, figures: &Figures, now: Times);

    /// The time is over, and what the workload still has to do begins.
    fn winding_down(&mut self);
}

/// When an interval was.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// When it began, since the beginning.
    pub from: std::time::Duration,
    /// When it ended, since the beginning.
    pub to: std::time::Duration,
}

/// Runs until the plan ends it or somebody does: `signals` counts how often that was wished. Gives what was measured.
pub fn run(
    plan: &Plan,
    workload: &dyn Workload,
    signals: &AtomicUsize,
    observer: &mut dyn Observer,
) -> io::Result<Figures> {
    let threads = thread::available_parallelism().map_or(1, usize::from).clamp(1, plan.connections.max(1));
    let measured: Vec<Mutex<Figures>> = (0..threads).map(|_| Mutex::default()).collect();
    let (running, stop) = (AtomicUsize::new(threads), AtomicBool::new(false));
    let shared = Shared { plan, workload, begun: AtomicU64::new(0) };
    thread::scope(|scope| {
        let workers: Vec<_> = measured
            .iter()
            .enumerate()
            .map(|(number, figures)| {
                let (running, stop, shared) = (&running, &stop, &shared);
                scope.spawn(move || {
                    let stops = || stop.load(Ordering::Acquire);
                    let worker = Worker::new(shared, (number, threads), figures);
                    let ended = worker.and_then(|mut worker| worker.run(&stops));
                    running.fetch_sub(1, Ordering::AcqRel);
                    ended
                })
            })
            .collect();
        let goes_on = || running.load(Ordering::Acquire) > 0;
        let all = Watch { plan, workload, measured: &measured, observer }.until_the_end(&goes_on, signals);
        stop.store(true, Ordering::Release);
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(all)
    })
}

/// Collects what the threads measure.
struct Watch<'w> {
    plan: &'w Plan,
    workload: &'w dyn Workload,
    measured: &'w [Mutex<Figures>],
    observer: &'w mut dyn Observer,
}

impl Watch<'_> {
    /// Tells of each interval, and of what is left at the end.
    fn until_the_end(self, goes_on: &dyn Fn() -> bool, signals: &AtomicUsize) -> Figures {
        let plan = self.plan;
        let mut all = Figures::default();
        let collect = |all: &mut Figures| self.measured.iter().for_each(|one| all.take(&mut lock(one)));
        let begun = Instant::now();
        let (mut start, mut since) = (begun, begun);
        let (mut is_warm, mut winds_down) = (plan.warm_up.is_zero(), false);
        loop {
            thread::sleep(LOOK);
            let now = Instant::now();
            if !is_warm && now >= begun + plan.warm_up {
                collect(&mut all);
                (all, is_warm, start, since) = (Figures::default(), true, now, now);
            }
            let wished = signals.load(Ordering::Acquire);
            let is_over = is_warm && plan.duration.is_some_and(|duration| now >= start + duration) || wished > 0;
            if is_over && !winds_down && wished < 2 && self.workload.wind_down() {
                winds_down = true;
                self.observer.winding_down();
            }
            let ends = (is_over && !winds_down) || wished > 1 || !goes_on();
            if ends || (is_warm && now >= since + plan.interval) {
                collect(&mut all);
                if all.recent.operations > 0 || !ends {
                    self.observer.interval(&all, Times { from: since - start, to: now - start });
                }
                all.end_interval();
                since = now;
            }
            if ends {
                return all;
            }
        }
    }
}
