//! Index changes in the order of the log: only the server itself makes them.

use super::error::ApplyError;
use super::work::Work;
use crate::index_proposal::IndexProposal;
use crate::refusal::Refusal;

/// Applies one index change. A slice of building that finds nothing to do is accepted: a replay under another key
/// derivation builds nothing, and must come out as it did.
pub(super) fn change_indexes(work: &mut Work<'_, '_>, bytes: &[u8]) -> Result<(), ApplyError> {
    work.require_root("Changing indexes")?;
    let Some(change) = IndexProposal::decode(bytes) else {
        return Err(Refusal::DamagedProposal { of: "an index change" }.into());
    };
    match change {
        IndexProposal::Set { configured, anew } => Ok(work.txn.set_indexes(configured, &anew)?),
        IndexProposal::Build { work: work_max } => Ok(work.txn.build_indexes(work_max)?),
        IndexProposal::Forget { numbers } => {
            work.txn.forget_indexes(&numbers);
            Ok(())
        }
    }
}
