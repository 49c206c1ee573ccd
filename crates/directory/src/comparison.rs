//! One request decided twice, by two sets of access control instructions: what differs, and which instruction makes it.
//!
//! For the rehearsal of a change, and for proposed instructions that are tried in service. A search is run on both
//! sides, and what it shows is compared; of everything else the decisions are. Knows no log and no connection.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use access::{AccessControl, Right};
use ldap::{Controls, LdapResult, ResultCode, SearchRequest};
use query::encode::{EncodeError, ShownEntry};
use store::StoreError;

use crate::decision::Asked;
use crate::directory::Directory;
use crate::needs::{Decision, Need, first_other};
use crate::one_moment::at_one_moment;
use crate::search::advice::ShapeTable;
use crate::search::{EntryWriter, RequestTime, SearchContext, Worker};
use crate::session::Session;

/// Who asks, of which directory and by which instructions.
pub struct Side<'d> {
    directory: &'d Directory,
    access: &'d AccessControl,
    /// Where costly searches are noted.
    shapes: &'d Arc<[ShapeTable]>,
    session: Session,
}

/// Both sides of a comparison.
pub struct Sides<'d> {
    /// As things are.
    pub now: Side<'d>,
    /// As they would be.
    pub then: Side<'d>,
    /// When the request came.
    pub time: RequestTime,
    /// How much is looked at.
    pub bounds: Bounds,
}

/// How much of a search is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Entries; a search that finds more is not compared.
    pub entries_max: usize,
    /// A search that is not over then is not compared.
    pub until: Option<Instant>,
}

/// What came of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// It is decided as before.
    Same,
    /// It is not.
    Different(Vec<Difference>),
    /// That cannot be told.
    Untold(Untold),
}

/// Why a request was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// There is no such entry.
    EntryGone,
    /// The search finds more entries than are compared.
    TooMany,
    /// The search takes longer than is waited for.
    TookLong,
}

/// Something that would be otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Whether it is granted now, and would not be.
    pub is_lost: bool,
    /// What.
    pub change: Change,
    /// How it is decided now.
    pub now: Decision,
    /// How it would be.
    pub then: Decision,
}

/// What would be otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The request is granted or refused.
    Request,
    /// A search finds entries, or does not.
    Entries {
        /// How many.
        count: usize,
        /// One of them.
        first: String,
    },
    /// An attribute of entries is sent, or is not.
    Attribute {
        /// The attribute.
        name: String,
        /// Of how many entries.
        count: usize,
        /// One of them.
        first: String,
    },
    /// A search ends with another result.
    Result {
        /// The result now.
        before: Box<LdapResult>,
        /// The result then.
        after: Box<LdapResult>,
    },
}

/// What a search gave.
struct Found {
    result: LdapResult,
    gathered: Gathered,
}

/// Takes names of entries and of their attributes.
struct Gathered {
    entries: BTreeMap<String, BTreeSet<String>>,
    bounds: Bounds,
    is_cut: bool,
}

impl<'d> Side<'d> {
    /// A session in a directory, by the instructions in force there.
    #[must_use]
    pub fn new(directory: &'d Directory, session: Session) -> Self {
        Self { directory, access: &directory.access_control, shapes: &directory.shapes, session }
    }

    /// The same by other instructions.
    pub(crate) fn with_other(
        directory: &'d Directory,
        (access, shapes): (&'d AccessControl, &'d Arc<[ShapeTable]>),
        mut session: Session,
    ) -> Self {
        session.forget_rights();
        Self { directory, access, shapes, session }
    }

    fn explain(&self, asked: Asked<'_, '_>, unix_seconds: i64) -> Result<Decision, StoreError> {
        let Directory { reading, .. } = self.directory;
        let rights = self.access.rights_of(&self.session, &self.directory.facts(), reading, unix_seconds)?;
        self.directory.explain_with(rights, asked, unix_seconds)
    }

    fn search(&self, request: &SearchRequest<'_>, time: RequestTime, bounds: Bounds) -> Found {
        let searching =
            SearchContext { access_control: self.access, shapes: self.shapes, ..self.directory.searching() };
        let mut gathered = Gathered { entries: BTreeMap::new(), bounds, is_cut: false };
        let mut worker = Worker::default();
        let result = match searching.plan(&mut worker, &self.session, request, &Controls::none(), time) {
            Ok(mut plan) => plan.run(&mut worker, &mut gathered).result,
            Err(done) => done.result,
        };
        Found { result, gathered }
    }
}

impl Sides<'_> {
    fn explain(&self, asked: Asked<'_, '_>) -> Result<(Decision, Decision), StoreError> {
        let at = self.time.unix_seconds;
        Ok((self.now.explain(asked, at)?, self.then.explain(asked, at)?))
    }

    /// Decides a request on both sides.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn decide(&self, asked: Asked<'_, '_>) -> Result<Comparison, StoreError> {
        self.settled(|| self.decide_once(asked))
    }

    /// Runs a search on both sides, without controls.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn search(&self, request: &SearchRequest<'_>) -> Result<Comparison, StoreError> {
        self.settled(|| self.search_once(request))
    }

    /// A comparison of both sides at the same moment. Where entries change all the time, only differences count for
    /// which another decision was found.
    fn settled(&self, compare: impl Fn() -> Result<Comparison, StoreError>) -> Result<Comparison, StoreError> {
        let is_settled = |comparison: &Comparison| !matches!(comparison, Comparison::Different(_));
        let (mut comparison, is_still) = at_one_moment(&self.now.directory.backends, is_settled, compare)?;
        if let Comparison::Different(differences) = &mut comparison
            && !is_still
        {
            differences.retain(|difference| difference.needs().is_some());
            if differences.is_empty() {
                comparison = Comparison::Same;
            }
        }
        Ok(comparison)
    }

    fn decide_once(&self, asked: Asked<'_, '_>) -> Result<Comparison, StoreError> {
        let (now, then) = self.explain(asked)?;
        Ok(match now.granted == then.granted {
            _ if !now.exists && !then.exists => Comparison::Untold(Untold::EntryGone),
            true => Comparison::Same,
            false => {
                Comparison::Different(vec![Difference { is_lost: now.granted, change: Change::Request, now, then }])
            }
        })
    }

    fn search_once(&self, request: &SearchRequest<'_>) -> Result<Comparison, StoreError> {
        let before = self.now.search(request, self.time, self.bounds);
        let after = self.then.search(request, self.time, self.bounds);
        if before.took_long() || after.took_long() {
            return Ok(Comparison::Untold(Untold::TookLong));
        }
        if before.is_cut() || after.is_cut() {
            return Ok(Comparison::Untold(Untold::TooMany));
        }
        let mut differences = Vec::new();
        let (ours, theirs) = (&before.gathered.entries, &after.gathered.entries);
        for (is_lost, have, have_not) in [(true, ours, theirs), (false, theirs, ours)] {
            let mut changed = have.keys().filter(|dn| !have_not.contains_key(*dn));
            let Some(first) = changed.next().cloned() else { continue };
            let count = 1 + changed.count();
            let asked = Asked::Search { dn: &first, within: None, filter: Some(&request.filter), attributes: &[] };
            let (now, then) = self.explain(asked)?;
            differences.push(Difference { is_lost, change: Change::Entries { count, first }, now, then });
        }
        for ((is_lost, name), (count, first)) in changed_attributes(ours, theirs) {
            let asked = Asked::Right { dn: first, right: Right::Read, attribute: Some(name) };
            let (now, then) = self.explain(asked)?;
            let change = Change::Attribute { name: name.to_owned(), count, first: first.to_owned() };
            differences.push(Difference { is_lost, change, now, then });
        }
        if before.result.code != after.result.code && differences.is_empty() {
            let base = String::from_utf8_lossy(request.base);
            let (now, then) = self.explain(Asked::Search { dn: &base, within: None, filter: None, attributes: &[] })?;
            let is_lost = before.result.is_success();
            let change = Change::Result { before: Box::new(before.result), after: Box::new(after.result) };
            differences.push(Difference { is_lost, change, now, then });
        }
        Ok(if differences.is_empty() { Comparison::Same } else { Comparison::Different(differences) })
    }
}

/// By whether it is lost and its name, an attribute that entries show on one side only: of how many, and of which
/// first.
fn changed_attributes<'e>(
    ours: &'e BTreeMap<String, BTreeSet<String>>,
    theirs: &'e BTreeMap<String, BTreeSet<String>>,
) -> BTreeMap<(bool, &'e str), (usize, &'e str)> {
    let mut changed: BTreeMap<(bool, &str), (usize, &str)> = BTreeMap::new();
    for (dn, names) in ours {
        let Some(others) = theirs.get(dn) else { continue };
        let lost = names.difference(others).map(|name| (true, name.as_str()));
        let gained = others.difference(names).map(|name| (false, name.as_str()));
        for key in lost.chain(gained) {
            changed.entry(key).or_insert((0, dn)).0 += 1;
        }
    }
    changed
}

impl Found {
    fn took_long(&self) -> bool {
        let is_late = || self.gathered.bounds.until.is_some_and(|until| Instant::now() >= until);
        self.result.code == ResultCode::TIME_LIMIT_EXCEEDED || (self.result.code == ResultCode::CANCELED && is_late())
    }

    fn is_cut(&self) -> bool {
        self.gathered.is_cut
            || [ResultCode::SIZE_LIMIT_EXCEEDED, ResultCode::ADMIN_LIMIT_EXCEEDED].contains(&self.result.code)
    }
}

impl Difference {
    /// What is needed and decided otherwise: now, and then. None where that is another one on each side.
    #[must_use]
    pub fn needs(&self) -> Option<(&Need, &Need)> {
        first_other(&self.now.needs, &self.then.needs)
    }
}

impl EntryWriter for Gathered {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        if self.entries.len() >= self.bounds.entries_max {
            self.is_cut = true;
            return Ok(ControlFlow::Break(()));
        }
        let mut dn = Vec::new();
        entry.dn().put(&mut dn);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let attributes = entry.attributes().map(|attribute| text(attribute.description())).collect();
        self.entries.insert(text(&dn), attributes);
        Ok(ControlFlow::Continue(()))
    }

    fn reference(&mut self, _urls: &[String]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        self.bounds.until.is_some_and(|until| Instant::now() >= until)
    }
}
