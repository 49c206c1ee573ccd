//! What a directory does, one method for each operation: where requests come in.
//!
//! Hands each the parts of the directory that it needs, and nothing else.

use std::sync::atomic::Ordering;

use ldap::extended::PasswordModify;
use ldap::{BindRequest, CompareRequest, ControlBuf, Controls, LdapResult, Operation, SearchRequest, Update};

use std::time::Instant;

use crate::bind::{
    BindContext, BindDone, BindFailure, BindStep, Credential, HashJob, Named, QueuedBind, ReadyBind, RemoteDone,
    RemoteJob, RemotePasswords, Via, WaitingBind, bind_controls,
};
use crate::configuration_keeper::Configured;
use crate::directory::Directory;
use crate::must_change::{may_request, refusal};
use crate::refusal::Refusal;
use crate::search::{RequestTime, SearchContext, SearchDone, SearchPlan, Worker};
use crate::session::Session;
use crate::subject::{SubjectError, identity_of};
use crate::update::{
    SlowUpdate, Submitted, UpdateCallback, UpdateContext, UpdateDone, UpdateRequest, start_transaction, user_called,
};
use access::{Authentication, Identity, PolicyFinder, Revoked};
use query::error::shown;

impl Directory {
    /// What searches need.
    pub(crate) fn searching(&self) -> SearchContext<'_> {
        SearchContext {
            in_force: &self.in_force,
            backends: &self.backends,
            limits: &self.limits,
            access_control: &self.access_control,
            reading: &self.reading,
            group_options: self.group_options,
            history: self.history(),
            cookies: &self.cookies,
            range_cursors: &self.range_cursors,
            shapes: &self.shapes,
            default_referral: &self.default_referral,
            watches: &self.watches,
            monitor: self,
            roots: &self.roots,
            account_clock: &self.account_clock,
        }
    }

    /// Decides what a search has to look at. The plan is run by [`SearchPlan::run`], here or on another thread.
    ///
    /// # Errors
    /// How the search ended when it is refused or refers elsewhere.
    pub fn plan_search(
        &self,
        worker: &mut Worker,
        session: &Session,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> Result<Box<SearchPlan>, Box<SearchDone>> {
        self.searching().plan(worker, session, request, controls, time)
    }

    /// Compares; the result is `compareTrue`, `compareFalse`, or why neither can be said.
    #[must_use]
    pub fn compare(
        &self,
        session: &Session,
        request: &CompareRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> LdapResult {
        self.searching().compare(session, request, controls, time)
    }

    /// Checks a bind request that came at that time.
    pub fn bind(
        &self,
        session: &Session,
        request: &BindRequest<'_>,
        controls: &Controls<'_>,
        begun: Instant,
    ) -> BindStep {
        session.exchange.take();
        self.binding().bind(session, request, controls, begun)
    }

    /// Brings the bind of a user, by whatever way, as far as it goes without waiting. Whom nobody knows takes as long
    /// as a wrong password and is answered like that.
    ///
    /// # Errors
    /// The result to send: a control that binds do not take, or a database that cannot be read.
    pub fn authenticate(
        &self,
        session: &Session,
        whom: Named<'_>,
        credential: Credential<'_>,
        (authentication, controls, begun): (Authentication, &Controls<'_>, Instant),
    ) -> Result<BindStep, LdapResult> {
        let via = Via::of(session, controls, authentication, begun)?;
        let context = self.binding();
        let claimed = match whom {
            Named::Entry(name) if matches!(credential, Credential::Trusted) => context.claim_vouched(name)?,
            Named::Entry(name) => context.claim(name)?,
            Named::Nobody(sent) => context.claim_nobody(sent, BindFailure::NoEntry),
        };
        Ok(context.authenticate(claimed, credential, via))
    }

    /// What binds need.
    pub(crate) fn binding(&self) -> BindContext<'_> {
        BindContext {
            in_force: &self.in_force,
            backends: &self.backends,
            limits: &self.limits,
            reading: &self.reading,
            roots: &self.roots,
            guesses: &self.guesses,
            locked_guesses: &self.locked_guesses,
            unknown_names: &self.unknown_names,
            guess_sources: &self.guess_sources,
            states: &self.states,
            clock: &self.account_clock,
            decoys: &self.decoys,
            parameters: &self.updates.password_parameters,
            remembered: &self.remembered,
            reencoder: &self.reencoder,
            timer: &self.timer,
            second_factors: &self.second_factors,
            root_accounts: &self.root_accounts,
        }
    }

    /// Refuses what may not be requested on a connection whose user must change the password first: with the result,
    /// and a control if the client wants one.
    ///
    /// # Errors
    /// The refusal.
    pub fn check_must_change(
        &self,
        session: &Session,
        operation: &Operation<'_>,
        controls: &Controls<'_>,
    ) -> Result<(), Box<(LdapResult, Option<ControlBuf>)>> {
        if !session.standing.must_change() {
            return Ok(());
        }
        let user_named = |user: &[u8]| self.user_named(user, RequestTime::now()).ok().flatten();
        if may_request(&self.facts(), session, (operation, controls), user_named) {
            return Ok(());
        }
        Err(Box::new(refusal(controls)))
    }

    /// Whether something may have happened to what a session is bound as.
    #[inline]
    #[must_use]
    pub fn is_in_doubt(&self, session: &Session) -> bool {
        session.standing.is_in_doubt(&self.reading)
    }

    /// Why a session ends that is in doubt, if it does.
    #[must_use]
    pub fn revoked(&self, session: &Session) -> Option<Revoked> {
        let finder = PolicyFinder { facts: &self.facts(), context: &self.reading };
        session.standing.look_again(finder, self.account_clock.now())
    }

    /// Controls of the response to a successful bind: the authorization identity if it was asked for (RFC 3829).
    #[must_use]
    pub fn bind_controls(&self, controls: &Controls<'_>, identity: &Identity) -> Vec<ControlBuf> {
        bind_controls(controls, identity)
    }

    /// What updates need.
    pub(crate) fn updating(&self) -> UpdateContext<'_> {
        UpdateContext {
            configured: Configured { taken: &self.taken, keeper: &self.keeper },
            instance: &self.config.instance,
            in_force: &self.in_force,
            backends: &self.backends,
            updates: &self.updates,
            limits: &self.limits,
            reading: &self.reading,
            access_control: &self.access_control,
            shadow: &self.shadow,
            history: self.history(),
            roots: &self.roots,
            default_referral: &self.default_referral,
            notices: &self.notices,
            account_clock: &self.account_clock,
            states: &self.states,
            tasks: &self.tasks,
            guess_watch: self.guess_watch(),
            binding: self.binding(),
        }
    }

    /// Takes an update. The callback is called with the outcome when it is durable, or with the reason why nothing was
    /// done.
    pub fn submit(&self, session: &Session, asked: UpdateRequest<'_, '_>, done: UpdateCallback) -> Submitted {
        // Nothing but a change of the own password comes here from a session that is limited to that.
        let done: UpdateCallback = match session.standing.changed_here() {
            Some(changed) => Box::new(move |update: UpdateDone| {
                changed.fetch_or(update.result.is_success(), Ordering::Release);
                done(update);
            }),
            None => done,
        };
        let Update::PasswordModify(wanted) = asked.update else { return self.updating().submit(session, asked, done) };
        let Some(user) = user_called(wanted) else { return self.updating().submit(session, asked, done) };
        let dn = match self.user_named(user, RequestTime::now()) {
            Ok(Some(dn)) => dn,
            // Who is not authenticated is not told which users there are.
            _ if session.identity.is_anonymous() => return self.updating().submit(session, asked, done),
            other => {
                let result = other.err().unwrap_or_else(|| Refusal::NoSuchUser { user: shown(user) }.into());
                done(self.updating().unknown_user(session, asked, result));
                return Submitted::Queued;
            }
        };
        let named = Update::PasswordModify(PasswordModify { user_identity: Some(dn.as_bytes()), ..*wanted });
        self.updating().submit(session, UpdateRequest { update: &named, ..asked }, done)
    }

    /// Who has that name, a root user or a user with an entry; the empty one is anonymous.
    ///
    /// # Errors
    /// When nobody has it, or the entry cannot be read.
    pub fn identity_of(&self, name: &str) -> Result<Identity, SubjectError> {
        identity_of(name, &self.facts(), &self.backends, &self.roots.load())
    }

    /// Begins a transaction on a connection; gives its identifier.
    ///
    /// # Errors
    /// The result to send: somebody anonymous, or a transaction that is open already.
    pub fn start_transaction(&self, session: &Session, controls: &Controls<'_>) -> Result<Vec<u8>, LdapResult> {
        start_transaction(session, controls)
    }
}

impl HashJob {
    /// Checks the password; takes as long as the stored value's cost says.
    pub fn run(self, directory: &Directory) -> BindStep {
        self.run_in(&directory.binding())
    }
}

impl QueuedBind {
    /// Calls, on a thread of the directory, when it is the bind's turn.
    pub fn then(self: Box<Self>, directory: &Directory, call: impl FnOnce(ReadyBind) + Send + 'static) {
        self.then_in(&directory.binding(), call);
    }
}

impl ReadyBind {
    /// Brings the bind on.
    pub fn run(self, directory: &Directory) -> BindStep {
        self.run_in(&directory.binding())
    }
}

impl RemoteJob {
    /// Has another server check the password; takes as long as that, at most for the timeouts of `remote`.
    pub fn run(self, directory: &Directory, remote: &dyn RemotePasswords) -> RemoteDone {
        self.run_in(&directory.binding(), remote)
    }
}

impl WaitingBind {
    /// Has the state of the account written, and answers then: mostly on the thread of the writer.
    pub fn then(self, directory: &Directory, answer: impl FnOnce(BindDone) + Send + 'static) {
        self.then_in(&directory.states, &directory.timer, answer);
    }
}

impl SlowUpdate {
    /// Hashes, and submits.
    pub fn run(self, directory: &Directory) {
        self.run_in(&directory.updating());
    }
}
