//! Collective attributes (RFC 3671): what a subentry has of them, all entries of its subtree show; with the conflict
//! rules, the option `;collective` for attributes of any type and the LDAP filters in subtree specifications that
//! OpenDJ added.
//!
//! [`super::inherited`] builds on it: there a subentry says from which other entry the values come.
//!
//! Values of several subentries come together (RFC 3671 §1.2), unless the attribute takes one value only: then the
//! oldest subentry gives it.

use std::ops::ControlFlow;
use std::sync::Arc;

use config::ConflictBehavior;
use ldap::FilterNode;
use schema::syntax::subtree::{Exclusion, Refinement, SpecificationFilter, SubtreeSpecification};
use schema::{AttributeDescription, AttributeType, NormalizedDn, TypeIndex};
use store::StoreError;

use super::alternatives::{Alternatives, Narrowing};
use super::definition::check_attribute;
use super::definition::{ComputedAssertion, Definition, Priority, Shows, ValueSource};
use super::fixed::Given;
use super::reach::Excluded;
use super::reach::Reach;
use super::reading::Reading;
use crate::entry::EntryView;
use crate::facts::Facts;

/// Values of one attribute that a subentry may give: they are kept in memory and sent with every entry.
const VALUES_MAX: usize = 10_000;

/// `excludeAllCollectiveAttributes` (RFC 3671 §2.3).
const EXCLUDE_ALL: [&[u8]; 2] = [b"excludeAllCollectiveAttributes", b"2.5.18.0"];

/// The option that makes any attribute of a subentry collective (OpenDJ).
const COLLECTIVE: &str = "collective";

/// Reads a `collectiveAttributeSubentry`.
pub(super) fn read(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    let subentry = Subentry::read(reading)?;
    let facts = reading.facts;
    let mut all = subentry.says_so(facts);
    for stored in reading.entry.record.attributes() {
        let tables = reading.entry.record.tables();
        let shown = tables.description(stored.desc).unwrap_or_default();
        let Ok(description) = AttributeDescription::parse(&facts.schema, shown.as_bytes()) else { continue };
        let known = description.attribute.and_then(|index| facts.schema.attribute_by_index(index));
        let Some(attribute) = known else { continue };
        let is_tagged = description.options.iter().any(|option| option == COLLECTIVE);
        if !attribute.is_collective() && !is_tagged {
            continue;
        }
        if description.options.iter().any(|option| option != COLLECTIVE) {
            return Err(format!("has {shown}: entries can be given attributes without options only"));
        }
        let values = reading.all_of(std::iter::once(stored), attribute.name(), VALUES_MAX)?;
        let given = Given::new(values.iter().map(Vec::as_slice));
        all.push(subentry.definition(facts, attribute, given)?);
    }
    Ok(all)
}

/// What every subentry of collective attributes says.
pub(super) struct Subentry {
    dn: Vec<u8>,
    /// The entry that it administers for.
    pub point: NormalizedDn,
    reach: Reach,
    conflict: ConflictBehavior,
}

impl Subentry {
    /// Reads it.
    pub fn read(reading: &Reading<'_>) -> Result<Subentry, String> {
        let facts = reading.facts;
        let point = reading.parent();
        let text = reading.value("subtreeSpecification")?.ok_or("has no subtreeSpecification")?;
        let text = std::str::from_utf8(&text).map_err(|_| "has a subtreeSpecification that is not UTF-8")?;
        let specification = SubtreeSpecification::parse(text)
            .map_err(|problem| format!("has a subtreeSpecification that is none: {problem}"))?;
        let conflict = match reading.value("collectiveConflictBehavior")? {
            None => ConflictBehavior::RealOverridesVirtual,
            Some(word) if word.eq_ignore_ascii_case(b"real-overrides-virtual") => {
                ConflictBehavior::RealOverridesVirtual
            }
            Some(word) if word.eq_ignore_ascii_case(b"virtual-overrides-real") => {
                ConflictBehavior::VirtualOverridesReal
            }
            Some(word) if word.eq_ignore_ascii_case(b"merge-real-and-virtual") => ConflictBehavior::MergeRealAndVirtual,
            Some(word) => {
                return Err(format!(
                    "has an unknown collectiveConflictBehavior \"{}\"",
                    String::from_utf8_lossy(&word)
                ));
            }
        };
        let mut dn = Vec::new();
        reading.entry.dn.put(&mut dn);
        Ok(Subentry { dn, reach: reach_of(facts, &point, &specification)?, point, conflict })
    }

    /// That entries get an attribute, and from where.
    pub fn definition<S: ValueSource + 'static>(
        &self,
        facts: &Facts,
        attribute: &AttributeType,
        source: S,
    ) -> Result<Definition, String> {
        check_attribute(facts, attribute.index).map_err(|why| format!("gives {}, which {why}", attribute.name()))?;
        Ok(self.given(facts, attribute.index, self.conflict, source, !attribute.is_single_value()))
    }

    /// That entries say so in `collectiveAttributeSubentries`, if the schema has that.
    pub fn says_so(&self, facts: &Facts) -> Vec<Definition> {
        let attribute = facts.schema.attribute_type(b"collectiveAttributeSubentries");
        let source = || Given::new([self.dn.as_slice()]);
        let over = ConflictBehavior::VirtualOverridesReal;
        attribute.map(|it| self.given(facts, it.index, over, source(), true)).into_iter().collect()
    }

    fn given<S: ValueSource + 'static>(
        &self,
        facts: &Facts,
        attribute: TypeIndex,
        conflict: ConflictBehavior,
        source: S,
        merges: bool,
    ) -> Definition {
        let exclusions = facts.schema.attribute_type(b"collectiveExclusions").map(|it| it.index);
        Definition {
            attribute,
            reach: self.reach.clone(),
            conflict,
            is_by_name_only: false,
            merges,
            // RFC 3671 §3: collective types stand in no object class.
            needs_schema: false,
            refuses_writes: false,
            source: Arc::new(UnlessExcluded { exclusions, source }),
        }
    }
}

/// What a subtree specification means below an administrative point.
///
/// # Errors
/// What is not valid in it, in words that follow the subentry's name.
pub fn reach_of(facts: &Facts, point: &NormalizedDn, specification: &SubtreeSpecification) -> Result<Reach, String> {
    let below = |from: &NormalizedDn, name: &str| match NormalizedDn::parse(&facts.schema, name.as_bytes()) {
        Ok(name) => Ok(from.join(&name)),
        Err(problem) => Err(format!("has a subtreeSpecification that is none: {problem}")),
    };
    let base = below(point, &specification.base)?;
    let mut reach = Reach::below(Vec::new());
    reach.minimum = usize::try_from(specification.minimum).unwrap_or(usize::MAX);
    reach.maximum = specification.maximum.map(|maximum| usize::try_from(maximum).unwrap_or(usize::MAX));
    for exclusion in &specification.exclusions {
        let (name, keeps_top) = match exclusion {
            Exclusion::Before(name) => (name, false),
            Exclusion::After(name) => (name, true),
        };
        reach.excluded.push(Excluded { base: below(&base, name)?, keeps_top });
    }
    if let Some(filter) = &specification.filter {
        let told = |what: String| format!("has a specificationFilter {what}");
        check_names(facts, filter).map_err(told)?;
        reach.set_filter(facts, &filter.as_filter()).map_err(|why| told(format!("that cannot be used: {why}")))?;
    }
    reach.bases = vec![base];
    Ok(reach)
}

/// A filter with a name that the schema does not know would match nobody, and nobody would be told.
fn check_names(facts: &Facts, filter: &SpecificationFilter) -> Result<(), String> {
    match filter {
        SpecificationFilter::Classes(refinement) => check_classes(facts, refinement),
        SpecificationFilter::Filter(text) => {
            let parsed = ldap::filter::parse(text).map_err(|problem| format!("that is none: {problem}"))?;
            let names = parsed.filter();
            let unknown =
                names.nodes().iter().filter_map(FilterNode::attribute).find(|name| {
                    AttributeDescription::parse(&facts.schema, name).is_ok_and(|it| it.attribute.is_none())
                });
            match unknown {
                Some(name) => {
                    let name = String::from_utf8_lossy(name);
                    Err(format!(
                        "with the attribute type {name}, which is not in the schema: define it or correct the name"
                    ))
                }
                None => Ok(()),
            }
        }
    }
}

/// The parser bounds the depth.
fn check_classes(facts: &Facts, refinement: &Refinement) -> Result<(), String> {
    match refinement {
        Refinement::Item(class) if facts.schema.object_class(class.as_bytes()).is_none() => {
            Err(format!("with the object class {class}, which is not in the schema: define it or correct the name"))
        }
        Refinement::Item(_) => Ok(()),
        Refinement::And(list) | Refinement::Or(list) => list.iter().try_for_each(|one| check_classes(facts, one)),
        Refinement::Not(one) => check_classes(facts, one),
    }
}

/// Values of a source for entries that do not exclude the attribute.
#[derive(Debug)]
struct UnlessExcluded<S> {
    /// `collectiveExclusions`
    exclusions: Option<TypeIndex>,
    source: S,
}

impl<S: ValueSource> ValueSource for UnlessExcluded<S> {
    fn supply(
        &self,
        at: &dyn Shows,
        attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        if self.exclusions.map_or(Ok(false), |exclusions| is_excluded(at, entry, exclusions, attribute))? {
            return Ok(None);
        }
        self.source.supply(at, attribute, entry, out)
    }

    fn narrow(
        &self,
        at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        self.source.narrow(at, wanted, any)
    }

    fn concerns(&self, has: &dyn Fn(TypeIndex) -> bool) -> bool {
        self.source.concerns(has)
    }

    fn is_costly(&self) -> bool {
        self.source.is_costly()
    }
}

/// Whether an entry says that it wants no such attribute.
fn is_excluded(
    at: &dyn Shows,
    entry: &EntryView<'_>,
    exclusions: TypeIndex,
    attribute: TypeIndex,
) -> Result<bool, StoreError> {
    // Most directories have no such entry at all.
    if entry.record.tables().by_type(exclusions.0).is_empty() {
        return Ok(false);
    }
    let mut excluded = false;
    at.values_of(entry, exclusions, &mut |value| {
        let is_own = || at.entries().facts().schema.attribute_type(value).is_some_and(|it| it.index == attribute);
        excluded = EXCLUDE_ALL.iter().any(|all| value.eq_ignore_ascii_case(all)) || is_own();
        if excluded { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(excluded)
}
