//! Reads lines and keeps what reports say of them, in bounded memory.
//!
//! An operation is counted when it is answered. One that the log has no answer for is counted when too many others
//! wait, or at the end.

use std::collections::BTreeMap;

use ldap::ResultCode;

use crate::detect::clean_ups::CleanUps;
use crate::detect::guesses::Guesses;
use crate::detect::replays::Replays;
use crate::detect::stalls::{Slow, Stalls};
use crate::figures::{
    BadLine, ConnectionFigures, EntryFigures, FilterFigures, GroupFigures, InternalFigures, KindFigures, LateFigures,
    LineFigures,
};
use crate::line::{Line, LineReader};
use crate::operation::Operation;
use crate::record::{Event, Ids, Kind, Moment, Notes, Outcome, Record, Request};
use crate::settings::Settings;
use crate::shape::Shapes;
use crate::suffix::Suffixes;
use crate::summary::MinuteRow;
use crate::tables::connections::Connections;
use crate::tables::frequent::Frequent;
use crate::tables::longest::{LongestOperations, LongestValues, SlowOperation, kept};
use crate::tables::minutes::{Minutes, Noted};
use crate::tables::pending::Pending;

/// Rows that tables keep, so that the first of them are right.
const ROWS_MAX: usize = 8192;

/// Result codes that are told apart.
const CODES_MAX: usize = 512;

/// An operation is taken to wait a week at most: more is a damaged line.
const WAIT_NS_MAX: u64 = 7 * 86_400 * 1_000_000_000;

/// Bad lines that are shown, and how much of each.
const EXAMPLES_MAX: usize = 3;
const EXAMPLE_BYTES_MAX: usize = 80;

/// The analysis of a log.
#[derive(Debug)]
pub struct Analysis {
    pub(crate) settings: Settings,
    reader: LineReader,
    file: String,
    /// Of the file at hand.
    line_number: u64,
    pending: Pending,
    known: Connections,
    suffix_of: Suffixes,
    shapes: Shapes,
    pub(crate) lines: LineFigures,
    pub(crate) span: Option<(Moment, Moment)>,
    pub(crate) connections: ConnectionFigures,
    pub(crate) kinds: [KindFigures; Kind::ALL.len()],
    pub(crate) internal: InternalFigures,
    pub(crate) suffixes: Frequent<GroupFigures>,
    pub(crate) clients: Frequent<GroupFigures>,
    pub(crate) names: Frequent<()>,
    pub(crate) filters: Frequent<FilterFigures>,
    pub(crate) unindexed: Frequent<FilterFigures>,
    pub(crate) not_indexed: Frequent<()>,
    pub(crate) updated: Frequent<EntryFigures>,
    pub(crate) extended: Frequent<()>,
    pub(crate) close_codes: Frequent<()>,
    pub(crate) result_codes: BTreeMap<i64, u64>,
    pub(crate) notes: [u64; 26],
    pub(crate) longest_values: LongestValues,
    pub(crate) longest: LongestOperations,
    pub(crate) minutes: Minutes,
    pub(crate) late: LateFigures,
    pub(crate) stalls: Stalls,
    pub(crate) clean_ups: CleanUps,
    pub(crate) replays: Replays,
    pub(crate) guesses: Guesses,
}

impl Analysis {
    /// An analysis of lines that `reader` understands.
    #[must_use]
    pub fn new(settings: Settings, reader: LineReader) -> Self {
        Self {
            reader,
            file: String::new(),
            line_number: 0,
            pending: Pending::default(),
            known: Connections::default(),
            suffix_of: Suffixes::new(&settings.base_dns),
            shapes: Shapes::default(),
            lines: LineFigures::default(),
            span: None,
            connections: ConnectionFigures::default(),
            kinds: std::array::from_fn(|_| KindFigures::default()),
            internal: InternalFigures::default(),
            suffixes: Frequent::new(ROWS_MAX),
            clients: Frequent::new(ROWS_MAX),
            names: Frequent::new(ROWS_MAX),
            filters: Frequent::new(ROWS_MAX),
            unindexed: Frequent::new(ROWS_MAX),
            not_indexed: Frequent::new(ROWS_MAX),
            updated: Frequent::new(ROWS_MAX),
            extended: Frequent::new(ROWS_MAX),
            close_codes: Frequent::new(ROWS_MAX),
            result_codes: BTreeMap::new(),
            notes: [0; 26],
            longest_values: LongestValues::new(settings.rows),
            longest: LongestOperations::new(settings.rows),
            minutes: Minutes::default(),
            late: LateFigures::default(),
            stalls: Stalls::default(),
            clean_ups: CleanUps::default(),
            replays: Replays::default(),
            guesses: Guesses::default(),
            settings,
        }
    }

    /// Another file begins.
    pub fn begin_file(&mut self, name: &str) {
        name.clone_into(&mut self.file);
        self.line_number = 0;
        self.reader.begin_file();
    }

    /// Takes a line, without its end.
    pub fn line(&mut self, line: &[u8]) {
        self.lines.all += 1;
        self.lines.bytes += line.len() as u64 + 1;
        self.line_number += 1;
        match self.reader.read(line) {
            Line::Record(record) => self.record(&record),
            Line::Blank => self.lines.blank += 1,
            Line::Bad => self.bad(line),
        }
    }

    /// The last line was too long, and only its begin was given.
    pub fn note_cut(&mut self) {
        self.lines.cut += 1;
    }

    /// The last line of a file has no end.
    pub fn note_unfinished(&mut self) {
        self.lines.unfinished += 1;
    }

    /// Whether any line was one of an access log.
    #[must_use]
    pub fn has_records(&self) -> bool {
        self.lines.all > self.lines.bad + self.lines.blank
    }

    fn bad(&mut self, line: &[u8]) {
        self.lines.bad += 1;
        if self.lines.examples.len() < EXAMPLES_MAX {
            let text = String::from_utf8_lossy(line.get(..EXAMPLE_BYTES_MAX).unwrap_or(line));
            let text = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
            self.lines.examples.push(BadLine { file: self.file.clone(), number: self.line_number, text });
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let ids = record.ids;
        let is_left_out = self.is_left_out(record);
        match &record.event {
            Event::Connect { client, .. } => self.known.open(ids.connection, client),
            Event::Closed { .. } if is_left_out => {
                self.known.close(ids.connection);
            }
            _ => {}
        }
        if is_left_out {
            self.lines.left_out += 1;
            return;
        }
        if let Some(time) = record.time {
            let (first, last) = self.span.get_or_insert((time, time));
            *first = time.min(*first);
            *last = time.max(*last);
        }
        match &record.event {
            Event::Connect { .. } => self.opened(),
            Event::Request(request) => self.requested(ids, record.time, request),
            Event::Result(outcome) => self.answered(ids, record.time, outcome),
            Event::Whole(request, outcome) => {
                let operation = Operation::of(ids, record.time, request);
                self.note_request(&operation);
                self.complete(&operation, record.time, Some(outcome));
            }
            Event::Closed { code } => self.closed(ids.connection, code),
            Event::NotIndexed { attribute, index } => {
                let mut key = index.as_bytes().to_vec();
                key.extend_from_slice(b" index of ");
                key.extend_from_slice(attribute);
                self.not_indexed.add(&key, |()| ());
            }
            Event::Dropped(lines) => self.lines.dropped = self.lines.dropped.saturating_add(*lines),
            Event::Other => {}
        }
    }

    fn is_left_out(&self, record: &Record<'_>) -> bool {
        let Settings { from, until, excluded_clients, .. } = &self.settings;
        if let Some(time) = record.time
            && (from.is_some_and(|from| from.is_after(time)) || until.is_some_and(|until| until.is_before(time)))
        {
            return true;
        }
        let client = match &record.event {
            _ if excluded_clients.is_empty() => return false,
            Event::Connect { client, .. } => client.as_ref(),
            _ => self.known.client(record.ids.connection),
        };
        excluded_clients.iter().any(|excluded| excluded.as_bytes() == client)
    }

    fn opened(&mut self) {
        let connections = &mut self.connections;
        connections.opened += 1;
        connections.open += 1;
        connections.peak = connections.peak.max(connections.open);
    }

    /// DSEE tells twice that a connection is closed; the first line has the code.
    fn closed(&mut self, connection: u64, code: &[u8]) {
        if self.known.close(connection) {
            self.connections.open = self.connections.open.saturating_sub(1);
            self.connections.closed += 1;
        } else if !self.known.is_closed(connection) {
            self.known.note_closed(connection);
            self.connections.closed += 1;
        }
        if !code.is_empty() {
            self.close_codes.add(code, |()| ());
        }
    }

    fn requested(&mut self, ids: Ids, time: Option<Moment>, request: &Request<'_>) {
        let operation = Operation::of(ids, time, request);
        self.note_request(&operation);
        if request.kind == Kind::Extended && !request.detail.is_empty() {
            self.extended.add(&request.detail, |()| ());
        }
        if matches!(request.kind, Kind::Unbind | Kind::Abandon) {
            self.complete(&operation, time, None);
            return;
        }
        if let Some(forgotten) = self.pending.put(&operation) {
            self.complete(&forgotten.operation(), forgotten.operation().asked, None);
            self.pending.reuse(forgotten);
        }
    }

    fn note_request(&mut self, operation: &Operation<'_>) {
        let Some(asked) = operation.asked else { return };
        match operation.kind {
            Kind::Delete => {
                self.stalls.note_delete(asked.unix_ns);
                self.clean_ups.note_delete(asked.unix_ns, operation.dn);
            }
            Kind::Modify => self.clean_ups.note_change(asked, operation.ids.connection, operation.dn),
            _ => {}
        }
    }

    fn answered(&mut self, ids: Ids, time: Option<Moment>, outcome: &Outcome<'_>) {
        match self.pending.take(&ids) {
            Some(waiting) => {
                self.complete(&waiting.operation(), time, Some(outcome));
                self.pending.reuse(waiting);
            }
            None => {
                let operation = Operation::unknown(ids, outcome.kind.unwrap_or(Kind::Unknown));
                self.complete(&operation, time, Some(outcome));
            }
        }
    }

    /// Counts an operation that was answered, or never will be.
    fn complete(&mut self, operation: &Operation<'_>, time: Option<Moment>, outcome: Option<&Outcome<'_>>) {
        let kind = operation.kind;
        let ns = outcome.and_then(|outcome| outcome.etime).map(|etime| etime.ns);
        let code = outcome.map_or(0, |outcome| outcome.code);
        let is_error = i32::try_from(code).map_or(true, |code| ResultCode::from_i32(code).is_error());
        let is_unindexed = outcome.is_some_and(|outcome| outcome.is_unindexed);
        if operation.is_internal {
            self.count_internal(operation, ns);
            return;
        }
        let figures = &mut self.kinds[kind.index()];
        figures.count += 1;
        figures.errors += u64::from(is_error);
        figures.unanswered += u64::from(outcome.is_none() && !matches!(kind, Kind::Unbind | Kind::Abandon));
        ns.into_iter().for_each(|ns| figures.took(ns));
        let client = self.known.client(operation.ids.connection);
        self.clients.add(client, |group| group.add(kind, is_error, ns));
        if has_name(kind) {
            let suffix = self.suffix_of.of(operation.dn);
            self.suffixes.add(suffix, |group| group.add(kind, is_error, ns));
        }
        if let Some(time) = time {
            let noted = Noted { kind, is_error, is_unindexed, ns, stall_ns: self.settings.stall_ns };
            self.minutes.add(time, noted);
        }
        let Some(outcome) = outcome else { return };
        self.count_code(code);
        self.count_notes(outcome.notes);
        match kind {
            Kind::Search => self.count_search(operation, outcome),
            Kind::Bind => self.count_bind(operation, outcome, time),
            _ if kind.is_update() => self.count_update(operation, outcome, time),
            _ => {}
        }
        self.count_time(operation, outcome, time);
    }

    fn count_internal(&mut self, operation: &Operation<'_>, ns: Option<u64>) {
        let internal = &mut self.internal;
        internal.count += 1;
        internal.sum_ns = internal.sum_ns.saturating_add(ns.unwrap_or(0));
        if let Some(ns) = ns.filter(|ns| *ns > internal.max_ns) {
            internal.max_ns = ns;
            internal.dn = kept(operation.dn);
        }
    }

    fn count_code(&mut self, code: i64) {
        if let Some(count) = self.result_codes.get_mut(&code) {
            *count += 1;
        } else if self.result_codes.len() < CODES_MAX {
            self.result_codes.insert(code, 1);
        }
    }

    fn count_notes(&mut self, notes: Notes) {
        if notes.0 != 0 {
            let letters = self.notes.iter_mut().zip(b'A'..=b'Z');
            letters.for_each(|(count, letter)| *count += u64::from(notes.has(letter)));
        }
    }

    fn count_search(&mut self, operation: &Operation<'_>, outcome: &Outcome<'_>) {
        let (ns, entries) = (outcome.etime.map_or(0, |etime| etime.ns), outcome.entries.unwrap_or(0));
        let shape = self.shapes.of(operation.filter);
        self.filters.add(shape, |figures| figures.add(ns, entries));
        if outcome.is_unindexed {
            self.unindexed.add(shape, |figures| {
                if ns >= figures.max_ns {
                    figures.filter = kept(operation.filter);
                    figures.base = kept(operation.dn);
                }
                figures.add(ns, entries);
            });
        }
    }

    fn count_bind(&mut self, operation: &Operation<'_>, outcome: &Outcome<'_>, time: Option<Moment>) {
        let name = if outcome.dn.is_empty() { operation.dn } else { outcome.dn.as_ref() };
        if outcome.code == i64::from(ResultCode::INVALID_CREDENTIALS.as_i32()) {
            let client = self.known.client(operation.ids.connection);
            self.guesses.add(client, name, time);
        } else if outcome.code == 0 {
            self.names.add(name, |()| ());
        }
    }

    fn count_update(&mut self, operation: &Operation<'_>, outcome: &Outcome<'_>, time: Option<Moment>) {
        let Some(ns) = outcome.etime.map(|etime| etime.ns) else { return };
        if !operation.dn.is_empty() {
            self.updated.add(operation.dn, |figures| {
                figures.sum_ns = figures.sum_ns.saturating_add(ns);
                if ns > figures.max_ns {
                    (figures.max_ns, figures.at) = (ns, time);
                }
            });
        }
    }

    fn count_time(&mut self, operation: &Operation<'_>, outcome: &Outcome<'_>, time: Option<Moment>) {
        let Some(etime) = outcome.etime else { return };
        let connection = operation.ids.connection;
        self.longest_values.add(etime, outcome);
        if self.longest.wants(etime.ns) {
            self.longest.add(SlowOperation {
                etime,
                answered: time,
                ids: operation.ids,
                kind: operation.kind,
                dn: kept(operation.dn),
                filter: kept(operation.filter),
                client: self.known.client(connection).into(),
                entries: outcome.entries,
                is_unindexed: outcome.is_unindexed,
                phases: outcome.phases,
                code: outcome.code,
            });
        }
        let is_slow = etime.ns >= self.settings.stall_ns;
        if !outcome.csn.is_empty() {
            self.replays.add(&outcome.csn, etime.ns, connection, is_slow);
        }
        if self.known.is_closed(connection) {
            self.late.count += 1;
            if etime.ns > self.late.max_ns {
                (self.late.max_ns, self.late.connection) = (etime.ns, connection);
            }
        }
        if let Some(time) = time.filter(|_| is_slow) {
            self.stalls.add(Slow {
                from: time.before(etime.ns.min(WAIT_NS_MAX)).unix_ns,
                until: time.unix_ns,
                connection,
                kind: operation.kind,
                is_unindexed: outcome.is_unindexed,
                entries: outcome.entries.unwrap_or(0),
                offset_seconds: time.offset_seconds,
            });
        }
    }

    /// The rows of the time line that begin after `after` and have ended: before `now`, or before another began. Both
    /// are seconds since 1970.
    pub fn ended_minutes(&mut self, after: i64, now: i64) -> Vec<MinuteRow> {
        let width = self.minutes.width();
        let newest = self.span.map_or(now, |(_, last)| last.unix_seconds()).max(now);
        let rows = self.minutes.rows().filter(|(begin, _)| *begin > after && begin + width <= newest);
        rows.map(|(begin, minute)| MinuteRow::of(begin, minute)).collect()
    }

    /// Everything was read: what waits for an answer never got one.
    pub fn finish(&mut self) {
        while let Some(waiting) = self.pending.oldest() {
            self.complete(&waiting.operation(), waiting.operation().asked, None);
        }
    }
}

/// Whether an operation is about a name.
fn has_name(kind: Kind) -> bool {
    !matches!(kind, Kind::Unbind | Kind::Abandon | Kind::Extended | Kind::Unknown)
}
