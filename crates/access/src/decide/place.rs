//! A place: the children of one entry, or one entry by itself, and the instructions that apply there to an asker.
//!
//! Names and scopes are resolved here, once; what is left for each entry are its own conditions. Their truths choose a
//! table of attribute types, which is remembered; each attribute is then one bit.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use aci::{Effect, Right, TargetScope};
use query::rights::ReadRight;
use schema::TypeIndex;
use smallvec::SmallVec;
use store::{EntryId, StoreError};

use super::concern::Concern;
use crate::compiled::{Instruction, Kinds, NamePattern, TypeSet};

/// Which entries a place is about, by their normalized names.
#[derive(Clone, Copy)]
pub(crate) enum About<'n> {
    /// The children of the entry of that name.
    ChildrenOf(&'n [u8]),
    /// The entry of that name.
    Entry(&'n [u8]),
}

/// What an instruction asks of the name of an entry of the place.
#[derive(Clone, Debug)]
pub(crate) enum NameTest {
    /// Every entry of the place.
    Any,
    /// The child of that normalized RDN, and its number if it is there; or all others.
    Child { rdn: Box<[u8]>, id: Option<EntryId>, negated: bool },
    /// Those whose name, or that of an entry above, matches the pattern of the instruction; or all others.
    Pattern { negated: bool },
}

/// One permission that applies at a place.
#[derive(Clone, Debug)]
pub(crate) struct Applying {
    pub concern: Concern,
    pub name: NameTest,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Place {
    /// All that applies, controls and extended operations left out.
    pub all: Vec<Applying>,
    /// Positions of those that grant or deny reading and have conditions of the entry.
    conditional: Vec<usize>,
    /// What the others grant.
    fixed: Parts,
    tables: RefCell<HashMap<Truths, Rc<Table>>>,
    /// The one that was used last: most entries of a place have the same.
    last: RefCell<Option<(Truths, Rc<Table>)>>,
}

/// Which of the conditional permissions hold for an entry, one bit each.
type Truths = SmallVec<[u64; 1]>;

/// The three rights to read, in the order of the tables.
const READ: [Right; 3] = [Right::Search, Right::Read, Right::Compare];

/// Tables that one place remembers.
const TABLES_MAX: usize = 1_024;

/// What is granted and denied so far.
#[derive(Clone, Debug, Default)]
struct Parts {
    granted: [TypeSet; 3],
    denied: [TypeSet; 3],
    unknown: [Unknown; 3],
    hidden: bool,
}

/// What holds for attributes that the schema does not have.
#[derive(Clone, Copy, Debug, Default)]
struct Unknown {
    granted: bool,
    denied: bool,
}

/// What may be done with the attributes of an entry.
#[derive(Debug)]
pub(crate) struct Table {
    granted: [TypeSet; 3],
    unknown: [bool; 3],
    /// A deny of reading the entry as such.
    pub hidden: bool,
    /// Something that every entry of a backend shows may be read.
    pub always_shows: bool,
}

impl Table {
    #[inline]
    pub fn grants(&self, right: ReadRight, attribute: TypeIndex) -> bool {
        let [search, read, compare] = &self.granted;
        match right {
            ReadRight::Search => search,
            ReadRight::Read => read,
            ReadRight::Compare => compare,
        }
        .contains(attribute)
    }

    pub fn grants_unknown(&self, right: ReadRight) -> bool {
        let [search, read, compare] = self.unknown;
        match right {
            ReadRight::Search => search,
            ReadRight::Read => read,
            ReadRight::Compare => compare,
        }
    }

    pub fn can_read_something(&self) -> bool {
        let [_, read, _] = &self.granted;
        !self.hidden && (!read.is_empty() || self.grants_unknown(ReadRight::Read))
    }
}

impl Parts {
    fn add(&mut self, concern: &Concern, kinds: &Kinds) {
        let Some(attributes) = &concern.instruction.attributes else {
            // Of reading an entry as such, only a deny has a meaning.
            let is_deny = concern.effect == Effect::Deny && concern.rights.contains(Right::Read);
            self.hidden |= is_deny && concern.instruction.is_about_entries();
            return;
        };
        let (sets, is_deny) = match concern.effect {
            Effect::Allow => (&mut self.granted, false),
            Effect::Deny => (&mut self.denied, true),
        };
        for ((set, unknown), right) in sets.iter_mut().zip(&mut self.unknown).zip(READ) {
            if concern.rights.contains(right) {
                attributes.add_to(kinds, set);
                if attributes.contains_unknown() {
                    unknown.granted |= !is_deny;
                    unknown.denied |= is_deny;
                }
            }
        }
        // One that is not valid hides the whole entry.
        self.hidden |= concern.instruction.is_invalid;
    }

    fn into_table(self, kinds: &Kinds) -> Table {
        let mut granted = self.granted;
        for (set, denied) in granted.iter_mut().zip(&self.denied) {
            set.remove_all(denied);
        }
        let [_, read, _] = &granted;
        let always_shows = !self.hidden && kinds.always_shown.iter().any(|it| read.contains(*it));
        Table { granted, unknown: self.unknown.map(|it| it.granted && !it.denied), hidden: self.hidden, always_shows }
    }
}

impl Place {
    pub fn new(all: Vec<Applying>, kinds: &Kinds) -> Place {
        let mut fixed = Parts::default();
        let mut conditional = Vec::new();
        for (at, applying) in all.iter().enumerate() {
            if !READ.iter().any(|right| applying.concern.rights.contains(*right)) {
                continue;
            }
            if applying.is_fixed() {
                fixed.add(&applying.concern, kinds);
                applying.concern.instruction.hit();
            } else {
                conditional.push(at);
            }
        }
        Place { all, conditional, fixed, tables: RefCell::default(), last: RefCell::default() }
    }

    /// Whether no permission to read depends on the entry.
    pub fn is_same_for_all(&self) -> bool {
        self.conditional.is_empty()
    }

    /// The table of an entry of which `applies` tells whether the conditions of a permission hold.
    pub fn table(
        &self,
        kinds: &Kinds,
        mut applies: impl FnMut(&Applying) -> Result<bool, StoreError>,
    ) -> Result<Rc<Table>, StoreError> {
        let mut truths: Truths = SmallVec::from_elem(0, self.conditional.len().div_ceil(64));
        for (bit, at) in self.conditional.iter().enumerate() {
            if let Some(applying) = self.all.get(*at)
                && applies(applying)?
                && let Some(word) = truths.get_mut(bit / 64)
            {
                *word |= 1 << (bit % 64);
            }
        }
        if let Some((_, table)) = self.last.borrow().as_ref().filter(|(last, _)| *last == truths) {
            return Ok(Rc::clone(table));
        }
        let table = self.table_of(kinds, &truths);
        *self.last.borrow_mut() = Some((truths, Rc::clone(&table)));
        Ok(table)
    }

    fn table_of(&self, kinds: &Kinds, truths: &Truths) -> Rc<Table> {
        if let Some(known) = self.tables.borrow().get(truths) {
            return Rc::clone(known);
        }
        let mut parts = self.fixed.clone();
        for (bit, at) in self.conditional.iter().enumerate() {
            let holds = truths.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0);
            if let Some(applying) = self.all.get(*at).filter(|_| holds) {
                parts.add(&applying.concern, kinds);
                applying.concern.instruction.hit();
            }
        }
        let table = Rc::new(parts.into_table(kinds));
        let mut tables = self.tables.borrow_mut();
        if tables.len() >= TABLES_MAX {
            tables.clear();
        }
        tables.insert(truths.clone(), Rc::clone(&table));
        table
    }
}

impl Applying {
    /// Whether nothing of it depends on the entry.
    pub fn is_fixed(&self) -> bool {
        matches!(self.name, NameTest::Any) && self.concern.rule.is_none() && self.concern.instruction.filter.is_none()
    }
}

/// Finds the number of a child of the place by its normalized RDN.
pub(crate) type FindChild<'f> = &'f mut dyn FnMut(&[u8]) -> Result<Option<EntryId>, StoreError>;

/// How many RDNs a normalized name has.
pub(crate) fn depth(name: &[u8]) -> usize {
    name.iter().filter(|byte| **byte == 0).count()
}

/// What an instruction, whose holder's name has `holder_depth` RDNs and is at or above the entries of the place, asks
/// of their names; none: it is about none of them. `child` finds the number of a child by its normalized RDN.
pub(crate) fn name_test(
    schema: &schema::Schema,
    instruction: &Instruction,
    holder_depth: usize,
    about: About<'_>,
    child: FindChild<'_>,
) -> Result<Option<NameTest>, StoreError> {
    let (name, own_depth) = match about {
        About::ChildrenOf(parent) => (parent, depth(parent) + 1),
        About::Entry(name) => (name, depth(name)),
    };
    let in_scope_of = |top: usize| is_in_scope(instruction.scope, own_depth.checked_sub(top));
    let Some(target) = &instruction.target else { return Ok(in_scope_of(holder_depth).then_some(NameTest::Any)) };
    let negated = target.negated;
    Ok(match &target.value {
        NamePattern::Exact(exact) => {
            let is_below = name.starts_with(exact);
            // The target is one of the children: a whole RDN more than the parent.
            let rdn = name_of_child(about, exact);
            match (negated, is_below, rdn) {
                (false, true, _) => in_scope_of(depth(exact)).then_some(NameTest::Any),
                (false, false, Some(rdn)) if is_in_scope(instruction.scope, Some(0)) => {
                    Some(NameTest::Child { id: child(rdn)?, rdn: rdn.into(), negated })
                }
                (false, ..) | (true, true, _) => None,
                (true, false, _) if !in_scope_of(holder_depth) => None,
                (true, false, Some(rdn)) => Some(NameTest::Child { id: child(rdn)?, rdn: rdn.into(), negated }),
                (true, false, None) => Some(NameTest::Any),
            }
        }
        _ if !in_scope_of(holder_depth) => None,
        pattern => match (pattern.is_at_or_above(schema, name), about) {
            (true, _) => (!negated).then_some(NameTest::Any),
            (false, About::Entry(_)) => negated.then_some(NameTest::Any),
            (false, About::ChildrenOf(_)) => Some(NameTest::Pattern { negated }),
        },
    })
}

/// The RDN, without its end mark, of the child of the place that has that name.
fn name_of_child<'x>(about: About<'_>, exact: &'x [u8]) -> Option<&'x [u8]> {
    let About::ChildrenOf(parent) = about else { return None };
    let (end, rdn) = exact.strip_prefix(parent)?.split_last()?;
    (*end == 0 && !rdn.contains(&0)).then_some(rdn)
}

fn is_in_scope(scope: TargetScope, below: Option<usize>) -> bool {
    match (scope, below) {
        (_, None) => false,
        (TargetScope::Base, Some(below)) => below == 0,
        (TargetScope::OneLevel, Some(below)) => below == 1,
        (TargetScope::Subtree, Some(_)) => true,
        (TargetScope::Subordinate, Some(below)) => below > 0,
    }
}
