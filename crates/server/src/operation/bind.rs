//! Bind: decided on the loop, unless the stored password is slow to check or the account's state has to be written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use directory::{BindDone, BindFailure, BindStep, Directory, HashJob};
use ldap::{BindRequest, Message, encode};
use runtime::pool::Admission;

use super::directory_executor::{DirectoryExecutor, oids_of, on_loss};
use crate::answer::Answer;
use crate::executor::{Call, Step};
use crate::notifications::Notifications;
use crate::refusal::Refusal;
use crate::remote::Remote;
use crate::stalls::Waits;

/// Where an answer goes that comes later.
struct Later {
    notifications: Arc<Notifications>,
    remote: Remote,
    id: i32,
    name: String,
    begun: Instant,
}

impl DirectoryExecutor {
    pub(super) fn bind(&mut self, call: &mut Call<'_>, message: &Message<'_>, request: &BindRequest<'_>) -> Step {
        let name = || String::from_utf8_lossy(request.name).into_owned();
        match self.directory.bind(call.session, request, &message.controls) {
            BindStep::Done(done) => {
                let name = name();
                tell_of(&self.notifications, &done, &name);
                Step::Done(finish(call.out, message.id, done, name))
            }
            BindStep::SlowHash(job) => {
                let later = self.later(call, message.id, name());
                self.bind_in_pool(later, job)
            }
            BindStep::Waits(waiting) => {
                let later = self.later(call, message.id, name());
                waiting.then(&self.directory, move |done| later.answer(done, Waits::Elsewhere));
                Step::Pending
            }
        }
    }

    fn bind_in_pool(&self, later: Later, job: Box<HashJob>) -> Step {
        let directory = Arc::clone(&self.directory);
        self.pools.hash.submit(move |admission| {
            if matches!(admission, Admission::Refused) {
                return later.refuse(&directory);
            }
            let waits = Waits::pool(later.begun.elapsed(), Duration::ZERO);
            match job.run(&directory) {
                BindStep::Done(done) => later.answer(done, waits),
                BindStep::Waits(waiting) => waiting.then(&directory, move |done| later.answer(done, waits)),
                // What was slow was done.
                BindStep::SlowHash(_) => later.refuse(&directory),
            }
        });
        Step::Pending
    }

    fn later(&self, call: &mut Call<'_>, id: i32, name: String) -> Later {
        let (notifications, begun) = (Arc::clone(&self.notifications), call.begun);
        Later { notifications, remote: call.remote(false, on_loss(id, encode::tags::BIND)), id, name, begun }
    }
}

/// Who is told of accounts is told why the right password did not help.
fn tell_of(notifications: &Notifications, done: &BindDone, name: &str) {
    if let Some(BindFailure::Refused(refusal)) = done.failure {
        notifications.refused(name, refusal);
    }
}

impl Later {
    fn answer(self, done: BindDone, waits: Waits) {
        let Later { notifications, remote, id, name, .. } = self;
        tell_of(&notifications, &done, &name);
        remote.finish(move |out| Answer { waits, ..finish(out, id, done, name) });
    }

    fn refuse(self, directory: &Directory) {
        let (result, bound) = (Refusal::BindsWait.into(), directory.nobody());
        self.answer(BindDone { result, controls: Vec::new(), bound, failure: None }, Waits::default());
    }
}

fn finish(out: &mut Vec<u8>, id: i32, done: BindDone, name: String) -> Answer {
    let BindDone { result, controls, bound, failure } = done;
    if result.is_success() && result.message.is_empty() && controls.is_empty() {
        encode::success(out, id, encode::tags::BIND);
    } else {
        encode::bind_response(out, id, &result, None, &controls);
    }
    // After a successful bind the log has the name of the entry, not the name in the request.
    let identity = &bound.identity;
    let auth_dn = if identity.is_anonymous() { name } else { identity.dn().to_owned() };
    Answer {
        code: result.code,
        auth_failure: failure.map(|failure| failure.to_string()),
        auth_dn: Some(auth_dn),
        message: result.message,
        bound: Some(Box::new(bound)),
        response_controls: oids_of(&controls),
        ..Answer::default()
    }
}
