//! A log's writer: event loops append lines to their own buffers, one thread swaps the buffers and writes to the
//! target.
//!
//! 1. A request never waits for a disk: `Sink::append` takes one uncontended lock and copies bytes.
//! 2. Memory is bounded: a buffer at its limit drops lines and counts them, or, where configured, blocks the caller.
//! 3. Dropped lines are reported in the log itself, so that a gap is never silent.
//! 4. Each log has a thread of its own: a target that hangs costs the others nothing. What lines go to may be exchanged
//!    while lines come ([`LogWriter::set_destination`]).
//!
//! Knows nothing of what a line says.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::target::{LostLines, Target};

/// How long lines may wait in memory before they are written.
const GATHER_TIME: Duration = Duration::from_millis(20);

/// A buffer this full asks for an early write.
const BUFFER_BYTES_WANTED: usize = 64 * 1024;

/// Most bytes that one loop may have waiting for one file. At 250 bytes a line: 16,000 lines, a quarter of a second of
/// the fastest loop, more than a healthy disk ever needs.
pub const BUFFER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What happens to a line when the buffer is full because the disk does not keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overload {
    /// The line is dropped and counted; the count is written to the file.
    #[default]
    Drop,
    /// The caller waits. For logs that must be complete at the price of the server's speed.
    Block,
}

/// One caller's end of a log file.
#[derive(Debug, Clone)]
pub struct Sink {
    shared: Arc<SinkShared>,
}

impl Sink {
    /// Lets `write` append one or more whole lines. Returns false if they were dropped.
    pub fn append(&self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut buffer = lock(&self.shared.buffer);
        while buffer.bytes.len() >= self.shared.bytes_max {
            match self.shared.overload {
                Overload::Drop => {
                    buffer.dropped += 1;
                    self.shared.counts.dropped.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
                Overload::Block if buffer.closed => return false,
                Overload::Block => {
                    buffer = self.shared.drained.wait(buffer).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
        let before = buffer.bytes.len();
        write(&mut buffer.bytes);
        let after = buffer.bytes.len();
        drop(buffer);
        if before == 0 && after > 0 {
            self.shared.bell.ring(false);
        } else if before < BUFFER_BYTES_WANTED && after >= BUFFER_BYTES_WANTED {
            self.shared.bell.ring(true);
        }
        true
    }
}

#[derive(Debug)]
struct SinkShared {
    buffer: Mutex<SinkBuffer>,
    drained: Condvar,
    bell: Arc<Bell>,
    overload: Overload,
    bytes_max: usize,
    counts: Arc<Counts>,
}

/// What a log counts.
#[derive(Debug, Default)]
struct Counts {
    dropped: AtomicU64,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct SinkBuffer {
    bytes: Vec<u8>,
    dropped: u64,
    closed: bool,
}

/// Wakes the log thread, at most once per gathering.
#[derive(Debug, Default)]
struct Bell {
    state: Mutex<BellState>,
    rung: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct BellState {
    dirty: bool,
    urgent: bool,
    reopen: bool,
    stop: bool,
    /// Counts requests to have everything on file.
    flush_wanted: u64,
    flush_done: u64,
}

impl Bell {
    fn ring(&self, urgent: bool) {
        let mut state = lock(&self.state);
        let news = !state.dirty || (urgent && !state.urgent);
        state.dirty = true;
        state.urgent |= urgent;
        drop(state);
        if news {
            self.rung.notify_all();
        }
    }

    /// Sleeps until there is something to do, then a little longer so that lines gather.
    fn wait(&self, idle_max: Duration) -> BellState {
        let mut state = lock(&self.state);
        let idle_until = Instant::now() + idle_max;
        while !(state.dirty || state.must_hurry()) {
            let left = idle_until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.rung.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let gather_until = Instant::now() + GATHER_TIME;
        while state.dirty && !state.must_hurry() {
            let left = gather_until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.rung.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let seen = *state;
        state.dirty = false;
        state.urgent = false;
        state.reopen = false;
        seen
    }
}

impl BellState {
    fn must_hurry(&self) -> bool {
        self.urgent || self.reopen || self.stop || self.flush_wanted != self.flush_done
    }
}

/// Words the line that reports so many dropped lines, with time and line end.
pub type DropNote = Box<dyn FnMut(&mut Vec<u8>, u64, SystemTime) + Send>;

/// Who is told what an operator should know of the log: that it cannot be written, that it can be again.
pub type Tell = Arc<dyn Fn(News<'_>) + Send + Sync>;

/// What an operator should know of a log.
#[derive(Debug, Clone, Copy)]
pub enum News<'n> {
    /// Lines are lost from now on.
    Failing {
        /// What cannot be written.
        title: &'n str,
        /// Why.
        error: &'n io::Error,
    },
    /// Lines arrive again.
    Works {
        /// What can be written again.
        title: &'n str,
        /// Lines that are missing.
        lost: u64,
    },
}

impl fmt::Display for News<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            News::Failing { title, error } => {
                write!(out, "{title}: {error}; lines are dropped until it can be written")
            }
            News::Works { title, lost } => {
                write!(out, "{title}: it is written again; {lost} lines are missing, as the log says")
            }
        }
    }
}

/// What lines go to, and how it reports those that are missing.
pub struct Destination {
    /// Where they go.
    pub target: Box<dyn Target>,
    /// The line about missing ones.
    pub note: DropNote,
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destination").field("target", &self.target.title()).finish_non_exhaustive()
    }
}

/// A log and its thread. Dropping it writes what is buffered and joins.
#[derive(Debug)]
pub struct LogWriter {
    shared: Arc<WriterShared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct WriterShared {
    bell: Arc<Bell>,
    sinks: Mutex<Vec<Arc<SinkShared>>>,
    counts: Arc<Counts>,
    /// What follows the present destination.
    next: Mutex<Option<Destination>>,
}

impl LogWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there can be none.
    pub fn start(name: &str, destination: Destination, tell: Tell) -> io::Result<Self> {
        let shared = Arc::new(WriterShared::default());
        let worker = Worker::new(destination, tell);
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || run(worker, &own))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Adds one caller's end. It goes when its last copy does and what it had is written.
    pub fn sink(&self, overload: Overload, bytes_max: usize) -> Sink {
        let shared = Arc::new(SinkShared {
            buffer: Mutex::default(),
            drained: Condvar::new(),
            bell: Arc::clone(&self.shared.bell),
            overload,
            bytes_max,
            counts: Arc::clone(&self.shared.counts),
        });
        let mut sinks = lock(&self.shared.sinks);
        sinks.retain(|sink| Arc::strong_count(sink) > 1 || !lock(&sink.buffer).bytes.is_empty());
        sinks.push(Arc::clone(&shared));
        Sink { shared }
    }

    /// Lines go there from now on; what came before goes where it went.
    pub fn set_destination(&self, destination: Destination) {
        *lock(&self.shared.next) = Some(destination);
        self.flush();
    }

    /// Opens the target again, after something else moved it (SIGHUP).
    pub fn reopen(&self) {
        lock(&self.shared.bell.state).reopen = true;
        self.shared.bell.rung.notify_all();
    }

    /// Returns when everything appended before has been handed to the target.
    pub fn flush(&self) {
        let bell = &self.shared.bell;
        let mut state = lock(&bell.state);
        state.flush_wanted += 1;
        let ticket = state.flush_wanted;
        bell.rung.notify_all();
        while state.flush_done < ticket && !state.stop {
            state = bell.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lines that did not arrive, since the start.
    pub fn dropped(&self) -> u64 {
        self.shared.counts.dropped.load(Ordering::Relaxed)
    }

    /// Writes that failed (disk full, for example) since the start.
    pub fn failures(&self) -> u64 {
        self.shared.counts.failures.load(Ordering::Relaxed)
    }

    /// Writes everything and ends the thread.
    pub fn stop(&mut self) {
        lock(&self.shared.bell.state).stop = true;
        self.shared.bell.rung.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the thread has.
struct Worker {
    destination: Destination,
    title: String,
    tell: Tell,
    spare: Vec<u8>,
    /// Lines that are missing and not reported in the log yet.
    unreported: u64,
    /// The target could not be written, and nothing was written since.
    is_failing: bool,
}

fn run(mut worker: Worker, shared: &WriterShared) {
    let mut next_check = Instant::now() + worker.destination.target.check_interval();
    loop {
        let state = shared.bell.wait(next_check.saturating_duration_since(Instant::now()));
        let check = state.reopen || Instant::now() >= next_check;
        if check {
            next_check = Instant::now() + worker.destination.target.check_interval();
        }
        if state.stop {
            // Callers that block on a full buffer must not wait for a thread that goes away.
            lock(&shared.sinks).iter().for_each(|sink| lock(&sink.buffer).closed = true);
        }
        let sinks = lock(&shared.sinks).clone();
        worker.serve(&sinks, &shared.counts, state.reopen, check);
        drop(sinks);
        if let Some(next) = lock(&shared.next).take() {
            worker.take(next);
            next_check = Instant::now() + worker.destination.target.check_interval();
        }
        let mut done = lock(&shared.bell.state);
        done.flush_done = done.flush_done.max(state.flush_wanted);
        drop(done);
        shared.bell.rung.notify_all();
        if state.stop {
            return;
        }
    }
}

impl Worker {
    fn new(destination: Destination, tell: Tell) -> Self {
        let title = destination.target.title();
        Self { destination, title, tell, spare: Vec::new(), unreported: 0, is_failing: false }
    }

    fn take(&mut self, next: Destination) {
        self.title = next.target.title();
        self.destination = next;
        self.is_failing = false;
    }

    /// Writes what waits, and looks after the target.
    fn serve(&mut self, sinks: &[Arc<SinkShared>], counts: &Counts, reopen: bool, check: bool) {
        let mut outcome = Ok(());
        for sink in sinks {
            self.spare.clear();
            self.spare.shrink_to(BUFFER_BYTES_WANTED);
            let dropped = {
                let mut buffer = lock(&sink.buffer);
                std::mem::swap(&mut buffer.bytes, &mut self.spare);
                std::mem::take(&mut buffer.dropped)
            };
            sink.drained.notify_all();
            self.unreported += dropped;
            if !self.spare.is_empty() {
                let written = self.write();
                if let Err(lost) = &written {
                    counts.dropped.fetch_add(lost.lines, Ordering::Relaxed);
                }
                outcome = outcome.and(written.map_err(|lost| lost.error));
            }
        }
        if reopen {
            outcome = outcome.and(self.destination.target.reopen(SystemTime::now()));
        }
        if check {
            outcome = outcome.and(self.destination.target.check(SystemTime::now()));
        }
        if let Err(error) = outcome {
            counts.failures.fetch_add(1, Ordering::Relaxed);
            if !self.is_failing {
                self.is_failing = true;
                (self.tell)(News::Failing { title: &self.title, error: &error });
            }
        }
    }

    /// Writes what is in `spare`, and behind it what is missing.
    fn write(&mut self) -> Result<(), LostLines> {
        let now = SystemTime::now();
        let target = &mut self.destination.target;
        if let Err(lost) = target.write(&self.spare, now) {
            self.unreported += lost.lines;
            return Err(lost);
        }
        if self.unreported > 0 {
            self.spare.clear();
            (self.destination.note)(&mut self.spare, self.unreported, now);
            // It is no line of the log's own: when it is lost, it comes again with the next line.
            target.write(&self.spare, now).map_err(|lost| LostLines { lines: 0, ..lost })?;
        }
        if self.is_failing {
            self.is_failing = false;
            (self.tell)(News::Works { title: &self.title, lost: self.unreported });
        }
        self.unreported = 0;
        Ok(())
    }
}

/// A panic while a lock was held leaves a log buffer at worst with half a line: carry on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::log::file::{LogFile, LogFileSettings};

    fn note() -> DropNote {
        Box::new(|out, count, _| out.extend_from_slice(format!("dropped {count}\n").as_bytes()))
    }

    fn destination(path: &Path) -> Destination {
        let file = LogFile::open(LogFileSettings::new(path.to_owned()), SystemTime::now()).unwrap();
        Destination { target: Box::new(file), note: note() }
    }

    fn started(path: &Path) -> LogWriter {
        LogWriter::start("log", destination(path), Arc::new(|news| panic!("{news}"))).unwrap()
    }

    #[test]
    fn lines_of_many_threads_all_arrive_in_the_order_of_each() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access");
        let mut log = started(&path);
        let sinks: Vec<Sink> = (0..4).map(|_| log.sink(Overload::Block, BUFFER_BYTES_MAX)).collect();
        std::thread::scope(|scope| {
            for (writer, sink) in sinks.iter().enumerate() {
                scope.spawn(move || {
                    for line in 0..5000 {
                        assert!(sink.append(|out| out.extend_from_slice(format!("{writer} {line}\n").as_bytes())));
                    }
                });
            }
        });
        log.stop();
        let text = std::fs::read_to_string(path).unwrap();
        let mut next = [0; 4];
        for line in text.lines() {
            let (writer, number) = line.split_once(' ').unwrap();
            let writer: usize = writer.parse().unwrap();
            assert_eq!(number.parse::<i32>().unwrap(), next[writer]);
            next[writer] += 1;
        }
        assert_eq!(next, [5000; 4]);
    }

    /// A target that takes what it is given when it is let.
    struct Gated {
        /// Whether it works on lines, and whether it may end that.
        gate: Arc<(Mutex<(bool, bool)>, Condvar)>,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Target for Gated {
        fn title(&self) -> String {
            "gate".into()
        }

        fn write(&mut self, lines: &[u8], _: SystemTime) -> Result<(), LostLines> {
            let mut state = lock(&self.gate.0);
            state.0 = true;
            self.gate.1.notify_all();
            while !state.1 {
                state = self.gate.1.wait(state).unwrap();
            }
            drop(state);
            lock(&self.taken).extend_from_slice(lines);
            Ok(())
        }
    }

    #[test]
    fn full_buffer_drops_and_says_how_many() {
        let gate = Arc::new((Mutex::new((false, false)), Condvar::new()));
        let taken = Arc::new(Mutex::default());
        let target = Box::new(Gated { gate: Arc::clone(&gate), taken: Arc::clone(&taken) });
        let mut log =
            LogWriter::start("log", Destination { target, note: note() }, Arc::new(|news| panic!("{news}"))).unwrap();
        let sink = log.sink(Overload::Drop, 10);
        sink.append(|out| out.extend_from_slice(b"first\n"));
        let mut state = lock(&gate.0);
        while !state.0 {
            state = gate.1.wait(state).unwrap();
        }
        drop(state);
        let mut appended = 0;
        while sink.append(|out| out.extend_from_slice(b"0123456789\n")) {
            appended += 1;
        }
        assert!(!sink.append(|out| out.extend_from_slice(b"lost\n")));
        assert_eq!(log.dropped(), 2);
        lock(&gate.0).1 = true;
        gate.1.notify_all();
        log.flush();
        assert!(sink.append(|out| out.extend_from_slice(b"again\n")));
        log.stop();
        let text = String::from_utf8(lock(&taken).clone()).unwrap();
        let count = |wanted: &str| text.lines().filter(|line| *line == wanted).count();
        assert_eq!((count("0123456789"), count("dropped 2"), count("again")), (appended, 1, 1), "{text}");
        assert_eq!(appended, 1);
        assert!(text.ends_with("again\n"));
    }

    #[test]
    fn reopens_after_the_file_was_moved() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access");
        let log = started(&path);
        let sink = log.sink(Overload::Drop, BUFFER_BYTES_MAX);
        sink.append(|out| out.extend_from_slice(b"one\n"));
        log.flush();
        std::fs::rename(&path, dir.path().join("moved")).unwrap();
        log.reopen();
        log.flush();
        sink.append(|out| out.extend_from_slice(b"two\n"));
        log.flush();
        assert_eq!(std::fs::read_to_string(dir.path().join("moved")).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "two\n");
    }

    #[test]
    fn lines_go_elsewhere_from_one_moment_on_and_none_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
        let log = started(&first);
        let old = log.sink(Overload::Drop, BUFFER_BYTES_MAX);
        old.append(|out| out.extend_from_slice(b"one\n"));
        log.set_destination(destination(&second));
        assert_eq!(std::fs::read_to_string(&first).unwrap(), "one\n");
        let new = log.sink(Overload::Drop, BUFFER_BYTES_MAX);
        // Who has not heard of the change yet is not lost, either.
        old.append(|out| out.extend_from_slice(b"two\n"));
        drop(old);
        new.append(|out| out.extend_from_slice(b"three\n"));
        log.flush();
        assert_eq!(std::fs::read_to_string(&second).unwrap(), "two\nthree\n");
        assert_eq!(std::fs::read_to_string(&first).unwrap(), "one\n");
        let _another = log.sink(Overload::Drop, BUFFER_BYTES_MAX);
        assert_eq!(lock(&log.shared.sinks).len(), 2, "an end that nobody has is forgotten");
    }

    /// A full disk is told once, its end is told, and the file says what is missing.
    #[test]
    fn a_full_disk_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&told);
        let tell: Tell = Arc::new(move |news| lock(&own).push(news.to_string()));
        let log = LogWriter::start("log", destination(&path), tell).unwrap();
        let sink = log.sink(Overload::Drop, BUFFER_BYTES_MAX);
        let write = |line: &[u8]| {
            sink.append(|out| out.extend_from_slice(line));
            log.flush();
            std::mem::take(&mut *lock(&told))
        };
        let news = write(b"one\n");
        assert!(news.len() == 1 && news[0].contains("access: No space left on device"), "{news:?}");
        assert!(write(b"two\nthree\n").is_empty());
        assert!(write(b"").is_empty());
        // Room again.
        std::fs::remove_file(&path).unwrap();
        log.reopen();
        log.flush();
        assert!(lock(&told).is_empty(), "the file is opened anew, the lines come next");
        let news = write(b"four\n");
        assert!(news.len() == 1 && news[0].contains("written again; 3 lines are missing"), "{news:?}");
        assert!(write(b"five\n").is_empty());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "four\ndropped 3\nfive\n");
        assert_eq!(log.dropped(), 3);
        assert!(log.failures() >= 2);
    }
}
