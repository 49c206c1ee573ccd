//! A transaction (RFC 5805): several proposals in one, applied all or not at all.
//!
//! The store takes back everything of a proposal that is refused, so here nothing has to be undone: the first part that
//! is refused ends the transaction with its result.

use ldap::LdapResult;

use super::outcome::Report;
use crate::parts::{join, split};

/// What became of the parts: of all, or of those up to the first that was refused.
pub struct TransactionReport(pub Vec<Report>);

impl TransactionReport {
    /// Why nothing was done; `None` when everything was.
    pub fn refusal(&self) -> Option<&LdapResult> {
        self.0.last().map(|report| &report.result).filter(|result| !result.is_success())
    }

    /// As bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        join(self.0.iter().map(Report::encode))
    }

    /// Reads [`TransactionReport::encode`]; `None` when it is not that.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        split(bytes)?.into_iter().map(Report::decode).collect::<Option<_>>().map(Self)
    }
}
