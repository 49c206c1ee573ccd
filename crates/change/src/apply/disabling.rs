//! When an account was disabled last: sessions that began before end by that, also where the account was enabled again
//! before anybody looked.
//!
//! Knows the two attributes of an entry that disable its account. Where another entry gives them (a class of service),
//! nothing is noted.

use accounts::Moment;
use query::facts::Facts;
use schema::TypeIndex;
use store::View;

use super::account_state::{note_time, stored};
use super::draft::Draft;
use super::error::ApplyError;
use super::work::Work;

const DISABLED_TIME: &str = "ds-pwp-account-disabled-time";

/// Notes the time in a draft that disables the account, unless the request itself writes it.
pub(super) fn follow(work: &Work<'_, '_>, facts: &Facts, draft: &mut Draft<'_>) -> Result<(), ApplyError> {
    let view = work.view();
    for attribute in [facts.account_disabled, facts.account_lock].into_iter().flatten() {
        if disables(&view, draft, attribute)? {
            let known = facts.schema.attribute_type(DISABLED_TIME.as_bytes());
            let is_free = known.is_some_and(|known| draft.touched_type(known.index).is_none());
            return if is_free {
                note_time(&view, draft, DISABLED_TIME, Moment(work.proposal.csn.time_us / 1000))
            } else {
                Ok(())
            };
        }
    }
    Ok(())
}

/// Whether an attribute of a draft becomes true.
fn disables(view: &View<'_>, draft: &mut Draft<'_>, attribute: TypeIndex) -> Result<bool, ApplyError> {
    let schema = draft.schema;
    let Some(touched) = draft.touched_type(attribute) else { return Ok(false) };
    if !touched.contains(schema, view, b"TRUE")? {
        return Ok(false);
    }
    let name = schema.attribute_by_index(attribute).map(|it| it.name()).unwrap_or_default();
    let was_true = stored(view, draft, name)?.iter().any(|value| value.eq_ignore_ascii_case(b"TRUE"));
    Ok(!was_true)
}
