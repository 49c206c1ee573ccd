//! What became of an update: the answer, and how it is made of what `apply` reported.
//!
//! Knows results and reports; not what the update was, nor who waits for the answer.

use ldap::{ControlBuf, LdapResult};
use store::Phases;

use super::rights::{LogNote, Told};
use crate::refusal::Refusal;
use change::apply::Report;
use change::csn::Csn;
use query::error::store_failure;

/// What became of an update.
#[derive(Clone, Debug)]
pub struct UpdateDone {
    /// Result code, matched DN, message, referrals.
    pub result: LdapResult,
    /// Controls of the response.
    pub response_controls: Vec<ControlBuf>,
    /// Name of an extended response, where its RFC asks for one.
    pub response_name: Option<&'static str>,
    /// Value of an extended response: a generated password, a time to live, the end of a transaction.
    pub response_value: Option<Vec<u8>>,
    /// The change's sequence number, for the log; none when nothing was changed.
    pub csn: Option<Csn>,
    /// Where its time went; none when it did not come to a writer, or was lost there.
    pub phases: Option<Phases>,
    /// What the log says of a refusal beside what the client is told.
    pub log: LogNote,
}

/// Called once, mostly on the writer's thread; must be quick.
pub type UpdateCallback = Box<dyn FnOnce(UpdateDone) + Send>;

impl UpdateDone {
    /// Nothing was changed, with that result.
    pub(crate) fn refused(result: LdapResult) -> Self {
        Self {
            result,
            response_controls: Vec::new(),
            response_name: None,
            response_value: None,
            csn: None,
            phases: None,
            log: LogNote::default(),
        }
    }

    /// The same, with what only the log is told.
    pub(super) fn told(told: Told) -> Self {
        Self { log: told.log, ..Self::refused(told.result) }
    }
}

/// Name and value of the response to an extended request.
#[derive(Debug)]
pub(crate) struct ExtendedAnswer {
    pub(super) name: Option<&'static str>,
    pub(super) value: Vec<u8>,
}

pub(super) fn out_of_service() -> LdapResult {
    Refusal::BackendOut.into()
}

/// Where the time of a proposal went.
pub(super) fn phases_of(outcome: &Result<store::Outcome, store::StoreError>) -> Option<Phases> {
    outcome.as_ref().ok().map(|outcome| outcome.phases)
}

/// What `apply` said of a proposal.
pub(super) fn report_of(outcome: Result<store::Outcome, store::StoreError>) -> Result<Report, LdapResult> {
    let outcome = outcome.map_err(|error| store_failure(&error))?;
    Report::decode(&outcome.response).ok_or_else(|| change::Refusal::UnreadableReport.into())
}

/// What a report becomes for who asked; `answer` goes with it if the update succeeded.
pub(super) fn update_done(report: Result<Report, LdapResult>, csn: Csn, answer: Option<ExtendedAnswer>) -> UpdateDone {
    let report = match report {
        Ok(report) => report,
        Err(result) => return UpdateDone::refused(result),
    };
    let success = report.result.is_success();
    let answer = answer.filter(|_| success);
    UpdateDone {
        response_controls: report.controls(),
        response_name: answer.as_ref().and_then(|answer| answer.name),
        response_value: answer.map(|answer| answer.value),
        csn: success.then_some(csn),
        result: report.result,
        phases: None,
        log: LogNote::default(),
    }
}
