//! Transactions (RFC 5805): updates that a client collects on its connection, and that are done all or not at all.
//!
//! What each update decides for itself (who, which backend, which hash) is decided when it comes; time and names of the
//! changes when the transaction ends. Nothing is locked meanwhile. Knows nothing of what the updates do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ldap::transaction::{EndTransaction, encode_end_response};
use ldap::{Controls, LdapResult};

use super::context::UpdateContext;
use super::controls::OwnedControls;
use super::decided::{Decided, uuid_for};
use super::done::{UpdateCallback, UpdateDone, out_of_service, phases_of};
use super::order::{Order, check_authenticated};
use super::transaction_slot::{TRANSACTION_BYTES_MAX, TRANSACTION_UPDATES_MAX, Transaction, Waiting};
use crate::refusal::Refusal;
use crate::session::Session;
use change::apply::TransactionReport;
use change::csn::Csn;
use change::judged::Judged;
use change::parts::join;
use change::proposal::Kind;
use query::error::store_failure;

/// Begins a transaction on a connection; gives its identifier.
///
/// # Errors
/// The result to send: somebody anonymous, or a transaction that is open already.
pub(crate) fn start_transaction(session: &Session, controls: &Controls<'_>) -> Result<Vec<u8>, LdapResult> {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    check_no_critical(controls)?;
    check_authenticated(&session.identity)?;
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
        let enlisted = enlist(order, identifier, decided);
        UpdateDone::refused(enlisted.err().unwrap_or_else(LdapResult::success))
    }

    /// Does what an end transaction request says.
    pub(super) fn end_transaction(&self, order: &Order<'_, '_>, end: &EndTransaction<'_>, done: UpdateCallback) {
        let updates = match take(order, end) {
            Ok(updates) => updates,
            Err(result) => return done(UpdateDone::refused(result)),
        };
        let Some(first) = updates.first() else { return done(UpdateDone::refused(LdapResult::success())) };
        let Some(backend) = self.backends.get(first.decided.backend.0) else {
            return done(UpdateDone::refused(out_of_service()));
        };
        let intake = &self.updates.intake;
        let mut parts = Vec::with_capacity(updates.len());
        for update in &updates {
            let uuid = match uuid_for(update.decided.kind) {
                Ok(uuid) => uuid,
                Err(result) => return done(UpdateDone::refused(result)),
            };
            parts.push(intake.encode(&update.decided, uuid).1);
        }
        let whole = Decided {
            backend: first.decided.backend,
            kind: Kind::Transaction,
            controls: OwnedControls::default(),
            op_bytes: join(parts).into(),
            identity: first.decided.identity.clone(),
            // Each part says what was judged of it.
            judged: Judged::Missing,
            connection: order.session.connection,
            operation: order.operation,
            answer: None,
        };
        let ids: Vec<i32> = updates.iter().map(|update| update.message_id).collect();
        let (csn, proposal) = intake.encode(&whole, [0; 16]);
        let references = Arc::clone(&self.updates.references);
        let (connection, operation) = (whole.connection, whole.operation);
        let then = move |outcome: Result<store::Outcome, store::StoreError>| {
            if let Ok(outcome) = &outcome
                && outcome.accepted
                && let Some(report) = TransactionReport::decode(&outcome.response)
            {
                report.0.iter().for_each(|part| references.note(part, csn, connection, operation));
            }
            let phases = phases_of(&outcome);
            done(UpdateDone { phases, ..transaction_done(outcome, &ids, csn) });
        };
        intake.submit(backend, connection, proposal, Box::new(then));
    }
}

fn enlist(order: &Order<'_, '_>, identifier: &[u8], decided: Decided<'_>) -> Result<(), LdapResult> {
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
    open.backend = Some(decided.backend);
    open.bytes = bytes;
    open.updates.push(Waiting { message_id: order.message_id, decided: decided.owned() });
    Ok(())
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

fn transaction_done(outcome: Result<store::Outcome, store::StoreError>, ids: &[i32], csn: Csn) -> UpdateDone {
    let report = match outcome {
        Ok(outcome) => TransactionReport::decode(&outcome.response),
        Err(error) => return UpdateDone::refused(store_failure(&error)),
    };
    let Some(report) = report else {
        return UpdateDone::refused(change::Refusal::UnreadableReport.into());
    };
    if let Some(result) = report.refusal() {
        let failed = ids.get(report.0.len() - 1).copied();
        let response_value = encode_end_response(failed, &[]);
        return UpdateDone { response_value, ..UpdateDone::refused(result.clone()) };
    }
    let controls: Vec<_> = ids.iter().copied().zip(report.0.iter().map(|part| part.controls())).collect();
    let controls: Vec<_> = controls.into_iter().filter(|(_, controls)| !controls.is_empty()).collect();
    UpdateDone {
        response_value: encode_end_response(None, &controls),
        csn: Some(csn),
        ..UpdateDone::refused(LdapResult::success())
    }
}
