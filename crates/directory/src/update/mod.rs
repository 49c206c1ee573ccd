//! From a request to a proposal: everything undetermined is decided here — who, when, which UUID, which hash — and handed to the
//! writer of the backend that holds the entry.
//!
//! Knows sessions, controls and backends; what an update does to entries is [`apply`](change::apply)'s business. What takes long
//! (deliberately slow hashes) is given back as a job for a pool.

mod controls;
mod dynamic;
mod expiry;
mod inbound;
mod intake;
mod new_name;
mod password_modify;
mod passwords;
mod plugins;
mod references;
mod schema_change;
mod subtree_delete;
mod transaction;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use config::{Config, Writability};
use ldap::{ControlBuf, Controls, LdapResult, Message, Request, ResultCode, oids};
use schema::NormalizedDn;
use store::Phases;

pub use password_modify::PasswordModifyTarget;
pub(crate) use plugins::check_declared_plugins;
pub use references::{FollowedName, InternalLog};
pub(crate) use schema_change::{SERVER_NAME, bind_schema};
pub(crate) use transaction::TransactionSlot;
pub use transaction::{TRANSACTION_BYTES_MAX, TRANSACTION_UPDATES_MAX};

use crate::directory::Directory;
use crate::session::Session;
use access::Identity;
use change::apply::Report;
use change::csn::Csn;
use change::proposal::{Authority, Flags, Kind, Proposal};
use controls::{OwnedControls, UpdateControls};
use dynamic::DynamicState;
use inbound::Inbound;
pub(crate) use intake::{Cause, Intake};
use password::Scheme;
use passwords::Prepared;
use query::backend::{Backend, holder};
use query::error::{invalid_dn, no_such_object, refuse, shown, store_failure};
use query::facts::Facts;
use references::ReferenceKeeper;
use subtree_delete::SubtreeDelete;

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
}

/// Called once, mostly on the writer's thread; must be quick.
pub type UpdateCallback = Box<dyn FnOnce(UpdateDone) + Send>;

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
    /// The protocolOp.
    op_bytes: zeroize::Zeroizing<Vec<u8>>,
    /// Content of the controls element.
    controls: Vec<u8>,
    done: UpdateCallback,
}

/// What updates need of the configuration, and the clock.
#[derive(Debug)]
pub(crate) struct UpdateState {
    intake: Arc<Intake>,
    inbound: ArcSwap<Inbound>,
    pub(crate) references: Arc<ReferenceKeeper>,
    pub(crate) dynamic: DynamicState,
    pub(crate) scheme: Scheme,
    allow_pre_encoded: bool,
    allow_user_changes: bool,
    writability: Writability,
    /// Held while a schema changes.
    schema_change: schema_change::SchemaLock,
}

impl UpdateState {
    /// From the configuration. A scheme that does not exist was refused when the configuration was read; should one get here,
    /// the default takes its place.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            intake: Arc::default(),
            inbound: ArcSwap::default(),
            references: Arc::default(),
            dynamic: DynamicState::default(),
            scheme: Scheme::from_name(&config.passwords.scheme).unwrap_or(Scheme::SaltedSha512),
            allow_pre_encoded: config.passwords.allow_pre_encoded_passwords,
            allow_user_changes: config.passwords.allow_user_password_changes,
            writability: config.global.writability,
            schema_change: schema_change::SchemaLock::default(),
        }
    }
}

impl UpdateState {
    /// The way in, for changes that the server makes itself.
    pub(crate) fn intake(&self) -> &Arc<Intake> {
        &self.intake
    }
}

impl UpdateDone {
    fn refused(result: LdapResult) -> Self {
        Self {
            result,
            response_controls: Vec::new(),
            response_name: None,
            response_value: None,
            csn: None,
            phases: None,
        }
    }
}

/// A request on its way.
pub(crate) struct Order<'o, 'm> {
    pub(crate) session: &'o Session,
    pub(crate) message_id: i32,
    /// Number of the operation on its connection.
    pub(crate) operation: u32,
    pub(crate) request: &'o Request<'m>,
    /// The same as it came.
    pub(crate) op_bytes: &'m [u8],
    pub(crate) controls: &'o Controls<'m>,
    /// Whether this is a pool's thread.
    pub(crate) may_be_slow: bool,
}

impl Directory {
    /// Takes an add, modify, delete, modify DN, password modify or end transaction request. `operation` is its number on the connection. The callback
    /// is called with the outcome when it is durable, or with the reason why nothing was done.
    pub fn submit<'m>(
        &self,
        session: &Session,
        operation: u32,
        message: &Message<'m>,
        done: UpdateCallback,
    ) -> Submitted {
        let Message { id, op, op_bytes, controls } = message;
        let order = Order { session, message_id: *id, operation, request: op, op_bytes, controls, may_be_slow: false };
        self.dispatch(&order, done)
    }

    fn dispatch(&self, order: &Order<'_, '_>, done: UpdateCallback) -> Submitted {
        // On a pool's thread it was done before.
        let inbound = self.updates.inbound.load();
        if inbound.cleans()
            && !order.may_be_slow
            && let Some(op_bytes) = inbound.cleaned(&self.facts().schema, order.request)
        {
            return match Request::decode_op(&op_bytes) {
                Ok(request) => {
                    let Order { session, operation, message_id, controls, may_be_slow, .. } = *order;
                    let (request, op_bytes) = (&request, op_bytes.as_slice());
                    self.dispatch_clean(
                        &Order { session, operation, message_id, request, op_bytes, controls, may_be_slow },
                        done,
                    )
                }
                Err(error) => {
                    done(UpdateDone::refused(refuse(ResultCode::PROTOCOL_ERROR, error.to_string())));
                    Submitted::Queued
                }
            };
        }
        self.dispatch_clean(order, done)
    }

    fn dispatch_clean(&self, order: &Order<'_, '_>, done: UpdateCallback) -> Submitted {
        let prepared = match order.request {
            Request::Extended(request) if request.name == oids::extended::END_TRANSACTION.as_bytes() => {
                self.end_transaction(order, request, done);
                return Submitted::Queued;
            }
            Request::Extended(request) if request.name == oids::extended::REFRESH.as_bytes() => {
                self.prepare_refresh(order, request)
            }
            Request::Extended(request) => self.prepare_password_modify(order, request),
            _ => self.prepare(order),
        };
        match prepared {
            Ok(Ready::Proposal(mut decided)) => {
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
            Ok(Ready::Slow) => Submitted::Slow(SlowUpdate {
                session: Box::new(order.session.clone()),
                message_id: order.message_id,
                operation: order.operation,
                op_bytes: order.op_bytes.to_vec().into(),
                controls: order.controls.encoded().to_vec(),
                done,
            }),
            Err(result) => {
                done(UpdateDone::refused(result));
                Submitted::Queued
            }
        }
    }

    /// What the controls of an update of that kind ask for.
    fn update_controls<'m>(&self, order: &Order<'_, 'm>, kind: Kind) -> Result<UpdateControls<'m>, LdapResult> {
        let limits = || self.limits_finder(&self.facts()).of_session(order.session, Instant::now());
        UpdateControls::read(order.controls, kind, &order.session.identity, &limits)
    }

    fn prepare<'m>(&self, order: &Order<'_, 'm>) -> Result<Ready<'m>, LdapResult> {
        let facts = self.facts();
        let (kind, dn) = match order.request {
            Request::Add(request) => (Kind::Add, request.entry),
            Request::Modify(request) => (Kind::Modify, request.object),
            Request::Delete(dn) => (Kind::Delete, *dn),
            Request::ModifyDn(request) => (Kind::ModifyDn, request.entry),
            _ => return Err(refuse(ResultCode::PROTOCOL_ERROR, "This request is no update")),
        };
        let controls = self.update_controls(order, kind)?;
        let name = NormalizedDn::parse(&facts.schema, dn).map_err(|error| invalid_dn(dn, error))?;
        check_authenticated(&order.session.identity)?;
        self.updates.inbound.load().check_seven_bit(&facts.schema, &name, order.request)?;
        self.updates.dynamic.check_add(&facts, order.request)?;
        if let Some(change) = self.own_entry(order, controls.flags, &name)? {
            if controls.transaction.is_some() {
                let message = "The schema is changed outside of transactions";
                return Err(refuse(ResultCode::UNWILLING_TO_PERFORM, message));
            }
            // It waits for disks, so it takes a pool's thread.
            return Ok(if order.may_be_slow { Ready::Schema(change) } else { Ready::Slow });
        }
        let at = self.backend_of(&name, dn)?;
        if let Request::ModifyDn(request) = order.request
            && let Some(superior) = request.new_superior
        {
            self.check_same_backend(&facts, at, superior)?;
        }
        if let Request::ModifyDn(request) = order.request {
            self.check_new_name(&facts, at, &name, request)?;
        }
        self.tell_of_request(&facts, order.request);
        let op_bytes = match passwords::prepare(self, &facts, order, at, &name)? {
            Prepared::Unchanged => order.op_bytes.into(),
            Prepared::Rewritten(bytes) => bytes.into(),
            Prepared::Slow => return Ok(Ready::Slow),
        };
        let controls = controls.owned();
        Ok(Ready::Proposal(Box::new(Decided {
            backend: at,
            kind,
            controls,
            op_bytes,
            identity: order.session.identity.clone(),
            connection: order.session.connection,
            operation: order.operation,
            answer: None,
        })))
    }

    /// The entries that are in no backend: the schema can be changed, the others cannot.
    fn own_entry(
        &self,
        order: &Order<'_, '_>,
        flags: Flags,
        name: &NormalizedDn,
    ) -> Result<Option<schema_change::SchemaModification>, LdapResult> {
        let unwilling =
            |what: &str| refuse(ResultCode::UNWILLING_TO_PERFORM, format!("{what} cannot be changed this way"));
        if name.is_root() {
            return Err(unwilling("The root DSE"));
        }
        let own = self.own_entries();
        if own.monitor.is_ancestor_or_equal(name) {
            return Err(unwilling("The monitor"));
        }
        if own.changelog.is_ancestor_or_equal(name) {
            return Err(unwilling("The changelog"));
        }
        if !own.schema.normalized().is_ancestor_or_equal(name) {
            return Ok(None);
        }
        match order.request {
            Request::Modify(request) if name.len() == 1 => {
                schema_change::read(&order.session.identity, flags, request).map(Some)
            }
            _ => Err(unwilling("The schema (only modify requests can)")),
        }
    }

    /// The backend that holds a name and may be written to.
    pub(crate) fn backend_of(&self, name: &NormalizedDn, dn: &[u8]) -> Result<usize, LdapResult> {
        let held = holder(&self.backends, name.as_bytes());
        let Some((at, _)) = held else { return Err(no_such_object(&shown(dn), "")) };
        let writable = |mode: Writability| matches!(mode, Writability::Enabled);
        let backend_mode = self.backends.get(at).map(|backend| backend.writability);
        if !writable(self.updates.writability) || !backend_mode.is_some_and(writable) {
            let message = "Updates are switched off (writability-mode in pando.toml)";
            return Err(refuse(ResultCode::UNWILLING_TO_PERFORM, message));
        }
        Ok(at)
    }

    fn check_same_backend(&self, facts: &Facts, at: usize, superior: &[u8]) -> Result<(), LdapResult> {
        let name = NormalizedDn::parse(&facts.schema, superior).map_err(|error| invalid_dn(superior, error))?;
        match holder(&self.backends, name.as_bytes()) {
            Some((other, _)) if other != at => {
                let message = format!("\"{}\" is in another backend: entries move within one only", shown(superior));
                Err(refuse(ResultCode::AFFECTS_MULTIPLE_DSAS, message))
            }
            _ => Ok(()),
        }
    }

    /// Hands a decided update to its backend.
    pub(crate) fn propose(&self, decided: Decided<'_>, done: UpdateCallback) {
        let Some(backend) = self.backends.get(decided.backend) else {
            return done(UpdateDone::refused(out_of_service()));
        };
        let intake = &self.updates.intake;
        if decided.controls.flags.has(Flags::SUBTREE_DELETE) {
            let (intake, backends) = (Arc::clone(intake), Arc::clone(&self.backends));
            let references = Arc::clone(&self.updates.references);
            return SubtreeDelete {
                intake,
                backends,
                references,
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
        let (csn, proposal) = intake.encode(&decided, entry_uuid);
        let answer = decided.answer;
        if !matches!(decided.kind, Kind::Delete | Kind::ModifyDn) {
            let then = move |outcome| {
                let phases = phases_of(&outcome);
                done(UpdateDone { phases, ..conclude(report_of(outcome), csn, answer) });
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
            done(UpdateDone { phases, ..conclude(report, csn, answer) });
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
    pub fn run(self, directory: &Directory) {
        let request = match Request::decode_op(&self.op_bytes) {
            Ok(request) => request,
            Err(error) => {
                return (self.done)(UpdateDone::refused(refuse(ResultCode::PROTOCOL_ERROR, error.to_string())));
            }
        };
        let controls = Controls::decode(&self.controls).unwrap_or_default();
        let order = Order {
            session: &self.session,
            message_id: self.message_id,
            operation: self.operation,
            request: &request,
            op_bytes: &self.op_bytes,
            controls: &controls,
            may_be_slow: true,
        };
        // On a pool nothing is slow a second time.
        let _ = directory.dispatch(&order, self.done);
    }
}

/// What a request became.
pub(crate) enum Ready<'m> {
    Proposal(Box<Decided<'m>>),
    Schema(schema_change::SchemaModification),
    Slow,
}

/// A decided update, but for the time.
#[derive(Debug)]
pub(crate) struct Decided<'m> {
    pub(crate) backend: usize,
    pub(crate) kind: Kind,
    pub(crate) controls: OwnedControls,
    pub(crate) op_bytes: Cow<'m, [u8]>,
    pub(crate) identity: Identity,
    pub(crate) connection: u64,
    pub(crate) operation: u32,
    /// What the response says if the update succeeds.
    pub(crate) answer: Option<ExtendedAnswer>,
}

/// Name and value of the response to an extended request.
#[derive(Debug)]
pub(crate) struct ExtendedAnswer {
    pub(crate) name: Option<&'static str>,
    pub(crate) value: Vec<u8>,
}

impl<'m> Decided<'m> {
    /// A change that the server makes by itself.
    pub(crate) fn by_server(backend: usize, kind: Kind, op_bytes: Vec<u8>) -> Self {
        Self {
            backend,
            kind,
            controls: OwnedControls::default(),
            op_bytes: op_bytes.into(),
            identity: Identity::Root { dn: SERVER_NAME.into() },
            connection: 0,
            operation: 0,
            answer: None,
        }
    }
}

impl Decided<'_> {
    /// The same, without the request's bytes.
    fn owned(self) -> Decided<'static> {
        Decided { op_bytes: Cow::Owned(self.op_bytes.into_owned()), ..self }
    }

    fn proposal(&self, csn: Csn, entry_uuid: [u8; 16]) -> Proposal<'_> {
        let authority = match &self.identity {
            Identity::Anonymous => Authority::Anonymous,
            Identity::Root { dn } => Authority::Root { dn },
            Identity::User { dn, backend, entry } => {
                Authority::User { dn, entry: if *backend == self.backend { entry.0 } else { 0 } }
            }
        };
        Proposal {
            kind: self.kind,
            flags: self.controls.flags,
            csn,
            entry_uuid,
            connection: self.connection,
            operation: self.operation,
            authority,
            assertion: &self.controls.assertion,
            pre_read: &self.controls.pre_read,
            post_read: &self.controls.post_read,
            operation_bytes: &self.op_bytes,
        }
    }
}

fn out_of_service() -> LdapResult {
    refuse(ResultCode::UNAVAILABLE, "The backend is not in service")
}

/// Where the time of a proposal went.
fn phases_of(outcome: &Result<store::Outcome, store::StoreError>) -> Option<Phases> {
    outcome.as_ref().ok().map(|outcome| outcome.phases)
}

/// What `apply` said of a proposal.
fn report_of(outcome: Result<store::Outcome, store::StoreError>) -> Result<Report, LdapResult> {
    let outcome = outcome.map_err(|error| store_failure(&error))?;
    Report::decode(&outcome.response).ok_or_else(|| refuse(ResultCode::OTHER, "The backend's answer cannot be read"))
}

fn conclude(report: Result<Report, LdapResult>, csn: Csn, answer: Option<ExtendedAnswer>) -> UpdateDone {
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
    }
}

/// Anonymous clients change nothing: said before anything is looked up, so that the answer tells nothing.
pub(crate) fn check_authenticated(identity: &Identity) -> Result<(), LdapResult> {
    if identity.is_anonymous() {
        let message = "Anonymous clients cannot change anything: authenticate with a bind request";
        return Err(refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, message));
    }
    Ok(())
}

/// The `entryUUID` that a proposal brings: only an added entry needs one.
fn uuid_for(kind: Kind) -> Result<[u8; 16], LdapResult> {
    if kind == Kind::Add { random_uuid() } else { Ok([0; 16]) }
}

/// A random UUID (RFC 9562 §5.4).
fn random_uuid() -> Result<[u8; 16], LdapResult> {
    let mut uuid = [0u8; 16];
    getrandom::fill(&mut uuid)
        .map_err(|_| refuse(ResultCode::UNAVAILABLE, "The operating system gave no random bytes for an entryUUID"))?;
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}

/// A backend's snapshot, or why there is none.
pub(crate) fn snapshot(backend: &Backend) -> Result<store::Snapshot, LdapResult> {
    backend.store.snapshot().map_err(|error| store_failure(&error))
}
