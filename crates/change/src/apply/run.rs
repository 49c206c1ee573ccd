//! Applying proposals: which operation each is, one after the other, and what is reported of it.

use std::sync::Arc;

use ldap::{EntryRequest, LdapResult, ResultCode};
use store::log::LogPlace;
use store::{Outcome, StoreError, Txn};

use super::base_dns::{self, BASE_DNS_KEY, base_dns_of};
use super::error::ApplyError;
use super::modify_schema::{SCHEMA_KEY, schema_text};
use super::outcome::{ReferenceReport, Report};
use super::plugins::{self, PLUGINS_KEY, Plugins};
use super::rules::{RULES_VERSION, UpdateRules};
use super::transaction::TransactionReport;
use super::work::Work;
use super::{account_state, add, delete, indexes, modify, modify_dn, modify_schema, refresh};
use crate::judged_tree::{SLICE_ENTRIES, SLICES_MAX};
use crate::parts::split;
use crate::proposal::{Flags, Kind, Proposal};
use crate::refusal::Refusal;

impl UpdateRules {
    fn run(&mut self, txn: &mut Txn<'_>, proposal: &Proposal<'_>) -> Result<Report, StoreError> {
        self.settle(txn)?;
        let mut work = Work::new(self, txn, proposal);
        let result = operate(&mut work, proposal);
        let (pre_read, post_read, new_schema) = (work.pre_read.take(), work.post_read.take(), work.new_schema.take());
        let (has_more, references) = (work.has_more, work.references.take());
        Ok(match result {
            Ok(()) if proposal.flags.has(Flags::NO_OP) => {
                Report { pre_read, post_read, ..Report::of(Refusal::NoOp.into()) }
            }
            Ok(()) => {
                if let Some(schema) = new_schema {
                    self.set_schema(schema);
                }
                Report { pre_read, post_read, has_more, references, ..Report::of(LdapResult::success()) }
            }
            Err(ApplyError::Refused(refusal)) => Report::of((*refusal).into()),
            Err(ApplyError::JudgedElse) => Report { is_judged_else: true, ..Report::of(Refusal::JudgedElse.into()) },
            Err(ApplyError::Unreadable(error)) => return Err(*error),
        })
    }

    /// Takes the schema that the backend keeps, if it keeps another one, its plugins and the base DNs. A schema that
    /// cannot be built any more (a newer program ships definitions that contradict it) stays aside: the files are
    /// judged when the directory opens.
    fn settle(&mut self, txn: &Txn<'_>) -> Result<(), StoreError> {
        if self.is_settled {
            return Ok(());
        }
        let kept = txn.view().meta(SCHEMA_KEY)?.unwrap_or_default();
        if *kept != *schema_text(&self.facts.schema)
            && let Ok(schema) = modify_schema::schema_of(&self.facts.schema, &kept)
        {
            self.set_schema(schema);
        }
        let plugins = txn.view().meta(PLUGINS_KEY)?.unwrap_or_default();
        self.plugins = Arc::new(Plugins::of(&self.facts, &plugins));
        let base_dns = txn.view().meta(BASE_DNS_KEY)?.unwrap_or_default();
        self.base_dns = base_dns_of(&self.facts.schema, &base_dns).unwrap_or_default();
        self.is_settled = true;
        Ok(())
    }
}

impl UpdateRules {
    /// Applies the parts in turn.
    fn run_transaction(&mut self, txn: &mut Txn<'_>, bytes: &[u8]) -> Result<TransactionReport, StoreError> {
        let damaged = || Report::of(Refusal::DamagedProposal { of: "a transaction" }.into());
        let Some(parts) = split(bytes) else { return Ok(TransactionReport(vec![damaged()])) };
        let mut reports = Vec::with_capacity(parts.len());
        let mut slices = 0;
        for (at, part) in parts.into_iter().enumerate() {
            self.notes.begin_part(at);
            let report = match Proposal::decode(part) {
                Ok(proposal) if may_be_part(proposal.kind) => self.run_whole(txn, &proposal, &mut slices)?,
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
        Ok(TransactionReport(reports))
    }

    /// A part with everything that it leaves for later outside of a transaction.
    fn run_whole(
        &mut self,
        txn: &mut Txn<'_>,
        proposal: &Proposal<'_>,
        slices: &mut usize,
    ) -> Result<Report, StoreError> {
        let mut references: Option<ReferenceReport> = None;
        let mut proposal = *proposal;
        loop {
            let mut report = self.run(txn, &proposal)?;
            references = ReferenceReport::join(references, report.references.take());
            if !report.has_more {
                report.references = references;
                return Ok(report);
            }
            // All of the subtree was judged, and is what it was.
            proposal.authority = proposal.authority.without_tree();
            *slices += 1;
            if *slices > SLICES_MAX {
                return Ok(Report::of(Refusal::TooManySlices { most: SLICES_MAX * SLICE_ENTRIES }.into()));
            }
        }
    }
}

fn may_be_part(kind: Kind) -> bool {
    matches!(kind, Kind::Add | Kind::Modify | Kind::Delete | Kind::ModifyDn | Kind::PasswordModify)
}

fn operate(work: &mut Work<'_, '_>, proposal: &Proposal<'_>) -> Result<(), ApplyError> {
    // Adds and modifications see for themselves; all others may change, move or remove what defines something.
    if !matches!(proposal.kind, Kind::Add | Kind::Modify | Kind::PasswordModify | Kind::Refresh | Kind::AccountState) {
        work.rules.definitions.forget_some();
    }
    if proposal.kind == Kind::ModifySchema {
        return modify_schema::modify_schema(work, proposal.operation_bytes);
    }
    if proposal.kind == Kind::Indexes {
        return indexes::change_indexes(work, proposal.operation_bytes);
    }
    if proposal.kind == Kind::ConfigurePlugins {
        return plugins::configure(work, proposal.operation_bytes);
    }
    if proposal.kind == Kind::BaseDns {
        return base_dns::configure(work, proposal.operation_bytes);
    }
    if proposal.kind == Kind::CleanReferences {
        return plugins::clean(work, proposal.operation_bytes);
    }
    if proposal.kind == Kind::ExpireEntries {
        return plugins::dynamic::expire(work, proposal.operation_bytes);
    }
    if proposal.kind == Kind::AccountState {
        return account_state::change_accounts(work, proposal.operation_bytes);
    }
    let request = EntryRequest::decode(proposal.operation_bytes)
        .map_err(|error| Refusal::MalformedRequest { problem: error.to_string() })?;
    match (proposal.kind, &request) {
        (Kind::Add, EntryRequest::Add(request)) => add::add(work, request),
        (Kind::Modify | Kind::PasswordModify, EntryRequest::Modify(request)) => modify::modify(work, request),
        (Kind::Refresh, EntryRequest::Modify(request)) => refresh::refresh(work, request),
        (Kind::Delete, EntryRequest::Delete(dn)) => delete::delete(work, dn),
        (Kind::ModifyDn, EntryRequest::ModifyDn(request)) => modify_dn::modify_dn(work, request),
        _ => Err(Refusal::WrongKind.into()),
    }
}

impl store::Rules for UpdateRules {
    fn version(&self) -> u32 {
        RULES_VERSION
    }

    fn apply(&mut self, txn: &mut Txn<'_>, proposal: &[u8]) -> Result<Outcome, StoreError> {
        self.notes.begin();
        let mut time_us = 0;
        let decoded = Proposal::decode(proposal).inspect(|proposal| time_us = proposal.csn.time_us);
        let (code, response) = match decoded {
            Ok(proposal) if proposal.kind == Kind::Transaction => {
                let report = self.run_transaction(txn, proposal.operation_bytes)?;
                (report.refusal().map_or(ResultCode::SUCCESS, |result| result.code), report.encode())
            }
            Ok(proposal) => {
                let report = self.run(txn, &proposal)?;
                (report.result.code, report.encode())
            }
            Err(error) => {
                let report = Report::of(Refusal::UnreadableProposal { problem: error.to_string() }.into());
                (report.result.code, report.encode())
            }
        };
        let accepted = code == ResultCode::SUCCESS;
        if accepted {
            self.notes.finish(txn, time_us);
        }
        Ok(Outcome { code: code.as_i32(), accepted, response, ..Outcome::default() })
    }

    fn settled(&mut self, place: Option<LogPlace>) {
        self.notes.settle(place);
    }

    fn forget(&mut self) {
        self.forget_numbers();
        self.is_settled = false;
    }
}
