//! Whether the schema allows what an entry becomes: the final state of the whole request is judged, not the steps to
//! it.
//!
//! When the object classes stay, only what was touched can break a rule, so only that is looked at. Knows drafts, the
//! schema's checker and what makes a definition; not who asks.

use std::cell::RefCell;

use schema::check::{AttributeKey, CheckError, Checker, ClassSet, EntryAttributes, Requirement};
use schema::instruction::check_target;
use schema::{NormalizedDn, Schema, TypeIndex};
use store::{EntryId, RecordView};

use super::draft::{Draft, Now, Touched, stored_type};
use super::error::ApplyError;
use super::value_set::SetIter;
use super::work::Work;

use crate::refusal::Refusal;
use query::class_flags::ClassFlags;
use query::entry::{DnParts, EntryView};
use query::error::shown;
use query::facts::Facts;
use query::policies::{Over, written};

/// Entries of which [`judge_definition`] has something to say.
pub(super) const JUDGED: ClassFlags = ClassFlags::DEFINITION.with(ClassFlags::PASSWORD_POLICY);

/// A check error as a result.
pub(super) fn violation(error: &CheckError) -> ApplyError {
    let problem = config::capitalized(&error.to_string());
    Refusal::SchemaViolation { code: error.result_code(), problem }.into()
}

/// The attributes of an RDN.
pub(super) fn rdn_keys<'a>(schema: &Schema, rdn: &'a ldap::Rdn<'_>) -> Vec<AttributeKey<'a>> {
    let key = |ava: &'a ldap::Ava<'_>| match schema.attribute_type(ava.attribute.as_bytes()) {
        Some(attribute) => AttributeKey::Known(attribute.index),
        None => AttributeKey::Unknown(ava.attribute),
    };
    rdn.avas().iter().map(key).collect()
}

/// Judges the whole entry: a new one, or one whose classes changed.
pub(super) fn judge_all(checker: &Checker, draft: &Draft<'_>, rdn: &[AttributeKey<'_>]) -> Result<(), ApplyError> {
    if !checker.leniency().check_schema {
        return Ok(());
    }
    judge_collective(draft)?;
    let classes = ClassSet::of_values(draft.schema, draft.classes()).map_err(|error| violation(&error))?;
    let requirement = checker.requirement(&classes);
    checker.check_with(&requirement, rdn, &DraftAttributes { draft }, &mut |_| {}).map_err(|error| violation(&error))
}

/// Judges what was touched of an entry whose classes stay. `requirement` is what they ask for.
pub(super) fn judge_touched(checker: &Checker, draft: &Draft<'_>, requirement: &Requirement) -> Result<(), ApplyError> {
    if !checker.leniency().check_schema {
        return Ok(());
    }
    judge_collective(draft)?;
    for touched in &draft.touched {
        let Some(index) = touched.type_index else { continue };
        if touched.is_empty() {
            if requirement.must.contains(&index) && !draft.will_have(index) {
                return Err(violation(&requirement.missing(draft.schema, index)));
            }
        } else if !requirement.allows(index) {
            return Err(violation(&requirement.denial(draft.schema, index)));
        } else if touched.len() > 1
            && let Some(attribute) = draft.schema.attribute_by_index(index).filter(|it| it.is_single_value())
        {
            return Err(violation(&CheckError::SeveralValues(attribute.name().to_owned())));
        }
    }
    Ok(())
}

/// Collective attributes stand in their subentries only (RFC 3671 §2): entries get them from there.
fn judge_collective(draft: &Draft<'_>) -> Result<(), ApplyError> {
    let schema = draft.schema;
    let touched = draft.touched.iter().filter(|touched| !touched.is_empty());
    let mut types = touched.filter_map(|touched| schema.attribute_by_index(touched.type_index?));
    let Some(attribute) = types.find(|attribute| attribute.is_collective()) else { return Ok(()) };
    let subentry = schema.object_class(b"collectiveAttributeSubentry").map(|class| class.index);
    let mut classes = draft.classes().filter_map(|name| schema.object_class(name));
    if classes.any(|class| Some(class.index) == subentry) {
        return Ok(());
    }
    Err(Refusal::CollectiveAttribute { attribute: attribute.name().to_owned() }.into())
}

/// The filter of a role is a valid filter: otherwise the role would have no members, and only that would show the
/// mistake.
pub(super) fn judge_role_filter(facts: &Facts, draft: &Draft<'_>) -> Result<(), ApplyError> {
    let is_filter = |touched: &&Touched| touched.type_index.is_some() && touched.type_index == facts.role_filter;
    for touched in draft.touched.iter().filter(is_filter) {
        let Now::Set(values) = &touched.now else { continue };
        for value in values.iter() {
            let parsed = std::str::from_utf8(value).map_err(|error| error.to_string());
            let parsed = parsed.and_then(|text| ldap::filter::parse(text).map_err(|error| error.to_string()));
            if let Err(problem) = parsed {
                return Err(Refusal::RoleFilter { value: shown(value), problem }.into());
            }
        }
    }
    Ok(())
}

/// Access control instructions that come can be read, and are about what is at or below their entry: those that are not
/// would close its part of the tree, or never match. This is so also where the schema is not checked. What was there
/// before stays, and an entry that gets another name takes its instructions along as they are.
pub(super) fn judge_instructions(work: &Work<'_, '_>, draft: &Draft<'_>, dn: &[u8]) -> Result<(), ApplyError> {
    let is_aci = |touched: &&Touched| touched.type_index.is_some() && touched.type_index == work.facts.aci;
    for touched in draft.touched.iter().filter(is_aci) {
        let (holder, _) = work.resolve(dn)?;
        for value in draft.new_values(touched) {
            let parsed = std::str::from_utf8(value).map_err(|error| error.to_string());
            let parsed = parsed.and_then(|text| aci::parse(text).map_err(|error| error.to_string()));
            let parsed = parsed.map_err(|problem| Refusal::BadInstruction { value: shown(value), problem })?;
            if !work.is_relaxed() {
                check_target(draft.schema, &holder, &parsed).map_err(|error| Refusal::InstructionElsewhere {
                    problem: config::capitalized(&error.to_string()),
                })?;
            }
        }
    }
    Ok(())
}

/// Whether an entry that was just stored can be understood, if it is one that says what other entries get or have to
/// obey: a mistake in it would show nowhere but in what they lack.
pub(super) fn judge_definition(work: &Work<'_, '_>, id: EntryId) -> Result<(), ApplyError> {
    let view = work.view();
    let dn = view.dn_of(id)?.unwrap_or_default();
    let Some(record) = view.entry(id)? else { return Ok(()) };
    let record = record.view()?;
    if work.facts.class_flags(record.object_classes()).has(ClassFlags::PASSWORD_POLICY) {
        let name = NormalizedDn::parse(&work.facts.schema, dn.as_bytes()).unwrap_or_default();
        let entry = EntryView { id, record, dn: DnParts::whole(dn.as_bytes()), source: &view };
        let policy = written(&work.facts, &entry, (&dn, &name), Over::Nothing);
        if let Some(problem) = policy.problems.into_iter().next() {
            return Err(Refusal::PasswordPolicy { problem }.into());
        }
    }
    let roles = RefCell::default();
    let read = query::computed::read(&work.facts, &view, id, record, &dn, &roles);
    read.map(drop).map_err(|problem| Refusal::Definition { problem: problem.to_string() }.into())
}

/// Whether [`judge_definition`] has something to say of an entry of these classes.
pub(super) fn defines(work: &Work<'_, '_>, draft: &Draft<'_>) -> bool {
    let facts = &work.facts;
    let mut classes = draft.classes().filter_map(|name| facts.schema.object_class(name));
    work.rules.checker.leniency().check_schema
        && classes.any(|class| {
            facts.is_password_policy(class) || facts.definitions.flags_of(class).has(ClassFlags::DEFINITION)
        })
}

/// An entry changes its structural class only by being deleted and added again (RFC 4512 §2.4.2); auxiliary classes
/// come and go.
pub(super) fn judge_class_change(
    checker: &Checker,
    draft: &Draft<'_>,
    before: &Requirement,
    relaxed: bool,
) -> Result<(), ApplyError> {
    if relaxed || !checker.leniency().check_schema {
        return Ok(());
    }
    let after = ClassSet::of_values(draft.schema, draft.classes()).map_err(|error| violation(&error))?;
    let after = checker.requirement(&after);
    let (Some(old), Some(new)) = (before.structural, after.structural) else { return Ok(()) };
    if old == new {
        return Ok(());
    }
    let name = |class| draft.schema.class_by_index(class).map_or("", schema::ObjectClass::name).to_owned();
    Err(Refusal::StructuralClassChange { old: name(old), new: name(new) }.into())
}

/// Adds the superior classes that the client left out (RFC 4512 §3.3 lets it).
pub(super) fn complete_classes(draft: &mut Draft<'_>) {
    let schema = draft.schema;
    let Ok(classes) = ClassSet::of_values(schema, draft.classes()) else { return };
    let missing = classes.missing_superiors(schema);
    let Some(touched) = draft.touched.iter_mut().find(|touched| touched.is_object_class()) else { return };
    if let Now::Set(set) = &mut touched.now {
        for class in missing.iter().filter_map(|class| schema.class_by_index(*class)) {
            set.insert(schema, class.name().as_bytes());
        }
    }
}

/// A draft as the schema's checker sees it. Values that were not touched were judged when they came.
struct DraftAttributes<'a, 'd> {
    draft: &'a Draft<'d>,
}

impl EntryAttributes for DraftAttributes<'_, '_> {
    type Values<'v>
        = SetIter<'v>
    where
        Self: 'v;

    fn attributes(&self) -> impl Iterator<Item = (AttributeKey<'_>, Self::Values<'_>)> {
        let draft = self.draft;
        let touched = draft.touched.iter().filter(|touched| !touched.is_empty()).map(|touched| {
            let key = key_of(touched.type_index, &touched.description);
            let values = match &touched.now {
                Now::Set(set) => set.iter(),
                Now::Edit(_) => SetIter::default(),
            };
            (key, values)
        });
        touched.chain(draft.record.iter().flat_map(move |record| untouched(draft, record)))
    }
}

fn untouched<'a>(
    draft: &'a Draft<'_>,
    record: &'a RecordView<'_>,
) -> impl Iterator<Item = (AttributeKey<'a>, SetIter<'a>)> {
    let tables = record.tables();
    let is_touched = |desc| draft.touched.iter().any(|touched| touched.desc == Some(desc));
    let rest = record.attributes().filter(move |attribute| !is_touched(attribute.desc));
    let rest = rest.map(move |attribute| {
        let index = stored_type(draft.schema, tables, attribute.desc).map(|own| own.index);
        (key_of(index, tables.description(attribute.desc).unwrap_or_default()), SetIter::default())
    });
    // The classes are in the header, where `attributes` does not look.
    let classes = (!draft.touches_classes()).then(|| draft.schema.attribute_type(b"objectClass")).flatten();
    rest.chain(classes.map(|attribute| (AttributeKey::Known(attribute.index), SetIter::default())))
}

fn key_of(index: Option<TypeIndex>, name: &str) -> AttributeKey<'_> {
    index.map_or(AttributeKey::Unknown(name), AttributeKey::Known)
}
