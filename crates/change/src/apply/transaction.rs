//! A transaction (RFC 5805): several proposals in one, applied all or not at all.
//!
//! The store takes back everything of a proposal that is refused, so here nothing has to be undone: the first part that is
//! refused ends the transaction with its result.

use ldap::{LdapResult, ResultCode};
use store::Txn;

use super::outcome::{put, take};
use super::{ReferenceReport, Report, UpdateRules};
use crate::proposal::{Kind, Proposal};
use query::error::refuse;

/// Slices of subtree deletes in one transaction: it is one change, and other updates wait for it.
const SLICES_MAX: usize = 80;

/// Joins encoded proposals to the operation bytes of a transaction.
pub fn join(proposals: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    proposals.into_iter().for_each(|proposal| put(&mut out, &proposal));
    out
}

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

impl UpdateRules {
    /// Applies the parts in turn.
    pub(super) fn run_transaction(&mut self, txn: &mut Txn<'_>, bytes: &[u8]) -> TransactionReport {
        let damaged = || Report::of(refuse(ResultCode::OTHER, "The transaction's proposal is damaged"));
        let Some(parts) = split(bytes) else { return TransactionReport(vec![damaged()]) };
        let mut reports = Vec::with_capacity(parts.len());
        let mut slices = 0;
        for (at, part) in parts.into_iter().enumerate() {
            self.noting.begin_part(at);
            let report = match Proposal::decode(part) {
                Ok(proposal) if may_be_part(proposal.kind) => self.run_whole(txn, &proposal, &mut slices),
                _ => damaged(),
            };
            let is_refused = !report.result.is_success();
            reports.push(report);
            if is_refused {
                // Numbers that the parts before gave away are taken back with them.
                self.forget_numbers();
                break;
            }
        }
        TransactionReport(reports)
    }

    /// A part with everything that it leaves for later outside of a transaction.
    fn run_whole(&mut self, txn: &mut Txn<'_>, proposal: &Proposal<'_>, slices: &mut usize) -> Report {
        let mut references: Option<ReferenceReport> = None;
        loop {
            let mut report = self.run(txn, proposal);
            references = ReferenceReport::join(references, report.references.take());
            if !report.has_more {
                report.references = references;
                return report;
            }
            *slices += 1;
            if *slices > SLICES_MAX {
                let entries = SLICES_MAX * super::SLICE_ENTRIES;
                let message = format!("A transaction deletes at most {entries} entries with their subtrees");
                return Report::of(refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, message));
            }
        }
    }
}

fn may_be_part(kind: Kind) -> bool {
    matches!(kind, Kind::Add | Kind::Modify | Kind::Delete | Kind::ModifyDn | Kind::PasswordModify)
}

/// The proposals of a transaction.
pub fn split(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        parts.push(take(&mut bytes)?);
    }
    Some(parts)
}
