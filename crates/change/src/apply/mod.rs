//! `apply`: proposals become changes, the same on every machine and at every replay.
//!
//! Nothing here reads a clock, a random number, the environment or the order of a hash map: whatever is undetermined was decided when
//! the proposal was made. Validate first, write second: each operation judges the state it would leave before it changes anything.
//!
//! | file | what |
//! |---|---|
//! | `work` | one proposal being applied: finding entries, referrals, access |
//! | `add` `modify` `delete` `modify_dn` `modify_schema` | the operations (RFC 4511 §4.6–4.9) |
//! | `indexes` | another index set, and slices of building |
//! | `draft`, `value_set`, `large_edit` | the attributes that a request touches |
//! | `governed` | attributes that come from elsewhere and cannot be written |
//! | `judge` | whether the schema likes what the entry becomes |
//! | `write` | from a draft to a record |
//! | `read_entry` | assertion, pre-read and post-read controls |
//! | `transaction` | several proposals in one (RFC 5805) |
//! | `noting` | what changes, for the history |
//! | `plugins` | what the configuration adds: references that follow, unique values, constraints |
//! | `outcome` | what the proposer is told |

mod add;
mod change_notes;
mod class_cache;
mod delete;
mod draft;
mod governed;
mod indexes;
mod judge;
mod large_edit;
mod modify;
mod modify_dn;
mod modify_schema;
mod outcome;
mod plugins;
mod read_entry;
mod transaction;
mod value_set;
mod work;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ldap::{LdapResult, Request, ResultCode};
use schema::Schema;
use schema::check::{Checker, Leniency};
use store::log::LogPlace;
use store::{Outcome, StoreError, Txn};

pub use delete::SLICE_ENTRIES;
pub use modify_schema::{SCHEMA_KEY, schema_text};
pub use outcome::{ReferenceReport, Report};
pub use plugins::dynamic::{ExpirySlice, expired};
pub use plugins::queue::Tally;
pub use plugins::{PLUGINS_KEY, plugins_text};
pub use plugins::{ReferenceProbe, Standing, queue, standing};
pub use transaction::{TransactionReport, join, split};
pub use value_set::normal_form;

use crate::history::Recorder;
use crate::proposal::{Flags, Kind, Proposal};
use change_notes::Noting;
use class_cache::ClassCache;
use governed::Governed;
use plugins::Plugins;
use query::backend::Suffix;
use query::error::refuse;
use query::facts::Facts;
use work::Work;

/// Version of what `apply` does; the log's header names it. Raise it with every change that makes some proposal come out otherwise.
pub const RULES_VERSION: u32 = 6;

/// The rules of one backend.
pub struct UpdateRules {
    /// The base DNs of the backend.
    suffixes: Vec<Suffix>,
    leniency: Leniency,
    facts: Arc<Facts>,
    checker: Arc<Checker>,
    classes: ClassCache,
    plugins: Arc<Plugins>,
    governed: Governed,
    noting: Noting,
    /// Whether schema and plugins are those that the backend keeps. At first, and after a batch was taken back, nobody knows.
    is_settled: bool,
}

impl UpdateRules {
    /// Rules for a backend with these suffixes, under the schema of `facts` until the backend says otherwise.
    #[must_use]
    pub fn new(suffixes: Vec<Suffix>, leniency: Leniency, facts: Arc<Facts>) -> Self {
        let checker = Arc::new(Checker::new(Arc::clone(&facts.schema), leniency));
        Self {
            suffixes,
            leniency,
            facts,
            checker,
            classes: ClassCache::default(),
            plugins: Arc::default(),
            governed: Governed::default(),
            noting: Noting::default(),
            is_settled: false,
        }
    }

    /// The same, noting for the history what changes.
    #[must_use]
    pub fn noting(mut self, recorder: Recorder) -> Self {
        self.noting = Noting::new(recorder);
        self
    }

    fn run(&mut self, txn: &mut Txn<'_>, proposal: &Proposal<'_>) -> Report {
        if let Err(result) = self.settle(txn) {
            return Report::of(result);
        }
        let mut work = Work::new(self, txn, proposal);
        let result = operate(&mut work, proposal);
        let (pre_read, post_read, new_schema) = (work.pre_read.take(), work.post_read.take(), work.new_schema.take());
        let (has_more, references) = (work.has_more, work.references.take());
        match result {
            Ok(()) if proposal.flags.has(Flags::NO_OP) => {
                let message = "The no-op control was given: the request would have succeeded, and nothing was changed";
                Report {
                    result: refuse(ResultCode::NO_OPERATION, message),
                    pre_read,
                    post_read,
                    has_more: false,
                    references: None,
                }
            }
            Ok(()) => {
                if let Some(schema) = new_schema {
                    self.set_schema(schema);
                }
                Report { result: LdapResult::success(), pre_read, post_read, has_more, references }
            }
            Err(result) => Report::of(result),
        }
    }

    /// Takes the schema that the backend keeps, if it keeps another one, and its plugins. A schema that cannot be built any more (a newer program ships
    /// definitions that contradict it) stays aside: the files are judged when the directory opens.
    fn settle(&mut self, txn: &Txn<'_>) -> Result<(), LdapResult> {
        if self.is_settled {
            return Ok(());
        }
        let kept = txn.view().meta(SCHEMA_KEY).map_err(draft::failed)?.unwrap_or_default();
        if *kept != *schema_text(&self.facts.schema)
            && let Ok(schema) = modify_schema::schema_of(&self.facts.schema, &kept)
        {
            self.set_schema(schema);
        }
        let plugins = txn.view().meta(PLUGINS_KEY).map_err(draft::failed)?.unwrap_or_default();
        self.plugins = Arc::new(Plugins::of(&self.facts, &plugins));
        self.is_settled = true;
        Ok(())
    }

    /// Drops what is kept by number: the numbers are not in force any more.
    fn forget_numbers(&mut self) {
        self.classes.clear();
        self.governed = Governed::default();
    }

    fn set_schema(&mut self, schema: Arc<Schema>) {
        self.checker = Arc::new(Checker::new(Arc::clone(&schema), self.leniency));
        self.facts = Arc::new(Facts::new(schema));
        self.classes.clear();
        self.governed = Governed::default();
        self.is_settled = false;
    }
}

fn operate(work: &mut Work<'_, '_>, proposal: &Proposal<'_>) -> Result<(), LdapResult> {
    // Adds and modifications see for themselves; all others may change, move or remove what defines something.
    if !matches!(proposal.kind, Kind::Add | Kind::Modify | Kind::PasswordModify | Kind::Refresh) {
        work.rules.governed.forget_some();
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
    if proposal.kind == Kind::CleanReferences {
        return plugins::clean(work, proposal.operation_bytes);
    }
    if proposal.kind == Kind::ExpireEntries {
        return plugins::dynamic::expire(work, proposal.operation_bytes);
    }
    let request = Request::decode_op(proposal.operation_bytes)
        .map_err(|error| refuse(ResultCode::PROTOCOL_ERROR, error.to_string()))?;
    match (proposal.kind, &request) {
        (Kind::Add, Request::Add(request)) => add::add(work, request),
        (Kind::Modify | Kind::PasswordModify, Request::Modify(request)) => modify::modify(work, request),
        (Kind::Refresh, Request::Modify(request)) => plugins::dynamic::refresh(work, request),
        (Kind::Delete, Request::Delete(dn)) => delete::delete(work, dn),
        (Kind::ModifyDn, Request::ModifyDn(request)) => modify_dn::modify_dn(work, request),
        _ => Err(refuse(ResultCode::OTHER, "The proposal names another operation than it holds")),
    }
}

impl store::Rules for UpdateRules {
    fn version(&self) -> u32 {
        RULES_VERSION
    }

    fn apply(&mut self, txn: &mut Txn<'_>, proposal: &[u8]) -> Result<Outcome, StoreError> {
        self.noting.begin();
        let mut time_us = 0;
        let decoded = Proposal::decode(proposal).inspect(|proposal| time_us = proposal.csn.time_us);
        let (code, response) = match decoded {
            Ok(proposal) if proposal.kind == Kind::Transaction => {
                let report = self.run_transaction(txn, proposal.operation_bytes);
                (report.refusal().map_or(ResultCode::SUCCESS, |result| result.code), report.encode())
            }
            Ok(proposal) => {
                let report = self.run(txn, &proposal);
                (report.result.code, report.encode())
            }
            Err(error) => {
                let report = Report::of(refuse(ResultCode::OTHER, error.to_string()));
                (report.result.code, report.encode())
            }
        };
        let accepted = code == ResultCode::SUCCESS;
        if accepted {
            self.noting.finish(txn, time_us);
        }
        Ok(Outcome { code: code.as_i32(), accepted, response, ..Outcome::default() })
    }

    fn settled(&mut self, place: Option<LogPlace>) {
        self.noting.settle(place);
    }

    fn forget(&mut self) {
        self.forget_numbers();
        self.is_settled = false;
    }
}
