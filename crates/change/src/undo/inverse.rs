//! The requests that take one change back.
//!
//! They are as exact as the change was: a value that was added is deleted by name, and one that was removed is added
//! again, so that what others did meanwhile stays, and what they undid or changed again shows as an error instead of
//! being overwritten.
//!
//! Knows the schema and nothing of the directory as it is now.

use ldap::ldif::{AttributeLines, LdifChange, LdifModification, LdifOperation};
use ldap::oids::control;
use ldap::{ControlBuf, ModifyOperation};
use schema::Schema;

use super::entry_change::{EntryChange, Upkeep, upkeep};
use crate::apply::normal_form;
use crate::history::{ChangeKind, Edit};
use query::facts::Facts;

/// Bytes of values in one request; more are sent in several. A fifth of what a server reads at most
/// (`max-request-size`).
pub const REQUEST_BYTES: usize = 1 << 20;

/// Values that are kept nowhere any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the former values of {description} of \"{dn}\" were too many for the history to keep them: bring them back from a \
     backup"
)]
pub struct Lost {
    /// Whose.
    pub dn: String,
    /// Which attribute.
    pub description: String,
}

/// The requests that take back what was done, in the order in which they are to be made.
///
/// # Errors
/// When the history does not have all values that went.
pub fn inverse(facts: &Facts, entry_change: &EntryChange) -> Result<Vec<LdifChange>, Lost> {
    let is_needed = |edit: &&Edit| upkeep(facts, &edit.description) != Upkeep::Server;
    if let Some(edit) = entry_change.edits.iter().filter(is_needed).find(|edit| !edit.is_complete) {
        return Err(Lost { dn: entry_change.dn.clone(), description: edit.description.clone() });
    }
    Ok(match entry_change.kind {
        ChangeKind::Add => vec![change(&entry_change.dn, LdifOperation::Delete)],
        ChangeKind::Delete => again(facts, &entry_change.dn, &entry_change.edits),
        ChangeKind::Modify => take_back(facts, &entry_change.dn, &entry_change.edits),
        ChangeKind::ModifyDn => rename_back(facts, entry_change),
    })
}

/// The same request where values that are as they should be already are no error: for changes that followed another
/// one, which may follow again when that one is undone.
#[must_use]
pub fn permissive(mut request: LdifChange) -> LdifChange {
    if matches!(request.operation, LdifOperation::Modify(_)) {
        request.controls.push(ControlBuf::new(control::PERMISSIVE_MODIFY, None).critical());
    }
    request
}

fn change(dn: &str, operation: LdifOperation) -> LdifChange {
    LdifChange { dn: dn.to_owned(), line: 0, controls: Vec::new(), operation }
}

fn modification(operation: ModifyOperation, description: &str, values: Vec<Vec<u8>>) -> LdifModification {
    LdifModification { operation, description: description.to_owned(), values, line: 0 }
}

/// An entry again. What only the server writes comes in a request of its own, so that the relax control of that one
/// lifts no rule for the rest.
fn again(facts: &Facts, dn: &str, attributes: &[Edit]) -> Vec<LdifChange> {
    let of = |wanted: Upkeep| attributes.iter().filter(move |it| upkeep(facts, &it.description) == wanted);
    let is_class = |name: &str| name.eq_ignore_ascii_case("objectClass");
    let mut first: Vec<(&str, &[u8])> = Vec::new();
    let mut rest: Vec<LdifModification> = Vec::new();
    let mut room = REQUEST_BYTES;
    // Classes first, as people write entries; then what is short, so that a long list does not keep it out of the first
    // request.
    let mut ordered: Vec<_> = of(Upkeep::Client).collect();
    ordered.sort_by_key(|it| (!is_class(&it.description), bytes_of(&it.removed) > REQUEST_BYTES / 4));
    for Edit { description: name, removed: values, .. } in ordered {
        let fitting = values.iter().take_while(|value| {
            let fits = value.len() <= room;
            room = room.saturating_sub(value.len());
            fits
        });
        // One value at least: the class may require the attribute.
        let count = fitting.count().max(1);
        first.extend(values.iter().take(count).map(|value| (name.as_str(), value.as_slice())));
        if let Some(more) = values.get(count..).filter(|more| !more.is_empty()) {
            rest.push(modification(ModifyOperation::Add, name, more.to_vec()));
        }
    }
    let mut requests = vec![change(dn, LdifOperation::Add(AttributeLines::from_parts(first)))];
    requests.extend(modifies(dn, rest));
    let stamps: Vec<_> = of(Upkeep::Stamp)
        .map(|it| modification(ModifyOperation::Replace, &it.description, it.removed.clone()))
        .collect();
    if !stamps.is_empty() {
        let mut stamp = change(dn, LdifOperation::Modify(stamps));
        stamp.controls.push(ControlBuf::new(control::RELAX, None).critical());
        requests.push(stamp);
    }
    requests
}

fn take_back(facts: &Facts, dn: &str, edits: &[Edit]) -> Vec<LdifChange> {
    let mut modifications = Vec::new();
    for edit in edits.iter().filter(|edit| upkeep(facts, &edit.description) == Upkeep::Client) {
        for (operation, values) in [(ModifyOperation::Delete, &edit.added), (ModifyOperation::Add, &edit.removed)] {
            if !values.is_empty() {
                modifications.push(modification(operation, &edit.description, values.clone()));
            }
        }
    }
    modifies(dn, modifications)
}

/// Modify requests of bounded size. When there are several, values come before others go: an entry that must have a
/// value has one after each.
fn modifies(dn: &str, mut modifications: Vec<LdifModification>) -> Vec<LdifChange> {
    let bytes: usize = modifications.iter().map(|it| bytes_of(&it.values)).sum();
    if modifications.is_empty() {
        return Vec::new();
    }
    if bytes <= REQUEST_BYTES {
        return vec![change(dn, LdifOperation::Modify(modifications))];
    }
    modifications.sort_by_key(|it| it.operation == ModifyOperation::Delete);
    let mut requests = Vec::new();
    let (mut open, mut room) = (Vec::new(), REQUEST_BYTES);
    for LdifModification { operation, description, values, .. } in modifications {
        let mut part = Vec::new();
        for value in values {
            if value.len() > room && !(open.is_empty() && part.is_empty()) {
                if !part.is_empty() {
                    open.push(modification(operation, &description, std::mem::take(&mut part)));
                }
                requests.push(change(dn, LdifOperation::Modify(std::mem::take(&mut open))));
                room = REQUEST_BYTES;
            }
            room = room.saturating_sub(value.len());
            part.push(value);
        }
        open.push(modification(operation, &description, part));
    }
    requests.push(change(dn, LdifOperation::Modify(open)));
    requests
}

fn bytes_of(values: &[Vec<u8>]) -> usize {
    values.iter().map(Vec::len).sum()
}

/// The old name again. The values of the new name go if they came with it; what the request itself does not bring back
/// is brought back by a modification behind it.
fn rename_back(facts: &Facts, entry_change: &EntryChange) -> Vec<LdifChange> {
    let (schema, edits) = (&facts.schema, &entry_change.edits);
    // Names come from the directory itself, so that they are some.
    let (Ok(old), Ok(new)) = (ldap::Dn::parse(&entry_change.dn), ldap::Dn::parse(&entry_change.new_dn)) else {
        return Vec::new();
    };
    let keys = |dn: &ldap::Dn<'_>| dn.rdn().map(|rdn| rdn_keys(schema, rdn)).unwrap_or_default();
    let (old_keys, new_keys) = (keys(&old), keys(&new));
    let parent = |dn: &ldap::Dn<'_>| dn.parent().map(|parent| parent.to_string()).unwrap_or_default();
    let same_parent =
        old.parent().map(|it| schema.normalize_dn(&it)) == new.parent().map(|it| schema.normalize_dn(&it));
    let came =
        |key: &Key| edits.iter().any(|edit| edit.added.iter().any(|value| key.is(schema, &edit.description, value)));
    let own: Vec<&Key> = new_keys.iter().filter(|key| !old_keys.contains(key)).collect();
    let delete_old_rdn = !own.is_empty() && own.iter().all(|key| came(key));
    let back = LdifOperation::ModifyDn {
        new_rdn: old.rdn().map(ToString::to_string).unwrap_or_default(),
        delete_old_rdn,
        new_superior: (!same_parent).then(|| parent(&old)),
    };
    let left = edits.iter().map(|edit| {
        let is_key = |keys: &[Key], value: &[u8]| keys.iter().any(|key| key.is(schema, &edit.description, value));
        let without = |values: &[Vec<u8>], keys: &[Key]| -> Vec<Vec<u8>> {
            values.iter().filter(|value| !is_key(keys, value)).cloned().collect()
        };
        let gone: &[Key] = if delete_old_rdn { &new_keys } else { &[] };
        Edit {
            description: edit.description.clone(),
            is_complete: true,
            removed: without(&edit.removed, &old_keys),
            added: without(&edit.added, gone),
        }
    });
    let left: Vec<Edit> = left.collect();
    let mut requests = vec![change(&entry_change.new_dn, back)];
    requests.extend(take_back(facts, &entry_change.dn, &left));
    requests
}

/// One value of an RDN, as it is compared.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    name: String,
    normal: Box<[u8]>,
}

impl Key {
    fn of(schema: &Schema, name: &str, value: &[u8]) -> Key {
        let attribute = schema.attribute_type(name.as_bytes());
        let normal = normal_form(attribute.and_then(|it| it.equality), schema, value);
        Key { name: attribute.map_or_else(|| name.to_ascii_lowercase(), |it| it.name().to_owned()), normal }
    }

    fn is(&self, schema: &Schema, description: &str, value: &[u8]) -> bool {
        *self == Key::of(schema, description, value)
    }
}

fn rdn_keys(schema: &Schema, rdn: &ldap::Rdn<'_>) -> Vec<Key> {
    rdn.avas().iter().map(|ava| Key::of(schema, ava.attribute, &ava.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts::new(Schema::standard())
    }

    fn text(requests: &[LdifChange]) -> String {
        let mut writer = ldap::ldif::Writer::new(Vec::new());
        requests.iter().for_each(|request| writer.change(request).unwrap());
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    fn edit(description: &str, removed: &[&str], added: &[&str]) -> Edit {
        let values = |values: &[&str]| values.iter().map(|value| value.as_bytes().to_vec()).collect();
        Edit { description: description.to_owned(), is_complete: true, removed: values(removed), added: values(added) }
    }

    fn entry_change(kind: ChangeKind, dn: &str, edits: Vec<Edit>) -> EntryChange {
        EntryChange { kind, dn: dn.to_owned(), new_dn: dn.to_owned(), edits }
    }

    #[test]
    fn values_go_and_come_by_name() {
        let edits = vec![
            edit("telephoneNumber", &["+1 111"], &["+1 222"]),
            edit("description", &[], &["new"]),
            edit("modifyTimestamp", &["20260101000000Z"], &["20260102000000Z"]),
        ];
        assert_eq!(
            text(&inverse(&facts(), &entry_change(ChangeKind::Modify, "uid=ann,dc=example,dc=com", edits)).unwrap()),
            "dn: uid=ann,dc=example,dc=com\nchangetype: modify\ndelete: telephoneNumber\ntelephoneNumber: +1 222\n-\n\
             add: telephoneNumber\ntelephoneNumber: +1 111\n-\ndelete: description\ndescription: new\n-\n\n"
        );
        let stamps_only = entry_change(ChangeKind::Modify, "dc=com", vec![edit("modifiersName", &["cn=a"], &["cn=b"])]);
        assert_eq!(inverse(&facts(), &stamps_only), Ok(vec![]));
    }

    #[test]
    fn what_the_history_did_not_keep_is_named() {
        let lost = |description: &str| Edit { is_complete: false, ..edit(description, &[], &["cn=new"]) };
        let replaced = entry_change(ChangeKind::Modify, "cn=all", vec![lost("member")]);
        let refused = inverse(&facts(), &replaced).unwrap_err();
        assert!(refused.to_string().starts_with("the former values of member of \"cn=all\""), "{refused}");
        assert!(inverse(&facts(), &entry_change(ChangeKind::Delete, "cn=all", vec![lost("member")])).is_err());
    }

    #[test]
    fn an_entry_comes_back_with_its_stamps_in_a_request_of_their_own() {
        let pairs = [
            ("cn", "Ann"),
            ("objectClass", "person"),
            ("userPassword", "{SSHA512}abc"),
            ("entryUUID", "597ae2f6-16a6-1027-98f4-d28b5365dc14"),
            ("createTimestamp", "20260101000000Z"),
            ("modifyTimestamp", "20260101000000Z"),
            ("entryCSN", "20260101000000.000000Z#000000#000#000000"),
        ];
        let gone = entry_change(
            ChangeKind::Delete,
            "cn=Ann,dc=com",
            pairs.map(|(name, value)| edit(name, &[value], &[])).into(),
        );
        assert_eq!(
            text(&inverse(&facts(), &gone).unwrap()),
            "dn: cn=Ann,dc=com\nchangetype: add\nobjectClass: person\ncn: Ann\nuserPassword: {SSHA512}abc\n\n\
             dn: cn=Ann,dc=com\ncontrol: 1.3.6.1.4.1.4203.666.5.12 true\nchangetype: modify\n\
             replace: entryUUID\nentryUUID: 597ae2f6-16a6-1027-98f4-d28b5365dc14\n-\n\
             replace: createTimestamp\ncreateTimestamp: 20260101000000Z\n-\n\n"
        );
    }

    #[test]
    fn long_lists_come_back_in_requests_of_bounded_size() {
        let members: Vec<Vec<u8>> =
            (0..40_000).map(|n| format!("uid=u{n:06},ou=People,dc=example,dc=com,o=somewhere").into_bytes()).collect();
        let list = Edit { removed: members.clone(), ..edit("member", &[], &[]) };
        let gone = vec![list.clone(), edit("objectClass", &["groupOfNames"], &[]), edit("cn", &["all"], &[])];
        let requests = inverse(&facts(), &entry_change(ChangeKind::Delete, "cn=all,dc=com", gone)).unwrap();
        assert!(requests.len() > 1);
        let LdifOperation::Add(first) = &requests[0].operation else { panic!("{:?}", requests[0]) };
        assert_eq!(first.get(1).map(|line| line.description.to_vec()), Some(b"cn".to_vec()));
        let mut found: Vec<Vec<u8>> =
            first.iter().filter(|line| line.description == b"member").map(|line| line.value.to_vec()).collect();
        for request in &requests[1..] {
            let LdifOperation::Modify(modifications) = &request.operation else { panic!("{request:?}") };
            assert!(modifications.iter().map(|it| bytes_of(&it.values)).sum::<usize>() <= REQUEST_BYTES);
            found.extend(modifications.iter().flat_map(|it| it.values.clone()));
        }
        assert_eq!(found, members);

        // All members exchanged: at each step there is one.
        let others: Vec<Vec<u8>> = members.iter().map(|dn| [dn.as_slice(), b",dc=x"].concat()).collect();
        let exchanged = vec![Edit { added: others, ..list }];
        let requests = inverse(&facts(), &entry_change(ChangeKind::Modify, "cn=all,dc=com", exchanged)).unwrap();
        let operations: Vec<ModifyOperation> = requests
            .iter()
            .flat_map(|request| match &request.operation {
                LdifOperation::Modify(modifications) => modifications.iter().map(|it| it.operation).collect(),
                _ => Vec::new(),
            })
            .collect();
        assert!(operations.is_sorted_by_key(|operation| *operation == ModifyOperation::Delete), "{operations:?}");
    }

    #[test]
    fn a_rename_goes_back_with_the_values_that_came_with_it() {
        let renamed = |new_dn: &str, edits: Vec<Edit>| {
            let renamed = entry_change(ChangeKind::ModifyDn, "uid=ann,ou=People,dc=com", edits);
            text(&inverse(&facts(), &EntryChange { new_dn: new_dn.to_owned(), ..renamed }).unwrap())
        };
        // The old value went, the new one came.
        assert_eq!(
            renamed("uid=anna,ou=People,dc=com", vec![edit("uid", &["ann"], &["anna"])]),
            "dn: uid=anna,ou=People,dc=com\nchangetype: modrdn\nnewrdn: uid=ann\ndeleteoldrdn: 1\n\n"
        );
        // The old value stayed, and the new one was there before: nothing goes. The entry moved.
        assert_eq!(
            renamed("cn=Ann,ou=Former,dc=com", vec![]),
            "dn: cn=Ann,ou=Former,dc=com\nchangetype: modrdn\nnewrdn: uid=ann\ndeleteoldrdn: 0\n\
             newsuperior: ou=People,dc=com\n\n"
        );
        // One of two new values was there before: the other goes by a modification.
        assert_eq!(
            renamed("cn=Ann+sn=New,ou=People,dc=com", vec![edit("sn", &[], &["New"]), edit("uid", &["ann"], &[])]),
            "dn: cn=Ann+sn=New,ou=People,dc=com\nchangetype: modrdn\nnewrdn: uid=ann\ndeleteoldrdn: 0\n\n\
             dn: uid=ann,ou=People,dc=com\nchangetype: modify\ndelete: sn\nsn: New\n-\n\n"
        );
        // Another spelling of the same name takes nothing away.
        assert_eq!(
            renamed("uid=ANN,ou=people,dc=com", vec![]),
            "dn: uid=ANN,ou=people,dc=com\nchangetype: modrdn\nnewrdn: uid=ann\ndeleteoldrdn: 0\n\n"
        );
    }
}
