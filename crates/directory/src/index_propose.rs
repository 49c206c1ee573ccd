//! Proposing a change of the indexes of a backend.

use change::csn::Csn;
use change::index_proposal::IndexProposal;
use change::proposal::{Authority, Flags, Kind, Proposal};
use query::backend::Backend;
use store::StoreError;

use crate::server_name::SERVER_NAME;
use crate::update::{Cause, Intake};

/// Proposes an index change and waits for it.
pub(crate) fn propose(backend: &Backend, intake: &Intake, change: &IndexProposal) -> Result<(), StoreError> {
    let outcome = intake.submit_and_wait(backend, Cause::Indexes, encoded(intake.next_csn(), change))?;
    if outcome.accepted {
        return Ok(());
    }
    let report = change::apply::Report::decode(&outcome.response);
    Err(StoreError::Database(report.map_or_else(|| outcome.code.to_string(), |report| report.result.message)))
}

fn encoded(csn: Csn, change: &IndexProposal) -> Vec<u8> {
    let operation_bytes = change.encode();
    let proposal = Proposal {
        kind: Kind::Indexes,
        flags: Flags::default(),
        csn,
        entry_uuid: [0; 16],
        connection: 0,
        operation: 0,
        authority: Authority::Root { dn: SERVER_NAME },
        assertion: &[],
        pre_read: &[],
        post_read: &[],
        operation_bytes: &operation_bytes,
        password: &[],
    };
    proposal.encode()
}
