//! The rows of a summary, from an analysis.

use hdrhistogram::Histogram;
use ldap::ResultCode;

use crate::analysis::Analysis;
use crate::codes;
use crate::detect::stalls::Stall;
use crate::figures::{FilterFigures, GroupFigures, KindFigures};
use crate::findings::{Detected, findings};
use crate::record::{Kind, Moment, Phases};
use crate::shape::{Help, help};
use crate::summary::{
    CodeRow, ConnectionCounts, Counted, FilterRow, GroupRow, GuessRow, InternalRow, KindRow, Kinds, Length, LineCounts,
    MinuteRow, OperationRow, StallRow, Summary, Time,
};
use crate::tables::frequent::{Frequent, Row};
use crate::tables::longest::SlowOperation;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A name; `(none)` for the root DSE, and where the log has none.
fn name(bytes: &[u8]) -> String {
    if bytes.is_empty() { "(none)".to_owned() } else { text(bytes) }
}

fn mean(sum_ns: u128, count: u64) -> Length {
    Length(u64::try_from(sum_ns / u128::from(count.max(1))).unwrap_or(u64::MAX))
}

impl Analysis {
    /// What was found so far.
    pub fn summary(&mut self) -> Summary {
        let seconds = self
            .span
            .map_or(0.0, |(first, last)| Length(u64::try_from(last.unix_ns - first.unix_ns).unwrap_or(0)).seconds());
        let (stalls_found, stalls) = self.stalls.finish();
        let (clean_ups_found, clean_ups) = self.clean_ups.finish();
        let (replays_found, replays) = self.replays.found();
        let rows = self.settings.rows;
        let failed_binds = self.failed_binds(rows);
        let unindexed = filters(&self.unindexed, rows, true);
        let findings = findings(&Detected {
            stalls: &stalls,
            stalls_found,
            clean_ups: &clean_ups,
            clean_ups_found,
            replays,
            replays_found,
            late: &self.late,
            updated: &self.updated,
            unindexed: &unindexed,
            failed_binds: &failed_binds,
            internal: &self.internal,
            lines: &self.lines,
        });
        Summary {
            start: self.span.map(|(first, _)| Time(first)),
            end: self.span.map(|(_, last)| Time(last)),
            seconds,
            lines: self.line_counts(),
            findings,
            operations: self.operations(seconds),
            internal: self.internal_row(),
            connections: self.connection_counts(),
            suffixes: groups(&self.suffixes, rows),
            clients: groups(&self.clients, rows),
            longest_etimes: self.longest_values.rows().map(|(value, count)| counted(value.to_owned(), count)).collect(),
            longest_operations: self.longest_operations(&stalls),
            stalls: stalls.iter().map(stall_row).collect(),
            unindexed,
            missing_indexes: names(&self.not_indexed, rows),
            failed_binds,
            filters: filters(&self.filters, rows, false),
            bind_names: names(&self.names, rows),
            extended: names(&self.extended, rows),
            result_codes: self.result_codes(),
            notes: self.note_rows(),
            connection_codes: self.connection_codes(rows),
            minute_seconds: self.minutes.width(),
            minutes: self.minutes.rows().map(|(begin, minute)| MinuteRow::of(begin, minute)).collect(),
            excess_max: self.excess_max(),
        }
    }

    fn line_counts(&self) -> LineCounts {
        let lines = &self.lines;
        let example = |bad: &crate::figures::BadLine| format!("{}:{}: {}", bad.file, bad.number, bad.text);
        LineCounts {
            all: lines.all,
            bytes: lines.bytes,
            bad: lines.bad,
            cut: lines.cut,
            unfinished: lines.unfinished,
            left_out: lines.left_out,
            dropped: lines.dropped,
            examples: lines.examples.iter().map(example).collect(),
        }
    }

    fn operations(&self, seconds: f64) -> Vec<KindRow> {
        let counted = Kind::ALL.into_iter().map(|kind| (kind, &self.kinds[kind.index()]));
        counted.filter(|(_, figures)| figures.count > 0).map(|(kind, it)| kind_row(kind, it, seconds)).collect()
    }

    fn internal_row(&self) -> Option<InternalRow> {
        let internal = &self.internal;
        (internal.count > 0).then(|| InternalRow {
            count: internal.count,
            total: Length(internal.sum_ns),
            max: Length(internal.max_ns),
            dn: text(&internal.dn),
        })
    }

    fn connection_counts(&self) -> ConnectionCounts {
        let connections = &self.connections;
        ConnectionCounts { opened: connections.opened, closed: connections.closed, peak: connections.peak }
    }

    fn longest_operations(&self, stalls: &[Stall]) -> Vec<OperationRow> {
        let row = |operation: &SlowOperation| OperationRow {
            waited_for: waited_for(operation, stalls, self.settings.stall_ns),
            ..operation_row(operation)
        };
        self.longest.rows().map(row).collect()
    }

    fn failed_binds(&self, rows: usize) -> Vec<GuessRow> {
        let row = |(client, count, source): (&[u8], u64, &crate::detect::guesses::Source)| GuessRow {
            client: name(client),
            count,
            names: source.names(),
            last_name: text(&source.name),
            first: source.first.map(Time),
            last: source.last.map(Time),
        };
        self.guesses.top(rows).into_iter().map(row).collect()
    }

    fn result_codes(&self) -> Vec<CodeRow> {
        let mut codes: Vec<(i64, u64)> = self.result_codes.iter().map(|(code, count)| (*code, *count)).collect();
        codes.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        let meaning = |code: i64| i32::try_from(code).ok().and_then(|code| ResultCode::from_i32(code).name());
        let row = |(code, count): (i64, u64)| CodeRow {
            code: code.to_string(),
            meaning: meaning(code).unwrap_or("").to_owned(),
            count,
        };
        codes.into_iter().map(row).collect()
    }

    fn note_rows(&self) -> Vec<CodeRow> {
        let letters = (b'A'..=b'Z').map(char::from).zip(self.notes).filter(|(_, count)| *count > 0);
        letters
            .map(|(letter, count)| CodeRow { code: letter.to_string(), meaning: codes::note(letter).to_owned(), count })
            .collect()
    }

    fn connection_codes(&self, rows: usize) -> Vec<CodeRow> {
        let row = |Counted { value, count }| CodeRow { meaning: codes::end(&value).to_owned(), code: value, count };
        names(&self.close_codes, rows).into_iter().map(row).collect()
    }

    fn excess_max(&self) -> u64 {
        let of_lists = [
            self.suffixes.excess_max(),
            self.clients.excess_max(),
            self.names.excess_max(),
            self.filters.excess_max(),
            self.unindexed.excess_max(),
        ];
        of_lists.into_iter().max().unwrap_or(0)
    }
}

fn counted(value: String, count: u64) -> Counted {
    Counted { value, count }
}

fn names(table: &Frequent<()>, rows: usize) -> Vec<Counted> {
    table.top(rows, |row| row.count).into_iter().map(|(key, row)| counted(name(key), row.count)).collect()
}

#[allow(clippy::cast_precision_loss, reason = "for display")]
fn kind_row(kind: Kind, figures: &KindFigures, seconds: f64) -> KindRow {
    let latencies: &Histogram<u64> = &figures.latencies;
    // The ends of the histogram's classes may lie behind the longest.
    let within = |quantile: f64| {
        let us = if latencies.is_empty() { 0 } else { latencies.value_at_quantile(quantile) };
        Length(us.saturating_mul(1000).min(figures.max_ns))
    };
    KindRow {
        kind: kind.name(),
        count: figures.count,
        timed: latencies.len(),
        per_second: if seconds > 0.0 { figures.count as f64 / seconds } else { 0.0 },
        errors: figures.errors,
        unanswered: figures.unanswered,
        mean: mean(figures.sum_ns, latencies.len()),
        p50: within(0.5),
        p99: within(0.99),
        p999: within(0.999),
        max: Length(figures.max_ns),
        total: Length(u64::try_from(figures.sum_ns).unwrap_or(u64::MAX)),
    }
}

fn groups(table: &Frequent<GroupFigures>, rows: usize) -> Vec<GroupRow> {
    let row = |(key, row): (&[u8], &Row<GroupFigures>)| {
        let (figures, kinds) = (&row.more, Kinds(row.more.kinds));
        GroupRow {
            name: name(key),
            operations: row.count,
            modifications_per_delete: kinds.modifications_per_delete(),
            kinds,
            errors: figures.errors,
            timed: figures.timed,
            mean: mean(figures.sum_ns.into(), figures.timed),
            max: Length(figures.max_ns),
        }
    };
    table.top(rows, |row| row.count).into_iter().map(row).collect()
}

/// Those that took most time together.
fn filters(table: &Frequent<FilterFigures>, rows: usize, is_unindexed: bool) -> Vec<FilterRow> {
    let row = |(key, row): (&[u8], &Row<FilterFigures>)| {
        let figures = &row.more;
        FilterRow {
            shape: if key.is_empty() { "(the log has no request)".to_owned() } else { text(key) },
            count: row.count,
            total: Length(figures.sum_ns),
            max: Length(figures.max_ns),
            entries_max: figures.entries_max,
            filter: text(&figures.filter),
            base: text(&figures.base),
            help: if is_unindexed { help_text(&figures.filter) } else { String::new() },
        }
    };
    let value = |row: &Row<FilterFigures>| if is_unindexed { row.more.sum_ns.max(row.count) } else { row.count };
    table.top(rows, value).into_iter().map(row).collect()
}

fn help_text(filter: &[u8]) -> String {
    match help(filter) {
        Help::Indexes(indexes) => indexes.join(" and "),
        Help::OneOf(indexes) => indexes.join(" or "),
        Help::None => "no index helps: it asks for nearly all entries; narrow the filter or the base".to_owned(),
        Help::Unknown => "unknown: the log does not have the whole filter".to_owned(),
    }
}

fn time(unix_ns: i64, offset_seconds: i32) -> Time {
    Time(Moment { unix_ns, offset_seconds })
}

fn stall_row(stall: &Stall) -> StallRow {
    let length = |ns: i64| Length(u64::try_from(ns).unwrap_or(0));
    StallRow {
        from: time(stall.from, stall.offset_seconds),
        until: time(stall.until, stall.offset_seconds),
        length: length(stall.until - stall.from),
        longest: length(stall.longest_ns),
        operations: stall.operations,
        connections: stall.connections,
        kinds: Kinds::of_counts(stall.kinds),
        unindexed: stall.unindexed,
        entries_max: stall.entries_max,
        deletes_before: stall.deletes.count,
    }
}

fn operation_row(operation: &SlowOperation) -> OperationRow {
    OperationRow {
        etime: Length(operation.etime.ns),
        answered: operation.answered.map(Time),
        connection: operation.ids.connection,
        operation: operation.ids.operation,
        message: operation.ids.message,
        kind: operation.kind.name(),
        client: text(&operation.client),
        dn: text(&operation.dn),
        filter: text(&operation.filter),
        result: operation.code,
        entries: operation.entries,
        is_unindexed: operation.is_unindexed,
        waited_for: String::new(),
    }
}

/// What an operation waited for: what its own line says, or what others did meanwhile.
fn waited_for(operation: &SlowOperation, stalls: &[Stall], stall_ns: u64) -> String {
    let Phases { queue, work, sync } = operation.phases;
    let phases = [("its turn", queue), ("its own work", work), ("the disk", sync)];
    let longest = phases.into_iter().filter_map(|(what, ns)| Some((ns?, what))).max();
    if let Some((ns, what)) = longest.filter(|(ns, _)| *ns >= operation.etime.ns / 3 && *ns > 0) {
        return format!("{what}: {}", Length(ns));
    }
    let stall = operation.answered.and_then(|until| {
        let from = until.before(operation.etime.ns).unix_ns;
        stalls.iter().position(|stall| stall.holds(from, until.unix_ns))
    });
    match stall {
        Some(at) => format!("with others: stall {}", at + 1),
        None if operation.is_unindexed => "its own work: no index".to_owned(),
        None if operation.etime.ns < stall_ns => String::new(),
        None => "the log does not tell".to_owned(),
    }
}
