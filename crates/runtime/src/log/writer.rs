//! The log thread: event loops append lines to their own buffers, one thread swaps the buffers and writes the files.
//!
//! 1. A request never waits for a disk: `Sink::append` takes one uncontended lock and copies bytes.
//! 2. Memory is bounded: a buffer at its limit drops lines and counts them, or, where configured, blocks the caller.
//! 3. Dropped lines are reported in the file itself, so that a gap is never silent.
//!
//! Knows nothing of what a line says.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::clock::{LogClock, TimeFormat};
use super::file::{LogFile, LogFileSettings};

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
                    self.shared.dropped_total.fetch_add(1, Ordering::Relaxed);
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

    /// Lines dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped_total.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct SinkShared {
    buffer: Mutex<SinkBuffer>,
    drained: Condvar,
    bell: Arc<Bell>,
    overload: Overload,
    bytes_max: usize,
    dropped_total: AtomicU64,
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

/// Builds a [`LogThread`]: files first, then any number of sinks for each.
#[derive(Debug, Default)]
pub struct LogThreadBuilder {
    channels: Vec<Channel>,
    bell: Arc<Bell>,
}

/// Names a file of a [`LogThreadBuilder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId(usize);

#[derive(Debug)]
struct Channel {
    file: LogFile,
    clock: LogClock,
    drop_note: fn(&mut Vec<u8>, u64),
    sinks: Vec<Arc<SinkShared>>,
    /// The file could not be written, and nothing was written since.
    is_failing: bool,
}

impl Channel {
    /// What is to be said of an attempt to write: that a file cannot be written once, until it can be again.
    fn news(&mut self, attempt: &io::Result<bool>) -> Option<String> {
        let path = self.file.path().display();
        match attempt {
            Err(error) if !self.is_failing => {
                self.is_failing = true;
                Some(format!("log file {path}: {error}; lines are dropped until it can be written"))
            }
            Ok(true) if self.is_failing => {
                self.is_failing = false;
                Some(format!("log file {path}: it is written again; the file says how many lines are missing"))
            }
            _ => None,
        }
    }
}

impl LogThreadBuilder {
    /// Opens a log file. `drop_note` words the line that reports dropped lines (without timestamp).
    pub fn open(
        &mut self,
        settings: LogFileSettings,
        time_format: TimeFormat,
        drop_note: fn(&mut Vec<u8>, u64),
    ) -> io::Result<FileId> {
        let file = LogFile::open(settings, SystemTime::now())?;
        self.channels.push(Channel {
            file,
            clock: LogClock::new(time_format),
            drop_note,
            sinks: Vec::new(),
            is_failing: false,
        });
        Ok(FileId(self.channels.len() - 1))
    }

    /// Adds one writer's end to a file.
    pub fn sink(&mut self, file: FileId, overload: Overload) -> Sink {
        self.sink_with_limit(file, overload, BUFFER_BYTES_MAX)
    }

    /// As `sink`, with a limit for the bytes that wait.
    pub fn sink_with_limit(&mut self, file: FileId, overload: Overload, bytes_max: usize) -> Sink {
        let shared = Arc::new(SinkShared {
            buffer: Mutex::default(),
            drained: Condvar::new(),
            bell: Arc::clone(&self.bell),
            overload,
            bytes_max,
            dropped_total: AtomicU64::new(0),
        });
        if let Some(channel) = self.channels.get_mut(file.0) {
            channel.sinks.push(Arc::clone(&shared));
        }
        Sink { shared }
    }

    /// Starts the thread.
    pub fn start(self) -> io::Result<LogThread> {
        let bell = Arc::clone(&self.bell);
        let failures = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&failures);
        let thread =
            std::thread::Builder::new().name("log".into()).spawn(move || run(self.channels, &self.bell, &counted))?;
        Ok(LogThread { bell, thread: Some(thread), failures })
    }
}

/// The running log thread. Dropping it writes what is buffered and joins.
#[derive(Debug)]
pub struct LogThread {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
    failures: Arc<AtomicU64>,
}

impl LogThread {
    /// Opens the files again under their names, after something else moved them (SIGHUP).
    pub fn reopen(&self) {
        lock(&self.bell.state).reopen = true;
        self.bell.rung.notify_all();
    }

    /// Returns when everything appended before is in the files.
    pub fn flush(&self) {
        let mut state = lock(&self.bell.state);
        state.flush_wanted += 1;
        let ticket = state.flush_wanted;
        self.bell.rung.notify_all();
        while state.flush_done < ticket && !state.stop {
            state = self.bell.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes that failed (disk full, for example) since the start.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Writes everything and ends the thread.
    pub fn stop(&mut self) {
        lock(&self.bell.state).stop = true;
        self.bell.rung.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for LogThread {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(mut channels: Vec<Channel>, bell: &Bell, failures: &AtomicU64) {
    let check_interval =
        channels.iter().map(|channel| channel.file.check_interval()).min().unwrap_or(Duration::from_secs(5));
    let mut spare = Vec::with_capacity(BUFFER_BYTES_WANTED);
    let mut next_check = Instant::now() + check_interval;
    loop {
        let state = bell.wait(next_check.saturating_duration_since(Instant::now()));
        if state.stop {
            // Callers that block on a full buffer must not wait for a thread that goes away.
            channels.iter().flat_map(|channel| &channel.sinks).for_each(|sink| lock(&sink.buffer).closed = true);
        }
        let check = state.reopen || Instant::now() >= next_check;
        if check {
            next_check = Instant::now() + check_interval;
        }
        for channel in &mut channels {
            let attempt = serve(channel, &mut spare, state.reopen, check);
            failures.fetch_add(u64::from(attempt.is_err()), Ordering::Relaxed);
            if let Some(news) = channel.news(&attempt) {
                eprintln!("{news}");
            }
        }
        let mut done = lock(&bell.state);
        done.flush_done = done.flush_done.max(state.flush_wanted);
        drop(done);
        bell.rung.notify_all();
        if state.stop {
            return;
        }
    }
}

/// Writes what waits, and looks after the file. Returns whether something was written.
fn serve(channel: &mut Channel, spare: &mut Vec<u8>, reopen: bool, check: bool) -> io::Result<bool> {
    let mut outcome = Ok(());
    let mut has_written = false;
    for sink in &channel.sinks {
        spare.clear();
        spare.shrink_to(BUFFER_BYTES_WANTED);
        let dropped = {
            let mut buffer = lock(&sink.buffer);
            std::mem::swap(&mut buffer.bytes, spare);
            std::mem::take(&mut buffer.dropped)
        };
        sink.drained.notify_all();
        let lines_end = spare.len();
        if dropped > 0 {
            spare.extend_from_slice(channel.clock.stamp(SystemTime::now()));
            (channel.drop_note)(spare, dropped);
            spare.push(b'\n');
        }
        if !spare.is_empty() {
            let written = channel.file.write(spare, SystemTime::now());
            if written.is_err() {
                // They are reported as dropped as soon as the file can be written.
                let lines = spare.iter().take(lines_end).filter(|byte| **byte == b'\n').count() as u64;
                lock(&sink.buffer).dropped += dropped + lines;
                sink.dropped_total.fetch_add(lines, Ordering::Relaxed);
            }
            has_written |= written.is_ok();
            outcome = outcome.and(written);
        }
    }
    if reopen {
        outcome = outcome.and(channel.file.reopen(SystemTime::now()));
    }
    if check {
        outcome = outcome.and(channel.file.check(SystemTime::now()));
    }
    outcome.map(|()| has_written)
}

/// A panic while a lock was held leaves a log buffer at worst with half a line: carry on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(out: &mut Vec<u8>, count: u64) {
        out.extend_from_slice(format!("dropped {count}").as_bytes());
    }

    fn settings(dir: &std::path::Path) -> LogFileSettings {
        LogFileSettings::new(dir.join("access"))
    }

    #[test]
    fn lines_of_many_threads_all_arrive_in_the_order_of_each() {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = LogThreadBuilder::default();
        let file = builder.open(settings(dir.path()), TimeFormat::default(), note).unwrap();
        let sinks: Vec<Sink> = (0..4).map(|_| builder.sink(file, Overload::Block)).collect();
        let mut log = builder.start().unwrap();
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
        let text = std::fs::read_to_string(dir.path().join("access")).unwrap();
        let mut next = [0; 4];
        for line in text.lines() {
            let (writer, number) = line.split_once(' ').unwrap();
            let writer: usize = writer.parse().unwrap();
            assert_eq!(number.parse::<i32>().unwrap(), next[writer]);
            next[writer] += 1;
        }
        assert_eq!(next, [5000; 4]);
    }

    #[test]
    fn full_buffer_drops_and_says_how_many() {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = LogThreadBuilder::default();
        let file = builder.open(settings(dir.path()), TimeFormat::default(), note).unwrap();
        let sink = builder.sink_with_limit(file, Overload::Drop, 10);
        // The thread does not run yet, so the buffer fills for certain.
        assert!(sink.append(|out| out.extend_from_slice(b"0123456789\n")));
        assert!(!sink.append(|out| out.extend_from_slice(b"lost\n")));
        assert!(!sink.append(|out| out.extend_from_slice(b"lost\n")));
        assert_eq!(sink.dropped(), 2);
        let log = builder.start().unwrap();
        log.flush();
        let text = std::fs::read_to_string(dir.path().join("access")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "0123456789");
        assert!(lines[1].ends_with("] dropped 2"), "{text}");
        assert!(sink.append(|out| out.extend_from_slice(b"again\n")));
        log.flush();
        assert!(std::fs::read_to_string(dir.path().join("access")).unwrap().ends_with("again\n"));
    }

    #[test]
    fn reopens_after_the_file_was_moved() {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = LogThreadBuilder::default();
        let file = builder.open(settings(dir.path()), TimeFormat::default(), note).unwrap();
        let sink = builder.sink(file, Overload::Drop);
        let log = builder.start().unwrap();
        sink.append(|out| out.extend_from_slice(b"one\n"));
        log.flush();
        std::fs::rename(dir.path().join("access"), dir.path().join("moved")).unwrap();
        log.reopen();
        log.flush();
        sink.append(|out| out.extend_from_slice(b"two\n"));
        log.flush();
        assert_eq!(std::fs::read_to_string(dir.path().join("moved")).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(dir.path().join("access")).unwrap(), "two\n");
    }

    /// A full disk is told once, its end is told, and the file says what is missing.
    #[test]
    fn a_full_disk_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut builder = LogThreadBuilder::default();
        let file = builder.open(settings(dir.path()), TimeFormat::default(), note).unwrap();
        let sink = builder.sink(file, Overload::Drop);
        let mut channel = builder.channels.pop().unwrap();
        let mut spare = Vec::new();
        let mut attempt = |channel: &mut Channel, line: &[u8], reopen| {
            sink.append(|out| out.extend_from_slice(line));
            let attempt = serve(channel, &mut spare, reopen, false);
            channel.news(&attempt)
        };
        let told = attempt(&mut channel, b"one\n", false).unwrap();
        assert!(told.contains("access: No space left on device"), "{told}");
        assert_eq!(attempt(&mut channel, b"two\nthree\n", false), None);
        assert_eq!(attempt(&mut channel, b"", false), None);
        // Room again.
        std::fs::remove_file(&path).unwrap();
        assert_eq!(attempt(&mut channel, b"", true), None, "the file is opened anew, the lines come next");
        let told = attempt(&mut channel, b"four\n", false).unwrap();
        assert!(told.contains("written again"), "{told}");
        assert_eq!(attempt(&mut channel, b"five\n", false), None);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[2]), ("four", "five"));
        assert!(lines[1].ends_with("] dropped 3"), "{text}");
        assert_eq!(sink.dropped(), 3);
    }
}
