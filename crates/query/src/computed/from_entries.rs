//! Values that another entry has: one that the definition names, one that the entry itself names, one that is called
//! like a value of the entry. What is taken is what that entry has stored under the attribute's plain name.
//!
//! Knows entries and names; which definitions use it is for their readers.

use std::ops::ControlFlow;
use std::rc::Rc;

use schema::{AttributeType, NormalizedDn, TypeIndex};
use store::record::put_value;
use store::{EntryId, StoreError, Values};

use super::alternatives::{Alternatives, Narrowing};
use super::definition::Template;
use super::definition::{ComputedAssertion, Priority, Shows, ValueSource};
use super::holders::holders;
use crate::backend::all_indices;
use crate::entry::EntryView;
use crate::entry_place::EntryPlace;
use crate::facts::Facts;
use crate::virtual_attributes::VirtualAttribute;

/// Entries with a matching value that one assertion is led back to, and children of a base that are looked at for it.
const LOOKED_AT_MAX: u64 = 1_000;

/// Entries that one entry takes values from.
const NAMED_MAX: usize = 100;

/// Entries at and below one that an assertion is led back to, where who takes values is below.
const BELOW_MAX: u64 = 10_000;

/// Children of a base among which a name is looked for that is written otherwise.
const NAMES_MAX: u64 = 1_000;

/// The values of one entry (pointer CoS).
#[derive(Debug)]
pub struct OfEntry {
    /// Its name.
    pub name: NormalizedDn,
    /// It must be a `cosTemplate`.
    pub must_be_template: bool,
}

/// The values of the entries that the target names (indirect CoS; RFC 3671 as OpenDJ extends it: inherited from DN).
#[derive(Debug)]
pub struct OfNamed {
    /// The target's attribute with the name.
    pub by: TypeIndex,
    /// Of all entries that it names, up to a hundred; else of the first.
    pub all: bool,
    /// RDNs that are taken off the name: that of an entry above is meant.
    pub parents: usize,
    /// Only entries at and below this one have something to give.
    pub within: Option<NormalizedDn>,
    /// The attribute tells groups.
    pub follows_groups: bool,
}

/// What another source says, with the values of another attribute (OpenDJ: `inheritAttribute` with two names).
#[derive(Debug)]
pub struct Renamed<S> {
    /// The attribute that the values are taken of.
    pub attribute: TypeIndex,
    /// Only one value can be shown.
    pub takes_one: bool,
    /// Where they are.
    pub source: S,
}

/// The values of the entry that is named like a value of the target, right below a base (classic CoS; inherited from
/// RDN).
#[derive(Debug)]
pub struct BelowBase {
    /// The entry above.
    pub base: NormalizedDn,
    /// The target's attribute whose values are looked for.
    pub specifier: TypeIndex,
    /// The attributes by which entries below the base may be named, in the order in which they are tried.
    pub named_by: Vec<TypeIndex>,
    /// It must be a `cosTemplate`.
    pub must_be_template: bool,
    /// The value that stands for whoever gets nothing otherwise.
    pub fallback: Option<String>,
    /// Values of all entries that are found; else of the one with the best priority.
    pub all: bool,
    /// The specifier tells groups.
    pub follows_groups: bool,
}

impl OfEntry {
    fn found(&self, at: &dyn Shows, attribute: TypeIndex) -> Result<Option<Rc<Template>>, StoreError> {
        let Some(place) = at.entries().locate(self.name.as_bytes())? else { return Ok(None) };
        usable(at, place, attribute, self.must_be_template)
    }
}

impl ValueSource for OfEntry {
    fn supply(
        &self,
        at: &dyn Shows,
        attribute: TypeIndex,
        _entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        let Some(found) = self.found(at, attribute)? else { return Ok(None) };
        out.extend_from_slice(&found.body);
        Ok(Some(found.priority))
    }

    fn narrow(
        &self,
        at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        _any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        let found = self.found(at, wanted.attribute)?;
        let matches = found.is_some_and(|found| wanted.accepts_one_of(&found.body));
        Ok(if matches { Narrowing::Everybody } else { Narrowing::Nobody })
    }
}

impl ValueSource for OfNamed {
    fn supply(
        &self,
        at: &dyn Shows,
        attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        let mut names: Vec<NormalizedDn> = Vec::new();
        let most = if self.all { NAMED_MAX } else { 1 };
        let mut seen = 0;
        at.values_of(entry, self.by, &mut |value| {
            seen += 1;
            names.extend(self.meant(at.entries().facts(), value).filter(|name| !names.contains(name)));
            if seen < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        for name in names {
            if let Some(place) = at.entries().locate(name.as_bytes())?
                && let Some(found) = at.template(place, attribute)?
            {
                out.extend_from_slice(&found.body);
            }
        }
        // Sun: priorities are not for these.
        Ok(Some(Priority::LOWEST))
    }

    fn concerns(&self, has: &dyn Fn(TypeIndex) -> bool) -> bool {
        has(self.by)
    }

    fn is_costly(&self) -> bool {
        self.follows_groups
    }

    fn narrow(
        &self,
        at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        let groups = at.entries().groups();
        // A name in an attribute of text leads to an entry too, but is not found there by its normal form.
        if !at.entries().facts().schema.attribute_by_index(self.by).is_some_and(holds_names) {
            any.present(self.by)?;
            return Ok(Narrowing::Alternatives);
        }
        for backend in all_indices(groups.backends()) {
            let Some(ids) = holders(&at.entries(), backend, wanted, LOOKED_AT_MAX)? else {
                any.present(self.by)?;
                return Ok(Narrowing::Alternatives);
            };
            let view = groups.view_of(backend)?;
            for id in ids.iter() {
                let matches = at.template(EntryPlace { backend, id }, wanted.attribute)?;
                if matches.is_none_or(|found| !wanted.accepts_one_of(&found.body)) {
                    continue;
                }
                let Some(record) = view.entry(id)? else { continue };
                let mut form = Vec::new();
                if any.is_full() || !groups.put_form(backend, &record.view()?, &mut form)? {
                    any.present(self.by)?;
                    return Ok(Narrowing::Alternatives);
                }
                let is_outside = self.within.as_ref().is_some_and(|within| !form.starts_with(within.as_bytes()));
                if is_outside {
                    continue;
                }
                if self.parents == 0 {
                    any.equal_form(self.by, &form)?;
                } else if !self.add_below(at, EntryPlace { backend, id }, any)? {
                    any.present(self.by)?;
                    return Ok(Narrowing::Alternatives);
                }
            }
        }
        Ok(any.narrowing())
    }
}

impl OfNamed {
    /// The name of the entry that a value leads to.
    fn meant(&self, facts: &Facts, value: &[u8]) -> Option<NormalizedDn> {
        let mut name = NormalizedDn::parse(&facts.schema, value).ok()?;
        for _ in 0..self.parents {
            name = name.parent()?;
        }
        self.within.as_ref().is_none_or(|within| within.is_ancestor_or_equal(&name)).then_some(name)
    }

    /// Adds who takes values from an entry above itself; `false` if that cannot be told.
    fn add_below(&self, at: &dyn Shows, top: EntryPlace, any: &mut Alternatives<'_>) -> Result<bool, StoreError> {
        let is_own_name = at.entries().facts().virtual_attribute(self.by) == Some(VirtualAttribute::EntryDn);
        if !is_own_name || top.backend != at.entries().backend() {
            return Ok(false);
        }
        any.below(top.id, BELOW_MAX)
    }
}

impl<S: ValueSource> ValueSource for Renamed<S> {
    fn supply(
        &self,
        at: &dyn Shows,
        _attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        let start = out.len();
        let priority = self.source.supply(at, self.attribute, entry, out)?;
        if self.takes_one {
            let first = Values::new(0, out.get(start..).unwrap_or_default()).iter().next().map(<[u8]>::to_vec);
            out.truncate(start);
            first.iter().for_each(|value| put_value(out, value));
        }
        Ok(priority)
    }

    fn narrow(
        &self,
        at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        self.source.narrow(at, &ComputedAssertion { attribute: self.attribute, ..*wanted }, any)
    }

    fn concerns(&self, has: &dyn Fn(TypeIndex) -> bool) -> bool {
        self.source.concerns(has)
    }

    fn is_costly(&self) -> bool {
        self.source.is_costly()
    }
}

impl ValueSource for BelowBase {
    fn supply(
        &self,
        at: &dyn Shows,
        attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        let Some(base) = at.entries().locate(self.base.as_bytes())? else { return Ok(None) };
        let mut values: Vec<Box<[u8]>> = Vec::new();
        at.values_of(entry, self.specifier, &mut |value| {
            values.push(value.into());
            if values.len() < NAMED_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let mut best: Option<Rc<Template>> = None;
        let start = out.len();
        for value in values {
            let Some(found) = self.child(at, base, &value, attribute)? else { continue };
            if self.all {
                out.extend_from_slice(&found.body);
            }
            if best.as_ref().is_none_or(|best| found.priority < best.priority) {
                best = Some(found);
            }
        }
        if best.is_none()
            && let Some(fallback) = &self.fallback
        {
            best = self.child(at, base, fallback.as_bytes(), attribute)?;
        }
        let Some(best) = best else { return Ok(None) };
        if out.len() == start {
            out.extend_from_slice(&best.body);
        }
        Ok(Some(best.priority))
    }

    fn concerns(&self, has: &dyn Fn(TypeIndex) -> bool) -> bool {
        has(self.specifier)
    }

    fn is_costly(&self) -> bool {
        self.follows_groups
    }

    fn narrow(
        &self,
        at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        let Some(base) = at.entries().locate(self.base.as_bytes())? else { return Ok(Narrowing::Nobody) };
        if let Some(fallback) = &self.fallback
            && let Some(found) = self.child(at, base, fallback.as_bytes(), wanted.attribute)?
            && wanted.accepts_one_of(&found.body)
        {
            return Ok(Narrowing::Everybody);
        }
        let is_led_back = self.is_led_back(at, base, wanted, any)?;
        if !is_led_back {
            any.present(self.specifier)?;
            return Ok(Narrowing::Alternatives);
        }
        Ok(any.narrowing())
    }
}

impl BelowBase {
    /// What the entry called like a value has of an attribute.
    fn child(
        &self,
        at: &dyn Shows,
        base: EntryPlace,
        value: &[u8],
        attribute: TypeIndex,
    ) -> Result<Option<Rc<Template>>, StoreError> {
        let view = at.entries().groups().view_of(base.backend)?;
        let schema = &at.entries().facts().schema;
        for named_by in self.named_by.iter().filter_map(|it| schema.attribute_by_index(*it)) {
            let mut rdn = format!("{}=", named_by.name());
            if ldap::dn::write_escaped(&mut rdn, value).is_err() {
                continue;
            }
            let Ok(form) = NormalizedDn::parse(schema, rdn.as_bytes()) else { continue };
            let Some(rdn) = form.as_bytes().strip_suffix(&[0]) else { continue };
            if let Some(id) = view.child(base.id, rdn)?
                && let Some(found) =
                    usable(at, EntryPlace { backend: base.backend, id }, attribute, self.must_be_template)?
            {
                return Ok(Some(found));
            }
        }
        self.child_named_otherwise(at, base, value, attribute)
    }

    /// Names as values are the same however they are written: then every child is looked at, if they are few.
    fn child_named_otherwise(
        &self,
        at: &dyn Shows,
        base: EntryPlace,
        value: &[u8],
        attribute: TypeIndex,
    ) -> Result<Option<Rc<Template>>, StoreError> {
        let schema = &at.entries().facts().schema;
        let is_name = schema.attribute_by_index(self.specifier).is_some_and(is_of_names);
        if !is_name {
            return Ok(None);
        }
        let (view, Ok(name)) = (at.entries().groups().view_of(base.backend)?, NormalizedDn::parse(schema, value))
        else {
            return Ok(None);
        };
        let children = view.children(base.id)?;
        if children.count() > NAMES_MAX {
            return Ok(None);
        }
        for id in children.iter() {
            let Some(record) = view.entry(id)? else { continue };
            let own = self.value_of(at.entries().facts(), record.view()?.rdn());
            if own.is_some_and(|own| NormalizedDn::parse(schema, &own).ok().as_ref() == Some(&name))
                && let Some(found) =
                    usable(at, EntryPlace { backend: base.backend, id }, attribute, self.must_be_template)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The value that an entry below the base is called by, if it has such a name.
    fn value_of(&self, facts: &Facts, rdn: &[u8]) -> Option<Vec<u8>> {
        let parsed = ldap::Dn::parse(std::str::from_utf8(rdn).ok()?).ok()?;
        let [ava] = parsed.rdns().first()?.avas() else { return None };
        let named_by = facts.schema.attribute_type(ava.attribute.as_bytes())?.index;
        self.named_by.contains(&named_by).then(|| ava.value.to_vec())
    }

    /// Adds the values of the specifier for which there is a matching entry; `false` if that cannot be told.
    fn is_led_back(
        &self,
        at: &dyn Shows,
        base: EntryPlace,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<bool, StoreError> {
        let schema = &at.entries().facts().schema;
        let specifier = schema.attribute_by_index(self.specifier);
        // Names are found whatever the case of the value; an index that tells cases apart would miss some.
        if !specifier.is_some_and(|specifier| is_case_blind(at.entries().facts(), specifier)) {
            return Ok(false);
        }
        let view = at.entries().groups().view_of(base.backend)?;
        let ids: Vec<EntryId> = match holders(&at.entries(), base.backend, wanted, LOOKED_AT_MAX)? {
            Some(ids) => ids.iter().collect(),
            None if view.children(base.id)?.count() <= LOOKED_AT_MAX => view.children(base.id)?.iter().collect(),
            None => return Ok(false),
        };
        for id in ids {
            let place = EntryPlace { backend: base.backend, id };
            let Some(record) = view.entry(id)? else { continue };
            let record = record.view()?;
            if record.parent() != base.id {
                continue;
            }
            let Some(value) = self.value_of(at.entries().facts(), record.rdn()) else { continue };
            let found = usable(at, place, wanted.attribute, self.must_be_template)?;
            if found.is_none_or(|found| !wanted.accepts_one_of(&found.body)) {
                continue;
            }
            if any.is_full() {
                return Ok(false);
            }
            any.equal(at.entries().facts(), self.specifier, &value)?;
        }
        Ok(true)
    }
}

/// What an entry has of an attribute, if values may be taken from it.
fn usable(
    at: &dyn Shows,
    place: EntryPlace,
    attribute: TypeIndex,
    must_be_template: bool,
) -> Result<Option<Rc<Template>>, StoreError> {
    let found = at.template(place, attribute)?;
    Ok(found.filter(|found| found.is_template || !must_be_template))
}

/// Whether the values of an attribute are the groups of an entry.
pub(super) fn tells_groups(facts: &Facts, attribute: TypeIndex) -> bool {
    facts.virtual_attribute(attribute).is_some_and(VirtualAttribute::is_membership)
}

/// Whether the values of an attribute are names of entries.
fn is_of_names(attribute: &AttributeType) -> bool {
    attribute.equality.is_some_and(|rule| rule.name() == "distinguishedNameMatch")
}

/// Whether values are compared as names of entries, also where an identifier may follow the name.
fn holds_names(attribute: &AttributeType) -> bool {
    is_of_names(attribute) || attribute.equality.is_some_and(|rule| rule.name() == "uniqueMemberMatch")
}

/// Whether values that differ in case only are equal under the attribute's equality rule.
fn is_case_blind(facts: &Facts, attribute: &AttributeType) -> bool {
    let Some(rule) = attribute.equality else { return false };
    let form = |value: &[u8]| {
        let mut form = Vec::new();
        rule.normalize(&facts.schema, value, &mut form).map(|()| form)
    };
    match (form(b"aB"), form(b"Ab")) {
        (Ok(one), Ok(other)) => one == other,
        // No words: names, numbers.
        _ => true,
    }
}
