//! Damages each byte of a log: the damage is found when the log is opened, or nothing is lost by it.

use super::*;
use crate::log::frame::SegmentHeader;

/// Opens a copy of `disk` with one damaged byte. Either everything acknowledged (up to `last`) is there and the log
/// takes further records, or it does not open. Returns whether it opens.
fn opens(disk: &SimDisk, damaged: (&str, usize, u8), options: &LogOptions, folded: u64, last: u64) -> bool {
    let (name, offset, change) = damaged;
    let disk = disk.copy();
    disk.change(name, offset, |byte| byte ^ change);
    let what = format!("byte {offset} of {name} ^ {change}");
    let log = match FileLog::open(Arc::new(disk.clone()), options.clone(), folded) {
        Ok(log) => log,
        Err(StoreError::ChangesMissing(reason)) => {
            assert!(reason.contains("change"), "{what}: {reason}");
            return false;
        }
        Err(error) => panic!("{what}: {error}"),
    };
    assert_eq!(log.last(), last, "{what}");
    let expected: Vec<u64> = (folded + 1..=last).collect();
    assert_eq!(records(&log, folded + 1).unwrap(), expected, "{what}");
    log.begin().unwrap();
    log.append(&mut batch(&log, 2)).unwrap();
    drop(log);
    let log = FileLog::open(Arc::new(disk), options.clone(), folded).unwrap();
    assert_eq!(records(&log, folded + 1).unwrap(), (folded + 1..=last + 2).collect::<Vec<_>>(), "{what}");
    true
}

/// A log in all its states: segments that are folded and used again, one whose last batch failed, one that is full, the
/// current one, a spare. The last record that is folded, and the last one.
fn used() -> (SimDisk, u64, u64) {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    log.begin().unwrap();
    for count in [3, 1, 4, 1, 5, 9, 2, 6] {
        log.append(&mut batch(&log, count)).unwrap();
        log.trim(log.last()).unwrap();
    }
    log.prepare().unwrap();
    let folded = log.last();
    for at in 0..24 {
        if at == 7 {
            disk.set_faults(Faults { failing_syncs: 1, ..Faults::default() });
            assert!(log.append(&mut batch(&log, 2)).is_err());
        }
        log.append(&mut batch(&log, 1 + at % 3)).unwrap();
    }
    let last = log.last();
    (disk, folded, last)
}

#[test]
fn every_damaged_byte_is_found_or_harmless() {
    let (disk, folded, last) = used();
    // The whole last frame: what is damaged there looks most like the end.
    let name = file_of(&disk, open(&disk, folded).held().generation);
    let log = open(&disk, folded);
    let (mut place, mut frame, mut before) = (log.segments().last().unwrap().start, FrameBuffer::default(), None);
    while let FrameRead::Frame(next) = log.read_frame(place, &mut frame).unwrap() {
        before = Some(std::mem::replace(&mut place, next));
    }
    drop(log);
    let padding = (before.unwrap().offset..place.offset)
        .filter(|at| opens(&disk, (&name, *at as usize, 4), &options(), folded, last));
    assert!(padding.count() < 8, "only what fills up to the next frame is harmless");
    assert!(disk.files().unwrap().len() >= 4, "{:?}", disk.files());
    let (mut found, mut harmless) = (0, 0);
    for name in disk.files().unwrap() {
        for offset in 0..disk.bytes(&name).len() {
            // Every byte of the headers and of the first frames, a sample of the rest.
            if offset >= 64 && !(4_090..4_200).contains(&offset) && offset % 23 != 0 {
                continue;
            }
            let change = [1, 0xff, 0x10][offset % 3];
            match opens(&disk, (&name, offset, change), &options(), folded, last) {
                true => harmless += 1,
                false => found += 1,
            }
        }
    }
    assert!(found > 500 && harmless > 500, "{found} found, {harmless} harmless");
}

/// The files whose header has one of these generations, or has none (0).
fn file_of(disk: &SimDisk, generation: u64) -> String {
    let is_it = |name: &String| {
        let header = SegmentHeader::decode(&disk.bytes(name)).unwrap();
        header.map_or(0, |header| header.generation) == generation
    };
    disk.files().unwrap().into_iter().find(is_it).unwrap()
}

fn refused(disk: &SimDisk, options: &LogOptions, folded: u64) -> String {
    match FileLog::open(Arc::new(disk.copy()), options.clone(), folded) {
        Err(StoreError::ChangesMissing(reason)) => reason,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it opens"),
    }
}

#[test]
fn a_damaged_header_names_the_changes_behind_it() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    for _ in 0..6 {
        log.append(&mut batch(&log, 1)).unwrap();
    }
    let name = file_of(&disk, 1);
    disk.damage(&name, 30);
    let reason = refused(&disk, &options(), 2);
    assert!(reason.contains(&name) && reason.contains("changes 3 to 6 "), "{reason}");
    // Folded records are not needed.
    let log = FileLog::open(Arc::new(disk.clone()), options(), 6).unwrap();
    log.append(&mut batch(&log, 1)).unwrap();
    drop(log);
    assert_eq!(records(&open(&disk, 6), 7).unwrap(), [7]);
}

#[test]
fn a_lost_header_sector_is_not_taken_for_a_file_that_was_never_used() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    let without_header = |disk: &SimDisk| {
        let (disk, name) = (disk.copy(), file_of(disk, 1));
        (0..512).for_each(|at| disk.change(&name, at, |_| 0));
        disk
    };
    // One frame: a crash may have left it without its header, and it was not acknowledged then.
    log.append(&mut batch(&log, 1)).unwrap();
    assert_eq!(open(&without_header(&disk), 0).last(), 0);
    log.append(&mut batch(&log, 2)).unwrap();
    assert!(refused(&without_header(&disk), &options(), 0).contains("changes 1 to 3 "));
}

#[test]
fn a_log_that_holds_less_than_the_database_noted_does_not_open() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    log.begin().unwrap();
    log.append(&mut batch(&log, 3)).unwrap();
    let early = disk.copy();
    while log.held().generation < 3 {
        log.append(&mut batch(&log, 2)).unwrap();
    }
    let held = log.held();
    let noted = |held| LogOptions { held: Some(held), ..options() };
    assert_eq!(FileLog::open(Arc::new(disk.copy()), noted(held), 2).unwrap().last(), held.last);
    // An older copy, then none at all.
    let last = held.last;
    assert!(refused(&early, &noted(held), 2).contains(&format!("changes 4 to {last} ")));
    assert!(refused(&SimDisk::default(), &noted(held), 2).contains(&format!("changes 3 to {last} ")));
    // All that was noted is folded, but the files may have held more, unless the backend was closed.
    let reason = refused(&SimDisk::default(), &noted(held), last);
    assert!(reason.contains(&format!("after {last} may")), "{reason}");
    let closed = LogHeld { is_closed: true, ..held };
    let log = FileLog::open(Arc::new(SimDisk::default()), noted(closed), last).unwrap();
    assert!(log.begin().unwrap().generation > held.generation, "a salt is never used twice");
}

#[test]
fn starts_without_updates_leave_no_segments_behind() {
    let disk = SimDisk::default();
    let keeping = LogOptions { keep_from: 0, ..options() };
    let open = || FileLog::open(Arc::new(disk.clone()), keeping.clone(), 0).unwrap();
    let log = open();
    log.begin().unwrap();
    log.append(&mut batch(&log, 2)).unwrap();
    drop(log);
    for _ in 0..9 {
        let log = open();
        log.begin().unwrap();
        assert_eq!((log.segments().len(), log.held().generation, log.last()), (2, 2, 2));
    }
    let log = open();
    log.begin().unwrap();
    log.append(&mut batch(&log, 1)).unwrap();
    assert_eq!(frames(&log), [1, 2, 3]);
    drop(log);
    let log = open();
    assert_eq!(frames(&log), [1, 2, 3]);
}

#[test]
fn what_can_be_read_is_salvaged() {
    let (disk, folded, last) = used();
    let read = |disk: &SimDisk| {
        let mut seqs = Vec::new();
        let salvaged = salvage(disk, &options(), folded, &mut |record| {
            seqs.push(record.seq);
            Ok(())
        });
        let salvaged = salvaged.unwrap();
        assert_eq!(seqs, (folded + 1..=salvaged.last).collect::<Vec<_>>());
        salvaged
    };
    assert_eq!(read(&disk), Salvaged { last, missing: None });
    let log = open(&disk, folded);
    let segments: Vec<LogSegment> = log
        .segments()
        .into_iter()
        .filter(|segment| segment.last > folded && segment.last >= segment.start.seq)
        .collect();
    drop(log);
    let second = segments[1];
    disk.damage(&file_of(&disk, second.start.generation), 20);
    let salvaged = read(&disk);
    assert_eq!(salvaged.last, second.start.seq - 1);
    assert!(salvaged.missing.unwrap().contains(&format!("changes {} to {}", second.start.seq, second.last)));
}
