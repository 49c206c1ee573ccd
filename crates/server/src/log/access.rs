//! The access logs as one event loop has them: an end of each, with the lines that it is to have.
//!
//! 1. What no log can want is not even read from the request.
//! 2. Logs whose lines look the same are given the same line, which is made once.
//! 3. Which logs there are is looked at when a turn of the loop begins: a log that was configured meanwhile has
//!    everything from then on.
//!
//! Knows neither files nor the configuration; `publishers` does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use config::LogRecordType;
use runtime::end::EndReason;
use runtime::log::writer::Sink;

use super::criteria::{Asked, Filter, record_of};
use super::event::{LoggedRequest, OperationIds, Origin, ResultFields};
use super::format::{Event, Formatter, RecordIds, Shape};
use super::matched::Matched;
use crate::metrics::OperationKind;

/// An access log, ready to give each loop its end.
pub struct AccessPublisher {
    /// What its lines look like.
    pub shape: Shape,
    /// What it has.
    pub filter: Arc<Filter>,
    /// Makes an end, while the log is there.
    pub sink: Box<dyn Fn() -> Option<Sink> + Send + Sync>,
}

/// The access logs of the server, as all loops see them.
pub struct AccessPublishers {
    generation: AtomicU64,
    all: Mutex<Arc<[AccessPublisher]>>,
    ids: Arc<RecordIds>,
}

impl AccessPublishers {
    /// None yet.
    pub fn new(ids: Arc<RecordIds>) -> Self {
        Self { generation: AtomicU64::new(0), all: Mutex::new(Arc::new([])), ids }
    }

    /// These from now on.
    pub fn set(&self, publishers: Vec<AccessPublisher>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        *all = publishers.into();
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Numbers records.
    pub fn ids(&self) -> &Arc<RecordIds> {
        &self.ids
    }

    /// The logs, and the generation that they are of.
    fn all(&self) -> (u64, Arc<[AccessPublisher]>) {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        (self.generation.load(Ordering::Acquire), Arc::clone(&all))
    }
}

/// See the module.
pub struct AccessLog {
    shared: Arc<AccessPublishers>,
    generation: u64,
    /// Those whose lines look the same stand together.
    ends: Vec<End>,
    criteria_count: usize,
    now: SystemTime,
    scratch: Vec<u8>,
}

struct End {
    sink: Sink,
    formatter: Formatter,
    filter: Arc<Filter>,
    /// Number of the filter's first criterion among those of all logs.
    first: usize,
    /// The end before has lines of the same shape.
    is_as_before: bool,
    /// And so has the one behind.
    is_as_behind: bool,
}

impl End {
    /// Whether it judges a request of that kind when it is answered: a bind, which has no line of its own before.
    fn judges_again(&self, record: LogRecordType) -> bool {
        record == LogRecordType::Bind && !self.formatter.has_request_lines(OperationKind::Bind, false)
    }
}

impl AccessLog {
    /// One loop's ends of the logs.
    pub fn new(shared: &Arc<AccessPublishers>) -> Self {
        let mut log = Self {
            shared: Arc::clone(shared),
            generation: 0,
            ends: Vec::new(),
            criteria_count: 0,
            now: SystemTime::UNIX_EPOCH,
            scratch: Vec::new(),
        };
        log.renew();
        log
    }

    /// Whether there is anything to write for.
    pub fn is_enabled(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Whether any log wants the OIDs of controls.
    pub fn wants_control_oids(&self) -> bool {
        self.ends.iter().any(|end| end.formatter.shape().control_oids)
    }

    /// Sets the time that the following lines carry, and looks whether there are other logs now. Returns whether that
    /// is so.
    pub fn begin_turn(&mut self, now: SystemTime) -> bool {
        self.now = now;
        let is_other = self.shared.generation.load(Ordering::Acquire) != self.generation;
        if is_other {
            self.renew();
        }
        is_other
    }

    fn renew(&mut self) {
        let (generation, all) = self.shared.all();
        let mut order: Vec<&AccessPublisher> = Vec::new();
        for publisher in all.iter() {
            let at = order.iter().rposition(|other| other.shape == publisher.shape).map_or(order.len(), |at| at + 1);
            order.insert(at, publisher);
        }
        let is_as =
            |one: Option<&&AccessPublisher>, other: &AccessPublisher| one.is_some_and(|one| one.shape == other.shape);
        let mut first = 0;
        self.ends.clear();
        for (at, publisher) in order.iter().enumerate() {
            let Some(sink) = (publisher.sink)() else { continue };
            self.ends.push(End {
                sink,
                formatter: Formatter::new(publisher.shape.clone(), self.shared.ids()),
                filter: Arc::clone(&publisher.filter),
                first,
                is_as_before: at > 0 && is_as(order.get(at - 1), publisher),
                is_as_behind: is_as(order.get(at + 1), publisher),
            });
            first += publisher.filter.count();
        }
        self.criteria_count = first;
        self.generation = generation;
    }

    /// A client connected.
    pub fn connect(&mut self, asked: &Asked<'_>) {
        self.write(Event::Connect(asked.origin), |end| end.filter.has_connection(asked));
    }

    /// A connection ended.
    pub fn disconnect(&mut self, asked: &Asked<'_>, reason: EndReason, message: &str) {
        let event = Event::Disconnect(asked.origin, reason, message);
        self.write(event, |end| end.filter.has_connection(asked));
    }

    /// Judges a request by the criteria of all logs. Returns whether any of them may have it or its answer.
    pub fn judge(&self, asked: &Asked<'_>, matched: &mut Matched) -> bool {
        *matched = Matched::none_of(self.generation, self.criteria_count);
        let mut is_wanted = false;
        for end in &self.ends {
            is_wanted |= end.filter.judge(asked, end.first, matched) || end.judges_again(asked.record);
        }
        is_wanted
    }

    /// Judges a bind that was answered by who is bound now, for the logs that go by that.
    pub fn judge_bind_again(&self, asked: &Asked<'_>, matched: &mut Matched) {
        for end in self.ends.iter().filter(|end| end.judges_again(asked.record)) {
            end.filter.judge(asked, end.first, matched);
        }
    }

    /// Whether any log has criteria.
    pub fn has_criteria(&self) -> bool {
        self.criteria_count > 0
    }

    /// Whether a request was judged by the criteria that there are now.
    pub fn has_judged(&self, request: &LoggedRequest) -> bool {
        request.matched.is_of(self.generation)
    }

    /// A request was read that [`AccessLog::judge`] said may be wanted. `is_endless`: a persistent search.
    pub fn request(
        &mut self,
        kind: OperationKind,
        ids: OperationIds,
        origin: &Origin<'_>,
        request: &LoggedRequest,
        is_endless: bool,
    ) {
        self.write(Event::Request(kind, ids, origin, request), |end| {
            end.formatter.has_request_lines(kind, is_endless) && end.filter.has_request(end.first, &request.matched)
        });
    }

    /// A request was answered.
    pub fn response(
        &mut self,
        kind: OperationKind,
        ids: OperationIds,
        origin: &Origin<'_>,
        request: &LoggedRequest,
        result: &ResultFields<'_>,
    ) {
        self.write(Event::Response(kind, ids, origin, request, result), |end| {
            end.filter.has_response(kind, result, end.first, &request.matched)
        });
    }

    /// A change that the server made by itself, because of the operation `ids`.
    pub fn internal(
        &mut self,
        kind: OperationKind,
        ids: OperationIds,
        asked: &Asked<'_>,
        request: &mut LoggedRequest,
        result: &ResultFields<'_>,
    ) {
        debug_assert_eq!(asked.record, record_of(kind));
        self.judge(asked, &mut request.matched);
        let request = &*request;
        self.write(Event::Internal(kind, ids, request, result), |end| {
            !end.filter.suppresses_internal && end.filter.has_response(kind, result, end.first, &request.matched)
        });
    }

    fn write(&mut self, event: Event<'_>, mut is_wanted: impl FnMut(&End) -> bool) {
        let mut is_made = false;
        for end in &mut self.ends {
            is_made &= end.is_as_before;
            if !is_wanted(end) {
                continue;
            }
            let (formatter, now) = (&mut end.formatter, self.now);
            if !(is_made || end.is_as_behind) {
                end.sink.append(|out| formatter.write(out, now, event));
                continue;
            }
            if !is_made {
                self.scratch.clear();
                formatter.write(&mut self.scratch, now, event);
                is_made = true;
            }
            end.sink.append(|out| out.extend_from_slice(&self.scratch));
        }
    }
}
