//! `cn=changelog` (draft-good-ldap-changelog, as Sun's and OpenDJ's servers show it): a change as an entry.
//!
//! Knows attributes and LDIF; who may read them and which are asked for is the search's business.

use ldap::ldif::put_line;
use schema::uuid;
use store::StoreError;

use super::change::{AttributeChange, Change};
use super::kind::ChangeKind;
use query::account_types::AccountAttribute;
use query::facts::Facts;
use query::own_names::CHANGELOG_DN;
use query::synthetic::{Attributes, SyntheticEntry};

/// The container.
pub fn container(facts: &Facts, changes: u64) -> Result<SyntheticEntry, StoreError> {
    let mut attributes = Attributes::new();
    attributes.add("objectClass", ["top", "container"]);
    attributes.add("cn", ["changelog"]);
    let mut entry = SyntheticEntry::new(facts, CHANGELOG_DN, &attributes)?;
    entry.set_children(changes);
    Ok(entry)
}

/// The entry of a change. If the values are too large for an entry, they are left out.
///
/// Who is not told what binds write (`tells_account_state`) is not told that another change takes it away, either: a
/// value that never came would go.
pub fn entry_of(facts: &Facts, change: &Change<'_>, tells_account_state: bool) -> Result<SyntheticEntry, StoreError> {
    let shown = Shown { facts, tells_account_state };
    match make(shown, change, true) {
        Err(StoreError::RecordTooLarge { .. }) => make(shown, change, false),
        made => made,
    }
}

/// Which attributes are shown.
#[derive(Clone, Copy)]
struct Shown<'f> {
    facts: &'f Facts,
    tells_account_state: bool,
}

fn make(shown: Shown<'_>, change: &Change<'_>, with_values: bool) -> Result<SyntheticEntry, StoreError> {
    let facts = shown.facts;
    let mut attributes = Attributes::new();
    let mut add = |description: &str, value: &[u8]| attributes.add(description, [value]);
    let (mut time, mut csn) = (Vec::new(), Vec::new());
    change.csn.write_timestamp(&mut time);
    change.csn.write(&mut csn);
    add("objectClass", b"top");
    add("objectClass", b"changeLogEntry");
    add("changeNumber", change.number.to_string().as_bytes());
    add("changeTime", &time);
    add("changeType", change_type(change.kind).as_bytes());
    add("targetDN", change.dn.as_bytes());
    add("replicationCSN", &csn);
    add("targetEntryUUID", &uuid::text(&change.entry_uuid));
    if !change.initiator().is_empty() {
        add("changeInitiatorsName", change.initiator().as_bytes());
    }
    if let Some(rename) = &change.rename {
        add("newRDN", rename.new_rdn.as_bytes());
        add("deleteOldRDN", if rename.delete_old_rdn { b"TRUE" } else { b"FALSE" });
        if let Some(superior) = rename.new_superior {
            add("newSuperior", superior.as_bytes());
        }
    }
    if with_values {
        let (description, text) = match change.kind {
            ChangeKind::Delete => ("includedAttributes", content(shown, change, |it, put| it.removed().for_each(put))),
            ChangeKind::Add => ("changes", content(shown, change, |it, put| it.added().for_each(put))),
            ChangeKind::Modify => ("changes", modifications(shown, change)),
            ChangeKind::ModifyDn => ("changes", Vec::new()),
        };
        if !text.is_empty() {
            add(description, &text);
        }
    }
    SyntheticEntry::new(facts, &format!("changeNumber={},{CHANGELOG_DN}", change.number), &attributes)
}

/// The word of draft-good-ldap-changelog.
fn change_type(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Add => "add",
        ChangeKind::Modify => "modify",
        ChangeKind::Delete => "delete",
        ChangeKind::ModifyDn => "modrdn",
    }
}

/// Without those that nobody may read.
fn shown_attributes<'c>(shown: Shown<'_>, change: &Change<'c>) -> impl Iterator<Item = AttributeChange<'c>> {
    let Shown { facts, tells_account_state } = shown;
    change.attributes().filter(move |attribute| {
        let known = facts.schema.type_of_description(attribute.description.as_bytes());
        known.is_none_or(|known| {
            let meaning = facts.account.meaning(known.index.0);
            let is_told = tells_account_state || !meaning.is_some_and(AccountAttribute::is_written_by_binds);
            is_told && !facts.is_hidden(known.index)
        })
    })
}

/// `attribute: value` lines.
fn content(
    shown: Shown<'_>,
    change: &Change<'_>,
    values: impl Fn(&AttributeChange<'_>, &mut dyn FnMut(&[u8])),
) -> Vec<u8> {
    let mut out = Vec::new();
    for attribute in shown_attributes(shown, change) {
        values(&attribute, &mut |value| put_line(&mut out, attribute.description.as_bytes(), value, None));
    }
    out
}

/// Modifications as in an LDIF change record (RFC 2849), which bring about the same once more.
fn modifications(shown: Shown<'_>, change: &Change<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for attribute in shown_attributes(shown, change) {
        let is_single = shown
            .facts
            .schema
            .type_of_description(attribute.description.as_bytes())
            .is_some_and(|it| it.is_single_value());
        let has_added = attribute.added().next().is_some();
        if !attribute.is_complete || (is_single && has_added) {
            put_modification(&mut out, "replace", attribute.description, attribute.added());
            continue;
        }
        if attribute.removed().next().is_some() {
            put_modification(&mut out, "delete", attribute.description, attribute.removed());
        }
        if has_added {
            put_modification(&mut out, "add", attribute.description, attribute.added());
        }
    }
    out
}

fn put_modification<'v>(out: &mut Vec<u8>, word: &str, description: &str, values: impl Iterator<Item = &'v [u8]>) {
    put_line(out, word.as_bytes(), description.as_bytes(), None);
    values.for_each(|value| put_line(out, description.as_bytes(), value, None));
    out.extend_from_slice(b"-\n");
}
