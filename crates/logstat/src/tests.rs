//! Whole logs: what is counted is what was written, in whatever order, and nothing that a file may hold stops it.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::analysis::Analysis;
use crate::line::LineReader;
use crate::page::page;
use crate::sections::sections;
use crate::settings::Settings;
use crate::summary::Summary;

fn summary(lines: &[Vec<u8>]) -> Summary {
    let mut analysis = Analysis::new(Settings::default(), LineReader::default());
    lines.iter().for_each(|line| analysis.line(line));
    analysis.finish();
    analysis.summary()
}

/// A request, and its answer if it has one.
#[derive(Debug, Clone)]
struct Written {
    kind: usize,
    connection: u64,
    is_answered: bool,
    is_error: bool,
    ms: u64,
    /// Where its answer goes, behind the request.
    later: usize,
}

const KINDS: [(&str, &str, u32); 4] =
    [("SRCH", "base", 101), ("MOD", "dn", 103), ("DEL", "dn", 107), ("ADD", "dn", 105)];

fn written() -> impl Strategy<Value = Written> {
    (0..KINDS.len(), 0..5_u64, prop::bool::weighted(0.8), any::<bool>(), 0..9000_u64, 0..40_usize).prop_map(
        |(kind, connection, is_answered, is_error, ms, later)| Written {
            kind,
            connection,
            is_answered,
            is_error,
            ms,
            later,
        },
    )
}

/// The lines of a log of 389 DS, with answers in another order than requests.
fn log(operations: &[Written]) -> Vec<Vec<u8>> {
    let mut placed: Vec<(usize, String)> = Vec::new();
    for (number, it) in operations.iter().enumerate() {
        let (verb, field, tag) = KINDS[it.kind];
        let at = format!("[01/Apr/2008:15:{:02}:{:02} +0200]", number / 60 % 60, number % 60);
        let ids = format!("conn={} op={number}", it.connection);
        placed.push((number, format!("{at} {ids} {verb} {field}=\"cn={},o=customer\"", number % 3)));
        if it.is_answered {
            let (code, seconds, ms) = (if it.is_error { 50 } else { 0 }, it.ms / 1000, it.ms % 1000);
            let line = format!("{at} {ids} RESULT err={code} tag={tag} nentries=0 etime={seconds}.{ms:03}");
            placed.push((number + it.later, line));
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, line)| line.into_bytes()).collect()
}

proptest! {
    #[test]
    fn every_operation_is_counted_once(operations in prop::collection::vec(written(), 1..200)) {
        let summary = summary(&log(&operations));
        for (kind, (verb, _, _)) in KINDS.iter().enumerate() {
            let own: Vec<&Written> = operations.iter().filter(|it| it.kind == kind).collect();
            let row = summary.operations.iter().find(|row| row.kind == *verb);
            let answered = own.iter().filter(|it| it.is_answered);
            prop_assert_eq!(row.map_or(0, |row| row.count), own.len() as u64);
            prop_assert_eq!(row.map_or(0, |row| row.errors), answered.clone().filter(|it| it.is_error).count() as u64);
            let longest = answered.map(|it| it.ms).max().unwrap_or(0);
            prop_assert_eq!(row.map_or(0, |row| row.max.0), longest * 1_000_000);
            let unanswered = own.iter().filter(|it| !it.is_answered).count() as u64;
            prop_assert_eq!(row.map_or(0, |row| row.unanswered), unanswered);
        }
        let all = operations.len() as u64;
        prop_assert_eq!(summary.suffixes.iter().map(|row| row.operations).sum::<u64>(), all);
        prop_assert_eq!(summary.clients.iter().map(|row| row.operations).sum::<u64>(), all);
        prop_assert_eq!(summary.minutes.iter().map(|row| row.operations).sum::<u64>(), all);
    }

    #[test]
    fn damaged_logs_are_read_to_their_ends(
        operations in prop::collection::vec(written(), 1..60),
        damage in prop::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 0..40),
        digits in prop::collection::vec((any::<Index>(), 1..25_usize), 0..10),
    ) {
        let mut lines = log(&operations);
        for (line, place, byte) in damage {
            let line = line.index(lines.len());
            let place = place.index(lines[line].len());
            lines[line][place] = byte;
        }
        // Numbers without end.
        for (line, count) in digits {
            let line = line.index(lines.len());
            let many = vec![b'9'; count];
            if let Some(at) = lines[line].iter().rposition(|byte| *byte == b'=') {
                lines[line].splice(at + 1..at + 1, many);
            }
        }
        let summary = summary(&lines);
        prop_assert_eq!(summary.lines.all, lines.len() as u64);
        prop_assert!(!page("log", &[], &summary, 5).is_empty());
        prop_assert!(sections(&summary, 5).iter().all(|it| it.rows.iter().all(|row| row.len() == it.headings.len())));
    }
}
