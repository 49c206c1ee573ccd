//! A prepared filter against one entry.
//!
//! Invariant: nothing is allocated for an entry. Recursion is bounded by the filter's depth (64).

use std::ops::ControlFlow;

use schema::{Assertion, AttributeDescription, TypeIndex};
use smallvec::SmallVec;
use store::{Content, DescId, StoreError, Values};

use super::item_rights::{Asker, ItemRights};
use super::matcher::{Item, Matcher, Node, NodeIndex, Target, Test};
use crate::entry::{Ask, EntryView, GivenValues, Membership, Shown, is_plain};
use crate::facts::Facts;
use crate::rights::{Answer, ReadRight, ReadRights, Reader};

/// The three values of RFC 4511 §4.5.1.7, in the order in which And takes the least and Or the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// It does not match.
    False,
    /// Nobody can tell.
    Undefined,
    /// It matches.
    True,
}

/// Buffers for normal forms.
#[derive(Debug, Default)]
pub struct FilterScratch {
    form: Vec<u8>,
    wire: Vec<u8>,
    dn: Vec<u8>,
}

impl From<bool> for Truth {
    fn from(matches: bool) -> Self {
        if matches { Truth::True } else { Truth::False }
    }
}

impl Truth {
    /// What its negation is.
    #[must_use]
    pub fn opposite(self) -> Truth {
        match self {
            Truth::False => Truth::True,
            Truth::Undefined => Truth::Undefined,
            Truth::True => Truth::False,
        }
    }
}

impl Matcher {
    /// Whether the entry matches for `asker`: only [`Truth::True`] does. An assertion that may not be made is
    /// Undefined.
    pub fn matches(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        asker: Asker<'_>,
        scratch: &mut FilterScratch,
    ) -> Result<Truth, StoreError> {
        let computed = entry.source.computed()?;
        self.decide(&mut Trial { facts, entry, asker, computed, allowed: None, scratch })
    }

    /// Matches one entry for an asker, who needs `right` to make assertions: the answers about them and the buffers are
    /// made for this one entry.
    pub fn matches_one(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        right: ReadRight,
        rights: &dyn ReadRights,
    ) -> Result<Truth, StoreError> {
        let items = ItemRights::of(self, facts, right, rights);
        self.matches(facts, entry, Asker { rights, right, items: &items }, &mut FilterScratch::default())
    }

    /// The truth of the whole filter, with whoever tries its assertions on an entry.
    #[inline]
    pub(super) fn decide(&self, trial: &mut impl TryItem) -> Result<Truth, StoreError> {
        if self.nodes().is_empty() {
            return Ok(Truth::Undefined);
        }
        self.truth_of(NodeIndex::ROOT, trial)
    }

    fn truth_of<T: TryItem>(&self, at: NodeIndex, trial: &mut T) -> Result<Truth, StoreError> {
        match self.node(at) {
            Some(Node::And { end }) => self.fold(at, *end, Truth::True, Truth::False, Truth::min, trial),
            Some(Node::Or { end }) => self.fold(at, *end, Truth::False, Truth::True, Truth::max, trial),
            Some(Node::Not { .. }) => Ok(self.truth_of(at.next(), trial)?.opposite()),
            Some(Node::Item(item)) => trial.item(self, at, item),
            Some(Node::Undefined | Node::Set(_)) | None => Ok(Truth::Undefined),
        }
    }

    fn fold<T: TryItem>(
        &self,
        at: NodeIndex,
        end: NodeIndex,
        empty: Truth,
        decided: Truth,
        combine: fn(Truth, Truth) -> Truth,
        trial: &mut T,
    ) -> Result<Truth, StoreError> {
        let mut truth = empty;
        let mut child = at.next();
        while child < end && truth != decided {
            truth = combine(truth, self.truth_of(child, trial)?);
            child = self.end_of(child);
        }
        Ok(truth)
    }

    /// Whether the component at `at` is true of some entry, as far as its shape tells: one whose truth hangs on
    /// undefined parts is true of none.
    #[must_use]
    pub fn can_match(&self, at: NodeIndex) -> bool {
        self.possible_truth(at).0
    }

    /// Whether the component may be true, and whether it may be false.
    fn possible_truth(&self, at: NodeIndex) -> (bool, bool) {
        let children = |end: NodeIndex| {
            std::iter::successors(Some(at.next()), |child| Some(self.end_of(*child)))
                .take_while(move |child| *child < end)
        };
        match self.node(at) {
            Some(Node::And { end }) => children(*end)
                .map(|child| self.possible_truth(child))
                .fold((true, false), |all, child| (all.0 && child.0, all.1 || child.1)),
            Some(Node::Or { end }) => children(*end)
                .map(|child| self.possible_truth(child))
                .fold((false, true), |all, child| (all.0 || child.0, all.1 && child.1)),
            Some(Node::Not { .. }) => {
                let (may_be_true, may_be_false) = self.possible_truth(at.next());
                (may_be_false, may_be_true)
            }
            Some(Node::Item(_) | Node::Set(_)) => (true, true),
            Some(Node::Undefined) | None => (false, false),
        }
    }

    /// Index one past the subtree at `at`.
    #[must_use]
    pub fn end_of(&self, at: NodeIndex) -> NodeIndex {
        match self.node(at) {
            // `max` keeps a walk going forward whatever a node says.
            Some(Node::And { end } | Node::Or { end } | Node::Not { end }) => (*end).max(at.next()),
            _ => at.next(),
        }
    }

    /// Whether one value passes an item's test; presence is passed by all.
    #[inline]
    fn value_matches(&self, facts: &Facts, item: &Item, value: &[u8], form: &mut Vec<u8>) -> bool {
        let Some(rule) = item.rule else { return true };
        if let (true, Test::Equal(range)) = (item.is_settled, &item.test)
            && value == self.form(range)
        {
            return true;
        }
        form.clear();
        // A stored value without a normal form matches nothing.
        rule.normalize(&facts.schema, value, form).is_ok() && self.form_matches(&item.test, form)
    }

    /// The items that are about an attribute, whatever their place in the filter.
    pub fn items_about<'m>(
        &'m self,
        facts: &'m Facts,
        own: &'m AttributeDescription,
    ) -> impl Iterator<Item = &'m Item> {
        let attribute = own.attribute.and_then(|index| facts.schema.attribute_by_index(index));
        let is_about = move |item: &&Item| {
            attribute.is_some_and(|attribute| match item.target {
                Target::Type(asked) | Target::Virtual(asked, _) => attribute.is_subtype_of(asked),
                Target::Tagged(asked, options) => {
                    let asked_options = self.options.get(options);
                    attribute.is_subtype_of(asked) && asked_options.is_some_and(|asked| own.options.satisfy(asked))
                }
                Target::Every => item.rule.is_some_and(|rule| facts.schema.rule_applies(rule, attribute)),
            })
        };
        self.nodes()
            .iter()
            .filter_map(|node| if let Node::Item(item) = node { Some(item) } else { None })
            .filter(is_about)
    }

    /// Whether one value of an attribute matches `item`, one of [`Matcher::items_about`] it.
    pub fn matches_value(&self, facts: &Facts, item: &Item, value: &[u8], scratch: &mut FilterScratch) -> bool {
        self.value_matches(facts, item, value, &mut scratch.form)
    }

    /// What one value's normal form means for a test.
    pub(super) fn form_matches(&self, test: &Test, form: &[u8]) -> bool {
        match test {
            Test::Present => true,
            Test::Equal(range) | Test::Sounds(range) => form == self.form(range),
            Test::AtLeast(range) => form >= self.form(range),
            Test::AtMost(range) => form <= self.form(range),
            Test::InChain(_) => false,
            Test::Assertion(at) => match self.assertion(*at) {
                Some(Assertion::Password(clear)) => {
                    (self.checks_slow_hashes || !password::is_slow(form)) && password::verify(form, clear)
                }
                Some(assertion) => assertion.matches(form),
                None => false,
            },
        }
    }
}

/// What tries the assertions of a filter on one entry.
pub(super) trait TryItem {
    /// Whether an assertion is true of the entry.
    fn item(&mut self, matcher: &Matcher, at: NodeIndex, item: &Item) -> Result<Truth, StoreError>;
}

/// One filter on one entry.
struct Trial<'t, 'e> {
    facts: &'t Facts,
    entry: &'t EntryView<'e>,
    asker: Asker<'t>,
    /// What the entry is given, where it can be told.
    computed: Option<&'t dyn GivenValues>,
    /// The type of the assertion that is tried, which may be made of this entry.
    allowed: Option<TypeIndex>,
    scratch: &'t mut FilterScratch,
}

impl TryItem for Trial<'_, '_> {
    #[inline]
    fn item(&mut self, matcher: &Matcher, at: NodeIndex, item: &Item) -> Result<Truth, StoreError> {
        if !self.asker.items.is_all() && !self.may_assert(at, item)? {
            return Ok(Truth::Undefined);
        }
        if item.asks_for_groups() {
            return self.by_groups(matcher, item);
        }
        if let (Some(computed), Target::Type(asked)) = (self.computed, item.target)
            && !computed.defined().concerned(asked).is_empty()
        {
            if self.any_shown(matcher, item, asked, computed)? || (item.with_dn && self.name_matches(matcher, item)) {
                return Ok(Truth::True);
            }
        } else if self.any_attribute(matcher, item)? || (item.with_dn && self.name_matches(matcher, item)) {
            return Ok(Truth::True);
        }
        if matcher.asks_for_members()
            && let Some(groups) = self.entry.source.groups()
        {
            return self.by_members(matcher, item, groups);
        }
        Ok(Truth::False)
    }
}

impl Trial<'_, '_> {
    /// Whether the asker may make an assertion, the one at `at`, of this entry.
    #[cold]
    fn may_assert(&mut self, at: NodeIndex, item: &Item) -> Result<bool, StoreError> {
        match (self.asker.items.of_node(at), item.target) {
            (Answer::Yes, _) => Ok(true),
            (Answer::No, _) | (Answer::Ask, Target::Every) => Ok(false),
            (Answer::Ask, Target::Type(attribute) | Target::Tagged(attribute, _) | Target::Virtual(attribute, _)) => {
                let may = self.asker.rights.of_entry(self.facts, self.asker.right, self.entry, attribute)?;
                self.allowed = may.then_some(attribute);
                Ok(may)
            }
        }
    }

    /// Whether the asker may make assertions about an attribute of this entry.
    fn may_test(&self, attribute: TypeIndex) -> Result<bool, StoreError> {
        Reader { facts: self.facts, rights: self.asker.rights }.may(self.asker.right, self.entry, attribute)
    }

    /// Whether the asker may make assertions about what the entry has under a description, which may be that of a
    /// subtype.
    #[inline]
    fn may_test_desc(&self, desc: DescId) -> Result<bool, StoreError> {
        if self.asker.items.is_all() { Ok(true) } else { self.may_test_type_of(desc) }
    }

    #[cold]
    fn may_test_type_of(&self, desc: DescId) -> Result<bool, StoreError> {
        match self.entry.record.tables().type_of(desc).map(TypeIndex) {
            Some(attribute) if self.allowed == Some(attribute) => Ok(true),
            Some(attribute) => self.may_test(attribute),
            None => Ok(self.asker.rights.of_unknown(self.asker.right) == Answer::Yes),
        }
    }

    /// Whether a group that does not list its members has that one.
    #[cold]
    fn by_members(&mut self, matcher: &Matcher, item: &Item, groups: &dyn Membership) -> Result<Truth, StoreError> {
        let Some(attribute) = item.member_attribute(self.facts) else { return Ok(Truth::False) };
        if !groups.computes_members(&self.entry.record, attribute) {
            return Ok(Truth::False);
        }
        match &item.test {
            Test::Equal(form) => groups.has_member(self.entry, matcher.form(form)).map(Truth::from),
            _ => Ok(Truth::True),
        }
    }

    /// What the entry does not tell alone: undefined where nobody else is there to tell.
    #[cold]
    fn by_groups(&mut self, matcher: &Matcher, item: &Item) -> Result<Truth, StoreError> {
        let Some(groups) = self.entry.source.groups() else { return Ok(Truth::Undefined) };
        let (form, attribute) = match (&item.test, item.target) {
            (_, Target::Virtual(_, computed)) if !groups.offers(computed) => return Ok(Truth::False),
            (Test::Present, _) => return groups.is_in_any(self.entry).map(Truth::from),
            (Test::Equal(form), _) => return groups.contains(self.entry, matcher.form(form)).map(Truth::from),
            (Test::InChain(form), Target::Type(attribute) | Target::Tagged(attribute, _)) => (form, attribute),
            _ => return Ok(Truth::Undefined),
        };
        let is_in = groups.is_in_chain(self.entry, attribute, matcher.form(form))?;
        Ok(is_in.map_or(Truth::Undefined, Truth::from))
    }

    /// Tries what the entry shows of an attribute that it may be given: values that it has stored count only if they
    /// are shown.
    #[cold]
    fn any_shown(
        &mut self,
        matcher: &Matcher,
        item: &Item,
        asked: TypeIndex,
        computed: &dyn GivenValues,
    ) -> Result<bool, StoreError> {
        let defined = computed.defined();
        let mut instead: SmallVec<[TypeIndex; 4]> = SmallVec::new();
        let mut wire = Vec::new();
        for at in defined.concerned(asked) {
            let Some(attribute) = defined.attributes().get(*at) else { continue };
            wire.clear();
            if computed.shown(self.entry, *at, Ask::ByName, &mut wire)? == Shown::Computed {
                instead.push(*attribute);
                let is_own = self.asker.items.is_all() || self.may_test(*attribute)?;
                if is_own && self.any_value(matcher, item, Values::new(u32::from(!wire.is_empty()), &wire)) {
                    return Ok(true);
                }
            }
        }
        if self.facts.is_virtual(asked) {
            return Ok(false);
        }
        let tables = self.entry.record.tables();
        let is_shown = |desc: DescId| !instead.iter().any(|hidden| is_plain(tables, desc, *hidden));
        self.any_of(matcher, item, tables.by_type(asked.0), is_shown)
    }

    fn any_attribute(&mut self, matcher: &Matcher, item: &Item) -> Result<bool, StoreError> {
        let tables = self.entry.record.tables();
        match item.target {
            Target::Virtual(_, attribute) => {
                let mut wire = std::mem::take(&mut self.scratch.wire);
                wire.clear();
                let found = attribute.put(self.facts, self.entry, &mut wire);
                let matches = found.map(|found| found && self.any_value(matcher, item, Values::new(1, &wire)));
                self.scratch.wire = wire;
                matches
            }
            // What is stored of a computed attribute does not count.
            Target::Type(index) if self.facts.is_virtual(index) => Ok(false),
            Target::Type(index) => self.any_of(matcher, item, tables.by_type(index.0), |_| true),
            Target::Tagged(index, options) => {
                let asked = matcher.options.get(options);
                let has_options = |desc: DescId| {
                    let text = tables.description(desc).unwrap_or_default();
                    let own =
                        schema::Options::parse(text.split_once(';').map_or("", |(_, options)| options).as_bytes());
                    matches!((own, asked), (Some(own), Some(asked)) if own.satisfy(asked))
                };
                self.any_of(matcher, item, tables.by_type(index.0), has_options)
            }
            Target::Every => self.every_attribute(matcher, item),
        }
    }

    /// Tries the attributes of `descs` that the entry has.
    #[inline]
    fn any_of(
        &mut self,
        matcher: &Matcher,
        item: &Item,
        descs: &[DescId],
        mut wanted: impl FnMut(DescId) -> bool,
    ) -> Result<bool, StoreError> {
        let record = &self.entry.record;
        for desc in descs.iter().copied().filter(|desc| desc.0 < DescId::WELL_KNOWN.len() as u32) {
            if wanted(desc) && self.may_test_desc(desc)? && self.header_value(matcher, item, desc) {
                return Ok(true);
            }
        }
        for attribute in record.attributes() {
            if descs.contains(&attribute.desc)
                && wanted(attribute.desc)
                && self.may_test_desc(attribute.desc)?
                && self.content(matcher, item, attribute.desc, attribute.content)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn header_value(&mut self, matcher: &Matcher, item: &Item, desc: DescId) -> bool {
        let record = &self.entry.record;
        if desc == DescId::OBJECT_CLASS {
            return record.header().class_set.is_some() && self.any_value(matcher, item, record.object_classes());
        }
        let mut wire = std::mem::take(&mut self.scratch.wire);
        wire.clear();
        let found = record.header().put_value(desc, record.tables(), &mut wire);
        let matches = found && self.any_value(matcher, item, Values::new(1, &wire));
        self.scratch.wire = wire;
        matches
    }

    /// Extensible match without a type: every attribute whose values the rule is for.
    fn every_attribute(&mut self, matcher: &Matcher, item: &Item) -> Result<bool, StoreError> {
        let Some(rule) = item.rule else { return Ok(false) };
        let record = self.entry.record;
        let tables = record.tables();
        let facts = self.facts;
        let applying = |desc: DescId| {
            let attribute = facts.schema.attribute_by_index(TypeIndex(tables.type_of(desc)?))?;
            let applies = facts.schema.rule_applies(rule, attribute)
                && !facts.is_secret(attribute.index)
                && !facts.is_virtual(attribute.index);
            applies.then_some(attribute.index)
        };
        for desc in (0..DescId::WELL_KNOWN.len() as u32).map(DescId) {
            if let Some(attribute) = applying(desc)
                && self.may_test(attribute)?
                && self.header_value(matcher, item, desc)
            {
                return Ok(true);
            }
        }
        for stored in record.attributes() {
            if let Some(attribute) = applying(stored.desc)
                && self.may_test(attribute)?
                && self.content(matcher, item, stored.desc, stored.content)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn content(
        &mut self,
        matcher: &Matcher,
        item: &Item,
        desc: DescId,
        content: Content<'_>,
    ) -> Result<bool, StoreError> {
        let entry = self.entry;
        match (content, &item.test) {
            (Content::Inline(values), _) => Ok(self.any_value(matcher, item, values)),
            (Content::Large(stub), Test::Present) => Ok(stub.count > 0),
            (Content::Large(_), Test::Equal(range)) if self.is_equality_of(item, desc) => {
                entry.source.large_contains(entry.id, desc, matcher.form(range))
            }
            (Content::Large(_), _) => {
                let mut matches = false;
                entry.source.large_values(entry.id, desc, &mut |value| {
                    matches = self.value(matcher, item, value);
                    if matches { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
                Ok(matches)
            }
        }
    }

    /// Whether the item's rule has the normal forms that large values of `desc` are kept by.
    fn is_equality_of(&self, item: &Item, desc: DescId) -> bool {
        let index = self.entry.record.tables().type_of(desc).map(TypeIndex);
        let equality = index.and_then(|index| self.facts.schema.attribute_by_index(index)).and_then(|it| it.equality);
        matches!((equality, item.rule), (Some(own), Some(asked)) if own.shares_form_with(asked))
    }

    #[inline]
    fn any_value(&mut self, matcher: &Matcher, item: &Item, values: Values<'_>) -> bool {
        match item.test {
            Test::Present => values.count() > 0,
            _ => values.iter().any(|value| self.value(matcher, item, value)),
        }
    }

    #[inline]
    fn value(&mut self, matcher: &Matcher, item: &Item, value: &[u8]) -> bool {
        matcher.value_matches(self.facts, item, value, &mut self.scratch.form)
    }

    /// `:dn:`: the values of the RDNs are tried as well.
    fn name_matches(&mut self, matcher: &Matcher, item: &Item) -> bool {
        let mut text = std::mem::take(&mut self.scratch.dn);
        text.clear();
        self.entry.dn.put(&mut text);
        let matches = std::str::from_utf8(&text).is_ok_and(|text| self.dn_matches(matcher, item, text));
        self.scratch.dn = text;
        matches
    }

    fn dn_matches(&mut self, matcher: &Matcher, item: &Item, text: &str) -> bool {
        let (Ok(dn), Some(rule)) = (ldap::Dn::parse(text), item.rule) else { return false };
        let facts = self.facts;
        dn.rdns().iter().flat_map(|rdn| rdn.avas()).any(|ava| {
            let Some(attribute) = facts.schema.attribute_type(ava.attribute.as_bytes()) else { return false };
            let asked = match item.target {
                Target::Type(index) | Target::Virtual(index, _) => attribute.is_subtype_of(index),
                // Naming attributes have no options (RFC 4512 §2.3.2).
                Target::Tagged(..) => false,
                Target::Every => facts.schema.rule_applies(rule, attribute),
            };
            asked && self.value(matcher, item, &ava.value)
        })
    }
}
