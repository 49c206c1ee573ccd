//! What stands out in a log, in sentences: what it is, what it means, what to look at.

use std::fmt::Write;

use crate::detect::clean_ups::CleanUp;
use crate::detect::replays::Replay;
use crate::detect::stalls::Stall;
use crate::figures::{EntryFigures, InternalFigures, LateFigures, LineFigures};
use crate::record::{Kind, Moment};
use crate::summary::{FilterRow, Finding, GuessRow, Length, Time};
use crate::tables::frequent::Frequent;

/// Findings of each kind.
const OF_A_KIND_MAX: usize = 3;

/// So many failed binds of one client are worth a sentence.
const GUESSES_MIN: u64 = 20;

/// A change that takes so many times as long as others of its entry waited for something.
const TIMES_LONGER: u64 = 5;

/// So long a change must take to be worth a sentence.
const CHANGE_NS_MIN: u64 = 1_000_000_000;

/// What was detected.
pub(crate) struct Detected<'a> {
    pub stalls: &'a [Stall],
    pub stalls_found: u64,
    pub clean_ups: &'a [CleanUp],
    pub clean_ups_found: u64,
    pub replays: &'a [Replay],
    pub replays_found: u64,
    pub late: &'a LateFigures,
    pub updated: &'a Frequent<EntryFigures>,
    pub unindexed: &'a [FilterRow],
    pub failed_binds: &'a [GuessRow],
    pub internal: &'a InternalFigures,
    pub lines: &'a LineFigures,
}

/// All of it, the gravest first.
pub(crate) fn findings(detected: &Detected<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    detected.stalls(&mut found);
    detected.clean_ups(&mut found);
    detected.changes(&mut found);
    detected.replays(&mut found);
    detected.late_answers(&mut found);
    detected.unindexed(&mut found);
    detected.guesses(&mut found);
    detected.internal(&mut found);
    detected.lines(&mut found);
    found
}

fn length(ns: i64) -> Length {
    Length(u64::try_from(ns).unwrap_or(0))
}

fn add(found: &mut Vec<Finding>, kind: &'static str, text: String) {
    found.push(Finding { kind, text });
}

/// `1 answer`, `2 answers`
fn of(count: u64, word: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {word}{end}")
}

fn stall_text(stall: &Stall) -> String {
    let time = |unix_ns| Time(Moment { unix_ns, offset_seconds: stall.offset_seconds });
    let kinds = Kind::ALL.into_iter().filter(|kind| stall.kinds[kind.index()] > 0);
    let kinds: Vec<String> = kinds.map(|kind| format!("{} {}", stall.kinds[kind.index()], kind.name())).collect();
    let mut text = format!(
        "From {} to {} ({}), {} operations of {} connections waited together: {}, {} without an index, at most {} \
         entries, the longest {}. All were answered within {} of the first, whatever they asked for, so they did \
         not wait for their own work but for one thing in the server: a lock, a checkpoint, the disk.",
        time(stall.from),
        time(stall.until),
        length(stall.until - stall.from),
        stall.operations,
        stall.connections,
        kinds.join(", "),
        stall.unindexed,
        stall.entries_max,
        length(stall.longest_ns),
        length(stall.last_until - stall.until),
    );
    if Kind::ALL.into_iter().all(|kind| stall.kinds[kind.index()] == 0 || !kind.is_update()) {
        text.push_str(" No update is among them: what held them is not in this log.");
    }
    if stall.deletes.count > 0 {
        let _ = write!(
            text,
            " In the 15 minutes before, {} came, from {} to {}: removing the deleted names from groups (referential \
             integrity) changes many entries, minutes later, and is only logged where internal operations are.",
            of(stall.deletes.count.into(), "delete"),
            time(stall.deletes.first),
            time(stall.deletes.last),
        );
    }
    text
}

impl Detected<'_> {
    fn stalls(&self, found: &mut Vec<Finding>) {
        let mut worst: Vec<&Stall> = self.stalls.iter().collect();
        worst
            .sort_by_key(|stall| std::cmp::Reverse((stall.until - stall.from).saturating_mul(stall.operations.into())));
        for stall in worst.iter().take(OF_A_KIND_MAX) {
            add(found, "stall", stall_text(stall));
        }
        if self.stalls_found > OF_A_KIND_MAX as u64 {
            let more = self.stalls_found - OF_A_KIND_MAX as u64;
            add(found, "stall", format!("{} more in which operations waited together.", of(more, "stall")));
        }
    }

    fn clean_ups(&self, found: &mut Vec<Finding>) {
        for it in self.clean_ups.iter().take(OF_A_KIND_MAX) {
            let time = |unix_ns| Time(Moment { unix_ns, offset_seconds: it.offset_seconds });
            let text = format!(
                "From {} to {}, conn={} changed the same {} entries {} times over ({} updates; the first is {}), {} \
                 after the first of {} (of {}): this is how referential integrity removes deleted names from groups. \
                 Each deleted name cost about {} of updates.",
                time(it.from),
                time(it.until),
                it.connection,
                it.entries,
                it.times,
                it.updates,
                it.changed_name,
                length(it.from - it.first_delete),
                of(it.deletes.into(), "delete"),
                it.deleted_name,
                length((it.until - it.from) / i64::from(it.times.max(1))),
            );
            add(found, "cleanUp", text);
        }
        if self.clean_ups_found > OF_A_KIND_MAX as u64 {
            let more = self.clean_ups_found - OF_A_KIND_MAX as u64;
            add(found, "cleanUp", format!("{} more of this kind after deletes.", of(more, "row of updates")));
        }
    }

    /// Entries of which one change took far longer than the others.
    fn changes(&self, found: &mut Vec<Finding>) {
        let mut rows = self.updated.top(usize::MAX, |row| row.more.max_ns);
        rows.retain(|(_, row)| {
            let others = row.count.saturating_sub(1);
            let mean = (row.more.sum_ns - row.more.max_ns) / others.max(1);
            others >= 2 && row.more.max_ns >= CHANGE_NS_MIN && row.more.max_ns / TIMES_LONGER >= mean
        });
        for (dn, row) in rows.into_iter().take(OF_A_KIND_MAX) {
            let others = row.count - 1;
            let text = format!(
                "One update of {} took {}{}, {} others of the same entry {} on average: it waited for something else \
                 than the entry.",
                String::from_utf8_lossy(dn),
                Length(row.more.max_ns),
                row.more.at.map(|at| format!(" (answered {})", Time(at))).unwrap_or_default(),
                others,
                Length((row.more.sum_ns - row.more.max_ns) / others),
            );
            add(found, "longUpdate", text);
        }
    }

    fn replays(&self, found: &mut Vec<Finding>) {
        for replay in self.replays.iter().take(OF_A_KIND_MAX) {
            let text = format!(
                "The change csn={} was applied twice: in {} (conn={}), then in {} (conn={}). A supplier that gets no \
                 answer in time (DSEE waits 30 s) breaks the session off and sends the change again.",
                replay.csn,
                Length(replay.first.0),
                replay.first.1,
                Length(replay.second.0),
                replay.second.1,
            );
            add(found, "replay", text);
        }
        if self.replays_found > OF_A_KIND_MAX as u64 {
            let more = self.replays_found - OF_A_KIND_MAX as u64;
            add(found, "replay", format!("{} more that came twice.", of(more, "change")));
        }
    }

    fn late_answers(&self, found: &mut Vec<Finding>) {
        if self.late.count > 0 {
            let text = format!(
                "{} came when the connection was closed already, the longest after {} (conn={}): clients give up \
                 sooner than the server answers.",
                of(self.late.count, "answer"),
                Length(self.late.max_ns),
                self.late.connection,
            );
            add(found, "lateAnswers", text);
        }
    }

    fn unindexed(&self, found: &mut Vec<Finding>) {
        for row in self.unindexed.iter().take(OF_A_KIND_MAX) {
            let text = format!(
                "{} of the shape {} had no index: {} together, the longest {}. What helps: {}.",
                of(row.count, "search").replace("searchs", "searches"),
                row.shape,
                row.total,
                row.max,
                row.help,
            );
            add(found, "unindexed", text);
        }
    }

    fn guesses(&self, found: &mut Vec<Finding>) {
        for row in self.failed_binds.iter().filter(|row| row.count >= GUESSES_MIN).take(OF_A_KIND_MAX) {
            let names = match row.names {
                1 => format!("for {}: a program with an old password, or somebody guesses", row.last_name),
                names => format!("for {names} names or more: somebody guesses passwords"),
            };
            add(found, "failedBinds", format!("{} binds of {} failed, {names}.", row.count, row.client));
        }
    }

    fn internal(&self, found: &mut Vec<Finding>) {
        if self.internal.max_ns >= CHANGE_NS_MIN {
            let text = format!(
                "{} that the server made by itself took {} together, the longest {} ({}).",
                of(self.internal.count, "operation"),
                Length(self.internal.sum_ns),
                Length(self.internal.max_ns),
                String::from_utf8_lossy(&self.internal.dn),
            );
            add(found, "internal", text);
        }
    }

    fn lines(&self, found: &mut Vec<Finding>) {
        if self.lines.dropped > 0 {
            let text = format!(
                "{} are missing: the server could not write them, because its disk did not keep up.",
                of(self.lines.dropped, "line")
            );
            add(found, "droppedLines", text);
        }
    }
}
