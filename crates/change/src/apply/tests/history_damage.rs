//! Logs that cannot be read: the history begins behind the damage, says so once, and gives no number twice. And what is
//! known of logs is not read again.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use config::ChangelogConfig;
use store::StoreError;
use store::log::{
    Batch, FileLog, FolderDisk, FrameBuffer, FrameRead, Log, LogHealth, LogHeld, LogOptions, LogPlace, LogRecord,
    LogSegment,
};

use super::bed::Bed;
use super::history::{long_history, numbers};
use crate::history::trace::set_number;
use crate::history::{Bounds, ChangeNumbers, History, HistoryError, LogSource};

/// The file of a segment: its header has the generation at byte 32.
fn file_of(bed: &Bed, segment: &LogSegment) -> PathBuf {
    let mut files = std::fs::read_dir(store::log_path(bed.folder.path())).unwrap().map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| {
        let head = std::fs::read(path).unwrap();
        head.starts_with(b"PANDOLOG") && head[32..40] == segment.start.generation.to_le_bytes()
    };
    files.find(is_it).unwrap()
}

/// Where the frames of a segment begin.
fn frames(bed: &Bed, segment: &LogSegment) -> Vec<LogPlace> {
    let (mut place, mut frame, mut places) = (segment.start, FrameBuffer::default(), Vec::new());
    while place.seq <= segment.last {
        places.push(place);
        match bed.backend.log().read_frame(place, &mut frame).unwrap() {
            FrameRead::Frame(next) => place = next,
            _ => break,
        }
    }
    places
}

/// Damages a frame of a segment; gives the name of the file.
fn damage(bed: &Bed, segment: usize, frame: impl Fn(&[LogPlace]) -> LogPlace) -> String {
    let segment = bed.backend.log().segments()[segment];
    let (path, offset) = (file_of(bed, &segment), frame(&frames(bed, &segment)).offset + 50);
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[!byte[0]], offset).unwrap();
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The number of the first change in each segment.
fn first_numbers(bed: &Bed) -> Vec<u64> {
    let mut reader = bed.history.from(0);
    let segments = bed.backend.log().segments();
    let mut firsts = vec![0; segments.len()];
    while let Some(change) = reader.next_change().unwrap() {
        let at = segments.iter().position(|segment| change.sequence <= segment.last).unwrap();
        firsts[at] = if firsts[at] == 0 { change.number } else { firsts[at] };
    }
    firsts
}

#[test]
fn the_history_begins_behind_a_segment_that_is_damaged_at_its_beginning() {
    let bed = long_history();
    let (last, firsts) = (bed.history.bounds().last, first_numbers(&bed));
    let file = damage(&bed, 1, |frames| frames[0]);
    let mut bed = bed.reopen();
    assert_eq!((bed.history.bounds().first, bed.history.bounds().last), (firsts[2], last));
    assert_eq!(numbers(&bed), (firsts[2]..=last).collect::<Vec<_>>());
    // By time as well.
    assert_eq!(bed.history.since(0).next_change().unwrap().unwrap().number, firsts[2]);
    let said = bed.history.sentences();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains(&file) && said[0].contains(&format!("begins with change {}", firsts[2])), "{said:?}");
    bed.person("ann");
    assert_eq!(*numbers(&bed).last().unwrap(), last + 1);
    let bed = bed.reopen();
    assert_eq!((bed.history.bounds().first, bed.history.bounds().last), (firsts[2], last + 1));
    assert!(bed.history.sentences().is_empty());
}

#[test]
fn damage_that_a_reader_meets_is_let_go() {
    let bed = long_history();
    let (last, firsts) = (bed.history.bounds().last, first_numbers(&bed));
    let file = damage(&bed, 1, |frames| frames[frames.len() / 2]);
    let bed = bed.reopen();
    assert_eq!(bed.history.bounds().first, 1);
    let mut reader = bed.history.from(0);
    let failed = loop {
        match reader.next_change() {
            Ok(change) => assert!(change.unwrap().number < firsts[2]),
            Err(error) => break error,
        }
    };
    assert!(matches!(failed, HistoryError::Store(StoreError::LogDamaged(_))), "{failed}");
    bed.history.prune_at(0).unwrap();
    bed.history.prune_at(0).unwrap();
    assert_eq!(numbers(&bed), (firsts[2]..=last).collect::<Vec<_>>());
    let said = bed.history.sentences();
    assert!(said.len() == 1 && said[0].contains(&file), "{said:?}");
    assert_eq!(bed.reopen().history.bounds().first, firsts[2]);
}

#[test]
fn numbers_that_may_have_been_given_are_not_given_again() {
    // What was given last is not known, unless the server was stopped.
    for (is_final, is_last_frame) in [(false, false), (false, true), (true, false), (true, true)] {
        let bed = long_history();
        let (last, segments) = (bed.history.bounds().last, bed.backend.log().segments());
        let filled = segments.iter().rposition(|segment| segment.last >= segment.start.seq).unwrap();
        damage(&bed, filled, |frames| frames[if is_last_frame { frames.len() - 1 } else { frames.len() / 2 }]);
        if is_final {
            bed.history.end().unwrap();
        }
        let mut bed = bed.reopen();
        let bounds = bed.history.bounds();
        assert_eq!(bounds.first, bounds.last + 1);
        if is_final {
            assert_eq!(bounds.last, last)
        } else {
            assert!(bounds.last > last, "{bounds:?}")
        }
        assert_eq!(bed.history.sentences().len(), 1);
        bed.person("ann");
        assert_eq!(numbers(&bed), [bounds.last + 1]);
        let mut bed = bed.reopen();
        assert_eq!(numbers(&bed), [bounds.last + 1]);
        bed.person("ben");
        assert_eq!(numbers(&bed), [bounds.last + 1, bounds.last + 2]);
    }
    // Its files are gone altogether.
    let bed = long_history();
    let last = bed.history.bounds().last;
    for segment in bed.backend.log().segments() {
        std::fs::remove_file(file_of(&bed, &segment)).unwrap();
    }
    let bed = bed.reopen();
    let bounds = bed.history.bounds();
    assert!(bounds.first == bounds.last + 1 && bounds.last > last, "{bounds:?}");
    let said = bed.history.sentences();
    assert!(said.len() == 1 && said[0].contains("missing"), "{said:?}");
}

/// Counts how often something is read.
struct CountingLog {
    log: Arc<dyn Log>,
    reads: AtomicU64,
}

impl CountingLog {
    fn new(log: &Arc<dyn Log>) -> Arc<Self> {
        Arc::new(Self { log: Arc::clone(log), reads: AtomicU64::new(0) })
    }

    /// Since the last time.
    fn reads(&self) -> u64 {
        self.reads.swap(0, Ordering::SeqCst)
    }
}

impl Log for CountingLog {
    fn held(&self) -> LogHeld {
        self.log.held()
    }

    fn append(&self, batch: &mut Batch) -> Result<LogPlace, StoreError> {
        self.log.append(batch)
    }

    fn tail_from(
        &self,
        seq: u64,
        each: &mut dyn FnMut(LogRecord<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.log.tail_from(seq, each)
    }

    fn last(&self) -> u64 {
        self.log.last()
    }

    fn trim(&self, upto: u64) -> Result<(), StoreError> {
        self.log.trim(upto)
    }

    fn keep_from(&self, seq: u64) -> Result<(), StoreError> {
        self.log.keep_from(seq)
    }

    fn relieve(&self) -> bool {
        self.log.relieve()
    }

    fn segments(&self) -> Vec<LogSegment> {
        self.log.segments()
    }

    fn end(&self) -> LogPlace {
        self.log.end()
    }

    fn read_frame(&self, place: LogPlace, frame: &mut FrameBuffer) -> Result<FrameRead, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.log.read_frame(place, frame)
    }

    fn prepare(&self) -> Result<(), StoreError> {
        self.log.prepare()
    }

    fn health(&self) -> LogHealth {
        self.log.health()
    }
}

#[test]
fn segments_without_changes_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(FolderDisk::open(folder.path()).unwrap());
    let (uuid, rules, keep_from) = ([1; 16], 1, 0);
    let options = LogOptions { uuid, rules, segment_bytes: 16 << 10, keep_from, held: None, read_only: false };
    let log: Arc<dyn Log> = Arc::new(FileLog::open(disk, options, 0).unwrap());
    for seq in 1..30 {
        let mut batch = Batch::new(seq);
        batch.push(0, &[0; 3_000], b"");
        log.append(&mut batch).unwrap();
    }
    assert!(log.segments().len() > 4);
    let counting = CountingLog::new(&log);
    let history = History::of_files(vec![counting.clone()]).unwrap();
    history.prune_at(0).unwrap();
    assert!(counting.reads() > 20);
    let in_last = counting.last() - counting.segments().last().unwrap().start.seq + 1;
    history.prune_at(0).unwrap();
    assert_eq!(counting.reads(), in_last, "only the segment that is being written");
}

#[test]
fn the_monitor_reads_no_file() {
    let mut bed = Bed::new();
    bed.person("ann");
    let counting = CountingLog::new(bed.backend.log());
    let history = History::of_files(vec![counting.clone()]).unwrap();
    history.prune_at(0).unwrap();
    assert!(counting.reads() > 0);
    let said = format!("{:?}", history.monitor_entry());
    assert_eq!(counting.reads(), 0);
    assert!(said.contains("first-change-number") && said.contains("oldest-change-time"), "{said}");
}

/// Opens a log of small segments that keeps everything, as a backend does that is closed and opened again.
fn small_log(folder: &std::path::Path, folded: u64) -> Arc<dyn Log> {
    let disk = Arc::new(FolderDisk::open(folder).unwrap());
    let (uuid, rules, keep_from) = ([1; 16], 1, 0);
    let options = LogOptions { uuid, rules, segment_bytes: 16 << 10, keep_from, held: None, read_only: false };
    let log = FileLog::open(disk, options, folded).unwrap();
    log.begin().unwrap();
    Arc::new(log)
}

#[test]
fn a_quiet_backend_does_not_take_the_changes_of_others_with_it() {
    // A change of some size, to be written with any number.
    let mut bed = Bed::new();
    bed.modify("dc=example,dc=com", &format!("replace description: {}", "x".repeat(3_000))).ok();
    let (mut proposal, mut trace) = (Vec::new(), Vec::new());
    let last = bed.backend.log().last();
    let copy = &mut |record: LogRecord<'_>| {
        (proposal, trace) = (record.proposal.to_vec(), record.trace.to_vec());
        Ok(())
    };
    bed.backend.log().tail_from(last, copy).unwrap();
    let write = |log: &Arc<dyn Log>, numbers: std::ops::RangeInclusive<u64>| {
        for number in numbers {
            let (mut batch, mut trace) = (Batch::new(log.last() + 1), trace.clone());
            set_number(&mut trace, number, 1);
            batch.push(0, &proposal, &trace);
            log.append(&mut batch).unwrap();
        }
        log.trim(log.last()).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let folders = ["quiet", "busy"].map(|name| folder.path().join(name));
    let open = |lasts: [u64; 2]| {
        let source = |at: usize| {
            let log = small_log(&folders[at], lasts[at]);
            LogSource { id: at.to_string(), data: [at as u8; 16], log }
        };
        let sources = vec![source(0), source(1)];
        let bytes: u64 = sources.iter().flat_map(|it| it.log.segments()).map(|segment| segment.bytes).sum();
        let path = folder.path().join("numbers");
        (History::open(ChangeNumbers::new(2), sources, bed.history.settings(), Some(path)).unwrap(), bytes)
    };
    write(&small_log(&folders[0], 0), 1..=3);
    write(&small_log(&folders[1], 0), 4..=100);
    // Both were opened anew: what the quiet one has is in a segment that is written no more.
    let (history, bytes) = open([3, 97]);
    assert_eq!(history.bounds(), Bounds { first: 1, last: 100 });
    // The three oldest segments go: all that the quiet one has, a change each.
    let max_bytes = bytes - 3 * (16 << 10);
    history.set(ChangelogConfig { max_bytes, ..history.settings() }).unwrap();
    let read = |history: &History| {
        let mut reader = history.from(0);
        std::iter::from_fn(|| reader.next_change().unwrap().map(|change| change.number)).collect::<Vec<_>>()
    };
    let first = history.bounds().first;
    assert_eq!(first, 4);
    assert_eq!(read(&history), (first..=100).collect::<Vec<_>>());
    // The same after a restart.
    drop(history);
    let (history, _) = open([3, 97]);
    assert_eq!((history.bounds(), read(&history)), (Bounds { first, last: 100 }, (first..=100).collect()));
}

#[test]
fn a_crash_and_an_import_give_no_number_twice() {
    let bed = long_history();
    let (last, config) = (bed.history.bounds().last, bed.history.settings());
    // The server ended without a word; then the data was exchanged, and with it the log that knew the last number.
    let path = bed.folder.path().join("numbers");
    let empty = Bed::empty();
    let import = |data| {
        let source = LogSource { id: "test".to_owned(), data, log: empty.backend.log().clone() };
        History::open(ChangeNumbers::new(1), vec![source], config, Some(path.clone())).unwrap()
    };
    let history = import([9; 16]);
    let given = history.bounds().last;
    assert!(given > last, "{given}");
    // After a clean stop it is known.
    history.end().unwrap();
    assert_eq!(import([10; 16]).bounds().last, given);
}
