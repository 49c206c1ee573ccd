//! What a plan keeps of a persistent search: what was shown as of which change.

use std::collections::HashSet;
use std::sync::Arc;

use ldap::Scope;
use ldap::controls::PersistentSearch;
use schema::NormalizedDn;
use smallvec::SmallVec;
use store::EntryId;

use crate::watch::Permit;
use access::Rights;
use query::backend::BackendIndex;
use query::id_set::IdSet;
use query::plan::covers;

/// What a plan keeps of a persistent search.
#[derive(Debug)]
pub(crate) struct Persistent {
    pub asked: PersistentSearch,
    /// Its place among those that are allowed at once, given back with it.
    pub(super) _permit: Permit,
    pub base: NormalizedDn,
    pub scope: Scope,
    /// The base DNs of all backends, where they are what is one level below the base.
    pub(super) suffixes: Vec<NormalizedDn>,
    /// Changes up to this number are in what was shown, or came before it.
    pub after: u64,
    /// Backends that may hold entries in scope, and the last change of each that came before the search.
    pub from: SmallVec<[(BackendIndex, u64); 1]>,
    pub trails: Vec<Trail>,
    /// Entries that were renamed while they were to be shown, by backend.
    pub(super) renamed: HashSet<(BackendIndex, EntryId)>,
    /// The request, to be prepared again when the schema is another one.
    pub request: Box<[u8]>,
    /// Its controls.
    pub controls: Box<[u8]>,
    /// Who asks, on which connection.
    pub session: access::Session,
    /// What it could do when the search was prepared last.
    pub rights: Arc<Rights>,
    /// Its number on the connection, as the access log prints it.
    pub operation: u64,
}

/// What one part of the search has shown.
#[derive(Debug)]
pub(crate) struct Trail {
    pub(super) backend: BackendIndex,
    pub(super) base: NormalizedDn,
    pub(super) scope: Scope,
    /// The change as of which the part was planned, and the number that the next new entry had then.
    pub(super) planned: u64,
    pub(super) end: EntryId,
    /// The change as of which the candidates were chosen.
    pub(super) chosen: u64,
    /// The candidates, where they were chosen once for the whole part. Others were not looked at later than that.
    pub(super) candidates: Option<IdSet>,
    /// The entries up to a number, and as of which change they were read. Ascending.
    pub(super) pieces: Vec<(EntryId, u64)>,
}

impl Persistent {
    /// Whether the client knows already what the change `seq` made of an entry: told by its number, and its name before
    /// or after.
    pub fn knows<'n>(
        &mut self,
        backend: BackendIndex,
        id: EntryId,
        seq: u64,
        names: impl Iterator<Item = &'n NormalizedDn> + Clone,
    ) -> bool {
        let is_in =
            |trail: &&Trail| trail.backend == backend && names.clone().any(|dn| covers(&trail.base, trail.scope, dn));
        let mut of_entry = self.trails.iter().filter(is_in).peekable();
        let is_known = of_entry.peek().is_some() && of_entry.all(|trail| seq <= trail.known(id));
        if is_known && names.count() > 1 {
            self.renamed.insert((backend, id));
        }
        is_known && !self.renamed.contains(&(backend, id))
    }

    /// Forgets what was shown of a backend when it is older than `seq`: only that change and later ones are still told.
    pub fn forget_until(&mut self, backend: BackendIndex, seq: u64) {
        self.trails.retain(|trail| trail.backend != backend || trail.pieces.iter().any(|(_, at)| *at >= seq));
        if self.trails.is_empty() {
            self.renamed = HashSet::new();
        }
    }

    /// Whether an entry of that name is in scope. One level below the root DSE are the base entries.
    pub fn covers(&self, dn: &NormalizedDn) -> bool {
        match (self.base.is_root(), self.scope) {
            (true, Scope::SingleLevel) => {
                self.suffixes.contains(dn) || dn.len() == 1 && self.suffixes.iter().any(NormalizedDn::is_root)
            }
            _ => covers(&self.base, self.scope, dn),
        }
    }

    /// The part at `at` begins (anew).
    pub(super) fn trail(&mut self, at: usize) -> Option<&mut Trail> {
        let trail = self.trails.get_mut(at)?;
        trail.pieces.clear();
        Some(trail)
    }

    /// The candidates of the part at `at` were chosen later than the plan.
    pub(super) fn chosen_at(&mut self, at: usize, seq: u64) {
        if let Some(trail) = self.trails.get_mut(at) {
            trail.chosen = seq;
        }
    }
}

impl Trail {
    /// Leaves out candidates that are too new.
    pub(super) fn limit(&self, ids: &mut Vec<EntryId>) {
        ids.truncate(ids.partition_point(|id| *id < self.end));
    }

    /// There is nothing more as of the change `seq`.
    pub(super) fn finish(&mut self, seq: u64) {
        self.note(self.end, seq);
    }

    /// The candidates up to `upto` were read as of the change `seq`.
    pub(super) fn note(&mut self, upto: EntryId, seq: u64) {
        match self.pieces.last_mut() {
            Some((last, at)) if *at == seq => *last = upto,
            _ => self.pieces.push((upto, seq)),
        }
    }

    /// The change as of which the client knows the entry, or knows that it is not in the result.
    fn known(&self, id: EntryId) -> u64 {
        if id >= self.end {
            return self.planned;
        }
        if self.candidates.as_ref().is_some_and(|ids| !ids.contains(id)) {
            return self.chosen;
        }
        let at = self.pieces.partition_point(|(upto, _)| *upto < id);
        self.pieces.get(at).map_or(self.planned, |(_, seq)| *seq)
    }
}
