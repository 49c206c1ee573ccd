//! Modify (RFC 4511 §4.6, increment RFC 4525): the changes are made one after the other on a draft, the state after the
//! last one is judged.
//!
//! A change of a password by the extended operation comes as a modify request of `userPassword`.

use ldap::{Change, ModifyOperation, ModifyRequest};
use schema::syntax::oid;
use store::View;

use super::change_notes::Note;
use super::disabling;
use super::draft::{Described, Draft, Now, Start};
use super::error::ApplyError;
use super::judge;
use super::password;
use super::plugins;
use super::rdn::leaf_rdn;
use super::rules::UpdateRules;
use super::stamps;
use super::value_set::ValueSet;
use super::work::{Target, Work};
use super::write::{self, TreePosition};
use crate::history::ChangeKind;
use crate::proposal::{Flags, Kind};
use crate::refusal::Refusal;
use query::error::shown;
use query::facts::Facts;

/// Applies a modify request.
pub(super) fn modify(work: &mut Work<'_, '_>, request: &ModifyRequest<'_>) -> Result<(), ApplyError> {
    let facts = work.facts.clone();
    let judged = work.judged_entry()?;
    let target = work.find(request.object, judged)?;
    work.check_not_given(&target, request)?;
    work.read_before(target.id)?;
    let record = target.record()?;
    let mut draft = Draft::of(&facts.schema, target.id, record, target.classes.flags);
    let settings = Settings::of(work);
    for change in request.changes.iter() {
        apply_change(&facts, settings, &work.view(), work.rules, &mut draft, &change)?;
    }
    keep_rdn(&work.view(), &mut draft, &target)?;
    judge_final(work, &mut draft, &target)?;
    judge::judge_instructions(work, &draft, request.object)?;
    plugins::dynamic::keep_class(work, &draft, &target)?;
    password::follow(work, &facts, &mut draft)?;
    disabling::follow(work, &facts, &mut draft)?;
    let stamps = stamps::stamps_of_modify(work.proposal.csn, work.proposal.authority.dn());
    let place = TreePosition { parent: record.parent(), rdn: record.rdn() };
    let note = Note::requested(ChangeKind::Modify, record.header().uuid.unwrap_or_default());
    write::store(work, &note, &mut draft, place, stamps)?;
    let may_define = target.classes.flags.has(judge::JUDGED) || draft.touches_classes();
    if may_define && judge::defines(work, &draft) {
        judge::judge_definition(work, target.id)?;
    }
    plugins::judge(work, &draft, Some(&target.name), &target.name)?;
    work.read_after(target.id)
}

/// What of the request and the rules a single change depends on.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    /// Server-written attributes may be written.
    pub(super) relaxed: bool,
    /// Values that are there may be added, those that are not may be deleted.
    permissive: bool,
    /// Unknown attributes are refused.
    pub(super) check_schema: bool,
}

impl Settings {
    pub(super) fn of(work: &Work<'_, '_>) -> Self {
        Self {
            relaxed: work.is_relaxed() || work.proposal.kind == Kind::Refresh,
            permissive: work.has(Flags::PERMISSIVE_MODIFY),
            check_schema: work.rules.leniency.check_schema,
        }
    }
}

/// Refuses attributes that only the server writes (RFC 4512 §4.1.2 NO-USER-MODIFICATION) or computes.
pub(super) fn check_writable(facts: &Facts, described: &Described<'_>, relaxed: bool) -> Result<(), ApplyError> {
    let Some(attribute) = described.attribute else { return Ok(()) };
    let computed = facts.is_virtual(attribute.index);
    if computed || (attribute.is_no_user_modification() && !relaxed) {
        return Err(Refusal::ServerMaintained { attribute: attribute.name().to_owned() }.into());
    }
    Ok(())
}

fn apply_change(
    facts: &Facts,
    settings: Settings,
    view: &View<'_>,
    rules: &UpdateRules,
    draft: &mut Draft<'_>,
    change: &Change<'_>,
) -> Result<(), ApplyError> {
    let described = Described::parse(&facts.schema, change.attribute.description, settings.check_schema)?;
    check_writable(facts, &described, settings.relaxed)?;
    let values = change.attribute.values;
    if matches!(change.operation, ModifyOperation::Add | ModifyOperation::Replace)
        && let Some(attribute) = described.attribute
    {
        for value in values.iter() {
            let checked = rules.checker.check_values(attribute.index, std::iter::once(value), &mut |_| {});
            checked.map_err(|error| judge::violation(&error))?;
        }
    }
    match change.operation {
        ModifyOperation::Add if values.is_empty() => {
            Err(Refusal::NothingToAdd { attribute: described.canonical.to_string() }.into())
        }
        ModifyOperation::Add => {
            let at = draft.touch(&described, Start::Stored)?;
            let schema = draft.schema;
            let touched = draft.at(at)?;
            for value in values.iter() {
                if !touched.insert(schema, view, value)? && !settings.permissive {
                    return Err(value_exists(&described, value));
                }
            }
            Ok(())
        }
        ModifyOperation::Delete => delete_values(settings, view, draft, &described, change),
        ModifyOperation::Replace => {
            let at = draft.touch(&described, Start::Empty)?;
            let schema = draft.schema;
            let touched = draft.at(at)?;
            for value in values.iter() {
                if !touched.insert(schema, view, value)? {
                    return Err(value_exists(&described, value));
                }
            }
            Ok(())
        }
        ModifyOperation::Increment => increment(draft, &described, change),
    }
}

/// Messages show no passwords.
fn is_password(described: &Described<'_>) -> bool {
    described.canonical.eq_ignore_ascii_case("userPassword")
}

/// `attributeOrValueExists`.
pub(super) fn value_exists(described: &Described<'_>, value: &[u8]) -> ApplyError {
    let attribute = described.canonical.to_string();
    let refusal = match is_password(described) {
        true => Refusal::SecretExists { attribute },
        false => Refusal::ValueExists { attribute, value: shown(value) },
    };
    refusal.into()
}

fn delete_values(
    settings: Settings,
    view: &View<'_>,
    draft: &mut Draft<'_>,
    described: &Described<'_>,
    change: &Change<'_>,
) -> Result<(), ApplyError> {
    let at = draft.touch(described, Start::Stored)?;
    let schema = draft.schema;
    let touched = draft.at(at)?;
    if change.attribute.values.is_empty() {
        if touched.is_empty() && !settings.permissive {
            return Err(Refusal::NoAttribute { attribute: described.canonical.to_string() }.into());
        }
        touched.clear(schema);
        return Ok(());
    }
    for value in change.attribute.values.iter() {
        if !touched.remove(schema, view, value)? && !settings.permissive {
            let attribute = described.canonical.to_string();
            let refusal = match is_password(described) {
                true => Refusal::NoSecret { attribute },
                false => Refusal::NoValue { attribute, value: shown(value) },
            };
            return Err(refusal.into());
        }
    }
    Ok(())
}

/// RFC 4525: adds a number, which may be negative, to every value.
fn increment(draft: &mut Draft<'_>, described: &Described<'_>, change: &Change<'_>) -> Result<(), ApplyError> {
    let attribute = || described.canonical.to_string();
    let mut given = change.attribute.values.iter();
    let (Some(by), None) = (given.next(), given.next()) else {
        return Err(Refusal::NotOneIncrement { attribute: attribute() }.into());
    };
    let Some(known) = described.attribute.filter(|known| known.syntax.oid() == oid::INTEGER) else {
        return Err(Refusal::NotIncrementable { attribute: attribute() }.into());
    };
    let not_a_number = |value: &[u8]| Refusal::NotAnInteger { attribute: attribute(), value: shown(value) };
    let amount = integer(by).ok_or_else(|| not_a_number(by))?;
    let at = draft.touch(described, Start::Stored)?;
    let schema = draft.schema;
    let touched = draft.at(at)?;
    if touched.is_empty() {
        return Err(Refusal::NothingToIncrement { attribute: attribute() }.into());
    }
    let Now::Set(set) = &touched.now else {
        return Err(Refusal::TooManyToIncrement { attribute: attribute() }.into());
    };
    let mut sums = ValueSet::new(known.equality);
    for value in set.iter() {
        let sum = integer(value).and_then(|old| old.checked_add(amount)).ok_or_else(|| not_a_number(value))?;
        sums.insert(schema, sum.to_string().as_bytes());
    }
    touched.now = Now::Set(sums);
    Ok(())
}

/// Integers of up to 38 digits: more than any counter has.
fn integer(value: &[u8]) -> Option<i128> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// The values of the RDN stay (RFC 4511 §4.6): renaming is another operation.
fn keep_rdn(view: &View<'_>, draft: &mut Draft<'_>, target: &Target) -> Result<(), ApplyError> {
    let record = target.record()?;
    let text = String::from_utf8_lossy(record.rdn());
    let Some(rdn) = leaf_rdn(&text, target.is_suffix()) else { return Ok(()) };
    let schema = draft.schema;
    for ava in rdn.avas() {
        let Some(attribute) = schema.attribute_type(ava.attribute.as_bytes()) else { continue };
        let Some(touched) = draft.touched_type(attribute.index) else { continue };
        if !touched.contains(schema, view, &ava.value)? {
            let attribute = attribute.name().to_owned();
            return Err(Refusal::PartOfName { value: shown(&ava.value), attribute }.into());
        }
    }
    Ok(())
}

fn judge_final(work: &Work<'_, '_>, draft: &mut Draft<'_>, target: &Target) -> Result<(), ApplyError> {
    let checker = &work.rules.checker;
    judge::judge_role_filter(&work.facts, draft)?;
    if !checker.leniency().check_schema {
        return Ok(());
    }
    let before = target.classes.requirement.as_ref();
    match before {
        Ok(before) if !draft.touches_classes() => judge::judge_touched(checker, draft, before),
        _ => {
            judge::complete_classes(draft);
            if let Ok(before) = before {
                judge::judge_class_change(checker, draft, before, work.is_relaxed())?;
            }
            let record = target.record()?;
            let text = String::from_utf8_lossy(record.rdn());
            let rdn = leaf_rdn(&text, target.is_suffix());
            let keys = rdn.as_ref().map(|rdn| judge::rdn_keys(draft.schema, rdn)).unwrap_or_default();
            judge::judge_all(checker, draft, &keys)
        }
    }
}
