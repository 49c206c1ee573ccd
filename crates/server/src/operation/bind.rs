//! Bind: decided on the loop, unless the stored password is slow to check.

use std::time::Duration;

use directory::{BindDone, BindStep, Bound, HashJob, Identity};
use ldap::{BindRequest, ControlBuf, Controls, LdapResult, Message, encode};
use runtime::pool::Admission;

use super::directory_executor::{DirectoryExecutor, oids_of, on_loss};
use crate::answer::Answer;
use crate::executor::{Call, Step};
use crate::refusal::Refusal;
use crate::remote::Remote;
use crate::stalls::Waits;

impl DirectoryExecutor {
    pub(super) fn bind(&mut self, call: &mut Call<'_>, message: &Message<'_>, request: &BindRequest<'_>) -> Step {
        match self.directory.bind(request, &message.controls) {
            BindStep::Done(done) => {
                let controls = self.bind_controls(&message.controls, &done.result, &done.bound.identity);
                let name = String::from_utf8_lossy(request.name).into_owned();
                Step::Done(finish(call.out, message.id, done, name, &controls))
            }
            BindStep::SlowHash(job) => self.bind_in_pool(call, message, request, job),
        }
    }

    fn bind_in_pool(
        &self,
        call: &mut Call<'_>,
        message: &Message<'_>,
        request: &BindRequest<'_>,
        job: HashJob,
    ) -> Step {
        let id = message.id;
        let remote = call.remote(false, on_loss(id, encode::tags::BIND));
        let name = String::from_utf8_lossy(request.name).into_owned();
        let directory = std::sync::Arc::clone(&self.directory);
        let wanted = message.controls.encoded().to_vec();
        let begun = call.begun;
        self.pools.hash.submit(move |admission| {
            if matches!(admission, Admission::Refused) {
                return refuse(remote, id, name, directory.nobody());
            }
            let waits = Waits::pool(begun.elapsed(), Duration::ZERO);
            let done = job.run();
            let wanted = Controls::decode(&wanted).unwrap_or_default();
            let controls = match done.result.is_success() {
                true => directory.bind_controls(&wanted, &done.bound.identity),
                false => Vec::new(),
            };
            remote.finish(move |out| Answer { waits, ..finish(out, id, done, name, &controls) });
        });
        Step::Pending
    }

    fn bind_controls(&self, wanted: &Controls<'_>, result: &LdapResult, identity: &Identity) -> Vec<ControlBuf> {
        if wanted.is_empty() || !result.is_success() {
            return Vec::new();
        }
        self.directory.bind_controls(wanted, identity)
    }
}

fn refuse(remote: Remote, id: i32, name: String, nobody: Bound) {
    let done = BindDone { result: Refusal::BindsWait.into(), bound: nobody, failure: None };
    remote.finish(move |out| finish(out, id, done, name, &[]));
}

fn finish(out: &mut Vec<u8>, id: i32, done: BindDone, name: String, controls: &[ControlBuf]) -> Answer {
    let BindDone { result, bound, failure } = done;
    if result.is_success() && result.message.is_empty() && controls.is_empty() {
        encode::success(out, id, encode::tags::BIND);
    } else {
        encode::bind_response(out, id, &result, None, controls);
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
        response_controls: oids_of(controls),
        ..Answer::default()
    }
}
