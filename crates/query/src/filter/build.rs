//! Putting a filter together from prepared components: what the planner gets where attributes are computed from others.
//!
//! A filter built here is planned, not tried on entries: candidates found by it are checked with the filter that was
//! asked.

use schema::AttributeType;

use super::matcher::{Item, Matcher, Node, NodeIndex, Target, Test};
use crate::facts::Facts;
use crate::id_set::IdSet;

impl Matcher {
    /// Begins an And; [`Matcher::close`] ends it.
    pub fn open_and(&mut self) -> NodeIndex {
        let at = self.end();
        self.nodes.push(Node::And { end: at.next() });
        at
    }

    /// Begins an Or; [`Matcher::close`] ends it.
    pub fn open_or(&mut self) -> NodeIndex {
        let at = self.end();
        self.nodes.push(Node::Or { end: at.next() });
        at
    }

    /// Where the next component will stand.
    #[must_use]
    pub fn end(&self) -> NodeIndex {
        NodeIndex(self.nodes.len())
    }

    /// What follows is outside of the component that was opened at `at`.
    pub fn close(&mut self, at: NodeIndex) {
        let now = self.end();
        if let Some(Node::And { end } | Node::Or { end } | Node::Not { end }) = self.nodes.get_mut(at.0) {
            *end = now;
        }
    }

    /// Takes back everything from `at` on.
    pub fn truncate(&mut self, at: NodeIndex) {
        self.nodes.truncate(at.0);
    }

    /// Appends a component of another filter.
    pub fn push_copy(&mut self, other: &Matcher, at: NodeIndex) {
        let from = self.nodes.len();
        let moved = |end: NodeIndex| NodeIndex(from + end.0.saturating_sub(at.0));
        for node in other.nodes.get(at.0..other.end_of(at).0).unwrap_or_default() {
            let copy = match node {
                Node::And { end } => Node::And { end: moved(*end) },
                Node::Or { end } => Node::Or { end: moved(*end) },
                Node::Not { end } => Node::Not { end: moved(*end) },
                Node::Undefined => Node::Undefined,
                Node::Item(item) => Node::Item(self.adopted(other, item)),
                Node::Set(set) => self.set_node(other.set(*set).cloned().unwrap_or_default()),
            };
            self.nodes.push(copy);
        }
    }

    /// Appends an item that belongs to another filter.
    pub fn push_copy_of(&mut self, other: &Matcher, item: &Item) {
        let copy = self.adopted(other, item);
        self.nodes.push(Node::Item(copy));
    }

    /// Appends `(attribute=form)`, the value being in normal form under the attribute's equality rule; without such a
    /// rule, that there is a value.
    pub fn push_equal(&mut self, facts: &Facts, attribute: &AttributeType, form: &[u8]) {
        let test = match attribute.equality {
            Some(_) => Test::Equal(self.store_form(form)),
            None => Test::Present,
        };
        self.push_test(facts, attribute, test);
    }

    /// Appends `(attribute=*)`.
    pub fn push_present(&mut self, facts: &Facts, attribute: &AttributeType) {
        self.push_test(facts, attribute, Test::Present);
    }

    /// Appends "one of these entries".
    pub fn push_set(&mut self, set: IdSet) {
        let node = self.set_node(set);
        self.nodes.push(node);
    }

    /// The entries of a [`Node::Set`].
    pub fn set(&self, at: usize) -> Option<&IdSet> {
        self.sets.get(at)
    }

    fn set_node(&mut self, set: IdSet) -> Node {
        self.sets.push(set);
        Node::Set(self.sets.len() - 1)
    }

    fn push_test(&mut self, facts: &Facts, attribute: &AttributeType, test: Test) {
        let target = Target::of(facts, attribute.index);
        let rule = if test == Test::Present { None } else { attribute.equality };
        let item = Item { target, test, rule, with_dn: false, is_settled: false };
        self.needs_groups |= item.needs_moment();
        self.nodes.push(Node::Item(item));
    }

    /// An item of another filter, with what it refers to.
    fn adopted(&mut self, other: &Matcher, item: &Item) -> Item {
        let test = match &item.test {
            Test::Present => Test::Present,
            Test::Equal(form) => Test::Equal(self.store_form(other.form(form))),
            Test::AtLeast(form) => Test::AtLeast(self.store_form(other.form(form))),
            Test::AtMost(form) => Test::AtMost(self.store_form(other.form(form))),
            Test::Sounds(form) => Test::Sounds(self.store_form(other.form(form))),
            Test::InChain(form) => Test::InChain(self.store_form(other.form(form))),
            Test::Assertion(at) => match other.assertion(*at) {
                Some(assertion) => self.keep(assertion.clone()),
                None => Test::Present,
            },
        };
        let target = match item.target {
            Target::Tagged(attribute, at) => match other.options.get(at) {
                Some(options) => {
                    self.options.push(options.clone());
                    Target::Tagged(attribute, self.options.len() - 1)
                }
                None => Target::Type(attribute),
            },
            target => target,
        };
        self.needs_dn |= other.needs_dn;
        self.needs_groups |= item.needs_moment();
        self.asks_for_members |= other.asks_for_members;
        Item { target, test, rule: item.rule, with_dn: item.with_dn, is_settled: item.is_settled }
    }
}
