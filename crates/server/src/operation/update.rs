//! Updates: handed to the writer of their backend; the answer comes back when the change is durable.

use std::sync::Arc;

use ber::Tag;
use directory::{LogNote, Submitted, UpdateCallback, UpdateDone, UpdateRequest};
use ldap::{Message, Update, encode};
use runtime::log::text::word_field;
use runtime::pool::Admission;

use super::directory_executor::{DirectoryExecutor, oids_of, on_loss, write_result};
use crate::answer::Answer;
use crate::executor::{Call, Step};
use crate::refusal::Refusal;
use crate::stalls::Waits;

impl DirectoryExecutor {
    pub(super) fn update(&mut self, call: &mut Call<'_>, message: &Message<'_>, update: &Update<'_>) -> Step {
        let Some(tag) = message.operation.response_tag() else { return Step::Done(Answer::default()) };
        let id = message.id;
        let remote = call.remote(false, on_loss(id, tag));
        let done: UpdateCallback = Box::new(move |done| remote.finish(move |out| finish(out, id, tag, done)));
        // The log's reader wants the operation's number; more than four billion on one connection may begin anew.
        let operation = call.ids.operation as u32;
        let asked = UpdateRequest { update, controls: &message.controls, operation, message_id: id };
        match self.directory.submit(call.session, asked, done) {
            Submitted::Queued => {}
            Submitted::Slow(update) => {
                let directory = Arc::clone(&self.directory);
                self.pools.hash.submit(move |admission| match admission {
                    Admission::Running(_) => update.run(&directory),
                    Admission::Refused => update.refuse(Refusal::PasswordsWait.into()),
                });
            }
        }
        Step::Pending
    }
}

fn finish(out: &mut Vec<u8>, id: i32, tag: Tag, done: UpdateDone) -> Answer {
    let waits = Waits::writer(done.phases);
    let (additional, masked) = (for_log(&done.log), done.log.masked);
    if tag != encode::tags::EXTENDED || done.response_value.is_none() {
        return Answer {
            waits,
            additional,
            masked,
            ..write_result(out, id, tag, done.result, &done.response_controls)
        };
    }
    let value = done.response_value.as_deref();
    encode::extended_response(out, id, &done.result, done.response_name, value, &done.response_controls);
    Answer {
        code: done.result.code,
        message: done.result.message,
        response_controls: oids_of(&done.response_controls),
        waits,
        additional,
        masked,
        ..Answer::default()
    }
}

/// Items of the log about a refusal: why the client lacks the right.
fn for_log(note: &LogNote) -> String {
    let mut out = Vec::new();
    if !note.reason.is_empty() {
        word_field(&mut out, "accessReason", note.reason.as_bytes());
    }
    String::from_utf8_lossy(&out).into_owned()
}
