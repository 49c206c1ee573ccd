//! Modify DN (RFC 4511 §4.9): rename and move. What stands below goes along without being touched, because entries know
//! their parent by number.

use ldap::ModifyDnRequest;
use schema::NormalizedDn;
use store::EntryId;

use super::add::{judge_place, name_entry};
use super::change_notes::Note;
use super::draft::{Described, Draft, Start};
use super::error::ApplyError;
use super::judge;
use super::plugins::{self, Moved};
use super::rdn::leaf_rdn;
use super::stamps;
use super::work::{Target, Work};
use super::write::{self, TreePosition};
use crate::history::ChangeKind;
use crate::judged::{Judged, JudgedEntry};
use crate::refusal::Refusal;
use query::class_flags::ClassFlags;
use query::error::Refusal as NameRefusal;
use query::error::shown;

/// Applies a modify DN request.
pub(super) fn modify_dn(work: &mut Work<'_, '_>, request: &ModifyDnRequest<'_>) -> Result<(), ApplyError> {
    let (judged, judged_superior) = match (work.judged()?, request.new_superior) {
        (None, _) => (None, None),
        (Some(Judged::Entry(entry)), None) => (Some(entry), None),
        (Some(Judged::Move { entry, superior }), Some(_)) => (Some(entry), Some(superior)),
        _ => return Err(work.not_judged()),
    };
    let facts = work.facts.clone();
    let target = work.find(request.entry, judged)?;
    if target.is_suffix() && !target.suffix.is_root() {
        return Err(Refusal::SuffixRenamed { dn: shown(request.entry) }.into());
    }
    let (text, normalized) = new_rdn(work, request.new_rdn)?;
    let rdn = ldap::Rdn::parse(text).map_err(|error| NameRefusal::invalid_dn(request.new_rdn, error))?;
    let record = target.record()?;
    let superior = new_superior(work, &target, request, judged_superior)?;
    check_free(work, &target, superior.id, &normalized, &rdn)?;
    let name = normalized.rdn().map(|rdn| superior.name.child(rdn)).unwrap_or_default();
    if superior.is_given {
        plugins::dynamic::check_move(work, &target, &name, superior.entry.as_ref())?;
    }
    work.check_rename(&target.name, &name)?;
    work.read_before(target.id)?;
    let follows = work.rules.plugins.follows_references();
    let old_dn = if follows { work.view().dn_of(target.id)?.unwrap_or_default() } else { String::new() };

    let mut draft = Draft::of(&facts.schema, target.id, record, target.classes.flags);
    if request.delete_old_rdn {
        drop_old_rdn(work, &mut draft, &target, &rdn)?;
    }
    name_entry(work, &mut draft, &rdn)?;
    let keys = judge::rdn_keys(&facts.schema, &rdn);
    judge_renamed(work, &draft, &target, &keys)?;
    if superior.is_given {
        judge_place(work, &draft, &keys, superior.entry.as_ref())?;
    }
    let stamps = stamps::stamps_of_modify(work.proposal.csn, work.proposal.authority.dn());
    let user_form = rdn.to_string();
    let place = TreePosition { parent: superior.id, rdn: user_form.as_bytes() };
    let note = Note::requested(ChangeKind::ModifyDn, record.header().uuid.unwrap_or_default());
    write::store(work, &note, &mut draft, place, stamps)?;
    plugins::judge(work, &draft, Some(&target.name), &name)?;
    drop(draft);
    if follows && name != target.name {
        let new = work.view().dn_of(target.id)?;
        let is_subtree = !work.view().children(target.id)?.is_empty();
        plugins::follow(work, vec![Moved { old: target.name.clone(), dn: old_dn, new, is_subtree }])?;
    }
    work.read_after(target.id)
}

/// The new RDN as text and in normal form: exactly one.
fn new_rdn<'r>(work: &Work<'_, '_>, bytes: &'r [u8]) -> Result<(&'r str, NormalizedDn), ApplyError> {
    let text = std::str::from_utf8(bytes).map_err(|error| NameRefusal::invalid_dn(bytes, error))?;
    let normalized =
        NormalizedDn::parse(&work.facts.schema, bytes).map_err(|error| NameRefusal::invalid_dn(bytes, error))?;
    if normalized.len() != 1 {
        return Err(Refusal::NotOneRdn { rdn: shown(bytes) }.into());
    }
    Ok((text, normalized))
}

/// What the renamed entry will be below.
struct Superior {
    /// Whether the request names it. If not, it is what the entry was below.
    is_given: bool,
    /// [`EntryId::ROOT`] for none: the entry becomes, or stays, a base entry.
    id: EntryId,
    name: NormalizedDn,
    /// The entry, if there is one and the request names it.
    entry: Option<Target>,
}

/// What the request names as the new parent, or the old one.
fn new_superior(
    work: &mut Work<'_, '_>,
    target: &Target,
    request: &ModifyDnRequest<'_>,
    judged: Option<JudgedEntry>,
) -> Result<Superior, ApplyError> {
    let Some(dn) = request.new_superior else {
        let name = target.name.parent().unwrap_or_default();
        return Ok(Superior { is_given: false, id: target.record()?.parent(), name, entry: None });
    };
    if target.suffix.is_root() && dn.trim_ascii().is_empty() {
        return match judged {
            None | Some(JudgedEntry::NONE) => {
                Ok(Superior { is_given: true, id: EntryId::ROOT, name: NormalizedDn::root(), entry: None })
            }
            Some(_) => Err(ApplyError::JudgedElse),
        };
    }
    let superior = work.find(dn, judged)?;
    if target.name.is_ancestor_or_equal(&superior.name) {
        return Err(Refusal::BelowItself { dn: shown(request.entry) }.into());
    }
    if superior.classes.flags.has(ClassFlags::ALIAS) {
        return Err(Refusal::AliasAsSuperior { dn: shown(dn) }.into());
    }
    Ok(Superior { is_given: true, id: superior.id, name: superior.name.clone(), entry: Some(superior) })
}

/// The new name must be free, or the entry's own in another spelling.
fn check_free(
    work: &Work<'_, '_>,
    target: &Target,
    parent: EntryId,
    normalized: &NormalizedDn,
    rdn: &ldap::Rdn<'_>,
) -> Result<(), ApplyError> {
    let Some(leaf) = normalized.rdn() else { return Ok(()) };
    // Base entries are kept by their whole names.
    let name = if parent == EntryId::ROOT { normalized.as_bytes() } else { leaf.as_bytes() };
    match work.view().child(parent, name)? {
        // Whoever judges sees whether the new name is free, and what the asker may know of who has it.
        Some(id) if id != target.id && work.judged()?.is_some() => Err(ApplyError::JudgedElse),
        Some(id) if id != target.id => {
            let dn = work.view().dn_of(id)?.unwrap_or_else(|| rdn.to_string());
            Err(Refusal::EntryExists { dn }.into())
        }
        _ => Ok(()),
    }
}

/// deleteOldRdn: the values of the old RDN go, except those that the new one has too.
fn drop_old_rdn(
    work: &Work<'_, '_>,
    draft: &mut Draft<'_>,
    target: &Target,
    new: &ldap::Rdn<'_>,
) -> Result<(), ApplyError> {
    let record = target.record()?;
    let text = String::from_utf8_lossy(record.rdn());
    let Some(old) = leaf_rdn(&text, target.is_suffix()) else { return Ok(()) };
    let schema = draft.schema;
    for ava in old.avas() {
        let Some(attribute) = schema.attribute_type(ava.attribute.as_bytes()) else { continue };
        let same_type = |other: &ldap::Ava<'_>| {
            schema.attribute_type(other.attribute.as_bytes()).is_some_and(|it| it.index == attribute.index)
        };
        let normal = |value: &[u8]| super::value_set::normal_form(attribute.equality, schema, value);
        if new.avas().iter().any(|other| same_type(other) && normal(&other.value) == normal(&ava.value)) {
            continue;
        }
        let at = draft.touch(&Described::of_type(attribute), Start::Stored)?;
        draft.at(at)?.remove(schema, &work.view(), &ava.value)?;
    }
    Ok(())
}

fn judge_renamed(
    work: &Work<'_, '_>,
    draft: &Draft<'_>,
    target: &Target,
    keys: &[schema::check::AttributeKey<'_>],
) -> Result<(), ApplyError> {
    let checker = &work.rules.checker;
    if let Some(error) = value_error(work, draft) {
        return Err(error);
    }
    match &target.classes.requirement {
        Ok(requirement) if draft.schema.name_forms().is_empty() => judge::judge_touched(checker, draft, requirement),
        _ => judge::judge_all(checker, draft, keys),
    }
}

/// The new RDN brings values that were not checked yet.
fn value_error(work: &Work<'_, '_>, draft: &Draft<'_>) -> Option<ApplyError> {
    let checker = &work.rules.checker;
    draft.touched.iter().find_map(|touched| {
        let super::draft::Now::Set(set) = &touched.now else { return None };
        let checked = checker.check_values(touched.type_index?, set.iter(), &mut |_| {});
        checked.err().map(|error| judge::violation(&error))
    })
}
