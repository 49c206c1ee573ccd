//! The search operation (RFC 4511 §4.5): plan, then run.
//!
//! [`Directory::plan_search`](crate::Directory::plan_search) does everything that can refuse a search and finds the candidates;
//! [`SearchPlan::run`] looks at them and writes what matches straight into the output buffer. A plan borrows nothing, so that a long
//! one can go to another thread. It knows no sockets: [`SearchOutput`] is all it sees of the client.

pub mod advice;
mod alias;
mod arrange;
mod changelog;
mod covered;
mod explain;
mod paged;
mod persistent;
mod prepare;
mod run;
mod sort;
mod special;
mod visible;
mod vlv;
mod vlv_index;

#[cfg(test)]
pub(crate) mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ldap::{ControlBuf, LdapResult, Scope};
use schema::NormalizedDn;
use smallvec::SmallVec;
use store::{EntryId, Snapshot};

use access::Access;
use explain::Explanation;
pub use paged::CookieKey;
pub(crate) use persistent::Persistent;
use query::backend::Backend;
use query::computed::{Definitions, Program};
use query::encode::{MessageSink, Selection};
use query::error;
use query::facts::{ClassFlagTable, Facts};
use query::filter::{Asker, ItemRights};
use query::filter::{FilterScratch, Matcher};
use query::groups::MemberPlan;
use query::id_set::IdSet;
use query::parent_names::ParentNames;
use query::plan::{Branch, Candidates};
use query::read_moment::{ReadContext, ReadMoment};
use query::synthetic::SyntheticEntry;
use visible::Visibility;

/// Candidates that an event loop may look at before it serves others; more go to the pool. About 200 µs of work.
pub const LONG_CANDIDATES: u64 = 200;

/// How long a search keeps one snapshot. Half of what the store asks for.
const SNAPSHOT_AGE_MAX: Duration = Duration::from_millis(500);

/// Candidates between two looks at the clock.
const CANDIDATES_PER_LOOK: usize = 128;

/// When a request came: the clocks are read once, by the server.
#[derive(Clone, Copy, Debug)]
pub struct RequestTime {
    /// For time limits.
    pub started: Instant,
    /// For matching rules that are relative to now.
    pub unix_seconds: i64,
}

impl RequestTime {
    /// Reads both clocks.
    #[must_use]
    pub fn now() -> RequestTime {
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        RequestTime { started: Instant::now(), unix_seconds: i64::try_from(unix.as_secs()).unwrap_or(i64::MAX) }
    }
}

/// Where a search writes to.
pub trait SearchOutput: MessageSink {
    /// One message more is in the buffer. `Break` ends the search: the client is gone, or does not read.
    fn entry_written(&mut self) -> ControlFlow<()>;

    /// Whether the operation was abandoned or cancelled.
    fn cancelled(&self) -> bool;

    /// Whether the search should [`pause`](SearchOutput::pause): so much waits for the client, or it is others' turn. Asked after
    /// every [`CANDIDATES_PER_LOOK`] candidates at the latest.
    fn should_pause(&mut self) -> bool {
        false
    }

    /// Whether the search must [`pause`](SearchOutput::pause) before its next candidate: a long message waits outside memory.
    fn must_pause(&self) -> bool {
        false
    }

    /// Sleeps until the client has caught up and it is this search's turn again. The search holds no snapshot meanwhile.
    fn pause(&mut self) {}
}

/// How a search ended, for the client and for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchDone {
    /// What `SearchResultDone` says.
    pub result: LdapResult,
    /// Entries written.
    pub entries_sent: u64,
    /// Continuation references written.
    pub references_sent: u64,
    /// Whether no index answered the filter.
    pub unindexed: bool,
    /// Entries looked at.
    pub candidates: u64,
    /// Whether the search was abandoned, cancelled or its client went away, so that nobody waits for the result.
    pub is_cancelled: bool,
    /// Controls of the response.
    pub controls: Vec<ControlBuf>,
}

impl SearchDone {
    /// A search that ended with `result` before it began.
    #[must_use]
    pub fn of(result: LdapResult) -> SearchDone {
        SearchDone {
            result,
            entries_sent: 0,
            references_sent: 0,
            unindexed: false,
            candidates: 0,
            is_cancelled: false,
            controls: Vec::new(),
        }
    }
}

/// What one thread keeps between operations so that none of them allocates. One per event loop and per pool thread.
#[derive(Default)]
pub struct Worker {
    backends: Vec<WorkerBackend>,
    filter: FilterScratch,
    values: Vec<u8>,
    ids: Vec<EntryId>,
    base: NormalizedDn,
    /// The text that `base` is the normal form of, and the schema under which it is.
    base_text: Vec<u8>,
    base_facts: Option<Arc<Facts>>,
    /// Plans to be used again.
    #[allow(clippy::vec_box, reason = "a plan is large, and handed out as a box")]
    plans: Vec<Box<SearchPlan>>,
}

/// What a thread knows of one backend.
#[derive(Debug, Default)]
struct WorkerBackend {
    names: ParentNames,
    classes: ClassFlagTable,
    /// The schema that `classes` was found out under.
    facts: Option<Arc<Facts>>,
    /// The last base of a search here.
    base: Option<KnownBase>,
    /// The entry of the only suffix, and the generation of the tree in which it was.
    suffix_entry: Option<EntryId>,
    suffix_generation: Option<u64>,
}

#[derive(Debug)]
struct KnownBase {
    dn: Vec<u8>,
    id: EntryId,
    generation: u64,
    /// The change after which it was last seen.
    seq: u64,
}

/// Plans kept for reuse by one thread: pipelined requests are planned and run one after the other.
const PLANS_KEPT: usize = 4;

impl Worker {
    /// Takes a plan that has been run, to use its buffers again.
    pub fn recycle(&mut self, mut plan: Box<SearchPlan>) {
        if self.plans.len() < PLANS_KEPT {
            plan.clear();
            self.plans.push(plan);
        }
    }

    /// Sets `base` to the normal form of `text`; nothing to do when it is the last request's again, as it mostly is.
    fn take_base(&mut self, facts: &Arc<Facts>, text: &[u8]) -> Result<(), LdapResult> {
        let is_same_schema = self.base_facts.as_ref().is_some_and(|known| Arc::ptr_eq(known, facts));
        if is_same_schema && self.base_text == text {
            return Ok(());
        }
        self.base_facts = None;
        self.base.parse_into(&facts.schema, text).map_err(|problem| error::invalid_dn(text, problem))?;
        self.base_text.clear();
        self.base_text.extend_from_slice(text);
        self.base_facts = Some(facts.clone());
        Ok(())
    }

    fn backend(&mut self, at: usize) -> &mut WorkerBackend {
        if self.backends.len() <= at {
            self.backends.resize_with(at + 1, WorkerBackend::default);
        }
        // Invariant: the list was just made long enough.
        &mut self.backends[at]
    }
}

/// A search that may be run.
#[derive(Default)]
pub struct SearchPlan {
    message_id: i32,
    facts: Option<Arc<Facts>>,
    backends: Option<Arc<[Backend]>>,
    matcher: Matcher,
    /// Which of the filter's assertions the asker may not make of every entry.
    items: ItemRights,
    /// The filter that is planned, where the asker may not make some assertion of any entry.
    allowed: Option<Box<Matcher>>,
    selection: Selection,
    access: Access,
    visibility: Visibility,
    parts: SmallVec<[Part; 1]>,
    synthetic: Vec<Arc<SyntheticEntry>>,
    /// Changes to be looked at, when the base is the changelog.
    changes: Option<Box<changelog::ChangeScan>>,
    limits: Limits,
    unindexed: bool,
    now_unix_seconds: i64,
    /// What groups are asked with, when the filter or the attributes ask for them.
    groups: Option<Asking>,
    /// Kept only when the search may turn out to be worth [`advice`].
    costly: Option<Box<advice::Costly>>,
    /// Pages and order, when a control asks for them.
    arrangement: Option<Box<arrange::Arrangement>>,
    /// What the planner did in each part, when the client wants to know that instead of entries.
    explanations: Option<Vec<Explanation>>,
    /// What is to be told when it has been run, when changes are to be told as they come.
    persistent: Option<Box<Persistent>>,
}

/// What may be spent.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    size: Option<u64>,
    deadline: Option<Instant>,
    lookthrough: Option<u64>,
}

/// With what a search asks for groups, and for what entries are given.
#[derive(Clone)]
struct Asking {
    context: ReadContext,
    now_unix_seconds: i64,
    /// What one entry costs depends on how many groups it is in.
    is_long: bool,
}

/// One base in one backend.
struct Part {
    backend: usize,
    base: EntryId,
    scope: Scope,
    candidates: Candidates,
    /// Candidates that following groups will find, when they are fewer. They are looked up when the part is run.
    members: Option<Box<MemberPlan>>,
    /// Whoever is among the candidates matches the filter, after the change `seq`.
    is_exact: bool,
    /// The last change that the plan knows of.
    seq: u64,
    /// Everything in the backend is in scope.
    is_everything: bool,
    /// What entries are given at the moment of `snapshot`, if something is asked for that they are given.
    definitions: Option<Arc<Definitions>>,
    /// The filter that was planned, where that is not the filter that was asked.
    program: Option<Box<Program>>,
    /// Referral objects in scope, which the filter does not say anything about; only with [`Candidates`] from an index.
    referrals: IdSet,
    /// The moment at which it was planned, and is run if it is run soon.
    snapshot: Option<Snapshot>,
}

impl Part {
    fn branch(&self) -> Branch {
        Branch { base: self.base, scope: self.scope, is_everything: self.is_everything }
    }
}

impl SearchPlan {
    /// Whether it belongs on another thread than the event loop's.
    #[must_use]
    pub fn is_long(&self) -> bool {
        let follows_groups = self.groups.as_ref().is_some_and(|asking| asking.is_long);
        self.changes.is_some() || self.parts.len() > 1 || self.candidate_count() > LONG_CANDIDATES || follows_groups
    }

    /// Candidates of all bases; everything counts as very many.
    fn candidate_count(&self) -> u64 {
        let count = |part: &Part| match &part.members {
            Some(members) => members.count(),
            None => part.candidates.count().unwrap_or(u64::MAX),
        };
        self.parts.iter().map(count).fold(0, u64::saturating_add)
    }

    /// Whether no index answers the filter.
    #[must_use]
    pub fn is_unindexed(&self) -> bool {
        self.unindexed
    }

    /// Whether changes are to be told when it has been run.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.persistent.is_some()
    }

    /// Lets go of the snapshots it was planned on, because it has to wait before it is run: ids are stable, and every entry is checked again.
    pub fn release_snapshots(&mut self) {
        for part in &mut self.parts {
            part.snapshot = None;
        }
    }

    /// Who asks, for the filter.
    fn asker(&self) -> Asker<'_> {
        Asker { rights: &self.access, items: &self.items }
    }

    /// The filter as the planner takes it: without what the asker may not ask.
    fn plannable(&self) -> &Matcher {
        self.allowed.as_deref().unwrap_or(&self.matcher)
    }

    /// What entries show from now on beyond their records; none when nobody asks.
    fn moment(&self) -> Option<ReadMoment> {
        match (&self.groups, &self.facts) {
            (Some(asking), Some(facts)) => {
                Some(asking.context.moment(facts, asking.now_unix_seconds).within(self.limits.lookthrough))
            }
            _ => None,
        }
    }

    fn clear(&mut self) {
        self.facts = None;
        self.backends = None;
        self.items = ItemRights::default();
        self.allowed = None;
        self.parts.clear();
        self.synthetic.clear();
        self.changes = None;
        self.unindexed = false;
        self.costly = None;
        self.groups = None;
        self.arrangement = None;
        self.explanations = None;
        self.persistent = None;
        self.visibility = Visibility::default();
    }
}
