//! The state of accounts after binds: failures, locks, grace logins, warnings, last logins, and passwords in another
//! form; the tokens of second factors, and which of their codes are used up.
//!
//! Each change is merged with what the entry has now; what comes of a state and a change is decided by [`accounts`].
//! Nobody asked for these changes, so they leave no trace of their own in the entry (`modifyTimestamp`, `entryCSN`), no
//! plugin judges them, and no right is needed. An entry that is gone, or another one, is left alone.

use std::time::Duration;

use accounts::second_factor::Tokens;
use accounts::{AccountState, Lock, Moment, StateChange, apply_change};
use store::record::Timestamp;
use store::{Content, RecordView, StoreError, View};

use super::change_notes::Note;
use super::draft::{Described, Draft, Now, Start};
use super::error::ApplyError;
use super::value_set::ValueSet;
use super::work::Work;
use super::write::{self, TreePosition};
use crate::history::{Cause, ChangeKind};
use crate::refusal::Refusal;
use crate::state_changes::{AccountChanges, decode};
use access::account_state::{CACHED_PASSWORD, CACHED_PASSWORD_TIME, lock, moment};
use query::class_flags::ClassFlags;

pub(super) const FAILURES: &str = "pwdFailureTime";
pub(super) const LOCK: &str = "pwdAccountLockedTime";
pub(super) const DELAY: &str = "pwdAccountTmpLockoutEnd";
pub(super) const GRACE: &str = "pwdGraceUseTime";
pub(super) const WARNED: &str = "ds-pwp-warned-time";
pub(super) const TOKENS: &str = "ds-pwp-one-time-password-token";

/// The lock that only an administrator ends.
pub(super) const UNTIL_UNLOCKED: &[u8] = b"000001010000Z";

/// Applies the changes of a proposal.
pub(super) fn change_accounts(work: &mut Work<'_, '_>, bytes: &[u8]) -> Result<(), ApplyError> {
    work.require_root("Changing the state of accounts")?;
    let accounts = decode(bytes).ok_or(Refusal::DamagedProposal { of: "changes of accounts" })?;
    accounts.iter().try_for_each(|account| change_account(work, account))
}

fn change_account(work: &mut Work<'_, '_>, account: &AccountChanges) -> Result<(), ApplyError> {
    let tables = work.txn.tables().clone();
    let found = work.view().entry(account.entry)?.map(|record| record.into_bytes().into_owned());
    let Some(bytes) = found else { return Ok(()) };
    let record = RecordView::parse(&bytes, &tables)?;
    if record.header().uuid != Some(account.entry_uuid) {
        return Ok(());
    }
    let facts = work.facts.clone();
    // What its classes mean does not matter: none of these attributes says anything to other entries.
    let mut draft = Draft::of(&facts.schema, account.entry, record, ClassFlags::default());
    edit(&work.view(), &mut draft, &account.changes)?;
    if draft.touched.is_empty() {
        return Ok(());
    }
    let dn = match work.rules.notes.is_on() {
        true => work.view().dn_of(account.entry)?.unwrap_or_default(),
        false => String::new(),
    };
    let note = Note { dn: &dn, cause: Cause::AccountState, ..Note::requested(ChangeKind::Modify, account.entry_uuid) };
    let place = TreePosition { parent: record.parent(), rdn: record.rdn() };
    Ok(write::store(work, &note, &mut draft, place, Vec::new())?)
}

/// Notes when something happened to the account of an entry that was there: each such time is another one, by which
/// sessions see that it happened.
pub(super) fn note_time(view: &View<'_>, draft: &mut Draft<'_>, name: &str, at: Moment) -> Result<(), ApplyError> {
    if draft.record.is_none() {
        return Ok(());
    }
    let last = stored(view, draft, name)?.first().and_then(|value| moment(value));
    let at = match last {
        Some(last) if last >= at && last < at.after(Duration::from_secs(1)) => last.after(Duration::from_millis(1)),
        _ => at,
    };
    set(draft, name, std::iter::once(text(at)))
}

/// Makes the changes on a draft; touches what differs in the end.
fn edit(view: &View<'_>, draft: &mut Draft<'_>, changes: &[StateChange]) -> Result<(), ApplyError> {
    let mut state = read(view, draft, changes)?;
    let before = state.clone();
    let mut login = None;
    let mut cached = None;
    for change in changes {
        match change {
            StateChange::Reencode { attribute, old, new } => {
                reencode(view, draft, attribute, old, new)?;
                continue;
            }
            StateChange::CachePassword { at, value } => {
                cached = Some((*at, Some(value)));
                continue;
            }
            StateChange::ForgetCachedPassword { at } => {
                cached = Some((*at, None));
                continue;
            }
            _ => {}
        }
        let is_other = apply_change(&mut state, change);
        if let StateChange::LastLogin { attribute, value, .. } = change
            && is_other
        {
            login = Some((attribute, value));
        }
    }
    let one = |at: Option<Moment>| at.into_iter().collect::<Vec<_>>();
    if state.failures != before.failures {
        set(draft, FAILURES, state.failures.iter().map(|at| text(*at)))?;
    }
    if state.lock != before.lock {
        let value = state.lock.map(|lock| match lock {
            Lock::Since(at) => text(at),
            Lock::UntilUnlocked => UNTIL_UNLOCKED.to_vec(),
        });
        set(draft, LOCK, value.into_iter())?;
    }
    if state.delayed_until != before.delayed_until {
        set(draft, DELAY, one(state.delayed_until).into_iter().map(text))?;
    }
    if state.grace_uses != before.grace_uses {
        set(draft, GRACE, state.grace_uses.iter().map(|at| text(*at)))?;
    }
    if state.warned != before.warned {
        set(draft, WARNED, one(state.warned).into_iter().map(text))?;
    }
    if state.tokens != before.tokens {
        set(draft, TOKENS, state.tokens.values())?;
    }
    if let Some((attribute, value)) = login {
        set(draft, attribute, std::iter::once(value.clone()))?;
    }
    if let Some((at, value)) = cached {
        cache(view, draft, at, value)?;
    }
    Ok(())
}

/// What of the state the changes can depend on.
fn read(view: &View<'_>, draft: &Draft<'_>, changes: &[StateChange]) -> Result<AccountState, StoreError> {
    let moments = |name: &str| -> Result<Vec<Moment>, StoreError> {
        let values = stored(view, draft, name)?;
        let mut moments: Vec<Moment> = values.iter().filter_map(|value| moment(value)).collect();
        moments.sort_unstable();
        moments.dedup();
        Ok(moments)
    };
    let first = |name: &str| Ok::<_, StoreError>(moments(name)?.first().copied());
    let locks = stored(view, draft, LOCK)?;
    let mut tokens = Tokens::default();
    stored(view, draft, TOKENS)?.iter().for_each(|value| tokens.add_value(value));
    let login = changes.iter().find_map(|change| match change {
        StateChange::LastLogin { attribute, .. } => Some(attribute),
        _ => None,
    });
    Ok(AccountState {
        lock: locks.first().and_then(|value| lock(value)),
        failures: moments(FAILURES)?,
        delayed_until: first(DELAY)?,
        grace_uses: moments(GRACE)?,
        warned: first(WARNED)?,
        tokens,
        last_login: login.map_or(Ok(None), |attribute| first(attribute))?,
        ..AccountState::default()
    })
}

/// The values that an entry has of a type without options.
pub(super) fn stored(view: &View<'_>, draft: &Draft<'_>, name: &str) -> Result<Vec<Vec<u8>>, StoreError> {
    let Some(record) = &draft.record else { return Ok(Vec::new()) };
    // By name: numbers of types may be those of another schema during a replay.
    let Some(desc) = record.tables().description_id(name) else { return Ok(Vec::new()) };
    match record.stored(desc).map(|attribute| attribute.content) {
        None => Ok(Vec::new()),
        Some(Content::Inline(values)) => Ok(values.iter().map(<[u8]>::to_vec).collect()),
        Some(Content::Large(_)) => view.large_values(draft.id, desc)?.map(|found| Ok(found?.1.into_owned())).collect(),
    }
}

/// Gives an attribute these values instead of those it has. One that the schema does not have any more is left alone.
pub(super) fn set(draft: &mut Draft<'_>, name: &str, values: impl Iterator<Item = Vec<u8>>) -> Result<(), ApplyError> {
    let schema = draft.schema;
    let Some(attribute) = schema.attribute_type(name.as_bytes()) else { return Ok(()) };
    let mut set = ValueSet::new(attribute.equality);
    values.for_each(|value| {
        set.insert(schema, &value);
    });
    let at = draft.touch(&Described::of_type(attribute), Start::Empty)?;
    draft.at(at)?.now = Now::Set(set);
    Ok(())
}

/// Puts other forms of a password in the place of one, if that is there as it was.
fn reencode(
    view: &View<'_>,
    draft: &mut Draft<'_>,
    attribute: &str,
    old: &[u8],
    new: &[Vec<u8>],
) -> Result<(), ApplyError> {
    let schema = draft.schema;
    let Some(known) = schema.attribute_type(attribute.as_bytes()) else { return Ok(()) };
    if !stored(view, draft, known.name())?.iter().any(|value| value == old) {
        return Ok(());
    }
    let at = draft.touch(&Described::of_type(known), Start::Stored)?;
    let touched = draft.at(at)?;
    touched.remove(schema, view, old)?;
    for value in new {
        touched.insert(schema, view, value)?;
    }
    Ok(())
}

/// Keeps a password that another directory said is right, or lets the kept one go; what was written since stays.
fn cache(view: &View<'_>, draft: &mut Draft<'_>, at: Moment, value: Option<&Vec<u8>>) -> Result<(), ApplyError> {
    let kept = stored(view, draft, CACHED_PASSWORD_TIME)?;
    let is_older = kept.first().and_then(|time| moment(time)).is_some_and(|known| at < known);
    let has_nothing = kept.is_empty() && stored(view, draft, CACHED_PASSWORD)?.is_empty();
    if is_older || (value.is_none() && has_nothing) {
        return Ok(());
    }
    set(draft, CACHED_PASSWORD, value.cloned().into_iter())?;
    set(draft, CACHED_PASSWORD_TIME, value.map(|_| text(at)).into_iter())
}

/// In OpenDJ's form of times.
pub(super) fn text(at: Moment) -> Vec<u8> {
    let mut text = Vec::with_capacity(19);
    Timestamp { ms: at.0, has_ms: true }.write(&mut text);
    text
}
