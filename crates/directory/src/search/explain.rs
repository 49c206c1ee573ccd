//! Explaining a search: `debugsearchindex`. A search that asks for this attribute is only planned; its answer is one
//! entry `cn=debugsearch` whose value says in JSON what the planner did (the format of ForgeRock DS 6.5, and more after
//! its members).
//!
//! Shows what is in a [`Trace`]; decides nothing. The same traces give the remedies of [`advice`](super::advice).
//!
//! # Members
//! `filter` is one of: a read (`filter`, `index`, `exact` or `range`, `candidates`, `retained`), `intersection` or
//! `union` of such (with `candidates`, `retained`). A component that takes several reads has an element for each,
//! without `filter`. `scope` is there when more than 10 candidates are left. `candidates` and `final` are numbers,
//! `[NOT-INDEXED]` or `[LIMIT-EXCEEDED]`. Our own members come after these: `estimatedMicroseconds` (by the planner's
//! figures), `microseconds` (measured), `reason` (why an index was not used) and `advice` (the command that gives the
//! index that would have helped, when more than 10 candidates are left); at the end `backend`, `microseconds` of
//! planning and `estimatedMicroseconds` of looking at the candidates. A search of several bases gets one value for
//! each.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use ldap::{Filter, LdapResult, Scope, SearchRequest};
use store::index::{BackendIndexes, Distrust, Index, IndexKind, Method};

use super::advice::scope_name;
use super::explanation::Explanation;
use super::kept_rights::KeptRights;
use super::search_plan::SearchPlan;
use query::backend::Backend;
use query::computed::Program;
use query::error;
use query::facts::Facts;
use query::filter::{ItemRights, Node, NodeIndex, Target, Test};
use query::json::JsonWriter;
use query::plan::remedy::{Remedy, Step, WantedIndex};
use query::plan::trace::{Combination, Count, Element, Key, Leaf, Reason, ScopeStep, Trace};
use query::plan::{Branch, scoped_candidates};
use query::plan::{FEW_CANDIDATES, RANGE_IDS_MAX, cost};
use query::rights::Answer;
use query::synthetic::{Attributes, SyntheticEntry};

/// The attribute that is asked for.
const ATTRIBUTE: &str = "debugsearchindex";

/// The entry that is the answer.
const DN: &str = "cn=debugsearch";

/// Most remedies for one search.
const REMEDIES_MAX: usize = 8;

/// Whether the request wants an explanation instead of entries. As in OpenDJ a search of the base alone never does: it
/// needs no index.
pub(super) fn is_asked(request: &SearchRequest<'_>) -> bool {
    request.scope != Scope::BaseObject
        && request.attributes.iter().any(|name| name.eq_ignore_ascii_case(ATTRIBUTE.as_bytes()))
}

/// Turns the plan into one that gives the explanation.
pub(super) fn answer(
    plan: &mut SearchPlan,
    facts: &Facts,
    request: &SearchRequest<'_>,
    explanations: &[Explanation],
) -> Result<(), LdapResult> {
    let mut values = Vec::with_capacity(explanations.len());
    for explanation in explanations {
        let part = plan.parts.iter().find(|part| part.backend == explanation.backend);
        let backend = plan.backends.as_ref().and_then(|backends| backends.get(explanation.backend.0));
        let (Some(backend), Some(part)) = (backend, part) else { continue };
        let Some(snapshot) = &part.snapshot else { continue };
        let entries = snapshot.view().entry_count().map_err(|problem| error::store_failure(&problem))?;
        let program = part.program.as_deref();
        let filter = Some(&request.filter);
        let shown = Shown { facts, backend, indexes: snapshot.indexes(), filter, program, entries };
        values.push(shown.value(explanation));
    }
    let mut attributes = Attributes::new();
    attributes.add(ATTRIBUTE, values);
    let entry = SyntheticEntry::new(facts, DN, &attributes).map_err(|problem| error::store_failure(&problem))?;
    // An explanation is one entry: there is nothing to page or to sort.
    plan.arrangement = None;
    plan.parts.clear();
    plan.unindexed = false;
    plan.matcher.match_all();
    // What is sent is about indexes, and not an entry that instructions could be about.
    (plan.rights, plan.shows) = (KeptRights::Server, Answer::Yes);
    plan.items = ItemRights::default();
    plan.synthetic.push(Arc::new(entry));
    Ok(())
}

/// What would have helped a search that has been run: it is planned once more, with somebody looking on.
pub(super) fn remedies(plan: &SearchPlan, facts: &Facts, backend: &Backend, branch: Branch) -> Vec<Remedy> {
    let Ok(snapshot) = backend.store.snapshot() else { return Vec::new() };
    let view = snapshot.view();
    let mut trace = Trace::thorough();
    let program = plan.parts.first().and_then(|part| part.program.as_deref());
    let matcher = program.map_or(plan.plannable(), |program| &program.matcher);
    let planned = scoped_candidates(matcher, facts, backend, &view, branch, Some(&mut trace));
    let (Ok(_), Ok(entries), Some(filter)) = (planned, view.entry_count(), trace.filter()) else { return Vec::new() };
    let shown = Shown { facts, backend, indexes: snapshot.indexes(), filter: None, program: None, entries };
    let mut remedies = shown.remedies(filter);
    remedies.truncate(REMEDIES_MAX);
    remedies
}

/// What an explanation is shown with.
struct Shown<'s, 'r> {
    facts: &'s Facts,
    backend: &'s Backend,
    indexes: &'s BackendIndexes,
    filter: Option<&'s Filter<'r>>,
    /// What was planned in its stead.
    program: Option<&'s Program>,
    entries: u64,
}

impl Shown<'_, '_> {
    fn value(&self, explanation: &Explanation) -> String {
        let trace = &explanation.trace;
        let last = trace.last.unwrap_or(Count::NotIndexed);
        let left = match last {
            Count::Known(count) => count,
            _ => self.entries,
        };
        let with_advice = left > FEW_CANDIDATES;
        JsonWriter::object_text(|json| {
            if let Some(filter) = trace.filter() {
                json.key("filter");
                self.element(filter, with_advice, json);
            }
            if let Some(step) = &trace.scope {
                json.key("scope").object(|json| scope_members(explanation.scope, step, json));
            }
            count(last, json.key("final"));
            json.key("backend").text(&self.backend.id);
            json.key("estimatedMicroseconds").number(left.saturating_mul(cost::ENTRY) / 1_000);
            json.key("microseconds").number(us(explanation.elapsed));
        })
    }

    fn element(&self, element: &Element, with_advice: bool, json: &mut JsonWriter) {
        match element {
            Element::Leaf(leaf) => json.object(|json| self.leaf(leaf, with_advice, json)),
            Element::Branch { combination, elements, candidates, retained } => json.object(|json| {
                let name = match combination {
                    Combination::Intersection => "intersection",
                    Combination::Union => "union",
                };
                json.key(name).list(|json| elements.iter().for_each(|it| self.element(it, with_advice, json)));
                count(*candidates, json.key("candidates"));
                retained.iter().for_each(|retained| json.key("retained").number(*retained));
            }),
        }
    }

    fn leaf(&self, leaf: &Leaf, with_advice: bool, json: &mut JsonWriter) {
        if let (true, Some(filter)) = (leaf.is_whole, self.filter) {
            let component = |node: NodeIndex| match self.program {
                Some(program) => self.component(program, filter, node),
                None => filter.component(node.0).to_string(),
            };
            let text = match leaf.pair {
                Some(pair) => format!("(&{}{})", component(leaf.node), component(pair)),
                None => component(leaf.node),
            };
            json.key("filter").text(&text);
        }
        let index = leaf.index.and_then(|id| self.indexes.set().get(id));
        if let Some(index) = index {
            json.key("index").text(&index.name);
            match &leaf.key {
                Some(Key::Exact(key)) => json.key("exact").text(&self.shown_key(index, key)),
                Some(Key::Range { from, to }) => json.key("range").text(&self.shown_range(index, from, to)),
                None => {}
            }
        }
        count(leaf.candidates, json.key("candidates"));
        leaf.retained.iter().for_each(|retained| json.key("retained").number(*retained));
        if leaf.elapsed > Duration::ZERO {
            json.key("estimatedMicroseconds").number(leaf.estimate / 1_000);
            json.key("microseconds").number(us(leaf.elapsed));
        }
        leaf.reason.iter().for_each(|reason| json.key("reason").text(&reason_text(*reason)));
        if let (true, Some(remedy)) = (with_advice, self.remedy(leaf)) {
            json.key("advice").text(&remedy.command());
        }
    }

    /// A component of the filter that was planned: one that was asked for as it was written, one that came in its stead
    /// (see [`Program`]) as what it looks for.
    fn component(&self, program: &Program, filter: &Filter<'_>, node: NodeIndex) -> String {
        if let Some(origin) = program.origins.get(node.0).copied().flatten() {
            return filter.component(origin.0).to_string();
        }
        let matcher = &program.matcher;
        let Some(Node::Item(item)) = matcher.node(node) else { return "(entries of a branch)".to_owned() };
        let (Target::Type(attribute) | Target::Tagged(attribute, _) | Target::Virtual(attribute, _)) = item.target
        else {
            return "(any attribute)".to_owned();
        };
        let name = self.facts.schema.attribute_by_index(attribute).map(|it| it.name()).unwrap_or_default();
        match (&item.test, item.rule) {
            (Test::Equal(form), Some(rule)) => {
                format!("({name}={})", rule.display_form(&self.facts.schema, matcher.form(form)))
            }
            (Test::Present, _) => format!("({name}=*)"),
            _ => format!("({name}: as a definition says)"),
        }
    }

    /// A key as people know it; that of a presence index is no value.
    fn shown_key(&self, index: &Index, key: &[u8]) -> String {
        match index.method {
            Method::Normal(rule) | Method::Substrings { rule, .. } => rule.display_form(&self.facts.schema, key),
            Method::Presence | Method::Vlv => "PRESENCE".to_owned(),
        }
    }

    /// Interval notation: a bracket that opens to the number line leaves its end out.
    fn shown_range(&self, index: &Index, from: &Bound<Box<[u8]>>, to: &Bound<Box<[u8]>>) -> String {
        let (open, from) = match from {
            Bound::Included(form) => ('[', self.shown_key(index, form)),
            Bound::Excluded(form) => (']', self.shown_key(index, form)),
            Bound::Unbounded => (']', String::new()),
        };
        let (to, close) = match to {
            Bound::Included(form) => (self.shown_key(index, form), ']'),
            Bound::Excluded(form) => (self.shown_key(index, form), '['),
            Bound::Unbounded => (String::new(), '['),
        };
        format!("{open}{from},{to}{close}")
    }

    /// What would have made an index answer.
    fn remedy(&self, leaf: &Leaf) -> Option<Remedy> {
        let attribute = leaf.attribute?;
        let step = match leaf.reason? {
            Reason::NoIndex(wanted) if self.indexes.set().of_attribute(attribute).next().is_some() => Step::Add(wanted),
            Reason::NoIndex(wanted) => Step::Create(wanted),
            Reason::Untrusted(Distrust::Degraded | Distrust::OtherDerivation) => {
                Step::Rebuild { base_dn: self.backend.suffixes.first()?.dn.as_str().into() }
            }
            // A list of most of the entries says too little, with whatever limit.
            Reason::OverLimit { .. } => Step::EntryLimit(raised(leaf.over.filter(|over| *over <= self.entries / 2)?)),
            _ => return None,
        };
        let attribute = self.facts.schema.attribute_by_index(attribute)?.name().into();
        Some(Remedy { backend: self.backend.id.as_str().into(), attribute, step })
    }

    /// What would have helped the whole: of an And one of its parts, the most selective; of an Or all that are not
    /// indexed.
    fn remedies(&self, element: &Element) -> Vec<Remedy> {
        match element {
            Element::Leaf(leaf) => self.remedy(leaf).into_iter().collect(),
            Element::Branch { combination: Combination::Union, candidates: Count::Known(_), .. } => Vec::new(),
            Element::Branch { combination: Combination::Union, elements, .. } => {
                let mut all: Vec<Remedy> = Vec::new();
                for remedy in elements.iter().flat_map(|element| self.remedies(element)) {
                    if !all.contains(&remedy) {
                        all.push(remedy);
                    }
                }
                all
            }
            Element::Branch { elements, .. } => {
                let each = elements.iter().map(|element| self.remedies(element)).filter(|it| !it.is_empty());
                each.min_by_key(|remedies| (remedies.len(), remedies.iter().map(rank).max())).unwrap_or_default()
            }
        }
    }
}

/// Which of several remedies to try first: the one whose index says most.
fn rank(remedy: &Remedy) -> u8 {
    match remedy.step {
        Step::Rebuild { .. } => 0,
        Step::EntryLimit(_) => 4,
        Step::Create(wanted) | Step::Add(wanted) => match wanted {
            WantedIndex::Kind(IndexKind::Equality) => 1,
            WantedIndex::Kind(IndexKind::Approximate) | WantedIndex::Rule(_) => 2,
            WantedIndex::Kind(IndexKind::Substring) => 3,
            WantedIndex::Kind(IndexKind::Ordering) => 5,
            WantedIndex::Kind(_) => 6,
        },
    }
}

/// A limit with room above `entries`, in thousands.
fn raised(entries: u64) -> u64 {
    entries.saturating_add(entries / 4).div_ceil(1_000).saturating_mul(1_000)
}

fn scope_members(scope: Scope, step: &ScopeStep, json: &mut JsonWriter) {
    json.key("type").text(scope_name(scope));
    count(step.candidates, json.key("candidates"));
    if let Count::Known(retained) = step.retained {
        json.key("retained").number(retained);
    }
    json.key("estimatedMicroseconds").number(step.estimate / 1_000);
    json.key("microseconds").number(us(step.elapsed));
    step.reason.iter().for_each(|reason| json.key("reason").text(&reason_text(*reason)));
}

fn count(count: Count, json: &mut JsonWriter) {
    match count {
        Count::Known(count) => json.number(count),
        Count::NotIndexed => json.text("[NOT-INDEXED]"),
        Count::LimitExceeded => json.text("[LIMIT-EXCEEDED]"),
    }
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn reason_text(reason: Reason) -> String {
    let text = match reason {
        Reason::NoIndex(WantedIndex::Rule(rule)) => {
            return format!("no index of {rule} is configured for this attribute");
        }
        Reason::NoIndex(WantedIndex::Kind(kind)) => {
            return format!("no {} index is configured for this attribute", kind.name());
        }
        Reason::OverLimit { limit } => return format!("the key is in more than index-entry-limit {limit} entries"),
        Reason::RangeOverLimit => return format!("the keys of the range are in more than {RANGE_IDS_MAX} entries"),
        Reason::ScopeOverLimit { limit } => return format!("more than {limit} entries are in scope"),
        Reason::Untrusted(Distrust::Degraded) => "the index is degraded: it has to be built",
        Reason::Untrusted(Distrust::Building { entries }) => {
            return format!("the index is being built, {entries} entries are in it");
        }
        Reason::Untrusted(Distrust::OtherDerivation) => "the keys of the index were made by older rules: rebuild it",
        Reason::Cheaper => "looking at the candidates that are left costs less",
        Reason::Not => "no index lists the entries that do not match",
        Reason::Hashed => "the keys of a confidential index have no order",
        Reason::Rule => "the matching rule has no index",
        Reason::NameValues => "values in names (:dn:) are in no index",
        Reason::Computed => "the attribute is computed by the server",
        Reason::AnyAttribute => "the filter names no attribute",
        Reason::EveryEntry => "every entry has this attribute",
        Reason::Undefined => {
            "no entry can match: the attribute is unknown, has no such rule, or cannot have this value"
        }
        Reason::ScopeIsAll => "all entries of the backend are in scope",
    };
    text.to_owned()
}
