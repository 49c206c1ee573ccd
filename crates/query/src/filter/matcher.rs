//! A prepared filter: its nodes, with assertion values under their matching rules.
//!
//! It holds for whoever asks; what an asker may not assert is kept beside it, see `item_rights`.

use std::ops::Range;

use ldap::filter::ExtensibleMatch;
use ldap::{Filter, FilterNode};
use schema::{
    Assertion, AttributeDescription, AttributeType, MatchContext, MatchingRule, Options, Position, Substrings,
    TypeIndex,
};

use crate::facts::Facts;
use crate::id_set::IdSet;
use crate::virtual_attributes::VirtualAttribute;

/// A prepared filter. Reusable: [`Matcher::compile`] keeps the buffers.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    pub(super) nodes: Vec<Node>,
    /// Prepared assertion values, back to back.
    pub(super) forms: Vec<u8>,
    pub(super) assertions: Vec<Assertion>,
    pub(super) options: Vec<Options>,
    pub(super) sets: Vec<IdSet>,
    pub(super) needs_dn: bool,
    pub(super) needs_groups: bool,
    pub(super) asks_for_members: bool,
    /// Stored passwords whose check takes long are checked too: for one entry, not for a search through all.
    pub(super) checks_slow_hashes: bool,
}

/// The place of a node in a filter, in prefix order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIndex(pub usize);

impl NodeIndex {
    /// The whole filter.
    pub const ROOT: NodeIndex = NodeIndex(0);

    /// The node behind it, which is its first child if it has any.
    #[inline]
    #[must_use]
    pub const fn next(self) -> NodeIndex {
        NodeIndex(self.0 + 1)
    }
}

/// One node of a prepared filter, in prefix order.
#[derive(Clone, Debug)]
pub enum Node {
    /// True if all of the subtrees up to `end` are; an empty one is true (RFC 4526).
    And {
        /// Index one past the subtree.
        end: NodeIndex,
    },
    /// True if one of the subtrees up to `end` is; an empty one is false (RFC 4526).
    Or {
        /// Index one past the subtree.
        end: NodeIndex,
    },
    /// The opposite of its subtree.
    Not {
        /// Index one past the subtree.
        end: NodeIndex,
    },
    /// Nobody can tell: unknown attribute, no rule, or malformed assertion value.
    Undefined,
    /// An assertion.
    Item(Item),
    /// One of some entries (position in [`Matcher::set`]): only in filters that are planned, see `build`.
    Set(usize),
}

/// One assertion.
#[derive(Clone, Debug)]
pub struct Item {
    /// Which attributes.
    pub target: Target,
    /// What is asserted.
    pub test: Test,
    /// The rule that makes normal forms; none for presence.
    pub rule: Option<&'static MatchingRule>,
    /// Values in the entry's name count too (`:dn:`).
    pub with_dn: bool,
    /// The form of an equality is its own normal form: a value of the same bytes matches without being normalized.
    /// Found out for filters that are kept ([`Matcher::settle_forms`]).
    pub is_settled: bool,
}

impl Item {
    /// Whether the entry and its groups do not tell: who knows the moment has to be asked.
    #[must_use]
    pub fn needs_moment(&self) -> bool {
        let follows = matches!(self.target, Target::Virtual(_, computed) if computed.follows_from_policy());
        follows || self.asks_for_groups()
    }

    /// Whether only who knows the groups of an entry, or what refers to what, can tell.
    #[must_use]
    pub fn asks_for_groups(&self) -> bool {
        let is_membership = matches!(self.target, Target::Virtual(_, computed) if computed.is_membership());
        is_membership || matches!(self.test, Test::InChain(_))
    }
}

impl Item {
    /// The attribute of members that it is about, if it asks whether there is one or who is.
    #[must_use]
    pub fn member_attribute(&self, facts: &Facts) -> Option<TypeIndex> {
        match (self.target, &self.test) {
            (Target::Type(attribute), Test::Equal(_) | Test::Present) if facts.groups.is_list(attribute) => {
                Some(attribute)
            }
            _ => None,
        }
    }

    pub(super) fn asks_for_members(&self, facts: &Facts) -> bool {
        self.member_attribute(facts).is_some()
    }
}

/// Which attributes an assertion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A type with its subtypes, whatever the options.
    Type(TypeIndex),
    /// The same, with at least these options (position in [`Matcher::options`]).
    Tagged(TypeIndex, usize),
    /// One that the server computes.
    Virtual(TypeIndex, VirtualAttribute),
    /// Every attribute that the rule applies to (extensible match without a type).
    Every,
}

impl Target {
    /// An attribute without options.
    #[inline]
    pub(super) fn of(facts: &Facts, attribute: TypeIndex) -> Target {
        facts.virtual_attribute(attribute).map_or(Target::Type(attribute), |it| Target::Virtual(attribute, it))
    }
}

/// What is asserted of a value's normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// There is one.
    Present,
    /// It equals the form.
    Equal(Range<usize>),
    /// It is not smaller.
    AtLeast(Range<usize>),
    /// It is not greater.
    AtMost(Range<usize>),
    /// It sounds like it: equal under the approximate rule.
    Sounds(Range<usize>),
    /// It, or a value of the entry that it names, and so on, equals the form.
    InChain(Range<usize>),
    /// The prepared assertion says so (position in [`Matcher::assertions`]).
    Assertion(usize),
}

impl Matcher {
    /// Prepares `filter`, for whoever asks. Never fails: what cannot be evaluated is Undefined.
    pub fn compile(&mut self, facts: &Facts, filter: &Filter<'_>, context: MatchContext) {
        self.clear();
        self.push(facts, filter, context);
    }

    /// Prepares items of which each stands for itself (RFC 3876). No entry can be tried on them together.
    pub fn compile_items(&mut self, facts: &Facts, items: &[Filter<'_>], context: MatchContext) {
        self.clear();
        items.iter().for_each(|item| self.push(facts, item, context));
    }

    fn push(&mut self, facts: &Facts, filter: &Filter<'_>, context: MatchContext) {
        for node in filter.nodes() {
            let prepared = match node {
                FilterNode::And { end } => Node::And { end: NodeIndex(*end) },
                FilterNode::Or { end } => Node::Or { end: NodeIndex(*end) },
                FilterNode::Not { end } => Node::Not { end: NodeIndex(*end) },
                assertion => self.item(facts, assertion, context).map_or(Node::Undefined, Node::Item),
            };
            if let Node::Item(item) = &prepared {
                let entry_dn = matches!(item.target, Target::Virtual(_, VirtualAttribute::EntryDn));
                self.needs_dn |= item.with_dn || entry_dn;
                self.needs_groups |= item.needs_moment();
                self.asks_for_members |= item.asks_for_members(facts);
            }
            self.nodes.push(prepared);
        }
    }

    /// Prepares what a compare asks: whether an attribute is there (no value) or has a value. Undefined where a filter
    /// would be.
    pub fn compile_one(&mut self, facts: &Facts, attribute: &[u8], value: Option<&[u8]>, context: MatchContext) {
        self.clear();
        self.checks_slow_hashes = true;
        let item = self.target(facts, attribute).and_then(|(target, attribute)| {
            let (test, rule) = match value {
                Some(value) => self.equality(facts, attribute.equality?, value, context)?,
                None => (Test::Present, None),
            };
            Some(Item { target, test, rule, with_dn: false, is_settled: false })
        });
        self.needs_groups = item.as_ref().is_some_and(Item::needs_moment);
        self.asks_for_members = item.as_ref().is_some_and(|item| item.asks_for_members(facts));
        self.nodes.push(item.map_or(Node::Undefined, Node::Item));
        self.needs_dn = true;
    }

    /// Finds out which equalities need not normalize a value that is the form already. Worth it for a filter that is
    /// tried on many entries.
    pub fn settle_forms(&mut self, facts: &Facts) {
        let mut again = Vec::new();
        for node in &mut self.nodes {
            if let Node::Item(Item { test: Test::Equal(range), rule: Some(rule), is_settled, .. }) = node
                && let Some(form) = self.forms.get(range.clone())
            {
                again.clear();
                *is_settled = rule.normalize(&facts.schema, form, &mut again).is_ok() && again == form;
            }
        }
    }

    /// Takes out assertions on attributes that are secret: what configuration and entries define must not tell them.
    pub fn leave_out_secrets(&mut self, facts: &Facts) {
        for node in &mut self.nodes {
            if let Node::Item(Item {
                target: Target::Type(attribute) | Target::Tagged(attribute, _) | Target::Virtual(attribute, _),
                ..
            }) = node
                && facts.is_secret(*attribute)
            {
                *node = Node::Undefined;
            }
        }
    }

    /// Matches every entry from now on.
    pub fn match_all(&mut self) {
        self.clear();
        self.nodes.push(Node::And { end: NodeIndex(1) });
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.forms.clear();
        self.assertions.clear();
        self.options.clear();
        self.sets.clear();
        (self.needs_dn, self.needs_groups, self.asks_for_members, self.checks_slow_hashes) =
            (false, false, false, false);
    }

    /// The nodes, in prefix order.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One of them.
    #[inline]
    #[must_use]
    pub fn node(&self, at: NodeIndex) -> Option<&Node> {
        self.nodes.get(at.0)
    }

    /// A prepared assertion value.
    #[must_use]
    pub fn form(&self, range: &Range<usize>) -> &[u8] {
        self.forms.get(range.clone()).unwrap_or_default()
    }

    /// A prepared assertion that is more than one value.
    #[must_use]
    pub fn assertion(&self, at: usize) -> Option<&Assertion> {
        self.assertions.get(at)
    }

    /// Whether entries must come with their names.
    #[must_use]
    pub fn needs_dn(&self) -> bool {
        self.needs_dn
    }

    /// Whether entries must come with who is in which group.
    #[must_use]
    pub fn needs_groups(&self) -> bool {
        self.needs_groups
    }

    /// Whether the number of an entry's children matters.
    #[must_use]
    pub fn counts_children(&self) -> bool {
        let counts = |node: &Node| {
            matches!(node, Node::Item(item)
            if matches!(item.target, Target::Virtual(_, attribute) if attribute.counts_children()))
        };
        self.nodes().iter().any(counts)
    }

    /// Whether groups that do not list their members could match: they must come with who is in which group.
    #[must_use]
    pub fn asks_for_members(&self) -> bool {
        self.asks_for_members
    }

    /// Whether the filter means something else tomorrow.
    #[must_use]
    pub fn depends_on_time(&self) -> bool {
        self.nodes.iter().any(|node| match node {
            Node::Item(item) => item.rule.is_some_and(MatchingRule::depends_on_time),
            _ => false,
        })
    }

    /// Whether the filter is the absolute true filter or `(objectClass=*)`, which every entry matches.
    #[must_use]
    pub fn is_always_true(&self, facts: &Facts) -> bool {
        match self.nodes.as_slice() {
            [Node::And { .. }] => true,
            [Node::Item(Item { target: Target::Type(index), test: Test::Present, .. })] => {
                Some(*index) == facts.object_class
            }
            _ => false,
        }
    }

    /// Whether a component asks for the object class of subentries by one of its names.
    #[must_use]
    pub fn names_subentries(&self, facts: &Facts) -> bool {
        self.nodes.iter().any(|node| match node {
            Node::Item(Item { target: Target::Type(index), test: Test::Equal(form), .. }) => {
                Some(*index) == facts.object_class && facts.is_name_of_subentries(self.form(form))
            }
            _ => false,
        })
    }

    fn item(&mut self, facts: &Facts, node: &FilterNode<'_>, context: MatchContext) -> Option<Item> {
        let attribute = match node {
            FilterNode::Equality(it)
            | FilterNode::GreaterOrEqual(it)
            | FilterNode::LessOrEqual(it)
            | FilterNode::Approx(it) => it.attribute,
            FilterNode::Substring(it) => it.attribute,
            FilterNode::Present(attribute) => attribute,
            FilterNode::Extensible(it) => return self.extensible(facts, it, context),
            FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. } => return None,
        };
        let (target, attribute) = self.target(facts, attribute)?;
        let (test, rule) = match node {
            FilterNode::Equality(it) => self.equality(facts, attribute.equality?, it.value, context)?,
            FilterNode::Approx(it) => match attribute.approximate {
                Some(rule) => (Test::Sounds(self.prepare(facts, rule, it.value)?), Some(rule)),
                None => self.equality(facts, attribute.equality?, it.value, context)?,
            },
            FilterNode::GreaterOrEqual(it) => {
                let rule = attribute.ordering?;
                (Test::AtLeast(self.prepare(facts, rule, it.value)?), Some(rule))
            }
            FilterNode::LessOrEqual(it) => {
                let rule = attribute.ordering?;
                (Test::AtMost(self.prepare(facts, rule, it.value)?), Some(rule))
            }
            FilterNode::Substring(it) => {
                let rule = attribute.substring?;
                let substrings = Substrings::new(rule, it.pieces().map(|(at, piece)| (position(at), piece))).ok()?;
                (self.keep(Assertion::Substrings(substrings)), Some(rule))
            }
            _ => (Test::Present, None),
        };
        Some(Item { target, test, rule, with_dn: false, is_settled: false })
    }

    /// An equality rule is bytes against bytes, except for those few (stored passwords) that are a trial.
    fn equality(
        &mut self,
        facts: &Facts,
        rule: &'static MatchingRule,
        value: &[u8],
        context: MatchContext,
    ) -> Option<(Test, Option<&'static MatchingRule>)> {
        let test = if rule.is_exact() {
            Test::Equal(self.prepare(facts, rule, value)?)
        } else {
            let assertion = rule.assertion(&facts.schema, value, context).ok()?;
            self.keep(assertion)
        };
        Some((test, Some(rule)))
    }

    fn extensible(&mut self, facts: &Facts, it: &ExtensibleMatch<'_>, context: MatchContext) -> Option<Item> {
        let (target, attribute) = match it.attribute {
            Some(attribute) => {
                let (target, attribute) = self.target(facts, attribute)?;
                (target, Some(attribute))
            }
            None => (Target::Every, None),
        };
        let rule = match it.rule {
            Some(name) => facts.schema.matching_rule(name)?,
            None => attribute?.equality?,
        };
        // RFC 4511 §4.5.1.7.7: a rule that is not for the attribute makes the item Undefined.
        if attribute.is_some_and(|attribute| !facts.schema.rule_applies(rule, attribute)) {
            return None;
        }
        let test = match rule.assertion(&facts.schema, it.value, context).ok()? {
            Assertion::Equal(form) => Test::Equal(self.store_form(&form)),
            Assertion::InChain(form) => return self.in_chain(target, attribute?, &form),
            assertion => self.keep(assertion),
        };
        Some(Item { target, test, rule: Some(rule), with_dn: it.dn_attributes, is_settled: false })
    }

    /// The groups of an entry are those at any distance already; of other computed attributes, and of names, there are
    /// no chains.
    fn in_chain(&mut self, target: Target, attribute: &AttributeType, form: &[u8]) -> Option<Item> {
        let form = self.store_form(form);
        let test = match target {
            Target::Virtual(_, computed) if computed.is_membership() => Test::Equal(form),
            Target::Type(_) | Target::Tagged(..) => Test::InChain(form),
            Target::Virtual(..) | Target::Every => return None,
        };
        Some(Item { target, test, rule: attribute.equality, with_dn: false, is_settled: false })
    }

    fn target<'f>(&mut self, facts: &'f Facts, description: &[u8]) -> Option<(Target, &'f AttributeType)> {
        // A plain name is the rule; its options need no parsing then, and nothing is allocated.
        if let Some(attribute) = facts.schema.attribute_type(description) {
            return Some((Target::of(facts, attribute.index), attribute));
        }
        let description = AttributeDescription::parse_request(&facts.schema, description).ok()?;
        let attribute = facts.schema.attribute_by_index(description.attribute?)?;
        self.options.push(description.options);
        Some((Target::Tagged(attribute.index, self.options.len() - 1), attribute))
    }

    fn prepare(&mut self, facts: &Facts, rule: &MatchingRule, value: &[u8]) -> Option<Range<usize>> {
        let start = self.forms.len();
        rule.normalize_assertion(&facts.schema, value, &mut self.forms).ok()?;
        Some(start..self.forms.len())
    }

    pub(super) fn store_form(&mut self, form: &[u8]) -> Range<usize> {
        let start = self.forms.len();
        self.forms.extend_from_slice(form);
        start..self.forms.len()
    }

    pub(super) fn keep(&mut self, assertion: Assertion) -> Test {
        self.assertions.push(assertion);
        Test::Assertion(self.assertions.len() - 1)
    }
}

fn position(at: ldap::filter::Position) -> Position {
    match at {
        ldap::filter::Position::Initial => Position::Initial,
        ldap::filter::Position::Any => Position::Any,
        ldap::filter::Position::Final => Position::Final,
    }
}
