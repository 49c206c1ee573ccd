//! Index changes in the order of the log: only the server itself makes them.

use ldap::{LdapResult, ResultCode};

use super::draft::failed;
use super::work::Work;
use crate::index_proposal::IndexProposal;
use query::error::refuse;

/// Applies one index change. A slice of building that finds nothing to do is accepted: a replay under another key derivation
/// builds nothing, and must come out as it did.
pub(super) fn change_indexes(work: &mut Work<'_, '_>, bytes: &[u8]) -> Result<(), LdapResult> {
    work.require_root("Changing indexes")?;
    let Some(change) = IndexProposal::decode(bytes) else {
        return Err(refuse(ResultCode::OTHER, "The proposal of an index change is damaged"));
    };
    match change {
        IndexProposal::Set { configured, anew } => work.txn.set_indexes(configured, &anew).map_err(failed),
        IndexProposal::Build { work: work_max } => work.txn.build_indexes(work_max).map_err(failed),
        IndexProposal::Forget { numbers } => {
            work.txn.forget_indexes(&numbers);
            Ok(())
        }
    }
}
