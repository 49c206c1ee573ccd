//! Answers that other threads made: parts of them, in the order in which messages may be sent, and their ends.

use ldap::ResultCode;
use runtime::end::{End, EndReason};
use runtime::loop_core::Core;

use crate::client::{Client, Partial};
use crate::ldap_loop::LdapLoop;
use crate::metrics::OperationKind;
use crate::remote::{ChunkEnd, Encode, LdapMail, News};
use crate::stalls::Waits;

impl LdapLoop {
    /// Reads one piece of mail, and what was put off until it came.
    pub(crate) fn read(&mut self, core: &mut Core, client: &mut Client, mail: LdapMail) -> Option<End> {
        // A persistent search must not go on, either. The rest of a message that has begun comes first.
        if client.state.partial.is_none()
            && let Some(revoked) = self.executor.revoked(&client.state.session)
        {
            core.lend_output(client);
            return Some(self.end_revoked(client, revoked));
        }
        if matches!(mail.news, News::HostName) {
            host_name_is_known(client);
            return None;
        }
        if let News::Disconnect { message } = mail.news {
            return Some(self.end_for_administrator(core, client, message));
        }
        let mut waiting = match self.read_one(core, client, mail) {
            Ok(deferred) => deferred,
            Err(end) => return Some(end),
        };
        // The last is taken first, so the order is reversed.
        waiting.reverse();
        while let Some(mail) = waiting.pop() {
            match self.read_one(core, client, mail) {
                Ok(deferred) => waiting.extend(deferred.into_iter().rev()),
                Err(end) => return Some(end),
            }
        }
        None
    }

    /// Part of an answer, or its end; put off while a message of another operation is incomplete. Gives back what may
    /// be read now.
    fn read_one(&mut self, core: &mut Core, client: &mut Client, mail: LdapMail) -> Result<Vec<LdapMail>, End> {
        if let Some(partial) = &mut client.state.partial
            && partial.operation != mail.operation
        {
            partial.deferred.push(mail);
            return Ok(Vec::new());
        }
        match mail.news {
            News::Chunk(bytes, end) => Ok(add_chunk(client, mail.operation, bytes, end)),
            News::Finished(_) if client.state.partial.is_some() => {
                // The rest of the message will never come, and nothing else can follow.
                let message = "an answer could not be completed: see the free space of the folder for temporary files";
                Err(End::new(EndReason::ServerError, message))
            }
            News::HostName | News::Disconnect { .. } => Ok(Vec::new()),
            News::Finished(encode) => {
                self.finished(core, client, mail.operation, encode);
                Ok(Vec::new())
            }
        }
    }

    /// An operation that was given away has ended.
    fn finished(&mut self, core: &mut Core, client: &mut Client, operation: u64, encode: Encode) {
        let state = &mut client.state;
        let Some(at) = state.outstanding.iter().position(|one| one.ids.operation == operation) else { return };
        let outstanding = state.outstanding.swap_remove(at);
        if state.outstanding.is_empty() && state.outstanding.capacity() > 8 {
            state.outstanding = Vec::new();
        }
        if outstanding.kind == OperationKind::Bind {
            state.is_exclusive = false;
        }
        core.lend_output(client);
        let mark = client.output.len();
        let mut answer = encode(&mut client.output);
        if outstanding.is_abandoned && !self.limits.notify_abandoned && outstanding.cancelled_by.is_none() {
            client.output.truncate(mark);
        }
        if answer.code == ResultCode::CANCELED {
            self.metrics.abandoned.add(1);
        }
        let begun = std::mem::replace(&mut core.moment, outstanding.begun);
        let was_cancelled = answer.code == ResultCode::CANCELED;
        if matches!(answer.waits, Waits::Inline) {
            answer.waits = Waits::Elsewhere;
        }
        let request = std::mem::replace(&mut self.request, outstanding.request);
        self.acting_as = outstanding.acting_as;
        self.conclude(core, client, outstanding.kind, outstanding.ids, answer);
        self.request = request;
        self.acting_as = None;
        if let Some(canceller) = outstanding.cancelled_by {
            core.moment = begun;
            self.answer_cancel(core, client, canceller, was_cancelled);
        }
    }
}

/// Rules about the host can be evaluated, so requests are.
fn host_name_is_known(client: &mut Client) {
    client.state.session.forget_rights();
    if client.held_until == client.state.waits_for_host_name.take() {
        client.held_until = None;
    }
}

/// Appends part of an answer to the connection's output, unless nobody wants it any more. Gives back what was put off
/// until now.
fn add_chunk(client: &mut Client, operation: u64, bytes: Vec<u8>, end: ChunkEnd) -> Vec<LdapMail> {
    let found = client.state.outstanding.iter_mut().find(|one| one.ids.operation == operation);
    let Some(outstanding) = found else { return Vec::new() };
    if outstanding.is_abandoned {
        outstanding.backlog.sent(bytes.len());
        return Vec::new();
    }
    outstanding.unacknowledged_bytes += bytes.len();
    client.append_output(bytes);
    let partial = &mut client.state.partial;
    match end {
        ChunkEnd::Within => {
            partial.get_or_insert_with(|| Box::new(Partial { operation, deferred: Vec::new() }));
            Vec::new()
        }
        ChunkEnd::Whole => partial.take().map(|partial| partial.deferred).unwrap_or_default(),
    }
}
