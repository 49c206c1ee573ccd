//! The log alone: what was acknowledged is there after a crash, in order, and nothing else; damage is reported.

mod damage;

use super::sim::{Faults, SimDisk};
use super::*;
use crate::StoreError;
use proptest::prelude::*;
use std::sync::Arc;

const SMALL_SEGMENT: u64 = 4 * 4_096;

fn options() -> LogOptions {
    let (uuid, rules, keep_from) = ([7; 16], 3, u64::MAX);
    LogOptions { uuid, rules, segment_bytes: SMALL_SEGMENT, keep_from, held: None, read_only: false }
}

fn open(disk: &SimDisk, folded: u64) -> FileLog {
    FileLog::open(Arc::new(disk.clone()), options(), folded).unwrap()
}

fn proposal(seq: u64) -> Vec<u8> {
    vec![seq as u8; (seq * 131 % 900) as usize]
}

fn trace(seq: u64) -> Vec<u8> {
    vec![!seq as u8; (seq * 37 % 300) as usize]
}

fn batch(log: &FileLog, count: u64) -> Batch {
    let mut batch = Batch::new(log.last() + 1);
    for seq in batch.first_seq()..batch.first_seq() + count {
        assert_eq!(batch.push(seq as i32 % 3, &proposal(seq), &trace(seq)), seq);
    }
    batch
}

fn records(log: &FileLog, from: u64) -> Result<Vec<u64>, StoreError> {
    let mut seen = Vec::new();
    log.tail_from(from, &mut |record| {
        assert_eq!(record.proposal, proposal(record.seq));
        assert_eq!(record.code, record.seq as i32 % 3);
        assert_eq!(record.trace, trace(record.seq));
        seen.push(record.seq);
        Ok(())
    })?;
    Ok(seen)
}

/// Everything that the log still has, frame by frame.
fn frames(log: &FileLog) -> Vec<u64> {
    let Some(first) = log.segments().first().copied() else { return Vec::new() };
    let (mut place, mut frame, mut seen) = (first.start, FrameBuffer::default(), Vec::new());
    while let FrameRead::Frame(next) = log.read_frame(place, &mut frame).unwrap() {
        while frame.advance().unwrap() {
            let record = frame.record().unwrap();
            assert_eq!((record.proposal, record.trace), (&*proposal(record.seq), &*trace(record.seq)));
            seen.push(record.seq);
        }
        assert_eq!(next.seq, seen.last().unwrap() + 1);
        place = next;
    }
    seen
}

#[derive(Clone, Debug)]
enum Step {
    Append(u64),
    Crash,
    Trim(u64),
    FailSync,
    FailWrite,
    Reopen,
    Prepare,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1u64..12).prop_map(Step::Append),
        1 => Just(Step::Crash),
        1 => (0u64..40).prop_map(Step::Trim),
        1 => Just(Step::FailSync),
        1 => Just(Step::FailWrite),
        1 => Just(Step::Reopen),
        1 => Just(Step::Prepare),
    ]
}

proptest! {
    #[test]
    fn acknowledged_records_survive(steps in proptest::collection::vec(step(), 1..60), seed: u64) {
        let disk = SimDisk::default();
        let mut state = seed | 1;
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below.max(1)
        };
        let mut log = open(&disk, 0);
        let (mut acknowledged, mut folded) = (0, 0);
        for step in steps {
            match step {
                Step::Append(count) => {
                    if log.append(&mut batch(&log, count)).is_ok() {
                        acknowledged += count;
                    }
                }
                Step::Crash => {
                    drop(log);
                    disk.crash(&mut random);
                    log = open(&disk, folded);
                }
                Step::Trim(below) => {
                    folded = folded.max(acknowledged.saturating_sub(below));
                    log.trim(folded).unwrap();
                }
                Step::FailSync => disk.set_faults(Faults { failing_syncs: 1, ..Faults::default() }),
                Step::FailWrite => disk.set_faults(Faults { failing_writes: 1, ..Faults::default() }),
                Step::Reopen => {
                    drop(log);
                    disk.set_faults(Faults::default());
                    log = open(&disk, folded);
                }
                Step::Prepare => drop(log.prepare()),
            }
            // A batch whose answer was lost in a crash may be there; no acknowledged one may be missing.
            prop_assert!(log.last() >= acknowledged);
            acknowledged = log.last();
            prop_assert_eq!(records(&log, folded + 1).unwrap(), (folded + 1..=acknowledged).collect::<Vec<_>>());
            let frames = frames(&log);
            prop_assert_eq!(&frames, &(acknowledged + 1 - frames.len() as u64..=acknowledged).collect::<Vec<_>>());
            prop_assert!(frames.len() as u64 >= acknowledged - folded);
        }
    }
}

#[test]
fn invariant_2_a_failed_batch_does_not_come_back() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    log.append(&mut batch(&log, 3)).unwrap();
    disk.set_faults(Faults { failing_syncs: 1, ..Faults::default() });
    assert!(log.append(&mut batch(&log, 2)).is_err());
    assert!(log.health().trouble.is_some());
    drop(log);
    let log = open(&disk, 0);
    assert_eq!(log.last(), 3);
    log.append(&mut batch(&log, 1)).unwrap();
    assert_eq!(records(&open(&disk, 0), 1).unwrap(), [1, 2, 3, 4]);
}

#[test]
fn a_full_disk_is_reported_until_there_is_room() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    disk.set_faults(Faults { no_room: true, ..Faults::default() });
    assert_eq!(log.append(&mut batch(&log, 1)), Err(StoreError::DiskFull { what: "log segment" }));
    disk.set_faults(Faults::default());
    log.append(&mut batch(&log, 1)).unwrap();
    assert_eq!(log.health().trouble, None);
}

#[test]
fn invariant_3_segments_are_used_again_after_trim() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    for _ in 0..200 {
        log.append(&mut batch(&log, 5)).unwrap();
        log.trim(log.last()).unwrap();
    }
    assert!(disk.files().unwrap().len() <= 5, "{:?}", disk.files());
    let folded = log.last() - 3;
    assert_eq!(records(&open(&disk, folded), folded + 1).unwrap().len(), 3);
}

#[test]
fn invariant_4_damage_before_the_end_is_not_taken_for_the_end() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    for _ in 0..4 {
        log.append(&mut batch(&log, 2)).unwrap();
    }
    let name = disk.files().unwrap()[0].clone();
    drop(log);
    disk.damage(&name, 4_096 + 40);
    assert!(matches!(FileLog::open(Arc::new(disk.clone()), options(), 0), Err(StoreError::ChangesMissing(_))));
}

#[test]
fn another_version_of_the_rules_is_refused_while_its_records_are_needed() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    log.append(&mut batch(&log, 2)).unwrap();
    let newer = LogOptions { rules: 4, ..options() };
    let open_newer = |folded| FileLog::open(Arc::new(disk.clone()), newer.clone(), folded).map(|log| log.last());
    assert_eq!(open_newer(1), Err(StoreError::RulesVersion { found: 3, ours: 4 }));
    assert_eq!(open_newer(2), Ok(2));
}

#[test]
fn segments_of_other_data_are_not_replayed() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    log.append(&mut batch(&log, 2)).unwrap();
    let imported = LogOptions { uuid: [8; 16], ..options() };
    let log = FileLog::open(Arc::new(disk.clone()), imported, 0).unwrap();
    assert_eq!((log.last(), log.health().spares), (0, 1));
}

#[test]
fn a_batch_larger_than_a_segment_gets_its_own() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    let mut large = Batch::new(1);
    large.push(0, &vec![1; 3 * SMALL_SEGMENT as usize], b"");
    log.append(&mut large).unwrap();
    let mut next = Batch::new(2);
    next.push(0, b"small", b"");
    log.append(&mut next).unwrap();
    assert_eq!(open(&disk, 0).last(), 2);
    log.trim(2).unwrap();
}

/// A log that keeps everything, with so many records in several segments, none of which recovery needs.
fn keeping(disk: &SimDisk, count: u64) -> FileLog {
    let options = LogOptions { keep_from: 0, ..options() };
    let log = FileLog::open(Arc::new(disk.clone()), options, 0).unwrap();
    for _ in 0..count {
        log.append(&mut batch(&log, 1)).unwrap();
    }
    log.trim(count).unwrap();
    log
}

#[test]
fn what_is_kept_stays_until_it_is_let_go() {
    let disk = SimDisk::default();
    let log = keeping(&disk, 100);
    assert_eq!(frames(&log), (1..=100).collect::<Vec<_>>());
    drop(log);
    let options = LogOptions { keep_from: 0, ..options() };
    let log = FileLog::open(Arc::new(disk.clone()), options, 100).unwrap();
    let segments = log.segments();
    assert!(segments.len() > 3, "{segments:?}");
    assert_eq!(frames(&log), (1..=100).collect::<Vec<_>>());
    log.keep_from(segments[2].start.seq).unwrap();
    assert_eq!(frames(&log), (segments[2].start.seq..=100).collect::<Vec<_>>());
    let mut frame = FrameBuffer::default();
    assert_eq!(log.read_frame(segments[0].start, &mut frame), Ok(FrameRead::Gone));
    log.keep_from(u64::MAX).unwrap();
    assert!(frames(&log).is_empty());
    assert_eq!(log.append(&mut batch(&log, 1)).unwrap(), log.end());
    assert_eq!(frames(&log), [101]);
}

#[test]
fn invariant_5_damage_in_what_is_only_kept_is_reported_to_readers_alone() {
    // (frame that is damaged: from the beginning of the last segment, or from its end; how many records recovery needs)
    for (from_end, needed, opens) in [(false, 0, true), (false, 1, true), (true, 0, true), (false, 100, false)] {
        let disk = SimDisk::default();
        let log = keeping(&disk, 100);
        let last = *log.segments().last().unwrap();
        let (mut place, mut frame, mut places) = (last.start, FrameBuffer::default(), Vec::new());
        while let FrameRead::Frame(next) = log.read_frame(place, &mut frame).unwrap() {
            places.push(std::mem::replace(&mut place, next));
        }
        drop(log);
        let damaged = places[if from_end { places.len() - 1 } else { 1 }];
        for name in disk.files().unwrap() {
            let mut head = vec![0; 4_096];
            disk.open(&name).unwrap().read_at(0, &mut head).unwrap();
            if frame::SegmentHeader::decode(&head).unwrap().is_some_and(|it| it.generation == last.start.generation) {
                disk.damage(&name, damaged.offset as usize + 40);
            }
        }
        let options = LogOptions { keep_from: 0, ..options() };
        let log = FileLog::open(Arc::new(disk.clone()), options, 100 - needed);
        if !opens {
            assert!(matches!(log, Err(StoreError::ChangesMissing(_))));
            continue;
        }
        let log = log.unwrap();
        assert_eq!((log.last(), log.segments().last().unwrap().last), (100, 100));
        assert!(matches!(log.read_frame(damaged, &mut frame), Err(StoreError::LogDamaged(_))));
        assert_eq!(records(&log, 101 - needed).unwrap(), (101 - needed..=100).collect::<Vec<_>>());
        let next = log.append(&mut batch(&log, 1)).unwrap();
        assert_eq!(next.seq, 102);
        // Reading behind the damaged segment succeeds.
        let place = LogPlace { generation: last.start.generation, offset: place.offset, seq: 101 };
        assert!(matches!(log.read_frame(place, &mut frame), Ok(FrameRead::Frame(next)) if next.seq == 102));
    }
}

#[test]
fn invariant_4_a_full_disk_takes_what_is_only_kept() {
    let disk = SimDisk::default();
    let log = keeping(&disk, 100);
    let files = disk.files().unwrap().len();
    disk.set_faults(Faults { no_room: true, ..Faults::default() });
    for _ in 0..100 {
        log.append(&mut batch(&log, 1)).unwrap();
        log.trim(log.last()).unwrap();
    }
    assert_eq!(disk.files().unwrap().len(), files);
    let kept = frames(&log);
    assert_eq!(kept, (201 - kept.len() as u64..=200).collect::<Vec<_>>());
    let before = log.segments().len();
    assert!(log.relieve());
    assert_eq!((log.segments().len(), disk.files().unwrap().len()), (before - 1, files - 1));
    while log.relieve() {}
    assert_eq!(log.segments().len(), 1, "the one that is written stays");
}

#[test]
fn spares_that_were_segments_do_not_come_back_before_a_gap() {
    let disk = SimDisk::default();
    let log = open(&disk, 0);
    for _ in 0..100 {
        log.append(&mut batch(&log, 1)).unwrap();
    }
    // Three of these files are spares now, the next of them is used at once.
    log.trim(100).unwrap();
    for _ in 0..60 {
        log.append(&mut batch(&log, 1)).unwrap();
    }
    let last = log.last();
    drop(log);
    let options = LogOptions { keep_from: 0, ..options() };
    let log = FileLog::open(Arc::new(disk.clone()), options, last).unwrap();
    let frames = frames(&log);
    assert_eq!(frames, (last + 1 - frames.len() as u64..=last).collect::<Vec<_>>());
    assert!(frames.len() >= 60);
}

#[test]
fn a_reader_notices_that_its_segment_is_used_anew() {
    let disk = SimDisk::default();
    let log = keeping(&disk, 100);
    let (mut place, mut frame) = (log.segments()[0].start, FrameBuffer::default());
    let FrameRead::Frame(next) = log.read_frame(place, &mut frame).unwrap() else { panic!("a frame") };
    place = next;
    disk.set_faults(Faults { no_room: true, ..Faults::default() });
    for _ in 0..100 {
        log.append(&mut batch(&log, 1)).unwrap();
    }
    assert_eq!(log.read_frame(place, &mut frame), Ok(FrameRead::Gone));
}

#[test]
fn a_log_of_the_former_format_is_read() {
    let disk = SimDisk::default();
    let header = frame::SegmentHeader {
        format: frame::FORMAT_WITHOUT_TRACES,
        rules: 3,
        uuid: [7; 16],
        generation: 1,
        first_seq: 1,
    };
    let mut payload = Vec::new();
    for seq in 1..=2u64 {
        payload.extend_from_slice(&(proposal(seq).len() as u32).to_le_bytes());
        payload.extend_from_slice(&(seq as u32 % 3).to_le_bytes());
        payload.extend_from_slice(&proposal(seq));
    }
    let mut rest = (payload.len() as u32).to_le_bytes().to_vec();
    rest.extend_from_slice(&header.salt().to_le_bytes());
    rest.extend_from_slice(&1u64.to_le_bytes());
    rest.extend_from_slice(&2u32.to_le_bytes());
    rest.extend_from_slice(&[0; 4]);
    rest.extend_from_slice(&payload);
    let mut bytes = header.encode();
    bytes.extend_from_slice(&crc32fast::hash(&rest).to_le_bytes());
    bytes.extend_from_slice(&rest);
    let file = disk.create("00000000.log", SMALL_SEGMENT).unwrap();
    file.write_at(0, &bytes).unwrap();
    file.sync().unwrap();
    let log = open(&disk, 0);
    log.append(&mut batch(&log, 1)).unwrap();
    drop(log);
    let mut seen = Vec::new();
    open(&disk, 0)
        .tail_from(1, &mut |record| {
            assert_eq!(record.proposal, proposal(record.seq));
            seen.push((record.seq, record.code, record.trace.len()));
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, [(1, 1, 0), (2, 2, 0), (3, 0, trace(3).len())]);
}

#[test]
fn real_files_work_like_the_simulated_ones() {
    let folder = tempfile::tempdir().unwrap();
    let open = |folded| {
        let disk = FolderDisk::open(folder.path()).unwrap();
        FileLog::open(Arc::new(disk), options(), folded).unwrap()
    };
    let log = open(0);
    for _ in 0..30 {
        log.append(&mut batch(&log, 3)).unwrap();
    }
    log.prepare().unwrap();
    assert_eq!(log.health().spares, 1);
    drop(log);
    let log = open(40);
    assert_eq!(records(&log, 41).unwrap(), (41..=90).collect::<Vec<_>>());
    let read_only = LogOptions { read_only: true, ..options() };
    let beside = FileLog::open(Arc::new(FolderDisk::open_read_only(folder.path())), read_only, 40).unwrap();
    assert_eq!(records(&beside, 80).unwrap().len(), 11);
}
