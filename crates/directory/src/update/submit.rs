//! From a request to a proposal: everything undetermined is decided here (who, when, which UUID, which hash), and the
//! proposal is handed to the writer of the backend that holds the entry.
//!
//! Knows sessions, controls and backends; what an update does to entries is [`apply`](change::apply)'s business. What
//! takes long (deliberately slow hashes) is given back as a job for a pool.

use std::sync::Arc;
use std::time::Instant;

use accounts::PolicyError;
use config::Writability;
use ldap::extended::PasswordModify;
use ldap::{Controls, EntryRequest, EntryUpdate, LdapResult, ModifyDnRequest, ResultCode, Update};
use schema::NormalizedDn;
use store::Phases;

use super::configuration_change::check_configuration_controls;
use super::context::UpdateContext;
use super::controls::UpdateControls;
use super::decided::{Decided, uuid_for};
use super::done::{UpdateCallback, UpdateDone, out_of_service, phases_of, report_of, update_done};
use super::judged_update::JudgedUpdate;
use super::judging::Asked;
use super::new_instructions;
use super::order::{KeptUpdate, Order, Ready, UpdateRequest};
use super::password_checks::tell;
use super::passwords::{Prepared, Preparing, writes_password};
use super::policy_control::{add_policy_control, refused_by_policy};
use super::policy_names;
use super::rights::{End, Told};
use super::subtree_delete::SubtreeDelete;
use crate::not_obeyed::tell_of_request;
use crate::own::{OwnAsker, OwnUpdate};
use crate::refusal::Refusal;
use crate::session::Session;
use change::proposal::{Flags, Kind};
use query::backend::{BackendIndex, holder};
use query::error::{invalid_dn, shown};
use query::facts::Facts;

/// What is said of missing entries in transactions.
const JUDGED_WHEN_IT_COMES: &str = "; whether you may make an update of a transaction is decided when it comes, so \
    that it cannot be about an entry that the transaction adds or renames";

/// Where an update is.
#[must_use = "a slow update has to be run on a pool"]
pub enum Submitted {
    /// Its callback was called, or will be.
    Queued,
    /// A password has to be hashed slowly first: call [`SlowUpdate::run`] on a pool.
    Slow(SlowUpdate),
}

/// An update that waits for a slow hash. Dropping it drops its callback.
pub struct SlowUpdate {
    session: Box<Session>,
    message_id: i32,
    operation: u32,
    update: KeptUpdate,
    /// Content of the controls element.
    controls: Vec<u8>,
    done: UpdateCallback,
}

impl UpdateContext<'_> {
    /// Takes an update. The callback is called with the outcome when it is durable, or with the reason why nothing was
    /// done.
    pub(crate) fn submit(&self, session: &Session, asked: UpdateRequest<'_, '_>, done: UpdateCallback) -> Submitted {
        let UpdateRequest { update, controls, operation, message_id } = asked;
        let order = Order { session, controls, operation, message_id, may_be_slow: false };
        if let Update::Entry(update) = update
            && let inbound = self.updates.inbound.load()
            && inbound.cleans()
            && let Some(cleaned) = inbound.cleaned(&self.facts().schema, update.request())
        {
            return match cleaned.update() {
                Ok(update) => self.dispatch(&order, &Update::Entry(update), done),
                Err(error) => {
                    done(UpdateDone::refused(made_request(&error)));
                    Submitted::Queued
                }
            };
        }
        self.dispatch(&order, update, done)
    }

    fn dispatch(&self, order: &Order<'_, '_>, update: &Update<'_>, done: UpdateCallback) -> Submitted {
        let prepared = match update {
            Update::Entry(update) => self.prepare(order, update),
            Update::PasswordModify(wanted) => self.prepare_password_modify(order, wanted),
            Update::Refresh(wanted) => self.prepare_refresh(order, wanted),
            Update::PasswordPolicyState(wanted) => {
                self.account_state(order, &wanted.read(), done);
                return Submitted::Queued;
            }
            Update::SecondFactor(wanted) => {
                match wanted.read() {
                    Ok(wanted) => self.second_factor(order, &wanted, done),
                    Err(error) => done(UpdateDone::refused(made_request(&error))),
                }
                return Submitted::Queued;
            }
            Update::EndTransaction(end) => {
                self.end_transaction(order, end, done);
                return Submitted::Queued;
            }
        };
        match prepared {
            Ok(Ready::Proposal(mut decided)) => {
                let done = match decided.policy.take() {
                    Some(policy) => add_policy_control(order.controls, policy, done),
                    None => done,
                };
                match decided.controls.transaction.take() {
                    Some(identifier) => done(self.enlist(order, &identifier, *decided)),
                    None => self.propose(*decided, done),
                }
                Submitted::Queued
            }
            Ok(Ready::Schema(change)) => {
                self.change_schema(change, done);
                Submitted::Queued
            }
            Ok(Ready::Task(update)) => {
                done(UpdateDone::refused(self.update_task(*update)));
                Submitted::Queued
            }
            Ok(Ready::Configuration(change)) => {
                done(self.change_configuration(&change));
                Submitted::Queued
            }
            Ok(Ready::Slow(update)) => Submitted::Slow(SlowUpdate {
                session: Box::new(order.session.clone()),
                message_id: order.message_id,
                operation: order.operation,
                update,
                controls: order.controls.encoded().to_vec(),
                done,
            }),
            Ok(Ready::WrongPassword { told, wait }) => {
                let refused = refused_by_policy(order.controls, *told);
                wait.then(self.states, self.binding.timer, move |_| done(refused));
                Submitted::Queued
            }
            Err(told) => {
                done(refused_by_policy(order.controls, *told));
                Submitted::Queued
            }
        }
    }

    /// What the controls of an update of that kind ask for.
    pub(super) fn update_controls<'m>(
        &self,
        order: &Order<'_, 'm>,
        kind: Kind,
    ) -> Result<UpdateControls<'m>, LdapResult> {
        let limits = || self.limits_finder(&self.facts()).of_session(order.session, Instant::now());
        UpdateControls::read(order.controls, kind, &order.session.identity, &limits)
    }

    fn prepare<'m>(&self, order: &Order<'_, '_>, update: &EntryUpdate<'m>) -> Result<Ready<'m>, Box<Told>> {
        let facts = self.facts();
        let request = update.request();
        let kind = match request {
            EntryRequest::Add(_) => Kind::Add,
            EntryRequest::Modify(_) => Kind::Modify,
            EntryRequest::Delete(_) => Kind::Delete,
            EntryRequest::ModifyDn(_) => Kind::ModifyDn,
        };
        let dn = request.entry();
        let controls = self.update_controls(order, kind)?;
        let name = NormalizedDn::parse(&facts.schema, dn).map_err(|error| invalid_dn(dn, error))?;
        let slow = || Ready::Slow(KeptUpdate::Entry(update.encoded().to_vec().into()));
        if let Some(update) = self.own_entry(order, controls.flags, request, &name)? {
            let ready = match update {
                OwnUpdate::Schema(_) if controls.transaction.is_some() => Err(Refusal::SchemaInTransaction),
                OwnUpdate::Schema(change) => Ok(Ready::Schema(change)),
                OwnUpdate::Configuration(_) if controls.transaction.is_some() => {
                    Err(Refusal::ConfigurationInTransaction)
                }
                OwnUpdate::Configuration(change) => {
                    check_configuration_controls(order.controls)?;
                    Ok(Ready::Configuration(change))
                }
                OwnUpdate::Task(_) if !controls.asks_nothing() => Err(Refusal::TaskControls),
                OwnUpdate::Task(update) => Ok(Ready::Task(update)),
            }?;
            // It waits for disks, so it takes a pool's thread.
            return Ok(if order.may_be_slow { ready } else { slow() });
        }
        let at = self.backend_of(&name, dn)?;
        if let EntryRequest::ModifyDn(ModifyDnRequest { new_superior: Some(superior), .. }) = request {
            self.check_same_backend(&facts, at, superior)?;
        }
        let identity = self.requestor(&order.session.identity)?;
        let mut controls = controls.owned();
        let asked = Asked { backend: at, kind, request, identity: &identity };
        let (judged, review) = match self.review(order, &asked, &mut controls) {
            Ok(judged) => judged,
            Err(End::Refused(mut told)) => {
                if told.result.code == ResultCode::INSUFFICIENT_ACCESS_RIGHTS && writes_password(&facts, request) {
                    told.policy = Some(PolicyError::PasswordModNotAllowed);
                }
                if controls.transaction.is_some() && told.result.code == ResultCode::NO_SUCH_OBJECT {
                    told.result.message.push_str(JUDGED_WHEN_IT_COMES);
                }
                return Err(told);
            }
            Err(End::TakesLong) => return Ok(slow()),
        };
        let told = |result: LdapResult| match &review {
            Some(review) => Box::new(review.tell(result)),
            None => result.into(),
        };
        self.updates.inbound.load().check_seven_bit(&facts.schema, &name, request).map_err(told)?;
        self.updates.dynamic.check_add(&facts, request).map_err(told)?;
        policy_names::check(self, &facts, request).map_err(told)?;
        tell_of_request(self.notices, &facts, request);
        new_instructions::tell(self, &facts, &name, request);
        let preparing = Preparing { context: self, facts: &facts, order, identity: &identity, at, name: &name };
        let prepared = match preparing.prepare(request) {
            Ok(prepared) => prepared,
            Err(refused) => return tell(refused, &review),
        };
        let (op_bytes, password, policy) = match prepared {
            Prepared::Unchanged => (update.encoded().into(), Vec::new(), None),
            Prepared::Rewritten { op_bytes, follows } => {
                (op_bytes.into(), follows.change.encode(), Some(follows.told()))
            }
            Prepared::Slow => return Ok(slow()),
        };
        Ok(Ready::Proposal(Box::new(Decided {
            backend: at,
            kind,
            controls,
            op_bytes,
            password,
            policy,
            identity,
            judged,
            review,
            connection: order.session.connection,
            operation: order.operation,
            answer: None,
        })))
    }

    /// What becomes of an update of an entry that lies in no backend; nothing when the name is in one.
    fn own_entry(
        &self,
        order: &Order<'_, '_>,
        flags: Flags,
        request: &EntryRequest<'_>,
        name: &NormalizedDn,
    ) -> Result<Option<OwnUpdate>, LdapResult> {
        let own = self.in_force.own_entries();
        let Some(tree) = own.holder(self.history, name) else { return Ok(None) };
        let facts = self.facts();
        let rights = self.rights_of(order, &facts)?;
        let configuration = self.configured.taken.load();
        let asker = OwnAsker {
            identity: &order.session.identity,
            rights: &rights,
            facts: &facts,
            tasks: self.tasks,
            configuration: &configuration,
        };
        tree.update(&asker, flags, request, name).map(Some)
    }

    /// The backend that holds a name and may be written to.
    pub(crate) fn backend_of(&self, name: &NormalizedDn, dn: &[u8]) -> Result<BackendIndex, LdapResult> {
        let held = holder(self.backends, name.as_bytes());
        let Some((at, _)) = held else { return Err(self.default_referral.answer(dn, None)) };
        let writable = |mode: Writability| matches!(mode, Writability::Enabled);
        let backend_mode = self.backends.get(at.0).map(|backend| backend.writability);
        if !writable(self.updates.writability) || !backend_mode.is_some_and(writable) {
            return Err(Refusal::UpdatesOff.into());
        }
        Ok(at)
    }

    fn check_same_backend(&self, facts: &Facts, at: BackendIndex, superior: &[u8]) -> Result<(), LdapResult> {
        let name = NormalizedDn::parse(&facts.schema, superior).map_err(|error| invalid_dn(superior, error))?;
        match holder(self.backends, name.as_bytes()) {
            Some((other, _)) if other != at => Err(Refusal::OtherBackend { dn: shown(superior) }.into()),
            _ => Ok(()),
        }
    }

    /// Hands a decided update to its backend.
    pub(crate) fn propose(&self, decided: Decided<'_>, done: UpdateCallback) {
        let Some(backend) = self.backends.get(decided.backend.0) else {
            return done(UpdateDone::refused(out_of_service()));
        };
        let intake = &self.updates.intake;
        if decided.controls.flags.has(Flags::SUBTREE_DELETE) {
            let (intake, backends) = (Arc::clone(intake), Arc::clone(self.backends));
            let references = Arc::clone(&self.updates.references);
            let judging_again = Arc::clone(&self.updates.judging_again);
            return SubtreeDelete {
                intake,
                backends,
                references,
                judging_again,
                decided: decided.owned(),
                done,
                slices: 0,
                phases: Phases::default(),
            }
            .go_on();
        }
        let entry_uuid = match uuid_for(decided.kind) {
            Ok(uuid) => uuid,
            Err(result) => return done(UpdateDone::refused(result)),
        };
        if decided.review.is_some() {
            let (intake, backends) = (Arc::clone(intake), Arc::clone(self.backends));
            let references = Arc::clone(&self.updates.references);
            let judging_again = Arc::clone(&self.updates.judging_again);
            let (decided, phases) = (decided.owned(), Phases::default());
            let judged =
                JudgedUpdate { intake, backends, references, judging_again, decided, entry_uuid, done, phases };
            return judged.go_on();
        }
        let (csn, proposal) = intake.encode(&decided, entry_uuid);
        let answer = decided.answer;
        if !matches!(decided.kind, Kind::Delete | Kind::ModifyDn) {
            let then = move |outcome| {
                let phases = phases_of(&outcome);
                done(UpdateDone { phases, ..update_done(report_of(outcome), csn, answer) });
            };
            return intake.submit(backend, decided.connection, proposal, Box::new(then));
        }
        let references = Arc::clone(&self.updates.references);
        let (connection, operation) = (decided.connection, decided.operation);
        let then = move |outcome| {
            let phases = phases_of(&outcome);
            let report = report_of(outcome);
            if let Ok(report) = &report {
                references.note(report, csn, connection, operation);
            }
            done(UpdateDone { phases, ..update_done(report, csn, answer) });
        };
        intake.submit(backend, connection, proposal, Box::new(then));
    }
}

impl SlowUpdate {
    /// Answers without doing anything: no pool has room for it.
    pub fn refuse(self, result: LdapResult) {
        (self.done)(UpdateDone::refused(result));
    }

    /// Hashes, and submits.
    pub(crate) fn run_in(self, context: &UpdateContext<'_>) {
        let controls = Controls::decode(&self.controls).unwrap_or_default();
        let order = Order {
            session: &self.session,
            controls: &controls,
            operation: self.operation,
            message_id: self.message_id,
            may_be_slow: true,
        };
        let update = match &self.update {
            KeptUpdate::Entry(encoded) => EntryUpdate::decode(encoded).map(Update::Entry),
            KeptUpdate::PasswordModify(value) => PasswordModify::decode(Some(value)).map(Update::PasswordModify),
        };
        match update {
            // On a pool nothing is slow a second time.
            Ok(update) => drop(context.dispatch(&order, &update, self.done)),
            Err(error) => (self.done)(UpdateDone::refused(made_request(&error))),
        }
    }
}

/// What was decoded before cannot be decoded again.
fn made_request(error: &dyn std::fmt::Display) -> LdapResult {
    Refusal::MadeRequest { problem: error.to_string() }.into()
}
