//! Which operation a request is.

use std::time::Instant;

use directory::Session;
use ldap::{Message, Request, encode};
use runtime::listener::Audience;

use super::directory_executor::{DirectoryExecutor, conclude, time_of};
use crate::{
    answer::Answer,
    executor::{Call, Executor, Step},
};

impl Executor for DirectoryExecutor {
    fn session(&self, connection: u64, audience: Audience, now: Instant) -> Session {
        match audience {
            Audience::Clients => self.directory.session(connection, now),
            Audience::LocalAdministrator => self.directory.administrator_session(connection, now),
        }
    }

    fn execute(&mut self, call: &mut Call<'_>, message: &Message<'_>) -> Step {
        match &message.op {
            Request::Search(request) => self.search(call, message, request),
            Request::Bind(request) => self.bind(call, message, request),
            Request::Compare(request) => {
                let time = time_of(call);
                let result = self.directory.compare(call.session, request, &message.controls, time);
                Step::Done(conclude(call.out, message.id, encode::tags::COMPARE, result, &[]))
            }
            Request::Extended(request) => self.extended(call, message, request),
            Request::Add(_) | Request::Modify(_) | Request::Delete(_) | Request::ModifyDn(_) => {
                self.update(call, message)
            }
            // Answered by the connection itself.
            Request::Unbind | Request::Abandon(_) => Step::Done(Answer::default()),
        }
    }
}
