//! What a new password changes in the state of its account, in the same write: its time, what is kept of those that go,
//! the end of failures, locks, grace logins and warnings, and when somebody else than the user set it.
//!
//! An attribute that the request itself writes is left as the request says.

use accounts::{HistoryValue, Moment, history_after};
use store::View;

use super::account_state::{DELAY, FAILURES, GRACE, LOCK, UNTIL_UNLOCKED, WARNED, note_time, set, stored, text};
use super::draft::{Described, Draft, Now, Start};
use super::error::ApplyError;
use super::value_set::ValueSet;
use super::work::Work;
use crate::csn::Csn;
use crate::password_change::{PasswordChange, ResetMark};
use crate::refusal::Refusal;
use query::facts::Facts;

const CHANGED: &str = "pwdChangedTime";
const HISTORY: &str = "pwdHistory";
const RESET: &str = "pwdReset";
const RESET_TIME: &str = "ds-pwp-reset-time";
const MET_DEADLINE: &str = "ds-pwp-password-changed-by-required-time";

/// What follows from the passwords that a draft gets or loses; nothing when it keeps those that it has.
pub(super) fn follow(work: &Work<'_, '_>, facts: &Facts, draft: &mut Draft<'_>) -> Result<(), ApplyError> {
    if work.proposal.password.is_empty() {
        return stamp_password_time(&work.view(), facts, draft, work.proposal.csn);
    }
    let change = PasswordChange::decode(work.proposal.password)
        .ok_or(Refusal::DamagedProposal { of: "what follows from a new password" })?;
    let Some(password) = facts.user_password else { return Ok(()) };
    let Some(has_password) = draft.touched_type(password).map(|touched| !touched.is_empty()) else { return Ok(()) };
    let view = work.view();
    let written: Vec<&str> = [CHANGED, HISTORY, RESET, RESET_TIME, MET_DEADLINE, FAILURES, LOCK, DELAY, GRACE, WARNED]
        .into_iter()
        .filter(|name| {
            let known = facts.schema.attribute_type(name.as_bytes());
            known.is_some_and(|known| draft.touched_type(known.index).is_some())
        })
        .collect();
    let is_free = |name: &str| !written.contains(&name);
    if is_free(CHANGED) {
        set(draft, CHANGED, has_password.then(|| text(change.at)).into_iter())?;
    }
    if is_free(HISTORY) && change.history.keep_any() {
        keep_former(&view, draft, &change, password)?;
    }
    match change.reset {
        ResetMark::Set if is_free(RESET) => set(draft, RESET, std::iter::once(b"TRUE".to_vec()))?,
        ResetMark::Goes if is_free(RESET) => clear(&view, draft, RESET)?,
        _ => {}
    }
    if change.is_reset && is_free(RESET_TIME) {
        note_time(&view, draft, RESET_TIME, change.at)?;
    }
    if let Some(deadline) = change.met_deadline.filter(|_| is_free(MET_DEADLINE)) {
        set(draft, MET_DEADLINE, std::iter::once(text(deadline)))?;
    }
    for name in [FAILURES, DELAY, GRACE, WARNED].into_iter().filter(|name| is_free(name)) {
        clear(&view, draft, name)?;
    }
    let is_administrators = stored(&view, draft, LOCK)?.iter().any(|lock| lock == UNTIL_UNLOCKED);
    if is_free(LOCK) && (change.is_reset || !is_administrators) {
        clear(&view, draft, LOCK)?;
    }
    Ok(())
}

/// Those that the entry had and has no longer become history.
fn keep_former(
    view: &View<'_>,
    draft: &mut Draft<'_>,
    change: &PasswordChange,
    password: schema::TypeIndex,
) -> Result<(), ApplyError> {
    let schema = draft.schema;
    let name = schema.attribute_by_index(password).map(|it| it.name()).unwrap_or_default();
    let mut gone = Vec::new();
    for former in stored(view, draft, name)? {
        let Some(touched) = draft.touched_type(password) else { return Ok(()) };
        if !touched.contains(schema, view, &former)? {
            gone.push(former);
        }
    }
    let values = stored(view, draft, HISTORY)?;
    let before: Vec<HistoryValue> = values.iter().filter_map(|value| HistoryValue::decode(value)).collect();
    let after = history_after(change.history, before.clone(), gone, change.at);
    if after != before {
        set(draft, HISTORY, after.iter().map(HistoryValue::encode))?;
    }
    Ok(())
}

fn clear(view: &View<'_>, draft: &mut Draft<'_>, name: &str) -> Result<(), ApplyError> {
    if stored(view, draft, name)?.is_empty() { Ok(()) } else { set(draft, name, std::iter::empty()) }
}

/// `pwdChangedTime` goes with `userPassword`. Nobody says that the user set it.
fn stamp_password_time(view: &View<'_>, facts: &Facts, draft: &mut Draft<'_>, csn: Csn) -> Result<(), ApplyError> {
    let Some(password) = facts.user_password else { return Ok(()) };
    let Some(has_password) = draft.touched_type(password).map(|touched| !touched.is_empty()) else { return Ok(()) };
    let reset_time = facts.schema.attribute_type(RESET_TIME.as_bytes());
    if reset_time.is_some_and(|known| draft.touched_type(known.index).is_none()) {
        note_time(view, draft, RESET_TIME, Moment(csn.time_us / 1000))?;
    }
    let Some(changed_time) = facts.schema.attribute_type(b"pwdChangedTime") else { return Ok(()) };
    if draft.touched_type(changed_time.index).is_some() {
        return Ok(());
    }
    let mut set = ValueSet::new(changed_time.equality);
    if has_password {
        let mut text = Vec::with_capacity(19);
        csn.write_timestamp_ms(&mut text);
        set.insert(&facts.schema, &text);
    }
    let at = draft.touch(&Described::of_type(changed_time), Start::Empty)?;
    draft.at(at)?.now = Now::Set(set);
    Ok(())
}
