//! What the entries of one backend show of computed attributes at one moment.
//!
//! Invariant: what is shown, what filters and compares go by, and what other definitions take from an entry come from
//! [`ComputedAt::shown`] alone.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use config::ConflictBehavior;
use schema::check::{ClassSet, Requirement};
use schema::{NormalizedDn, TypeIndex};
use smallvec::SmallVec;
use store::record::{Attribute, put_value};
use store::{ClassSetId, Content, DescId, EntryId, RecordView, StoreError, Values, View};

use super::definitions::Group;
use super::reach::Resolved;
use super::{Definition, Definitions, Priority};
use crate::backend::Suffix;
use crate::class_flags::ClassFlags;
use crate::entry::{DnParts, EntryView};
use crate::facts::Facts;
use crate::filter::{FilterScratch, Matcher, Truth};
use crate::groups::{GroupsAt, Place};
use crate::rights::Asker;
use crate::virtual_attributes::VirtualAttribute;

/// Computed attributes that depend on computed attributes, which depend on others, and so on: deeper ones see what is stored.
const DEPTH_MAX: usize = 4;

/// Templates remembered within one moment; beyond it all are read again.
const TEMPLATES_MAX: usize = 10_000;

/// What is known of one backend at one moment.
pub struct Moment {
    definitions: Option<Arc<Definitions>>,
    depth: Cell<usize>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// By the number of a definition.
    reaches: HashMap<usize, Rc<Resolved>>,
    requirements: HashMap<ClassSetId, Option<Rc<Requirement>>>,
    templates: HashMap<(Place, TypeIndex), Option<Rc<Template>>>,
    /// Of the entry looked at last, by attribute and depth.
    nested: HashMap<(TypeIndex, usize), Option<Rc<[u8]>>>,
    nested_of: Option<EntryId>,
    scratch: FilterScratch,
}

/// What an entry has stored of an attribute that is taken from it.
#[derive(Debug)]
pub struct Template {
    /// The values, in wire form.
    pub body: Box<[u8]>,
    /// `cosPriority`
    pub priority: Priority,
    /// Whether the entry is a `cosTemplate`.
    pub is_template: bool,
}

/// See the module.
#[derive(Clone, Copy)]
pub struct ComputedAt<'g> {
    groups: GroupsAt<'g>,
    moment: &'g Moment,
    definitions: &'g Arc<Definitions>,
}

/// How an attribute was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// By its name, or that of a supertype.
    ByName,
    /// As one of all user attributes, or of all operational ones.
    ByKind,
    /// By its name, without values that are stored.
    WithoutReal,
    /// As one of all, without values that are stored.
    ByKindWithoutReal,
}

/// Which values of an attribute an entry shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Those that it has stored.
    Stored,
    /// Those that were appended, instead of those that it has stored under the plain name; there may be none.
    Computed,
}

impl Ask {
    fn with_real(self) -> bool {
        matches!(self, Ask::ByName | Ask::ByKind)
    }

    fn is_by_kind(self) -> bool {
        matches!(self, Ask::ByKind | Ask::ByKindWithoutReal)
    }
}

/// Values from one definition.
struct Hit<'d> {
    definition: &'d Definition,
    priority: Priority,
    from: usize,
    to: usize,
}

impl Moment {
    /// With these definitions; nothing is found out yet.
    #[must_use]
    pub fn new(definitions: Option<Arc<Definitions>>) -> Moment {
        Moment { definitions, depth: Cell::default(), state: RefCell::default() }
    }

    /// Forgets what was found out about the entry looked at last.
    pub fn forget_entry(&self) {
        let state = &mut *self.state.borrow_mut();
        state.nested_of = None;
        state.nested.clear();
    }

    /// Seen with the groups of the same moment; none when nothing is defined.
    pub fn at<'g>(&'g self, groups: GroupsAt<'g>) -> Option<ComputedAt<'g>> {
        Some(ComputedAt { groups, moment: self, definitions: self.definitions.as_ref()? })
    }
}

impl<'g> ComputedAt<'g> {
    /// The schema.
    #[must_use]
    pub fn facts(&self) -> &'g Facts {
        self.groups.facts()
    }

    /// The definitions in force.
    #[must_use]
    pub fn definitions(&self) -> &'g Arc<Definitions> {
        self.definitions
    }

    /// The entry's own backend at the moment.
    #[must_use]
    pub fn view(&self) -> View<'g> {
        self.groups.view()
    }

    /// Groups at the same moment.
    #[must_use]
    pub fn groups(&self) -> GroupsAt<'g> {
        self.groups
    }

    /// The entry's own backend, as its place in the list.
    #[must_use]
    pub fn backend(&self) -> usize {
        self.groups.own()
    }

    /// The suffixes of the entry's own backend.
    #[must_use]
    pub fn suffixes(&self) -> &'g [Suffix] {
        self.groups.suffixes()
    }

    pub(super) fn class_flags(&self, record: &RecordView<'_>) -> ClassFlags {
        self.groups.class_flags(self.groups.own(), record)
    }

    /// An entry of the own backend by its name.
    pub fn locate_here(&self, name: &NormalizedDn) -> Result<Option<EntryId>, StoreError> {
        if name.is_root() {
            return Ok(None);
        }
        let place = self.groups.locate(name.as_bytes())?;
        Ok(place.filter(|place| place.backend == self.groups.own()).map(|place| place.id))
    }

    /// An entry of any backend by its name.
    pub fn locate(&self, name: &[u8]) -> Result<Option<Place>, StoreError> {
        if name.is_empty() { Ok(None) } else { self.groups.locate(name) }
    }

    /// Appends the name of an entry of the own backend.
    pub fn put_dn(&self, id: EntryId, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        self.groups.put_dn(Place { backend: self.groups.own(), id }, out)
    }

    /// Appends the normalized name of an entry of the own backend; `false` when it cannot be told.
    pub(super) fn put_form(&self, record: &RecordView<'_>, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        self.groups.put_form(self.groups.own(), record, out)
    }

    /// Whether an entry matches a filter with what it has stored.
    pub(super) fn matches_stored(
        &self,
        entry: &EntryView<'_>,
        filter: &Matcher,
        scratch: &mut FilterScratch,
    ) -> Result<bool, StoreError> {
        let view = self.view();
        let mut dn = Vec::new();
        if filter.needs_dn() {
            self.put_dn(entry.id, &mut dn)?;
        }
        let stored = EntryView { dn: DnParts::whole(&dn), source: &view, ..*entry };
        Ok(filter.matches(self.facts(), &stored, Asker::SERVER, scratch)? == Truth::True)
    }

    /// How many RDNs an entry is below another one; none when it is not.
    pub fn depth_below(&self, entry: &EntryView<'_>, top: EntryId) -> Result<Option<usize>, StoreError> {
        if entry.id == top {
            return Ok(Some(0));
        }
        self.groups.depth_below(entry.record.parent(), top).map(|depth| depth.map(|depth| depth + 1))
    }

    /// Whether an entry is in a group.
    pub fn is_in_group(&self, entry: &EntryView<'_>, group: &NormalizedDn) -> Result<bool, StoreError> {
        self.groups.contains(entry, group.as_bytes())
    }

    /// What an entry has stored under the plain name of an attribute; `None` when it has nothing.
    pub fn template(&self, place: Place, attribute: TypeIndex) -> Result<Option<Rc<Template>>, StoreError> {
        let key = (place, attribute);
        if let Some(known) = self.moment.state.borrow().templates.get(&key) {
            return Ok(known.clone());
        }
        let view = self.groups.view_of(place.backend)?;
        let mut found = None;
        if let Some(record) = view.entry(place.id)? {
            let record = record.view()?;
            let entry = EntryView { id: place.id, record, dn: DnParts::default(), source: &view };
            let mut body = Vec::new();
            each_stored(&entry, attribute, &mut |value| {
                put_value(&mut body, value);
                ControlFlow::Continue(())
            })?;
            if !body.is_empty() {
                let (priority, is_template) = (self.priority_of(&record), self.is_template(&record));
                found = Some(Rc::new(Template { body: body.into(), priority, is_template }));
            }
        }
        let templates = &mut self.moment.state.borrow_mut().templates;
        if templates.len() >= TEMPLATES_MAX {
            templates.clear();
        }
        templates.insert(key, found.clone());
        Ok(found)
    }

    fn is_template(&self, record: &RecordView<'_>) -> bool {
        let schema = &self.facts().schema;
        let Some(wanted) = schema.object_class(b"cosTemplate") else { return false };
        let mut classes = record.object_classes().iter().filter_map(|name| schema.object_class(name));
        classes.any(|class| class.is_subclass_of(wanted.index))
    }

    fn priority_of(&self, record: &RecordView<'_>) -> Priority {
        let Some(attribute) = self.facts().schema.attribute_type(b"cosPriority") else { return Priority::LOWEST };
        let first = plain(record, attribute.index).find_map(|stored| match stored.content {
            Content::Inline(values) => values.iter().next().map(Priority::parse),
            Content::Large(_) => None,
        });
        first.unwrap_or(Priority::LOWEST)
    }

    /// Calls `each` with the values that an entry shows of an attribute: computed ones too, as deep as definitions depend on others.
    pub fn values_of(
        &self,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut wire = Vec::new();
        if let Some(computed) = self.facts().virtual_attribute(attribute) {
            // The whole name comes with the entry only where filter or answer need it.
            if computed == VirtualAttribute::EntryDn {
                if self.put_dn(entry.id, &mut wire)? {
                    let _ = each(&wire);
                }
                return Ok(());
            }
            let here = EntryView { source: &self.groups, ..*entry };
            if computed.put(self.facts(), &here, &mut wire)? {
                let _ = Values::new(0, &wire).iter().try_for_each(each);
            }
            return Ok(());
        }
        let group = self.group(attribute).filter(|_| self.moment.depth.get() < DEPTH_MAX);
        if let Some(group) = group
            && let Some(wire) = self.nested(entry, group)?
        {
            let _ = Values::new(0, &wire).iter().try_for_each(each);
            return Ok(());
        }
        if self.facts().is_virtual(attribute) {
            return Ok(());
        }
        each_stored(entry, attribute, each)
    }

    /// What an entry shows of an attribute that others depend on, found once for each of them; none if just what is stored.
    fn nested(&self, entry: &EntryView<'_>, group: &Group) -> Result<Option<Rc<[u8]>>, StoreError> {
        let key = (group.attribute, self.moment.depth.get());
        {
            let state = &mut *self.moment.state.borrow_mut();
            if state.nested_of != Some(entry.id) {
                state.nested.clear();
                state.nested_of = Some(entry.id);
            }
            if let Some(known) = state.nested.get(&key) {
                return Ok(known.clone());
            }
        }
        let mut wire = Vec::new();
        let found = match self.shown(entry, group, Ask::ByName, &mut wire)? {
            Shown::Computed => Some(Rc::from(wire)),
            Shown::Stored => None,
        };
        self.moment.state.borrow_mut().nested.insert(key, found.clone());
        Ok(found)
    }

    /// Whether an attribute's values may be computed: then an index of what is stored does not tell them.
    #[must_use]
    pub fn is_computed(&self, attribute: TypeIndex) -> bool {
        self.facts().is_virtual(attribute) || self.group(attribute).is_some()
    }

    fn group(&self, attribute: TypeIndex) -> Option<&'g Group> {
        self.definitions.groups().iter().find(|group| group.attribute == attribute)
    }

    /// Finds the values that an entry shows of an attribute, and appends them in wire form unless they are just the stored ones.
    pub fn shown(
        &self,
        entry: &EntryView<'_>,
        group: &Group,
        ask: Ask,
        out: &mut Vec<u8>,
    ) -> Result<Shown, StoreError> {
        let depth = self.moment.depth.get();
        self.moment.depth.set(depth + 1);
        let shown = self.compute(entry, group, ask, out);
        self.moment.depth.set(depth);
        shown
    }

    fn compute(&self, entry: &EntryView<'_>, group: &Group, ask: Ask, out: &mut Vec<u8>) -> Result<Shown, StoreError> {
        let start = out.len();
        let has_real = plain(&entry.record, group.attribute).next().is_some();
        let mut hits: SmallVec<[Hit<'_>; 4]> = SmallVec::new();
        for (number, definition) in &group.definitions {
            let is_hidden = has_real && definition.conflict == ConflictBehavior::RealOverridesVirtual;
            if is_hidden || !self.is_given(*number, definition, entry)? {
                continue;
            }
            let from = out.len();
            match definition.source.supply(self, group.attribute, entry, out)? {
                Some(priority) if out.len() > from => hits.push(Hit { definition, priority, from, to: out.len() }),
                _ => out.truncate(from),
            }
        }
        // Of equal ones the first.
        let Some(best) = hits.iter().min_by_key(|hit| hit.priority) else { return Ok(Shown::Stored) };
        if best.definition.is_by_name_only && ask.is_by_kind() {
            out.truncate(start);
            return Ok(Shown::Computed);
        }
        let adds_real =
            best.definition.conflict == ConflictBehavior::MergeRealAndVirtual && has_real && ask.with_real();
        if !best.definition.merges && !adds_real {
            let (from, to) = (best.from, best.to);
            out.truncate(to);
            out.drain(start..from);
            return Ok(Shown::Computed);
        }
        let mut distinct = Distinct::new(self.facts(), group.attribute);
        let mut merged = Vec::new();
        if adds_real {
            each_stored(entry, group.attribute, &mut |value| {
                distinct.add(value, &mut merged);
                ControlFlow::Continue(())
            })?;
        }
        let is_used = |hit: &&Hit<'_>| hit.from == best.from || (best.definition.merges && hit.definition.merges);
        for hit in hits.iter().filter(is_used) {
            let body = out.get(hit.from..hit.to).unwrap_or_default();
            Values::new(0, body).iter().for_each(|value| distinct.add(value, &mut merged));
        }
        out.truncate(start);
        out.extend_from_slice(&merged);
        Ok(Shown::Computed)
    }

    /// Whether a definition holds for an entry.
    pub fn is_given(&self, number: usize, definition: &Definition, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        let resolved = self.resolved(number, definition)?;
        let mut scratch = std::mem::take(&mut self.moment.state.borrow_mut().scratch);
        let has = definition.reach.has(self, &resolved, entry, &mut scratch);
        self.moment.state.borrow_mut().scratch = scratch;
        Ok(has? && (!definition.needs_schema || self.is_allowed(entry, definition.attribute)))
    }

    pub(super) fn resolved(&self, number: usize, definition: &Definition) -> Result<Rc<Resolved>, StoreError> {
        if let Some(known) = self.moment.state.borrow().reaches.get(&number) {
            return Ok(Rc::clone(known));
        }
        let resolved = Rc::new(definition.reach.resolve(self)?);
        self.moment.state.borrow_mut().reaches.insert(number, Rc::clone(&resolved));
        Ok(resolved)
    }

    /// Whether the classes of an entry allow an attribute.
    fn is_allowed(&self, entry: &EntryView<'_>, attribute: TypeIndex) -> bool {
        let id = entry.record.header().class_set;
        let known = id.and_then(|id| self.moment.state.borrow().requirements.get(&id).cloned());
        let requirement = known.unwrap_or_else(|| {
            let classes = ClassSet::of_values(&self.facts().schema, entry.record.object_classes().iter());
            // An entry whose classes the schema does not know is allowed nothing more than it has.
            let found = classes.ok().map(|classes| Rc::new(Requirement::new(&self.facts().schema, &classes)));
            if let Some(id) = id {
                self.moment.state.borrow_mut().requirements.insert(id, found.clone());
            }
            found
        });
        requirement.is_some_and(|requirement| requirement.allows(attribute))
    }
}

/// Values of one attribute, each once.
pub(super) struct Distinct<'f> {
    facts: &'f Facts,
    attribute: TypeIndex,
    forms: HashSet<Vec<u8>>,
}

impl<'f> Distinct<'f> {
    pub fn new(facts: &'f Facts, attribute: TypeIndex) -> Distinct<'f> {
        Distinct { facts, attribute, forms: HashSet::new() }
    }

    /// Appends a value in wire form unless there is an equal one.
    pub fn add(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let mut form = Vec::new();
        let rule = self.facts.schema.attribute_by_index(self.attribute).and_then(|it| it.equality);
        if rule.is_none_or(|rule| rule.normalize(&self.facts.schema, value, &mut form).is_err()) {
            form = value.to_vec();
        }
        if self.forms.insert(form) {
            put_value(out, value);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.forms.len()
    }
}

/// What a record has of exactly that attribute, without options.
pub(super) fn plain<'r>(record: &RecordView<'r>, attribute: TypeIndex) -> impl Iterator<Item = Attribute<'r>> {
    let tables = record.tables();
    let descs = tables.by_type(attribute.0);
    record.attributes().filter(move |it| descs.contains(&it.desc) && is_plain(tables, it.desc, attribute))
}

/// Whether a description is exactly that attribute, without options.
pub fn is_plain(tables: &store::Tables, desc: DescId, attribute: TypeIndex) -> bool {
    tables.type_of(desc) == Some(attribute.0) && tables.description(desc).is_some_and(|name| !name.contains(';'))
}

/// Calls `each` with the values that an entry has stored under the plain name of an attribute.
pub fn each_stored(
    entry: &EntryView<'_>,
    attribute: TypeIndex,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    entry.each_value(plain(&entry.record, attribute), each)
}
