//! What the entries of one backend show of computed attributes at one moment.
//!
//! Invariant: what is shown, what filters and compares go by, and what other definitions take from an entry come from
//! [`ComputedAt::shown`] alone.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::{ControlFlow, Deref};
use std::rc::Rc;
use std::sync::Arc;

use config::ConflictBehavior;
use schema::TypeIndex;
use schema::check::{ClassSet, Requirement};
use smallvec::SmallVec;
use store::record::put_value;
use store::{ClassSetId, Content, EntryId, RecordView, StoreError, Values};

use super::definition::{Definition, Priority, Shows, Template};
use super::definitions::{Definitions, Group};
use super::distinct::Distinct;
use super::entries_at::EntriesAt;
use super::reach::Resolved;
use crate::entry::{Ask, DnParts, EntryView, Shown, each_stored, plain};
use crate::entry_place::EntryPlace;
use crate::filter::FilterScratch;
use crate::groups::GroupsAt;
use crate::virtual_attributes::VirtualAttribute;

/// Computed attributes that depend on computed attributes, which depend on others, and so on: deeper ones see what is
/// stored.
const DEPTH_MAX: usize = 4;

/// Templates remembered within one moment; beyond it all are read again.
const TEMPLATES_MAX: usize = 10_000;

/// What is known of one backend at one moment.
pub struct GivenCache {
    definitions: Option<Arc<Definitions>>,
    depth: Cell<usize>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// By the number of a definition.
    reaches: HashMap<usize, Rc<Resolved>>,
    requirements: HashMap<ClassSetId, Option<Rc<Requirement>>>,
    templates: HashMap<(EntryPlace, TypeIndex), Option<Rc<Template>>>,
    /// Of the entry looked at last, by attribute and depth.
    nested: HashMap<(TypeIndex, usize), Option<Rc<[u8]>>>,
    nested_of: Option<EntryId>,
    scratch: FilterScratch,
}

/// See the module.
#[derive(Clone, Copy)]
pub struct ComputedAt<'g> {
    entries: EntriesAt<'g>,
    moment: &'g GivenCache,
    definitions: &'g Arc<Definitions>,
}

/// Values from one definition.
struct Hit<'d> {
    definition: &'d Definition,
    priority: Priority,
    from: usize,
    to: usize,
}

impl GivenCache {
    /// With these definitions; nothing is found out yet.
    #[must_use]
    pub fn new(definitions: Option<Arc<Definitions>>) -> GivenCache {
        GivenCache { definitions, depth: Cell::default(), state: RefCell::default() }
    }

    /// The definitions, if there are any.
    #[must_use]
    pub fn definitions(&self) -> Option<&Arc<Definitions>> {
        self.definitions.as_ref()
    }

    /// Forgets what was found out about the entry looked at last.
    pub fn forget_entry(&self) {
        let state = &mut *self.state.borrow_mut();
        state.nested_of = None;
        state.nested.clear();
    }

    /// Seen with the groups of the same moment; none when nothing is defined.
    /// `shown` are groups as the asker sees them.
    pub fn at<'g>(&'g self, groups: GroupsAt<'g>, shown: GroupsAt<'g>) -> Option<ComputedAt<'g>> {
        Some(ComputedAt {
            entries: EntriesAt::new(groups, shown),
            moment: self,
            definitions: self.definitions.as_ref()?,
        })
    }
}

impl<'g> Deref for ComputedAt<'g> {
    type Target = EntriesAt<'g>;

    fn deref(&self) -> &EntriesAt<'g> {
        &self.entries
    }
}

impl Shows for ComputedAt<'_> {
    fn entries(&self) -> EntriesAt<'_> {
        self.entries
    }

    fn template(&self, place: EntryPlace, attribute: TypeIndex) -> Result<Option<Rc<Template>>, StoreError> {
        ComputedAt::template(self, place, attribute)
    }

    fn values_of(
        &self,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        ComputedAt::values_of(self, entry, attribute, each)
    }

    fn is_computed(&self, attribute: TypeIndex) -> bool {
        ComputedAt::is_computed(self, attribute)
    }
}

impl<'g> ComputedAt<'g> {
    /// The definitions in force.
    #[must_use]
    pub fn definitions(&self) -> &'g Arc<Definitions> {
        self.definitions
    }

    /// What an entry has stored under the plain name of an attribute; `None` when it has nothing.
    pub fn template(&self, place: EntryPlace, attribute: TypeIndex) -> Result<Option<Rc<Template>>, StoreError> {
        let key = (place, attribute);
        if let Some(known) = self.moment.state.borrow().templates.get(&key) {
            return Ok(known.clone());
        }
        let view = self.groups().view_of(place.backend)?;
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

    /// Calls `each` with the values that an entry shows of an attribute: computed ones too, as deep as definitions
    /// depend on others.
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
            let groups = self.groups();
            let here = EntryView { source: &groups, ..*entry };
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

    /// What an entry shows of an attribute that others depend on, found once for each of them; none if just what is
    /// stored.
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

    /// Finds the values that an entry shows of an attribute, and appends them in wire form unless they are just the
    /// stored ones.
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
        let has = definition.reach.has(&self.entries, &resolved, entry, &mut scratch);
        self.moment.state.borrow_mut().scratch = scratch;
        Ok(has? && (!definition.needs_schema || self.is_allowed(entry, definition.attribute)))
    }

    pub(super) fn resolved(&self, number: usize, definition: &Definition) -> Result<Rc<Resolved>, StoreError> {
        if let Some(known) = self.moment.state.borrow().reaches.get(&number) {
            return Ok(Rc::clone(known));
        }
        let resolved = Rc::new(definition.reach.resolve(&self.entries)?);
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
