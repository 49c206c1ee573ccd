//! Transactions (RFC 5805): updates that a client collects on its connection, and that are done all or not at all.
//!
//! What each update decides for itself (who, which backend, which hash) is decided when it comes; time and names of the
//! changes when the transaction ends. Nothing is locked meanwhile. Knows nothing of what the updates do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ldap::transaction::EndTransaction;
use ldap::{Controls, EntryRequest, LdapResult};
use store::Phases;

use super::committing::{Committing, Part};
use super::context::UpdateContext;
use super::decided::{Decided, uuid_for};
use super::done::{UpdateCallback, UpdateDone};
use super::order::Order;
use super::rights::Refusal as RightsRefusal;
use super::transaction_slot::{TRANSACTION_BYTES_MAX, TRANSACTION_UPDATES_MAX, Transaction, Waiting};
use crate::refusal::Refusal;
use crate::session::Session;
use change::judged::{Judged, JudgedEntry};
use query::error::shown;
use schema::{NormalizedDn, Schema};

/// Begins a transaction on a connection; gives its identifier.
///
/// # Errors
/// The result to send: a transaction is open already.
pub(crate) fn start_transaction(session: &Session, controls: &Controls<'_>) -> Result<Vec<u8>, LdapResult> {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    check_no_critical(controls)?;
    let mut slot = session.transaction.borrow_mut();
    if slot.is_open() {
        return Err(Refusal::OpenTransaction.into());
    }
    let identifier = NUMBERS.fetch_add(1, Ordering::Relaxed).to_string();
    slot.0 = Some(Arc::new(Mutex::new(Transaction { identifier: identifier.clone(), ..Transaction::default() })));
    Ok(identifier.into_bytes())
}

impl UpdateContext<'_> {
    /// Puts an update into the transaction that its control names, for later.
    pub(super) fn enlist(&self, order: &Order<'_, '_>, identifier: &[u8], decided: Decided<'_>) -> UpdateDone {
        let enlisted = enlist(order, identifier, decided, &self.facts().schema);
        UpdateDone::refused(enlisted.err().unwrap_or_else(LdapResult::success))
    }

    /// Does what an end transaction request says.
    pub(super) fn end_transaction(&self, order: &Order<'_, '_>, end: &EndTransaction<'_>, done: UpdateCallback) {
        let updates = match take(order, end) {
            Ok(updates) => updates,
            Err(result) => return done(UpdateDone::refused(result)),
        };
        if updates.is_empty() {
            return done(UpdateDone::refused(LdapResult::success()));
        }
        // Whoever ends it; each part says as whom it acts.
        let identity = order.session.identity.clone();
        let mut parts = Vec::with_capacity(updates.len());
        for Waiting { message_id, decided } in updates {
            match uuid_for(decided.kind) {
                Ok(entry_uuid) => parts.push(Part { message_id, decided, entry_uuid }),
                Err(result) => return done(UpdateDone::refused(result)),
            }
        }
        let (intake, backends) = (Arc::clone(&self.updates.intake), Arc::clone(self.backends));
        let references = Arc::clone(&self.updates.references);
        let judging_again = Arc::clone(&self.updates.judging_again);
        let (connection, operation, phases) = (order.session.connection, order.operation, Phases::default());
        let committing = Committing {
            intake,
            backends,
            references,
            judging_again,
            parts,
            identity,
            connection,
            operation,
            phases,
            done,
        };
        committing.go_on();
    }
}

fn enlist(order: &Order<'_, '_>, identifier: &[u8], decided: Decided<'_>, schema: &Schema) -> Result<(), LdapResult> {
    let unknown = || Refusal::no_transaction(identifier);
    let slot = order.session.transaction.borrow();
    let mut open = slot.lock().ok_or_else(unknown)?;
    if open.is_over || open.identifier.as_bytes() != identifier {
        return Err(unknown().into());
    }
    if open.updates.iter().any(|other| other.message_id == order.message_id) {
        return Err(Refusal::SameMessageId.into());
    }
    if decided.answer.is_some() {
        return Err(Refusal::PasswordInTransaction.into());
    }
    if open.backend.is_some_and(|backend| backend != decided.backend) {
        return Err(Refusal::TransactionAcrossBackends.into());
    }
    let bytes = open.bytes + decided.op_bytes.len() + decided.controls.value_bytes();
    if open.updates.len() >= TRANSACTION_UPDATES_MAX || bytes > TRANSACTION_BYTES_MAX {
        return Err(Refusal::TransactionTooLarge {
            updates: TRANSACTION_UPDATES_MAX,
            mib: TRANSACTION_BYTES_MAX >> 20,
        }
        .into());
    }
    if depends_on_earlier(&open.updates, &decided, schema) {
        let dn = EntryRequest::decode(&decided.op_bytes).map(|request| shown(request.entry())).unwrap_or_default();
        return Err(RightsRefusal::OncePerTransaction { dn }.into());
    }
    open.backend = Some(decided.backend);
    open.bytes = bytes;
    open.updates.push(Waiting { message_id: order.message_id, decided: decided.owned() });
    Ok(())
}

/// Whether rights to an update were decided by what an entry holds that an earlier update of the transaction changes:
/// then it would not be what was judged.
fn depends_on_earlier(earlier: &[Waiting], decided: &Decided<'_>, schema: &Schema) -> bool {
    let changed = |entry: JudgedEntry| {
        let is_changed = |other: &Waiting| match other.decided.judged {
            Judged::Entry(other) | Judged::Move { entry: other, .. } | Judged::Tree { entry: other, .. } => {
                other.id() == entry.id()
            }
            Judged::New { .. } | Judged::Unneeded | Judged::Missing => false,
        };
        entry.depends_on_content() && earlier.iter().any(is_changed)
    };
    match decided.judged {
        Judged::Entry(entry) | Judged::New { parent: entry } => changed(entry),
        Judged::Tree { entry, .. } => changed(entry) || earlier.iter().any(|other| is_in_tree(other, decided, schema)),
        Judged::Move { entry, superior } => changed(entry) || changed(superior),
        Judged::Unneeded | Judged::Missing => false,
    }
}

/// Whether an update is about an entry of a subtree that `delete` deletes.
fn is_in_tree(update: &Waiting, delete: &Decided<'_>, schema: &Schema) -> bool {
    let normal = |dn: &[u8]| NormalizedDn::parse(schema, dn).ok();
    let Ok(delete) = EntryRequest::decode(&delete.op_bytes) else { return false };
    let Ok(update) = EntryRequest::decode(&update.decided.op_bytes) else { return false };
    let superior = match &update {
        EntryRequest::ModifyDn(rename) => rename.new_superior,
        _ => None,
    };
    let Some(top) = normal(delete.entry()) else { return false };
    [Some(update.entry()), superior].into_iter().flatten().filter_map(normal).any(|dn| top.is_ancestor_or_equal(&dn))
}

/// Ends the transaction that a request names, and gives its updates if they are to be done.
fn take(order: &Order<'_, '_>, end: &EndTransaction<'_>) -> Result<Vec<Waiting>, LdapResult> {
    check_no_critical(order.controls)?;
    let slot = order.session.transaction.borrow();
    let mut open = slot
        .lock()
        .filter(|open| !open.is_over && open.identifier.as_bytes() == end.identifier)
        .ok_or_else(|| Refusal::no_transaction(end.identifier))?;
    open.is_over = true;
    let updates = std::mem::take(&mut open.updates);
    Ok(if end.commit { updates } else { Vec::new() })
}

fn check_no_critical(controls: &Controls<'_>) -> Result<(), LdapResult> {
    match controls.iter().find(|control| control.critical) {
        Some(control) => Err(Refusal::critical_control(control.oid).into()),
        None => Ok(()),
    }
}
