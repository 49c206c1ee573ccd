//! A transaction (RFC 5805) that is being done: all its updates in one proposal. When what one of them is about changed
//! since it was judged, all are judged and proposed again.
//!
//! Knows updates and reports; how the updates came together is said by `transaction`.

use std::sync::Arc;

use access::Identity;
use ldap::transaction::encode_end_response;
use store::Phases;

use super::controls::OwnedControls;
use super::decided::Decided;
use super::done::{UpdateCallback, UpdateDone, out_of_service, phases_of};
use super::intake::Intake;
use super::judging_again::{JudgeAgain, JudgingAgain};
use super::references::ReferenceKeeper;
use super::rights::Told;
use change::apply::{Report, TransactionReport};
use change::csn::Csn;
use change::judged::Judged;
use change::parts::join;
use change::proposal::Kind;
use ldap::LdapResult;
use query::backend::Backend;
use query::error::store_failure;

/// One update of it.
pub(super) struct Part {
    pub(super) message_id: i32,
    pub(super) decided: Decided<'static>,
    pub(super) entry_uuid: [u8; 16],
}

/// What is needed to go on.
pub(super) struct Committing {
    pub(super) intake: Arc<Intake>,
    pub(super) backends: Arc<[Backend]>,
    pub(super) references: Arc<ReferenceKeeper>,
    pub(super) judging_again: Arc<JudgingAgain>,
    /// At least one.
    pub(super) parts: Vec<Part>,
    pub(super) identity: Identity,
    pub(super) connection: u64,
    pub(super) operation: u32,
    /// Where its time went so far.
    pub(super) phases: Phases,
    pub(super) done: UpdateCallback,
}

impl Committing {
    /// Proposes it.
    pub(super) fn go_on(self) {
        let (intake, backends) = (Arc::clone(&self.intake), Arc::clone(&self.backends));
        let at = self.parts.first().map(|part| part.decided.backend).unwrap_or_default();
        let Some(backend) = backends.get(at.0) else {
            return (self.done)(UpdateDone::refused(out_of_service()));
        };
        let parts = self.parts.iter().map(|part| intake.encode(&part.decided, part.entry_uuid).1);
        let whole = Decided {
            backend: at,
            kind: Kind::Transaction,
            controls: OwnedControls::default(),
            op_bytes: join(parts).into(),
            password: Vec::new(),
            policy: None,
            identity: self.identity.clone(),
            // Each part says what was judged of it.
            judged: Judged::Missing,
            review: None,
            connection: self.connection,
            operation: self.operation,
            answer: None,
        };
        let (csn, proposal) = intake.encode(&whole, [0; 16]);
        let connection = self.connection;
        let then = move |outcome: Result<store::Outcome, store::StoreError>| {
            let phases = self.phases.and(phases_of(&outcome).unwrap_or_default());
            Self { phases, ..self }.went(outcome, csn);
        };
        intake.submit(backend, connection, proposal, Box::new(then));
    }

    fn went(self, outcome: Result<store::Outcome, store::StoreError>, csn: Csn) {
        let phases = Some(self.phases);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                return (self.done)(UpdateDone { phases, ..UpdateDone::refused(store_failure(&error)) });
            }
        };
        let Some(TransactionReport(mut reports)) = TransactionReport::decode(&outcome.response) else {
            let refused = UpdateDone::refused(change::Refusal::UnreadableReport.into());
            return (self.done)(UpdateDone { phases, ..refused });
        };
        if reports.last().is_some_and(|report| report.is_judged_else) {
            let judging_again = Arc::clone(&self.judging_again);
            return judging_again.hand_over(Box::new(self));
        }
        if let Some(report) = reports.pop_if(|report| !report.result.is_success()) {
            let part = self.parts.get(reports.len());
            let told = match part {
                Some(part) => part.decided.tell(report.result),
                None => Told::open(report.result),
            };
            return (self.done)(UpdateDone { phases, ..failed(part.map(|part| part.message_id), told) });
        }
        if outcome.accepted {
            reports.iter().for_each(|part| self.references.note(part, csn, self.connection, self.operation));
        }
        let mut controls = Vec::new();
        for (part, report) in self.parts.iter().zip(reports) {
            let (report, _) = part.decided.disclose(Ok(report));
            let of_part = report.map(|report: Report| report.controls()).unwrap_or_default();
            if !of_part.is_empty() {
                controls.push((part.message_id, of_part));
            }
        }
        let response_value = encode_end_response(None, &controls);
        let success = UpdateDone::refused(LdapResult::success());
        (self.done)(UpdateDone { phases, response_value, csn: Some(csn), ..success });
    }

    /// Gives the message id of the first update that is refused now.
    fn judge_again(&mut self) -> Result<(), (i32, Told)> {
        self.parts.iter_mut().try_for_each(|part| part.decided.judge_again().map_err(|told| (part.message_id, *told)))
    }
}

impl JudgeAgain for Committing {
    fn judge(mut self: Box<Self>) {
        match self.judge_again() {
            Ok(()) => self.go_on(),
            Err((id, told)) => (self.done)(UpdateDone { phases: Some(self.phases), ..failed(Some(id), told) }),
        }
    }

    fn give_up(self: Box<Self>) {
        let of_part = |part: &Part| (part.message_id, part.decided.too_much_changes());
        let first = self.parts.iter().find(|part| part.decided.review.is_some()).map(of_part);
        let (id, told) = first.map_or_else(|| (None, Told::open(out_of_service())), |(id, told)| (Some(id), told));
        (self.done)(UpdateDone { phases: Some(self.phases), ..failed(id, told) });
    }
}

/// Nothing was done, because the update of that message id is refused.
fn failed(message_id: Option<i32>, told: Told) -> UpdateDone {
    UpdateDone { response_value: encode_end_response(message_id, &[]), ..UpdateDone::told(told) }
}
