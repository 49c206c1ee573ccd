//! From a prepared filter to candidates: which index keys are read, in which order, and when reading more is not worth it.
//!
//! The rules are OpenDJ's (a key over `index-entry-limit` counts as not indexed, And ignores what is not indexed, Or needs all of it,
//! Not never is), with exact counts where OpenDJ guesses. A candidate is only that: the entry decides.
//!
//! Invariant: every entry that matches the filter is among the candidates.

use std::ops::Bound;

use schema::{Assertion, MatchingRule, Position, Substrings, TypeIndex};
use smallvec::SmallVec;
use store::index::{Index, Method, PRESENCE_KEY};
use store::posting::key::{KEY_BYTES_MAX, KEY_PREFIX_BYTES};
use store::{EntryId, IndexKey, StoreError, View};

use super::idset::IdSet;
use crate::filter::{Item, Matcher, Node, Target, Test};
use crate::virtual_attributes::VirtualAttribute;

/// With so few candidates left, looking at the entries is cheaper than reading another index (OpenDJ's constant).
pub const FEW_CANDIDATES: u64 = 10;

/// Ids that one range of keys may sum up to; beyond it, the range counts as not indexed (OpenDJ's constant).
pub const RANGE_IDS_MAX: u64 = 100_000;

/// Intersecting with a list costs about a fiftieth of looking at an entry per id: a list so many times longer than what is
/// there already does not pay.
const LIST_WORTH_FACTOR: u64 = 50;

/// What an index says about a filter.
#[derive(Clone, Debug)]
pub enum Candidates {
    /// Nothing: every entry is a candidate.
    Unindexed {
        /// A key or range was over its limit, as opposed to: there is no index.
        over_limit: bool,
    },
    /// The entries of one key, not read yet.
    List {
        /// The key.
        key: IndexKey,
        /// Its exact number of entries.
        count: u64,
    },
    /// These.
    Set(IdSet),
}

impl Candidates {
    const NOT_INDEXED: Candidates = Candidates::Unindexed { over_limit: false };
    const OVER_LIMIT: Candidates = Candidates::Unindexed { over_limit: true };

    /// How many; `None` when every entry is one.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match self {
            Candidates::Unindexed { .. } => None,
            Candidates::List { count, .. } => Some(*count),
            Candidates::Set(set) => Some(set.len()),
        }
    }

    fn nobody() -> Candidates {
        Candidates::Set(IdSet::default())
    }
}

/// From a normalized DN to the entry that has it.
pub type Resolve<'p> = dyn Fn(&[u8]) -> Result<Option<EntryId>, StoreError> + 'p;

/// Plans one filter on one backend at one moment.
pub struct Planner<'p> {
    /// The moment.
    pub view: View<'p>,
    /// The filter.
    pub matcher: &'p Matcher,
    /// The entry with a normalized DN, for `(entryDN=…)`.
    pub resolve: &'p Resolve<'p>,
}

impl Planner<'_> {
    /// The candidates of the whole filter.
    pub fn plan(&self) -> Result<Candidates, StoreError> {
        self.node(0)
    }

    fn node(&self, at: usize) -> Result<Candidates, StoreError> {
        match self.matcher.nodes().get(at) {
            Some(Node::And { end }) => self.and(at + 1, *end),
            Some(Node::Or { end }) => self.or(at + 1, *end),
            // Undefined is not true for any entry.
            Some(Node::Undefined) => Ok(Candidates::nobody()),
            Some(Node::Not { .. }) | None => Ok(Candidates::NOT_INDEXED),
            Some(Node::Item(item)) => self.item(item),
        }
    }

    /// Keys with known counts first, smallest first; then what costs more to read, while there is something to gain.
    fn and(&self, from: usize, end: usize) -> Result<Candidates, StoreError> {
        let mut lists: SmallVec<[(u64, IndexKey); 4]> = SmallVec::new();
        let mut over_limit = false;
        let mut best: Option<IdSet> = None;
        let mut child = from;
        while child < end {
            if self.is_cheap(child) {
                match self.node(child)? {
                    Candidates::List { key, count } => lists.push((count, key)),
                    Candidates::Set(set) => intersect(&mut best, set),
                    Candidates::Unindexed { over_limit: over } => over_limit |= over,
                }
            }
            child = self.matcher.end_of(child);
        }
        lists.sort_by_key(|(count, _)| *count);
        let only_list = lists.len() == 1 && best.is_none();
        if let (true, Some((count, key))) = (only_list && !self.has_costly(from, end), lists.first()) {
            return Ok(Candidates::List { key: key.clone(), count: *count });
        }
        for (count, key) in &lists {
            let worth =
                best.as_ref().is_none_or(|set| set.len() > FEW_CANDIDATES && count / LIST_WORTH_FACTOR <= set.len());
            if worth {
                intersect(&mut best, self.read(key)?);
            }
        }
        // Ranges last: they read the most keys for what they give.
        for ranges in [false, true] {
            let mut child = from;
            while child < end {
                let enough = best.as_ref().is_some_and(|set| set.len() <= FEW_CANDIDATES);
                if !enough && !self.is_cheap(child) && self.is_range(child) == ranges {
                    match self.node(child)? {
                        Candidates::List { key, .. } => intersect(&mut best, self.read(&key)?),
                        Candidates::Set(set) => intersect(&mut best, set),
                        Candidates::Unindexed { over_limit: over } => over_limit |= over,
                    }
                }
                child = self.matcher.end_of(child);
            }
        }
        Ok(best.map_or(Candidates::Unindexed { over_limit }, Candidates::Set))
    }

    fn or(&self, from: usize, end: usize) -> Result<Candidates, StoreError> {
        let mut all = IdSet::default();
        let mut child = from;
        while child < end {
            match self.node(child)? {
                Candidates::Unindexed { over_limit } => return Ok(Candidates::Unindexed { over_limit }),
                Candidates::List { key, .. } => all.or(&self.read(&key)?),
                Candidates::Set(set) => all.or(&set),
            }
            child = self.matcher.end_of(child);
        }
        Ok(Candidates::Set(all))
    }

    /// Whether one look at a counter answers the node.
    fn is_cheap(&self, at: usize) -> bool {
        match self.matcher.nodes().get(at) {
            Some(Node::Item(item)) => matches!(item.test, Test::Equal(_) | Test::Present | Test::Sounds(_)),
            Some(Node::Undefined) => true,
            _ => false,
        }
    }

    fn is_range(&self, at: usize) -> bool {
        matches!(self.matcher.nodes().get(at), Some(Node::Item(Item { test: Test::AtLeast(_) | Test::AtMost(_), .. })))
    }

    fn has_costly(&self, from: usize, end: usize) -> bool {
        let mut child = from;
        while child < end {
            let not = matches!(self.matcher.nodes().get(child), Some(Node::Not { .. }));
            if !self.is_cheap(child) && !not {
                return true;
            }
            child = self.matcher.end_of(child);
        }
        false
    }

    fn item(&self, item: &Item) -> Result<Candidates, StoreError> {
        // Values in names are in no index.
        if item.with_dn {
            return Ok(Candidates::NOT_INDEXED);
        }
        let attribute = match item.target {
            Target::Type(attribute) | Target::Tagged(attribute, _) => attribute,
            Target::Virtual(_, VirtualAttribute::EntryDn) => return self.entry_dn(item),
            Target::Virtual(..) | Target::Every => return Ok(Candidates::NOT_INDEXED),
        };
        let found = match (&item.test, item.rule) {
            (Test::Present, _) | (_, None) => Candidates::NOT_INDEXED,
            (Test::Equal(form) | Test::Sounds(form), Some(rule)) => {
                self.key(attribute, rule, self.matcher.form(form))?
            }
            (Test::AtLeast(form), Some(rule)) => {
                self.range(attribute, rule, Bound::Included(self.matcher.form(form)), Bound::Unbounded)?
            }
            (Test::AtMost(form), Some(rule)) => {
                self.range(attribute, rule, Bound::Unbounded, Bound::Included(self.matcher.form(form)))?
            }
            (Test::Assertion(at), Some(rule)) => match self.matcher.assertion(*at) {
                Some(Assertion::Substrings(pieces)) => self.substrings(attribute, rule, pieces)?,
                Some(assertion) => match assertion.key_range() {
                    Some((from, to)) => self.range(attribute, rule, from, to)?,
                    None => self.tried(attribute, rule, assertion)?,
                },
                None => Candidates::NOT_INDEXED,
            },
        };
        match found {
            Candidates::Unindexed { over_limit } => self.presence(attribute, over_limit),
            found => Ok(found),
        }
    }

    /// `(entryDN=…)` names its only candidate.
    fn entry_dn(&self, item: &Item) -> Result<Candidates, StoreError> {
        let Test::Equal(form) = &item.test else { return Ok(Candidates::NOT_INDEXED) };
        let id = (self.resolve)(self.matcher.form(form))?;
        Ok(Candidates::Set(id.map_or_else(IdSet::default, IdSet::one)))
    }

    /// Whoever matches an assertion has the attribute: the presence index answers for a missing one.
    fn presence(&self, attribute: TypeIndex, over_limit: bool) -> Result<Candidates, StoreError> {
        match self.view.indexes().set().presence(attribute).filter(|index| self.is_trusted(index)) {
            Some(index) => self.list(index, PRESENCE_KEY),
            None => Ok(Candidates::Unindexed { over_limit }),
        }
    }

    fn key(&self, attribute: TypeIndex, rule: &MatchingRule, form: &[u8]) -> Result<Candidates, StoreError> {
        match self.view.indexes().set().equality(attribute, rule).filter(|index| self.is_trusted(index)) {
            Some(index) => self.list(index, &index.key(form)),
            None => Ok(Candidates::NOT_INDEXED),
        }
    }

    fn list(&self, index: &Index, key: &[u8]) -> Result<Candidates, StoreError> {
        let key = IndexKey::new(index.id, key);
        let count = self.view.postings(&key)?.count();
        Ok(if is_over(index, count) { Candidates::OVER_LIMIT } else { Candidates::List { key, count } })
    }

    /// What a rule matches may be no range of keys (bits, words, parts of dates): then every key is tried.
    fn tried(
        &self,
        attribute: TypeIndex,
        rule: &MatchingRule,
        assertion: &Assertion,
    ) -> Result<Candidates, StoreError> {
        let index = self.view.indexes().set().equality(attribute, rule);
        let Some(index) = index.filter(|index| self.is_trusted(index) && index.is_ordered() && rule.has_keys()) else {
            return Ok(Candidates::NOT_INDEXED);
        };
        let mut all = IdSet::default();
        let (mut keys, mut ids) = (0, 0);
        let mut scan = self.view.scan(index.id, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, postings)) = scan.next()? {
            keys += 1;
            // A key as long as can be may be cut: the entry decides.
            if key.len() >= KEY_BYTES_MAX || assertion.matches(key) {
                ids += postings.count();
                all.extend(postings.iter());
            }
            if keys > RANGE_IDS_MAX || ids > RANGE_IDS_MAX {
                return Ok(Candidates::OVER_LIMIT);
            }
        }
        Ok(Candidates::Set(all))
    }

    /// All entries with a key in the range.
    fn range(
        &self,
        attribute: TypeIndex,
        rule: &MatchingRule,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Candidates, StoreError> {
        let index = self.view.indexes().set().equality(attribute, rule);
        match index.filter(|index| self.is_trusted(index) && index.is_ordered()) {
            Some(index) => self.keys_between(index, from, to),
            None => Ok(Candidates::NOT_INDEXED),
        }
    }

    fn keys_between(&self, index: &Index, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<Candidates, StoreError> {
        // Long keys end in a hash: beyond their clear part they have no order, so the range is widened to it.
        let from = match from {
            Bound::Included(form) | Bound::Excluded(form) if form.len() > KEY_PREFIX_BYTES => {
                Bound::Included(form.get(..KEY_PREFIX_BYTES).unwrap_or(form))
            }
            bound => bound,
        };
        let end = match to {
            Bound::Included(form) | Bound::Excluded(form) if form.len() > KEY_PREFIX_BYTES => {
                successor(form.get(..KEY_PREFIX_BYTES).unwrap_or(form))
            }
            bound => bound.map(SmallVec::from_slice),
        };
        let to = end.as_ref().map(|form| form.as_slice());
        let mut all = IdSet::default();
        let mut sum = 0;
        let mut scan = self.view.scan(index.id, from, to)?;
        while let Some((_, postings)) = scan.next()? {
            let count = postings.count();
            sum += count;
            if is_over(index, count) || sum > RANGE_IDS_MAX {
                return Ok(Candidates::OVER_LIMIT);
            }
            all.extend(postings.iter());
        }
        Ok(Candidates::Set(all))
    }

    /// Windows of the pieces in the substring index; a short piece is a range of it; the initial piece is a range of the equality index.
    fn substrings(
        &self,
        attribute: TypeIndex,
        rule: &MatchingRule,
        pieces: &Substrings,
    ) -> Result<Candidates, StoreError> {
        let index = self.view.indexes().set().substring(attribute, rule).filter(|index| self.is_trusted(index));
        let equality = self.view.indexes().set().equality(attribute, rule).filter(|index| self.is_trusted(index));
        let mut lists: SmallVec<[(u64, IndexKey); 16]> = SmallVec::new();
        let mut over_limit = false;
        if let Some((Index { method: Method::Substrings { length, .. }, .. }, index)) =
            index.map(|index| (index, index))
        {
            for (_, piece) in pieces.index_pieces() {
                for window in piece.windows(*length) {
                    match self.list(index, &index.key(window))? {
                        Candidates::List { count: 0, .. } => return Ok(Candidates::nobody()),
                        Candidates::List { key, count } => lists.push((count, key)),
                        _ => over_limit = true,
                    }
                }
            }
        }
        lists.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        lists.dedup_by(|a, b| a.1 == b.1);
        let mut best: Option<IdSet> = None;
        for (count, key) in &lists {
            let worth =
                best.as_ref().is_none_or(|set| set.len() > FEW_CANDIDATES && count / LIST_WORTH_FACTOR <= set.len());
            if worth {
                intersect(&mut best, self.read(key)?);
            }
        }
        for (position, piece) in pieces.index_pieces() {
            if best.as_ref().is_some_and(|set| set.len() <= FEW_CANDIDATES) {
                break;
            }
            let is_short = match index.map(|index| index.method) {
                Some(Method::Substrings { length, .. }) => piece.len() < length,
                _ => false,
            };
            // The initial piece's own windows say the same as its range when the piece is long.
            let ranged = match (position, equality, index) {
                (Position::Initial, Some(equality), _) if is_short || lists.is_empty() => {
                    pieces.index_initial().map(|initial| (equality, initial))
                }
                (_, _, Some(index)) if is_short => Some((index, piece)),
                _ => None,
            };
            // Hashed keys have no prefixes.
            if let Some((ranged, piece)) = ranged.filter(|(index, _)| index.is_ordered()) {
                match self.with_prefix(ranged, piece)? {
                    Candidates::Set(set) => intersect(&mut best, set),
                    _ => over_limit = true,
                }
            }
        }
        Ok(best.map_or(Candidates::Unindexed { over_limit }, Candidates::Set))
    }

    fn with_prefix(&self, index: &Index, prefix: &[u8]) -> Result<Candidates, StoreError> {
        let prefix = prefix.get(..prefix.len().min(KEY_PREFIX_BYTES)).unwrap_or(prefix);
        let end = successor(prefix);
        self.keys_between(index, Bound::Included(prefix), end.as_ref().map(|end| end.as_slice()))
    }

    fn read(&self, key: &IndexKey) -> Result<IdSet, StoreError> {
        Ok(IdSet::from_ascending(self.view.postings(key)?.iter()))
    }

    fn is_trusted(&self, index: &Index) -> bool {
        self.view.indexes().why_untrusted(index.id).is_none()
    }
}

/// Exactly `entry_limit` entries are indexed, one more is not; 0 is no limit.
fn is_over(index: &Index, count: u64) -> bool {
    index.entry_limit > 0 && count > u64::from(index.entry_limit)
}

fn intersect(best: &mut Option<IdSet>, set: IdSet) {
    match best {
        Some(best) => best.and(&set),
        None => *best = Some(set),
    }
}

/// The end of all keys that begin with `prefix`.
pub(super) fn successor(prefix: &[u8]) -> Bound<SmallVec<[u8; 64]>> {
    let mut end: SmallVec<[u8; 64]> = SmallVec::from_slice(prefix);
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Bound::Excluded(end);
        }
    }
    Bound::Unbounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_after_everything_that_begins_with_it() {
        assert_eq!(successor(b"den"), Bound::Excluded(SmallVec::from_slice(b"deo")));
        assert_eq!(successor(b"a\xff\xff"), Bound::Excluded(SmallVec::from_slice(b"b")));
        assert_eq!(successor(b"\xff"), Bound::Unbounded);
        assert_eq!(successor(b""), Bound::Unbounded);
    }
}
