//! A subtree delete on its way: the same proposal again and again, until nothing is left below its name.
//!
//! Each is one change of a few milliseconds, so that other updates get their turn. Hence a subtree of more than
//! [`SLICE_ENTRIES`] is not deleted in one step: readers see it shrink from below, and after a crash, or when a later
//! step is refused, what was deleted stays deleted (as in OpenDJ). Of whoever may not do everything each step is judged
//! anew, not on the store's thread: entries may have come meanwhile. It knows nothing of what is deleted.

use std::sync::Arc;

use ldap::LdapResult;
use store::Phases;

use super::decided::Decided;
use super::done::{UpdateCallback, UpdateDone, out_of_service, phases_of, report_of, update_done};
use super::intake::Intake;
use super::judging_again::{JudgeAgain, JudgingAgain};
use super::references::ReferenceKeeper;
use super::rights::Told;
use change::apply::Report;
use change::csn::Csn;
use change::judged_tree::SLICE_ENTRIES;
use query::backend::Backend;

/// What is needed to go on.
pub(super) struct SubtreeDelete {
    pub(super) intake: Arc<Intake>,
    pub(super) backends: Arc<[Backend]>,
    pub(super) references: Arc<ReferenceKeeper>,
    pub(super) judging_again: Arc<JudgingAgain>,
    pub(super) decided: Decided<'static>,
    pub(super) done: UpdateCallback,
    /// Slices that are gone.
    pub(super) slices: usize,
    /// Where their time went.
    pub(super) phases: Phases,
}

impl SubtreeDelete {
    /// Proposes the next slice. After the first it is called on the store's thread.
    pub(super) fn go_on(self) {
        let (intake, backends) = (Arc::clone(&self.intake), Arc::clone(&self.backends));
        let Some(backend) = backends.get(self.decided.backend.0) else {
            return (self.done)(UpdateDone::refused(out_of_service()));
        };
        let (csn, proposal) = intake.encode(&self.decided, [0; 16]);
        let connection = self.decided.connection;
        let then = move |outcome| {
            let phases = self.phases.and(phases_of(&outcome).unwrap_or_default());
            let report = report_of(outcome);
            if let Ok(report) = &report {
                self.references.note(report, csn, self.decided.connection, self.decided.operation);
            }
            Self { phases, ..self }.went(report, csn);
        };
        intake.submit(backend, connection, proposal, Box::new(then));
    }

    fn went(mut self, report: Result<Report, LdapResult>, csn: Csn) {
        match report {
            Ok(report) if report.has_more => {
                self.slices += 1;
                // The entry may change meanwhile, but the request was granted.
                self.decided.controls.assertion.clear();
                match &mut self.decided.review {
                    Some(review) => {
                        review.go_on();
                        let judging_again = Arc::clone(&self.judging_again);
                        judging_again.hand_over(Box::new(self));
                    }
                    None => self.go_on(),
                }
            }
            Ok(report) if report.is_judged_else => {
                let judging_again = Arc::clone(&self.judging_again);
                judging_again.hand_over(Box::new(self));
            }
            Ok(report) if report.result.is_success() => {
                let phases = Some(self.phases);
                let (report, log) = self.decided.disclose(Ok(report));
                (self.done)(UpdateDone { phases, log, ..update_done(report, csn, None) });
            }
            Ok(Report { result, .. }) | Err(result) => {
                let told = self.decided.tell(result);
                self.refused(told);
            }
        }
    }

    fn refused(self, told: Told) {
        let Told { mut result, log, .. } = told;
        if self.slices > 0 {
            let gone = self.slices * SLICE_ENTRIES;
            let message = &result.message;
            result.message = format!("{message} ({gone} entries were deleted: send the request again for the rest)");
        }
        (self.done)(UpdateDone { phases: Some(self.phases), log, ..UpdateDone::refused(result) });
    }
}

impl JudgeAgain for SubtreeDelete {
    fn judge(mut self: Box<Self>) {
        match self.decided.judge_again() {
            Ok(()) => self.go_on(),
            Err(told) => self.refused(*told),
        }
    }

    fn give_up(self: Box<Self>) {
        let told = self.decided.too_much_changes();
        self.refused(told);
    }
}
