//! Entries with attributes that other servers obey and this one does not: counted when the server starts, told when
//! one is written.

use access::not_obeyed::{NOT_OBEYED, NotObeyed, REMEDY};
use ldap::{EntryRequest, ModifyOperation};
use query::backend::Backend;
use query::facts::Facts;
use query::notices::{NoticeKind, Notices};
use store::{DescId, EntryId, StoreError};

/// Entries looked at with one snapshot.
const SLICE_ENTRIES: usize = 2_000;

/// Tells, with counts, of attributes in the backends that are not obeyed. Reads all entries of a backend that has
/// such an attribute: not for event loops. Ends early when `goes_on`, asked now and then, says no.
///
/// # Errors
/// When a backend cannot be read, or is closed meanwhile.
pub(crate) fn tell_of_entries(
    notices: &Notices,
    facts: &Facts,
    backends: &[Backend],
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<(), StoreError> {
    for backend in backends {
        for (row, entries) in counts(facts, backend, goes_on)? {
            notices.warn(NoticeKind::NotObeyed, &format!("Backend \"{}\": {}", backend.id, row.sentence(entries)));
        }
    }
    Ok(())
}

/// Tells once of each attribute in a request that is not obeyed.
pub(crate) fn tell_of_request(notices: &Notices, facts: &Facts, request: &EntryRequest<'_>) {
    let tell = |description: &[u8]| {
        if let Some(NotObeyed { attribute, what }) = NotObeyed::find(&facts.schema, description) {
            let sentence =
                format!("A client wrote the attribute {attribute}, which is not obeyed: it {what}; {REMEDY}");
            notices.warn_once(sentence);
        }
    };
    match request {
        EntryRequest::Add(add) => add.attributes.iter().for_each(|attribute| tell(attribute.description)),
        EntryRequest::Modify(modify) => {
            let brings = modify.changes.iter().filter(|change| change.operation != ModifyOperation::Delete);
            brings.for_each(|change| tell(change.attribute.description));
        }
        EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => {}
    }
}

/// How many entries of a backend have each of the attributes; none that no entry has.
fn counts(
    facts: &Facts,
    backend: &Backend,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<(&'static NotObeyed, u64)>, StoreError> {
    let mut wanted: Vec<(&NotObeyed, Vec<DescId>, u64)> = Vec::new();
    {
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        for row in &NOT_OBEYED {
            let Some(attribute) = facts.schema.attribute_type(row.attribute.as_bytes()) else { continue };
            let descriptions = view.tables().by_type(attribute.index.0);
            if !descriptions.is_empty() {
                wanted.push((row, descriptions.to_vec(), 0));
            }
        }
    }
    let mut next = (!wanted.is_empty()).then_some(EntryId(1));
    while let Some(from) = next {
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let mut last = None;
        for found in view.entries(from)?.take(SLICE_ENTRIES) {
            let (id, record) = found?;
            let record = record.view()?;
            for (_, descriptions, count) in &mut wanted {
                *count += u64::from(descriptions.iter().any(|description| record.stored(*description).is_some()));
            }
            last = Some(EntryId(id.0 + 1));
        }
        next = last;
        if !goes_on() {
            return Ok(Vec::new());
        }
    }
    Ok(wanted.into_iter().filter(|(.., count)| *count > 0).map(|(row, _, count)| (row, count)).collect())
}
