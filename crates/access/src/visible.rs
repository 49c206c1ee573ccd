//! Whether an entry shows to an asker: it does when one of its attributes, any, may be read, and it is not hidden as a
//! whole.

use std::ops::ControlFlow;

use query::asker_rights::Which;
use query::entry::EntryView;
use query::facts::Facts;
use query::rights::{Answer, ReadRight};
use schema::TypeIndex;
use store::StoreError;

use crate::asker::shown_values;
use crate::decider::Decider;

/// See the module.
pub(crate) fn shows(decider: Decider<'_>, facts: &Facts, entry: &EntryView<'_>) -> Result<bool, StoreError> {
    match decider.rights.shows_entries(decider.which) {
        Answer::Yes => return Ok(true),
        Answer::No => return Ok(false),
        Answer::Ask => {}
    }
    let table = decider.table(facts, entry)?;
    if table.always_shows && decider.which == Which::Stored {
        return Ok(true);
    }
    if !table.can_read_something() {
        return Ok(false);
    }
    let reads = |attribute: TypeIndex| table.grants(ReadRight::Read, attribute);
    let tables = entry.record.tables();
    let mut found = false;
    entry.record.for_each(&mut Vec::new(), |stored| {
        found |= match tables.type_of(stored.desc).map(TypeIndex) {
            Some(attribute) => !facts.is_virtual(attribute) && reads(attribute),
            None => table.grants_unknown(ReadRight::Read),
        };
    });
    if found || decider.which == Which::Own {
        return Ok(found);
    }
    let Some(at) = decider.seen(entry) else { return Ok(false) };
    for (attribute, computed) in facts.virtual_types() {
        if computed.is_membership() && reads(*attribute) && at.groups().offers(*computed) {
            return at.groups().is_in_any(entry);
        }
    }
    let Some(given) = at.given_values()? else { return Ok(false) };
    for attribute in given.definitions().defined().attributes() {
        if reads(*attribute) {
            shown_values(&at, entry, *attribute, &mut |_| {
                found = true;
                ControlFlow::Break(())
            })?;
        }
        if found {
            break;
        }
    }
    Ok(found)
}
