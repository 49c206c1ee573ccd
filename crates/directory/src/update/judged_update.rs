//! An update of somebody whose rights were judged, on its way: when what it is about changed since, it is judged and
//! proposed again.
//!
//! Knows outcomes; not what is judged. It is judged again on a thread for that, never on the writer's.

use std::sync::Arc;

use store::Phases;

use super::decided::Decided;
use super::done::{UpdateCallback, UpdateDone, out_of_service, phases_of, report_of, update_done};
use super::intake::Intake;
use super::judging_again::{JudgeAgain, JudgingAgain};
use super::references::ReferenceKeeper;
use change::csn::Csn;
use query::backend::Backend;

/// What is needed to go on.
pub(super) struct JudgedUpdate {
    pub(super) intake: Arc<Intake>,
    pub(super) backends: Arc<[Backend]>,
    pub(super) references: Arc<ReferenceKeeper>,
    pub(super) judging_again: Arc<JudgingAgain>,
    pub(super) decided: Decided<'static>,
    pub(super) entry_uuid: [u8; 16],
    pub(super) done: UpdateCallback,
    /// Where its time went so far.
    pub(super) phases: Phases,
}

impl JudgedUpdate {
    /// Proposes it.
    pub(super) fn go_on(self) {
        let (intake, backends) = (Arc::clone(&self.intake), Arc::clone(&self.backends));
        let Some(backend) = backends.get(self.decided.backend.0) else {
            return (self.done)(UpdateDone::refused(out_of_service()));
        };
        let (csn, proposal) = intake.encode(&self.decided, self.entry_uuid);
        let connection = self.decided.connection;
        let then = move |outcome| {
            let phases = self.phases.and(phases_of(&outcome).unwrap_or_default());
            Self { phases, ..self }.went(outcome, csn);
        };
        intake.submit(backend, connection, proposal, Box::new(then));
    }

    fn went(self, outcome: Result<store::Outcome, store::StoreError>, csn: Csn) {
        let report = report_of(outcome);
        let phases = Some(self.phases);
        if report.as_ref().is_ok_and(|report| report.is_judged_else) {
            let judging_again = Arc::clone(&self.judging_again);
            return judging_again.hand_over(Box::new(self));
        }
        let Decided { connection, operation, .. } = self.decided;
        if let Ok(report) = &report {
            self.references.note(report, csn, connection, operation);
        }
        let (report, log) = self.decided.disclose(report);
        (self.done)(UpdateDone { phases, log, ..update_done(report, csn, self.decided.answer) });
    }
}

impl JudgeAgain for JudgedUpdate {
    fn judge(mut self: Box<Self>) {
        match self.decided.judge_again() {
            Ok(()) => self.go_on(),
            Err(told) => (self.done)(UpdateDone { phases: Some(self.phases), ..UpdateDone::told(*told) }),
        }
    }

    fn give_up(self: Box<Self>) {
        let told = self.decided.too_much_changes();
        (self.done)(UpdateDone { phases: Some(self.phases), ..UpdateDone::told(told) });
    }
}
