//! What the indexes have for one component of a filter: keys with known counts, and ranges of keys.
//!
//! Finds out and counts; reads no list.

use std::ops::Bound;

use schema::{Assertion, AttributeType, MatchingRule, Position, Substrings, TypeIndex};
use store::index::{Index, IndexKind, Method, PRESENCE_KEY};
use store::posting::key::{KEY_BYTES_MAX, KEY_PREFIX_BYTES};
use store::{IndexKey, StoreError};

use super::cost;
use super::planner::{Planner, since};
use super::reads::{Conjunction, Form, KeyRead, Missing, RangeRead};
use super::trace::{Count, Leaf, Reason};
use crate::filter::{Item, NodeIndex, Target, Test};
use crate::id_set::IdSet;
use crate::plan::remedy::WantedIndex;
use crate::virtual_attributes::VirtualAttribute;

/// An assertion on an attribute that indexes may be for.
#[derive(Clone, Copy)]
struct Sought<'p> {
    /// Its node in the filter.
    at: NodeIndex,
    item: &'p Item,
    attribute: TypeIndex,
    /// Whether values count whatever their options: an index knows no options.
    is_plain: bool,
}

impl<'p> Planner<'p, '_> {
    /// Adds what the indexes have for an item.
    pub(super) fn gather_item(
        &mut self,
        at: NodeIndex,
        item: &'p Item,
        all: &mut Conjunction<'p>,
    ) -> Result<(), StoreError> {
        // Values in names are in no index.
        if item.with_dn {
            self.miss(at, None, Missing::because(Reason::NameValues), all);
            return Ok(());
        }
        let (attribute, is_plain) = match item.target {
            // What is stored of it does not count, and what is computed was put beside it.
            Target::Type(attribute) if self.facts.is_virtual(attribute) => {
                let reason = Some(Reason::Computed);
                self.report(|| Leaf {
                    attribute: Some(attribute),
                    candidates: Count::Known(0),
                    reason,
                    ..Leaf::of(at)
                });
                all.rule_out();
                return Ok(());
            }
            Target::Type(attribute) => (attribute, true),
            Target::Tagged(attribute, _) => (attribute, false),
            Target::Virtual(_, VirtualAttribute::EntryDn) => return self.gather_entry_dn(at, item, all),
            Target::Virtual(attribute, _) => {
                self.miss(at, Some(attribute), Missing::because(Reason::Computed), all);
                return Ok(());
            }
            Target::Every => {
                self.miss(at, None, Missing::because(Reason::AnyAttribute), all);
                return Ok(());
            }
        };
        let sought = Sought { at, item, attribute, is_plain };
        let Some(missing) = self.gather_own(sought, all)? else { return Ok(()) };
        match self.presence(at, attribute, missing.reason)? {
            Some(read) => all.keys.push(read),
            None => self.miss(at, Some(attribute), missing, all),
        }
        Ok(())
    }

    /// The same by the index that is for such an item; or why there is none.
    fn gather_own(&mut self, sought: Sought<'p>, all: &mut Conjunction<'p>) -> Result<Option<Missing>, StoreError> {
        let (matcher, Sought { item, attribute, is_plain, .. }) = (self.matcher, sought);
        match (&item.test, item.rule) {
            (Test::Present, _) | (_, None) => {
                if Some(attribute) == self.facts.object_class {
                    // Nothing to read, and nothing left open.
                    all.exact += usize::from(is_plain);
                    return Ok(Some(Missing::because(Reason::EveryEntry)));
                }
                let index =
                    self.usable(self.view.indexes().set().presence(attribute), WantedIndex::Kind(IndexKind::Presence));
                Ok(self.gather_key(sought, index, PRESENCE_KEY, is_plain, all)?)
            }
            (Test::Equal(form) | Test::Sounds(form), Some(rule)) => {
                let form = matcher.form(form);
                let index = self.normal(attribute, rule, &item.test);
                // Longer keys end in a hash.
                let is_exact = is_plain && form.len() <= KEY_BYTES_MAX;
                Ok(self.gather_key(sought, index, form, is_exact, all)?)
            }
            // Followed from key to key: see `groups`.
            (Test::InChain(_), _) => Ok(Some(Missing::because(Reason::Computed))),
            (Test::AtLeast(form), Some(rule)) => {
                let bounds = (Bound::Included(matcher.form(form)), Bound::Unbounded);
                Ok(self.gather_range(sought, rule, bounds, all))
            }
            (Test::AtMost(form), Some(rule)) => {
                let bounds = (Bound::Unbounded, Bound::Included(matcher.form(form)));
                Ok(self.gather_range(sought, rule, bounds, all))
            }
            (Test::Assertion(number), Some(rule)) => match matcher.assertion(*number) {
                Some(Assertion::Substrings(pieces)) => self.gather_substrings(sought, rule, pieces, all),
                Some(assertion) => match assertion.key_range() {
                    Some(bounds) => {
                        // A span of time is what the date's fields come to; the fields themselves decide.
                        let is_plain = is_plain && !matches!(assertion, Assertion::Date(_));
                        let sought = Sought { is_plain, ..sought };
                        Ok(self.gather_range(sought, rule, bounds, all))
                    }
                    None => Ok(self.gather_tried(sought, rule, assertion, all)),
                },
                None => Ok(Some(Missing::because(Reason::Rule))),
            },
        }
    }

    /// `(entryDN=…)` names its only candidate.
    fn gather_entry_dn(&mut self, at: NodeIndex, item: &Item, all: &mut Conjunction<'p>) -> Result<(), StoreError> {
        let Test::Equal(form) = &item.test else {
            self.miss(at, None, Missing::because(Reason::Computed), all);
            return Ok(());
        };
        let started = self.clock();
        let id = (self.resolve)(self.matcher.form(form))?;
        let set = id.map_or_else(IdSet::default, IdSet::one);
        let (candidates, elapsed) = (Count::Known(set.len()), since(started));
        let retained = Some(set.len());
        self.report(|| Leaf { candidates, retained, estimate: cost::KEY, elapsed, ..Leaf::of(at) });
        all.set = Some(set);
        Ok(())
    }

    /// Whoever matches an assertion has the attribute: the presence index answers for a missing one.
    pub(super) fn presence(
        &mut self,
        at: NodeIndex,
        attribute: TypeIndex,
        reason: Reason,
    ) -> Result<Option<KeyRead<'p>>, StoreError> {
        let Ok(index) =
            self.usable(self.view.indexes().set().presence(attribute), WantedIndex::Kind(IndexKind::Presence))
        else {
            return Ok(None);
        };
        let found = self.find(at, attribute, index, PRESENCE_KEY)?;
        Ok(found.ok().map(|read| KeyRead { reason: Some(reason), ..read }))
    }

    /// The index whose keys are the rule's normal forms.
    fn normal(&self, attribute: TypeIndex, rule: &'static MatchingRule, test: &Test) -> Result<&'p Index, Missing> {
        let found = self.view.indexes().set().equality(attribute, rule);
        let own = self.facts.schema.attribute_by_index(attribute);
        let is_of = |of: fn(&AttributeType) -> Option<&'static MatchingRule>| {
            own.and_then(of).is_some_and(|own| own.shares_form_with(rule))
        };
        let kind = match test {
            Test::AtLeast(_) | Test::AtMost(_) => IndexKind::Ordering,
            Test::Sounds(_) => IndexKind::Approximate,
            _ if is_of(|it| it.equality) => IndexKind::Equality,
            _ if is_of(|it| it.ordering) => IndexKind::Ordering,
            _ if is_of(|it| it.approximate) => IndexKind::Approximate,
            _ if rule.has_keys() => return self.usable(found, WantedIndex::Rule(rule.name())),
            _ => return Err(Missing::because(Reason::Rule)),
        };
        self.usable(found, WantedIndex::Kind(kind))
    }

    /// The same, if its keys lie in the order of the forms.
    fn ordered(&self, attribute: TypeIndex, rule: &'static MatchingRule, test: &Test) -> Result<&'p Index, Missing> {
        let index = self.normal(attribute, rule, test)?;
        match index.is_ordered() {
            true => Ok(index),
            false => Err(Missing { index: Some(index.id), ..Missing::because(Reason::Hashed) }),
        }
    }

    fn usable(&self, index: Option<&'p Index>, wanted: WantedIndex) -> Result<&'p Index, Missing> {
        let index = index.ok_or_else(|| Missing::because(Reason::NoIndex(wanted)))?;
        match self.view.indexes().why_untrusted(index.id) {
            None => Ok(index),
            Some(why) => Err(Missing { index: Some(index.id), ..Missing::because(Reason::Untrusted(why)) }),
        }
    }

    fn gather_key(
        &mut self,
        Sought { at, attribute, .. }: Sought<'p>,
        index: Result<&'p Index, Missing>,
        form: &[u8],
        is_exact: bool,
        all: &mut Conjunction<'p>,
    ) -> Result<Option<Missing>, StoreError> {
        let index = match index {
            Ok(index) => index,
            Err(missing) => return Ok(Some(missing)),
        };
        Ok(match self.find(at, attribute, index, form)? {
            Ok(read) => {
                all.keys.push(KeyRead { exact: usize::from(is_exact && index.is_ordered()), ..read });
                None
            }
            Err(missing) => Some(missing),
        })
    }

    /// Finds one key and its count.
    fn find(
        &mut self,
        at: NodeIndex,
        attribute: TypeIndex,
        index: &Index,
        form: &[u8],
    ) -> Result<Result<KeyRead<'p>, Missing>, StoreError> {
        let started = self.clock();
        let key = IndexKey::new(index.id, &index.key(form));
        let list = self.view.postings(&key)?;
        let count = list.count();
        if is_over(index, count) {
            let reason = Reason::OverLimit { limit: u64::from(index.entry_limit) };
            let shown = self.trace.is_some().then(|| Box::from(key.key()));
            return Ok(Err(Missing { reason, index: Some(index.id), key: shown, over: Some(count) }));
        }
        let elapsed = since(started);
        Ok(Ok(KeyRead { node: at, attribute, key, list, count, exact: 0, is_whole: true, reason: None, elapsed }))
    }

    /// The keys between two bounds.
    fn gather_range(
        &mut self,
        Sought { at, item, attribute, is_plain }: Sought<'p>,
        rule: &'static MatchingRule,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        all: &mut Conjunction<'p>,
    ) -> Option<Missing> {
        let index = match self.ordered(attribute, rule, &item.test) {
            Ok(index) => index,
            Err(missing) => return Some(missing),
        };
        let range = range_read(at, attribute, index, from, to);
        let range = RangeRead { is_exact: range.is_exact && is_plain, is_last: true, ..range };
        if is_plain && self.has_one_value(attribute) && all.pair(&range) {
            return None;
        }
        all.ranges.push(range);
        None
    }

    /// What a rule matches may be no range of keys (bits, words, parts of dates): then every key is tried.
    fn gather_tried(
        &mut self,
        Sought { at, item, attribute, is_plain }: Sought<'p>,
        rule: &'static MatchingRule,
        assertion: &'p Assertion,
        all: &mut Conjunction<'p>,
    ) -> Option<Missing> {
        if !rule.has_keys() {
            return Some(Missing::because(Reason::Rule));
        }
        let index = match self.ordered(attribute, rule, &item.test) {
            Ok(index) => index,
            Err(missing) => return Some(missing),
        };
        let range = range_read(at, attribute, index, Bound::Unbounded, Bound::Unbounded);
        all.ranges.push(RangeRead { tried: Some(assertion), is_exact: is_plain, is_last: true, ..range });
        None
    }

    /// Whether no entry of the backend has two values of the attribute: it is single-valued, and was never stored as a
    /// subtype or with options. Only then do two bounds make one range: of several values, one may match one bound,
    /// another the other.
    fn has_one_value(&self, attribute: TypeIndex) -> bool {
        self.facts.schema.attribute_by_index(attribute).is_some_and(AttributeType::is_single_value)
            && self.view.tables().by_type(attribute.0).len() <= 1
    }

    /// Windows of the pieces in the substring index; a short piece is a range of it; the initial piece is a range of
    /// the equality index.
    fn gather_substrings(
        &mut self,
        Sought { at, attribute, is_plain, .. }: Sought<'p>,
        rule: &'static MatchingRule,
        pieces: &Substrings,
        all: &mut Conjunction<'p>,
    ) -> Result<Option<Missing>, StoreError> {
        let indexes = self.view.indexes().set();
        let (index, mut missing) =
            match self.usable(indexes.substring(attribute, rule), WantedIndex::Kind(IndexKind::Substring)) {
                Ok(index) => (Some(index), None),
                Err(missing) => (None, Some(missing)),
            };
        let length = match index.map(|index| index.method) {
            Some(Method::Substrings { length, .. }) => length,
            _ => usize::MAX,
        };
        // Hashed keys have no prefixes.
        let equality = self.usable(indexes.equality(attribute, rule), WantedIndex::Kind(IndexKind::Equality)).ok();
        let equality = equality.filter(|index| index.is_ordered());
        let is_ordered = index.is_some_and(Index::is_ordered);
        let only = pieces.only_piece().filter(|_| is_plain);
        let (keys_before, ranges_before) = (all.keys.len(), all.ranges.len());
        for (position, piece) in pieces.index_pieces() {
            let is_contained = matches!(only, Some((Position::Any, _)));
            if let Some(index) = index.filter(|_| piece.len() >= length) {
                for window in piece.windows(length) {
                    match self.find(at, attribute, index, window)? {
                        Ok(read) => {
                            let is_exact = is_contained && piece.len() == length && is_ordered;
                            let is_empty = read.count == 0;
                            all.keys.push(KeyRead { exact: usize::from(is_exact), ..read });
                            if is_empty {
                                return Ok(None);
                            }
                        }
                        Err(over) => {
                            all.over_limit = true;
                            missing = Some(over);
                        }
                    }
                }
            }
            // The initial piece's own windows say the same as its range when the piece is long.
            let is_short = index.is_some() && piece.len() < length;
            let range = match (position, equality, index) {
                (Position::Initial, Some(equality), _) if is_short || all.keys.len() == keys_before => {
                    let initial = pieces.index_initial();
                    let is_exact = matches!(only, Some((Position::Initial, _)));
                    initial.map(|initial| (with_prefix(at, attribute, equality, initial), is_exact))
                }
                (_, _, Some(index)) if is_short && is_ordered => {
                    Some((with_prefix(at, attribute, index, piece), is_contained))
                }
                _ => None,
            };
            if let Some((range, is_exact)) = range {
                all.ranges.push(RangeRead { is_exact: is_exact && range.is_exact, ..range });
            }
        }
        let reads = all.keys.len() - keys_before + all.ranges.len() - ranges_before;
        if reads == 0 {
            return Ok(Some(
                missing.unwrap_or_else(|| Missing::because(Reason::NoIndex(WantedIndex::Kind(IndexKind::Substring)))),
            ));
        }
        if let Some(missing) = missing.filter(Missing::is_over_limit) {
            self.report(|| Leaf { is_whole: false, ..missing.leaf(at, Some(attribute)) });
        }
        let is_whole = reads == 1;
        all.keys.iter_mut().skip(keys_before).for_each(|read| read.is_whole = is_whole);
        all.ranges.iter_mut().skip(ranges_before).for_each(|read| read.is_whole = is_whole);
        Ok(None)
    }

    /// Notes that no index answers a component.
    fn miss(&mut self, at: NodeIndex, attribute: Option<TypeIndex>, missing: Missing, all: &mut Conjunction<'p>) {
        all.over_limit |= missing.is_over_limit();
        self.report(|| missing.leaf(at, attribute));
    }
}

/// The keys between two normal forms.
fn range_read<'p>(
    node: NodeIndex,
    attribute: TypeIndex,
    index: &'p Index,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
) -> RangeRead<'p> {
    // Long keys end in a hash: beyond their clear part they have no order, so the range is widened to it.
    let mut is_exact = true;
    let from = match from {
        Bound::Included(form) | Bound::Excluded(form) if form.len() > KEY_PREFIX_BYTES => {
            is_exact = false;
            Bound::Included(Form::from_slice(form.get(..KEY_PREFIX_BYTES).unwrap_or(form)))
        }
        bound => bound.map(Form::from_slice),
    };
    let to = match to {
        Bound::Included(form) | Bound::Excluded(form) if form.len() > KEY_PREFIX_BYTES => {
            is_exact = false;
            successor(form.get(..KEY_PREFIX_BYTES).unwrap_or(form))
        }
        bound => bound.map(Form::from_slice),
    };
    RangeRead { node, pair: None, attribute, index, from, to, tried: None, is_exact, is_whole: true, is_last: false }
}

/// The keys that begin with `prefix`.
fn with_prefix<'p>(node: NodeIndex, attribute: TypeIndex, index: &'p Index, prefix: &[u8]) -> RangeRead<'p> {
    let clear = prefix.get(..prefix.len().min(KEY_PREFIX_BYTES)).unwrap_or(prefix);
    let (from, to) = (Bound::Included(Form::from_slice(clear)), successor(clear));
    let is_exact = clear.len() == prefix.len();
    RangeRead { node, pair: None, attribute, index, from, to, tried: None, is_exact, is_whole: true, is_last: false }
}

/// Exactly `entry_limit` entries are indexed, one more is not; 0 is no limit.
pub(super) fn is_over(index: &Index, count: u64) -> bool {
    index.entry_limit > 0 && count > u64::from(index.entry_limit)
}

/// The end of all keys that begin with `prefix`.
pub fn successor(prefix: &[u8]) -> Bound<Form> {
    let mut end = Form::from_slice(prefix);
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
    use smallvec::SmallVec;

    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_after_everything_that_begins_with_it() {
        assert_eq!(successor(b"den"), Bound::Excluded(SmallVec::from_slice(b"deo")));
        assert_eq!(successor(b"a\xff\xff"), Bound::Excluded(SmallVec::from_slice(b"b")));
        assert_eq!(successor(b"\xff"), Bound::Unbounded);
        assert_eq!(successor(b""), Bound::Unbounded);
    }
}
