//! Bind: decided on the loop, unless the stored password is slow to check or the account's state has to be written.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use directory::{
    BindDone, BindFailure, BindStep, Directory, HashJob, QueuedBind, RemoteDone, RemoteJob, RequestTime, SaslBind,
    SaslDone, SaslTail,
};
use ldap::{Authentication, BindRequest, Message, encode};
use runtime::log::text::quoted_field;
use runtime::pool::{Admission, Pool};

use super::directory_executor::{DirectoryExecutor, oids_of, on_loss};
use crate::answer::Answer;
use crate::executor::{Call, Step};
use crate::notifications::Notifications;
use crate::password_servers::PasswordServers;
use crate::refusal::Refusal;
use crate::remote::Remote;
use crate::stalls::Waits;

/// Where an answer goes that comes later.
struct Later {
    remote: Remote,
    id: i32,
    name: String,
    begun: Instant,
    finishing: Finishing,
}

/// What gives a bind its end.
struct Finishing {
    directory: Arc<Directory>,
    /// Where the client is.
    address: Option<IpAddr>,
    notifications: Arc<Notifications>,
    /// Of a SASL bind.
    tail: Option<Box<SaslTail>>,
    /// What another server says of the password, if it is not right.
    reason: Option<String>,
}

/// Where passwords are checked that are not checked on the loop.
struct Checkers {
    hash: Pool,
    password_servers: Arc<PasswordServers>,
}

impl DirectoryExecutor {
    pub(super) fn bind(&mut self, call: &mut Call<'_>, message: &Message<'_>, request: &BindRequest<'_>) -> Step {
        let name = || String::from_utf8_lossy(request.name).into_owned();
        if let Err(result) = self.directory.check_guess_rate(call.session, request.name) {
            let done = BindDone { result, controls: Vec::new(), bound: self.directory.nobody(), failure: None };
            return Step::Done(finish(call.out, message.id, SaslDone::simple(done), name()));
        }
        let (step, tail) = match request.authentication {
            Authentication::Simple(_) | Authentication::Unknown { .. } => {
                (self.directory.bind(call.session, request, &message.controls, call.begun), None)
            }
            Authentication::Sasl { mechanism, credentials } => {
                let time = RequestTime { started: call.begun, unix_seconds: call.unix_seconds };
                let sent = (mechanism, credentials);
                let SaslBind { step, tail } =
                    self.directory.sasl_bind(call.session, request, sent, &message.controls, time);
                (step, Some(Box::new(tail)))
            }
        };
        let (directory, notifications) = (Arc::clone(&self.directory), Arc::clone(&self.notifications));
        let address = call.session.address;
        let finishing = Finishing { directory, address, notifications, tail, reason: None };
        match step {
            BindStep::Done(done) => {
                let name = name();
                Step::Done(finish(call.out, message.id, finishing.done(done, &name), name))
            }
            BindStep::SlowHash(job) => {
                // Administrators must get in when everybody else is refused.
                let is_reserved = call.session.local_peer.is_some() || job.is_of_root_user();
                let later = later(call, message.id, name(), finishing);
                bind_in_pool(&self.pools.hash, later, job, is_reserved);
                Step::Pending
            }
            BindStep::Queued(queued) => {
                let later = later(call, message.id, name(), finishing);
                let (hash, password_servers) = (self.pools.hash.clone(), Arc::clone(&self.password_servers));
                bind_in_turn(Checkers { hash, password_servers }, later, queued);
                Step::Pending
            }
            BindStep::Elsewhere(job) => {
                let later = later(call, message.id, name(), finishing);
                bind_elsewhere(&self.password_servers, later, job);
                Step::Pending
            }
            BindStep::Waits(waiting) => {
                let later = later(call, message.id, name(), finishing);
                waiting.then(&self.directory, move |done| later.answer(done, Waits::Elsewhere));
                Step::Pending
            }
        }
    }
}

/// Brings a bind on when it is its turn.
fn bind_in_turn(checkers: Checkers, later: Later, queued: Box<QueuedBind>) {
    let directory = Arc::clone(&later.finishing.directory);
    let own = Arc::clone(&directory);
    queued.then(&own, move |ready| match ready.run(&directory) {
        BindStep::Done(done) => later.answer(done, Waits::Elsewhere),
        BindStep::Waits(waiting) => waiting.then(&directory, move |done| later.answer(done, Waits::Elsewhere)),
        BindStep::SlowHash(job) => bind_in_pool(&checkers.hash, later, job, false),
        BindStep::Elsewhere(job) => bind_elsewhere(&checkers.password_servers, later, job),
        BindStep::Queued(queued) => bind_in_turn(checkers, later, queued),
    });
}

fn bind_in_pool(pool: &Pool, later: Later, job: Box<HashJob>, is_reserved: bool) {
    let directory = Arc::clone(&later.finishing.directory);
    let run = move |admission: Admission<'_>| {
        if matches!(admission, Admission::Refused) {
            return later.refuse(&directory);
        }
        let waits = Waits::pool(later.begun.elapsed(), Duration::ZERO);
        match job.run(&directory) {
            BindStep::Done(done) => later.answer(done, waits),
            BindStep::Waits(waiting) => waiting.then(&directory, move |done| later.answer(done, waits)),
            // What was slow was done, and what was to be counted was counted.
            BindStep::SlowHash(_) | BindStep::Queued(_) | BindStep::Elsewhere(_) => later.refuse(&directory),
        }
    };
    match is_reserved {
        true => pool.submit_reserved(run),
        false => pool.submit(run),
    }
}

fn bind_elsewhere(password_servers: &PasswordServers, mut later: Later, job: Box<RemoteJob>) {
    let directory = Arc::clone(&later.finishing.directory);
    let own = Arc::clone(&directory);
    let answer = move |done: Option<RemoteDone>, waited: Duration| {
        let Some(RemoteDone { step, reason }) = done else { return later.refuse(&directory) };
        later.finishing.reason = reason;
        let waits = Waits::pool(waited, Duration::ZERO);
        match step {
            BindStep::Done(done) => later.answer(done, waits),
            BindStep::Waits(waiting) => waiting.then(&directory, move |done| later.answer(done, waits)),
            // The other server has answered, and what was to be counted was counted.
            BindStep::SlowHash(_) | BindStep::Queued(_) | BindStep::Elsewhere(_) => later.refuse(&directory),
        }
    };
    password_servers.check(job, &own, answer);
}

fn later(call: &mut Call<'_>, id: i32, name: String, finishing: Finishing) -> Later {
    let begun = call.begun;
    Later { remote: call.remote(false, on_loss(id, encode::tags::BIND)), id, name, begun, finishing }
}

impl Finishing {
    fn done(self, done: BindDone, name: &str) -> SaslDone {
        if let Some(failure) = done.failure {
            self.directory.note_failed_bind(self.address, name.as_bytes(), failure);
        }
        // Who is told of accounts is told why the right password did not help.
        if let Some(BindFailure::Refused(refusal)) = done.failure {
            self.notifications.refused(name, refusal);
        }
        let done = match self.tail {
            Some(tail) => tail.finish(&self.directory, done),
            None => SaslDone::simple(done),
        };
        SaslDone { failure: self.reason.or(done.failure), ..done }
    }
}

impl Later {
    fn answer(self, done: BindDone, waits: Waits) {
        let Later { remote, id, name, finishing, .. } = self;
        let done = finishing.done(done, &name);
        remote.finish(move |out| Answer { waits, ..finish(out, id, done, name) });
    }

    fn refuse(self, directory: &Directory) {
        let (result, bound) = (Refusal::BindsWait.into(), directory.nobody());
        self.answer(BindDone { result, controls: Vec::new(), bound, failure: None }, Waits::default());
    }
}

fn finish(out: &mut Vec<u8>, id: i32, done: SaslDone, name: String) -> Answer {
    let SaslDone { done, credentials, failure: sasl_failure, authenticated_as } = done;
    let BindDone { result, controls, bound, failure } = done;
    if result.is_success() && result.message.is_empty() && controls.is_empty() && credentials.is_none() {
        encode::success(out, id, encode::tags::BIND);
    } else {
        encode::bind_response(out, id, &result, credentials.as_deref(), &controls);
    }
    // After a successful bind the log has the name of the entry, not the name in the request.
    let identity = &bound.identity;
    let mut additional = Vec::new();
    if authenticated_as.is_some() {
        quoted_field(&mut additional, "authzID", identity.authorization_id().as_bytes());
    }
    let auth_dn = match authenticated_as {
        Some(dn) => dn,
        None if identity.is_anonymous() => name,
        None => identity.dn().to_owned(),
    };
    Answer {
        code: result.code,
        auth_failure: sasl_failure.or_else(|| failure.map(|failure| failure.to_string())),
        additional: String::from_utf8_lossy(&additional).into_owned(),
        auth_dn: Some(auth_dn),
        message: result.message,
        bound: Some(Box::new(bound)),
        response_controls: oids_of(&controls),
        ..Answer::default()
    }
}
