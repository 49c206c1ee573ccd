//! A filter on computed attributes, rewritten to what they come from, so that the planner can plan it like any other.
//!
//! `(mail=x)` becomes `(|(mail=x)(&SCOPE-FILTER(|ALTERNATIVES)))`: what is stored, and for each definition those who
//! may get such a value from it. A definition that nobody can get it from is left out; one of which everybody in reach
//! may get it leaves its filter, and the entries of its branch where they are few. What is stored is left out where no
//! entry ever had the attribute.
//!
//! Invariant: whoever matches the filter that was asked matches the rewritten one (outside of Not, which no index
//! answers). The opposite is not so: what is found has to be checked.

use ldap::Scope;
use schema::{NormalizedDn, TypeIndex};
use store::{EntryId, StoreError};

use super::alternatives::Narrowing;
use super::alternatives::{Alternatives, Push};
use super::definition::{ComputedAssertion, Definition};
use super::shown_values::ComputedAt;
use crate::filter::{Item, Matcher, Node, NodeIndex, Target};
use crate::id_set::IdSet;
use crate::plan::{Branch, Candidates, scoped_candidates, subtree};

/// Computed attributes that come from computed attributes: deeper ones are not looked through.
const DEPTH_MAX: usize = 3;

/// Definitions and alternatives that are looked at for one filter: definitions that depend on each other multiply.
/// Beyond it everybody counts.
const STEPS_MAX: usize = 20_000;

/// The rewritten filter.
#[derive(Debug, Default)]
pub struct Program {
    /// What is planned.
    pub matcher: Matcher,
    /// By node, the node of the filter that was asked; none for what came in its stead.
    pub origins: Vec<Option<NodeIndex>>,
}

/// Puts a [`Program`] together.
struct Rewriter<'r, 'g> {
    at: &'r ComputedAt<'g>,
    /// Entries of a branch up to which they are candidates.
    branch_max: u64,
    /// Entries of all branches together that may still be looked at.
    branches_left: u64,
    out: Matcher,
    origins: Vec<Option<NodeIndex>>,
    depth: usize,
    steps: usize,
}

impl Program {
    /// Rewrites a filter. `branch_max` is the number of entries of a branch up to which all of them may be looked at,
    /// `branches_max` that of all such branches together: whoever is in one that is too large is found as if there were
    /// no branches.
    pub fn of(
        at: &ComputedAt<'_>,
        filter: &Matcher,
        branch_max: u64,
        branches_max: u64,
    ) -> Result<Program, StoreError> {
        let mut rewriter = Rewriter {
            at,
            branch_max,
            branches_left: branches_max,
            out: Matcher::default(),
            origins: Vec::new(),
            depth: 0,
            steps: 0,
        };
        rewriter.node(filter, NodeIndex::ROOT)?;
        Ok(Program { matcher: rewriter.out, origins: rewriter.origins })
    }
}

impl Push for Rewriter<'_, '_> {
    fn equal(&mut self, attribute: TypeIndex, form: &[u8]) -> Result<(), StoreError> {
        let facts = self.at.facts();
        let Some(known) = facts.schema.attribute_by_index(attribute) else { return Ok(()) };
        let mut one = Matcher::default();
        one.push_equal(facts, known, form);
        self.nested(&one)
    }

    fn present(&mut self, attribute: TypeIndex) -> Result<(), StoreError> {
        let facts = self.at.facts();
        let Some(known) = facts.schema.attribute_by_index(attribute) else { return Ok(()) };
        let mut one = Matcher::default();
        one.push_present(facts, known);
        self.nested(&one)
    }

    fn copy(&mut self, matcher: &Matcher) {
        self.out.push_copy(matcher, NodeIndex::ROOT);
        self.mark(None);
    }

    fn copy_below(&mut self, matcher: &Matcher, top: &NormalizedDn) -> Result<(), StoreError> {
        let open = self.out.open_and();
        self.out.push_copy(matcher, NodeIndex::ROOT);
        let groups = self.at.groups();
        let is_everything = self.at.suffixes().iter().all(|suffix| top.is_ancestor_or_equal(&suffix.normalized));
        let base = if is_everything { None } else { self.at.locate_here(top)? };
        if let (Some(base), Some(backend)) = (base, groups.backends().get(groups.own().0)) {
            let branch = Branch { base, scope: Scope::WholeSubtree, is_everything };
            let found = scoped_candidates(matcher, self.at.facts(), backend, &self.at.view(), branch, None)?.found;
            if let Candidates::Set(set) = found.candidates {
                self.out.push_set(set);
            }
        }
        self.out.close(open);
        self.mark(None);
        Ok(())
    }

    fn entries(&mut self, ids: IdSet) {
        self.out.push_set(ids);
        self.mark(None);
    }

    fn below(&mut self, top: EntryId, max: u64) -> Result<bool, StoreError> {
        let Some(branch) = self.branch(top, max)? else { return Ok(false) };
        self.out.push_set(branch);
        self.mark(None);
        Ok(true)
    }
}

impl Rewriter<'_, '_> {
    /// Nodes that have come since stand for `origin`.
    fn mark(&mut self, origin: Option<NodeIndex>) {
        self.origins.resize(self.out.nodes().len(), origin);
    }

    fn take_back(&mut self, at: NodeIndex) {
        self.out.truncate(at);
        self.origins.truncate(at.0);
    }

    fn node(&mut self, filter: &Matcher, at: NodeIndex) -> Result<(), StoreError> {
        let origin = (self.depth == 0).then_some(at);
        let open = match filter.node(at) {
            Some(Node::And { .. }) => self.out.open_and(),
            Some(Node::Or { .. }) => self.out.open_or(),
            Some(Node::Item(item)) => {
                self.out.push_copy(filter, at);
                self.mark(origin);
                return self.item(filter, item);
            }
            // No index answers Not: what is in it stays as it was asked, as whoever does not match more does not match
            // that.
            _ => {
                self.out.push_copy(filter, at);
                let more = self.out.nodes().len() - self.origins.len();
                self.origins.extend((0..more).map(|more| origin.map(|at| NodeIndex(at.0 + more))));
                return Ok(());
            }
        };
        self.mark(origin);
        let (mut child, end) = (at.next(), filter.end_of(at));
        while child < end {
            self.node(filter, child)?;
            child = filter.end_of(child);
        }
        self.out.close(open);
        Ok(())
    }

    /// The item that was just copied gets its alternatives, if it has some.
    fn item(&mut self, filter: &Matcher, item: &Item) -> Result<(), StoreError> {
        let Target::Type(asked) = item.target else { return Ok(()) };
        let definitions = self.at.definitions();
        let concerned = definitions.concerned(asked);
        if concerned.is_empty() {
            return Ok(());
        }
        let origin = self.origins.pop().flatten();
        let copied = self.out.nodes().len() - 1;
        self.out.truncate(NodeIndex(copied));
        let open = self.out.open_or();
        self.mark(None);
        // What no entry ever had needs no index.
        if item.with_dn || !self.at.view().tables().by_type(asked.0).is_empty() {
            self.out.push_copy_of(filter, item);
            self.mark(origin);
        }
        for group in concerned.iter().filter_map(|at| definitions.groups().get(*at)) {
            let wanted =
                ComputedAssertion { facts: self.at.facts(), attribute: group.attribute, item, matcher: filter };
            for (number, definition) in &group.definitions {
                self.definition(*number, definition, &wanted)?;
            }
        }
        self.out.close(open);
        Ok(())
    }

    /// Adds "everybody".
    fn push_everybody(&mut self) {
        let open = self.out.open_and();
        self.out.close(open);
        self.mark(None);
    }

    fn definition(
        &mut self,
        number: usize,
        definition: &Definition,
        wanted: &ComputedAssertion<'_>,
    ) -> Result<(), StoreError> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            self.push_everybody();
            return Ok(());
        }
        let start = self.out.open_and();
        if let Some(filter) = definition.reach.filter() {
            self.out.push_copy(filter, NodeIndex::ROOT);
        }
        let open = self.out.open_or();
        self.mark(None);
        let at = self.at;
        let mut any = Alternatives { rewriter: self, count: 0 };
        let narrowing = match definition.source.narrow(at, wanted, &mut any)? {
            Narrowing::Alternatives => any.narrowing(),
            other => other,
        };
        match narrowing {
            Narrowing::Nobody => {
                self.take_back(start);
                return Ok(());
            }
            Narrowing::Alternatives => self.out.close(open),
            Narrowing::Everybody => {
                self.take_back(open);
                if let Some(root) = at.resolved(number, definition)?.only_root()
                    && let Some(branch) = self.branch(root, self.branch_max)?
                {
                    self.out.push_set(branch);
                }
            }
        }
        self.out.close(start);
        self.mark(None);
        Ok(())
    }

    /// An entry and all below it, if they are at most `max`, and as many may still be looked at.
    fn branch(&mut self, top: EntryId, max: u64) -> Result<Option<IdSet>, StoreError> {
        let most = max.min(self.branches_left);
        let mut left = most;
        let branch = subtree(&self.at.view(), top, &mut left)?;
        self.branches_left -= most - left;
        Ok(branch)
    }

    /// An alternative: it may be about a computed attribute in turn.
    fn nested(&mut self, one: &Matcher) -> Result<(), StoreError> {
        let is_computed = self.at.definitions().concern_filter(one);
        self.steps += 1;
        if is_computed && (self.depth >= DEPTH_MAX || self.steps > STEPS_MAX) {
            self.push_everybody();
            return Ok(());
        }
        self.depth += 1;
        let done = self.node(one, NodeIndex::ROOT);
        self.depth -= 1;
        done
    }
}
