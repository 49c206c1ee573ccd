//! Add (RFC 4511 §4.7).

use ldap::AddRequest;
use schema::check::{AttributeKey, ParentRule};
use store::EntryId;

use super::change_notes::{Note, RequestValues};
use super::draft::{Described, Draft, Start};
use super::error::ApplyError;
use super::judge;
use super::modify::{Settings, check_writable, value_exists};
use super::password;
use super::plugins;
use super::rdn::leaf_rdn;
use super::stamps;
use super::work::{Expected, Target, Work};
use super::write::{self, TreePosition};
use crate::history::ChangeKind;
use crate::judged::Judged;
use crate::refusal::Refusal;
use query::class_flags::ClassFlags;
use query::error::Refusal as NameRefusal;
use query::error::shown;

/// Applies an add request.
pub(super) fn add(work: &mut Work<'_, '_>, request: &AddRequest<'_>) -> Result<(), ApplyError> {
    let facts = work.facts.clone();
    let text = std::str::from_utf8(request.entry).map_err(|error| NameRefusal::invalid_dn(request.entry, error))?;
    let dn = ldap::Dn::parse(text).map_err(|error| NameRefusal::invalid_dn(request.entry, error))?;
    let Some(rdn) = dn.rdn() else {
        return Err(Refusal::RootDse.into());
    };
    let parent = find_place(work, request.entry)?;
    let mut draft = Draft::new(&facts.schema);
    let settings = Settings::of(work);
    work.check_new_not_given(request.entry, request.attributes.iter().map(|it| (it.description, it.values)))?;
    let mut sources = Vec::new();
    for (place, attribute) in request.attributes.iter().enumerate() {
        let described = Described::parse(&facts.schema, attribute.description, settings.check_schema)?;
        check_writable(&facts, &described, settings.relaxed)?;
        let at = draft.touch(&described, Start::Stored)?;
        let touched = draft.at(at)?;
        for value in attribute.values.iter() {
            if !touched.insert(&facts.schema, &work.view(), value)? {
                return Err(value_exists(&described, value));
            }
        }
        if at == sources.len() {
            sources.push(RequestValues { place, values: touched.len() as usize });
        }
    }
    name_entry(work, &mut draft, rdn)?;
    judge::complete_classes(&mut draft);
    let keys = judge::rdn_keys(&facts.schema, rdn);
    judge::judge_all(&work.rules.checker, &draft, &keys)?;
    judge::judge_role_filter(&facts, &draft)?;
    judge::judge_instructions(work, &draft, request.entry)?;
    judge_place(work, &draft, &keys, parent.as_ref())?;
    plugins::dynamic::begin(work, &mut draft, request.entry, parent.as_ref())?;
    password::follow(work, &facts, &mut draft)?;
    let proposal = work.proposal;
    let stamps = stamps::stamps_of_add(proposal.csn, proposal.authority.dn(), &proposal.entry_uuid);
    let user_form = if parent.is_some() { rdn.to_string() } else { dn.to_string() };
    let place = TreePosition { parent: parent.map_or(EntryId::ROOT, |parent| parent.id), rdn: user_form.as_bytes() };
    draft.id = work.txn.allocate_id();
    let entry_uuid = write::uuid_of(&draft).unwrap_or(proposal.entry_uuid);
    let note = Note { sources: &sources, ..Note::requested(ChangeKind::Add, entry_uuid) };
    write::store(work, &note, &mut draft, place, stamps)?;
    let id = draft.id;
    if judge::defines(work, &draft) {
        judge::judge_definition(work, id)?;
    }
    judge_by_plugins(work, &draft, request.entry)?;
    drop(draft);
    work.read_before_add(id)?;
    work.read_after(id)
}

fn judge_by_plugins(work: &Work<'_, '_>, draft: &Draft<'_>, dn: &[u8]) -> Result<(), ApplyError> {
    if !work.rules.plugins.judges() {
        return Ok(());
    }
    let (name, _) = work.resolve(dn)?;
    plugins::judge(work, draft, None, &name)
}

/// The parent of the new entry; none for a base entry.
fn find_place(work: &mut Work<'_, '_>, dn: &[u8]) -> Result<Option<Target>, ApplyError> {
    let (name, suffix) = work.resolve(dn)?;
    let (is_base, is_root) = (suffix.is_base(&name), suffix.is_root());
    let judged = match work.judged()? {
        None => None,
        Some(Judged::New { parent }) => Some(Expected { entry: parent, missing: 1 }),
        Some(_) => return Err(work.not_judged()),
    };
    match work.walk(dn, name, suffix, judged)? {
        Some((_, 0)) => Err(Refusal::EntryExists { dn: shown(dn) }.into()),
        Some((parent, 1)) if parent.classes.flags.has(ClassFlags::ALIAS) => {
            Err(Refusal::BelowAlias { dn: shown(dn) }.into())
        }
        Some((parent, 1)) => Ok(Some(parent)),
        Some((deepest, _)) => {
            let matched = work.view().dn_of(deepest.id)?.unwrap_or_default();
            Err(Refusal::NoParent { dn: shown(dn), matched }.into())
        }
        None if is_base => Ok(None),
        None if is_root => Err(NameRefusal::NoEntryAbove { dn: shown(dn) }.into()),
        None => Err(Refusal::NoSuffixEntry.into()),
    }
}

/// The attributes and the RDN together make the entry, so what the RDN says is added where the client left it out.
pub(super) fn name_entry(work: &Work<'_, '_>, draft: &mut Draft<'_>, rdn: &ldap::Rdn<'_>) -> Result<(), ApplyError> {
    let facts = &work.facts;
    let schema = draft.schema;
    let settings = Settings::of(work);
    let mut seen: Vec<String> = Vec::new();
    for ava in rdn.avas() {
        let described = Described::parse(schema, ava.attribute.as_bytes(), settings.check_schema)?;
        check_writable(facts, &described, settings.relaxed)?;
        if described.attribute.is_some_and(|attribute| attribute.equality.is_none()) {
            return Err(Refusal::NamingWithoutEquality { attribute: described.canonical.to_string() }.into());
        }
        if seen.iter().any(|name| *name == described.canonical) {
            let attribute = described.canonical.to_string();
            return Err(Refusal::NamedTwice { rdn: rdn.to_string(), attribute }.into());
        }
        seen.push(described.canonical.clone().into_owned());
        let at = draft.touch(&described, Start::Stored)?;
        draft.at(at)?.insert(schema, &work.view(), &ava.value)?;
    }
    Ok(())
}

/// DIT structure rules: whether an entry of this class and name may stand below that parent.
pub(super) fn judge_place(
    work: &mut Work<'_, '_>,
    draft: &Draft<'_>,
    rdn: &[AttributeKey<'_>],
    parent: Option<&Target>,
) -> Result<(), ApplyError> {
    let checker = work.rules.checker.clone();
    if !checker.leniency().check_schema || draft.schema.structure_rules().is_empty() {
        return Ok(());
    }
    let above = match parent {
        None => ParentRule::None,
        Some(parent) => match governing_rule(work, parent)? {
            Some(rule) => ParentRule::Governed(rule),
            None => ParentRule::Ungoverned,
        },
    };
    let classes = schema::check::ClassSet::of_values(draft.schema, draft.classes());
    let requirement = checker.requirement(&classes.map_err(|error| judge::violation(&error))?);
    let governed = checker.governing_rule(&requirement, rdn, above);
    governed.map(drop).map_err(|error| judge::violation(&error))
}

/// The structure rule that governs a stored entry: worked out from its suffix down. Depth is bounded by that of names.
fn governing_rule(work: &mut Work<'_, '_>, target: &Target) -> Result<Option<u32>, ApplyError> {
    let checker = work.rules.checker.clone();
    let mut chain = Vec::new();
    let (mut id, mut is_suffix) = (target.id, false);
    while !is_suffix {
        let at = work.read(id, target.name.clone(), target.suffix.clone())?;
        let record = at.record()?;
        is_suffix = record.parent() == EntryId::ROOT;
        id = record.parent();
        chain.push((String::from_utf8_lossy(record.rdn()).into_owned(), is_suffix, at.classes));
    }
    let mut above = ParentRule::None;
    let mut rule = None;
    for (text, is_suffix, classes) in chain.iter().rev() {
        let (Ok(requirement), Some(rdn)) = (&classes.requirement, leaf_rdn(text, *is_suffix)) else { return Ok(None) };
        let keys = judge::rdn_keys(&work.facts.schema, &rdn);
        rule = checker.governing_rule(requirement, &keys, above).ok().flatten();
        above = rule.map_or(ParentRule::Ungoverned, ParentRule::Governed);
    }
    Ok(rule)
}
