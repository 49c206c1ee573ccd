//! What follows an answer: identity, counters, the access log.

use std::time::{Duration, Instant};

use ldap::{Message, Request, ResultCode, oids::control};

use crate::{
    answer::Answer,
    connection::Connection,
    engine::Engine,
    limits::BIND_FAILURES_FREE,
    log::{OperationIds, ResultFields, request},
    mailbox::Encode,
    metrics::OperationKind,
    stalls::Waits,
};

impl Engine {
    /// An operation that was given away has ended.
    pub(crate) fn finished(&mut self, connection: &mut Connection, operation: u64, encode: Encode) {
        let Some(at) = connection.outstanding.iter().position(|one| one.ids.operation == operation) else { return };
        let outstanding = connection.outstanding.swap_remove(at);
        if connection.outstanding.is_empty() && connection.outstanding.capacity() > 8 {
            connection.outstanding = Vec::new();
        }
        if outstanding.kind == OperationKind::Bind {
            connection.is_exclusive = false;
        }
        self.lend_output(connection);
        let mark = connection.output.len();
        let mut answer = encode(&mut connection.output);
        if outstanding.is_abandoned && !self.limits.notify_abandoned && outstanding.cancelled_by.is_none() {
            connection.output.truncate(mark);
        }
        if answer.code == ResultCode::CANCELED {
            self.metrics.abandoned.add(1);
        }
        let begun = std::mem::replace(&mut self.moment, outstanding.begun);
        let was_cancelled = answer.code == ResultCode::CANCELED;
        if matches!(answer.waits, Waits::Inline) {
            answer.waits = Waits::Elsewhere;
        }
        let fields = std::mem::replace(&mut self.fields, outstanding.fields.into_vec());
        let controls = std::mem::replace(&mut self.controls, outstanding.request_controls.into_string());
        self.conclude(connection, outstanding.kind, outstanding.ids, answer);
        self.fields = fields;
        self.controls = controls;
        if let Some(canceller) = outstanding.cancelled_by {
            self.moment = begun;
            self.answer_cancel(connection, canceller, was_cancelled);
        }
    }

    /// Makes the log name an extended operation whose request is gone.
    pub(crate) fn set_extended_fields(&mut self, oid: &str) {
        self.fields.clear();
        request::extended_fields(&mut self.fields, oid.as_bytes());
        self.controls.clear();
    }

    /// Counts and logs an answered operation, and takes over a new identity.
    pub(crate) fn conclude(
        &mut self,
        connection: &mut Connection,
        kind: OperationKind,
        ids: OperationIds,
        mut answer: Answer,
    ) {
        let now = Instant::now();
        let elapsed = now.duration_since(self.moment);
        self.moment = now;
        if let Some(bound) = answer.bound.take() {
            connection.session.take(*bound, now);
        }
        // A search may have found out that the session's limits are others now.
        self.has_deadlines |= connection.session.idle_limit().is_some();
        if kind == OperationKind::Bind {
            self.note_bind(connection, answer.code);
        }
        self.count(kind, &answer, elapsed);
        if !answer.is_persistent && self.stalls.is_long(elapsed) {
            self.stalls.look(kind, ids, elapsed, &answer.waits);
        }
        if !self.log.is_enabled() {
            return;
        }
        let result = ResultFields {
            code: answer.code.as_i32(),
            message: &answer.message,
            auth_failure: answer.auth_failure.as_deref(),
            auth_dn: answer.auth_dn.as_deref(),
            entries: answer.entries,
            is_unindexed: answer.is_unindexed,
            additional: answer.additional.as_bytes(),
            phases: if let Waits::Writer(phases) = &answer.waits { Some(phases) } else { None },
            elapsed,
            response_controls: &answer.response_controls,
        };
        self.log.response(kind, ids, &self.fields, &self.controls, &result);
    }

    /// Guessing passwords over one connection becomes slow.
    fn note_bind(&mut self, connection: &mut Connection, code: ResultCode) {
        connection.bind_failures =
            if code == ResultCode::INVALID_CREDENTIALS { connection.bind_failures.saturating_add(1) } else { 0 };
        if connection.bind_failures > BIND_FAILURES_FREE {
            connection.held_until = Some(self.moment + self.limits.bind_failure_delay);
            self.has_deadlines = true;
        }
    }

    fn count(&self, kind: OperationKind, answer: &Answer, elapsed: Duration) {
        if answer.is_persistent {
            self.metrics.of(kind).responses.add(1);
        } else {
            self.metrics.record(kind, elapsed);
        }
        if kind == OperationKind::Search {
            self.metrics.entries_returned.add(answer.entries.unwrap_or(0));
            self.metrics.references_returned.add(answer.references);
            self.metrics.searches_unindexed.add(u64::from(answer.is_unindexed));
            let limited = match answer.code {
                ResultCode::SIZE_LIMIT_EXCEEDED => Some(&self.metrics.searches_over_size),
                ResultCode::TIME_LIMIT_EXCEEDED => Some(&self.metrics.searches_over_time),
                ResultCode::ADMIN_LIMIT_EXCEEDED => Some(&self.metrics.searches_over_lookthrough),
                _ => None,
            };
            if let Some(counter) = limited {
                counter.add(1);
            }
        }
        if kind == OperationKind::Bind && answer.code == ResultCode::INVALID_CREDENTIALS {
            self.metrics.binds_failed.add(1);
        }
        if answer.code == ResultCode::BUSY {
            self.metrics.busy.add(1);
        }
    }

    pub(crate) fn log_request(&mut self, kind: OperationKind, ids: OperationIds, message: &Message<'_>) {
        if let Request::Search(search) = &message.op {
            request::count_scope(&self.metrics, search);
        }
        if !self.log.is_enabled() {
            return;
        }
        let is_persistent =
            kind == OperationKind::Search && message.controls.find(control::PERSISTENT_SEARCH).is_some();
        self.fields.clear();
        request::write_fields(&mut self.fields, &message.op);
        if is_persistent {
            // As 389 Directory Server marks them.
            self.fields.extend_from_slice(b" options=persistent");
        }
        self.controls.clear();
        if self.wants_control_oids {
            request::write_control_oids(&mut self.controls, message.controls);
        }
        self.log.request(kind, ids, &self.fields, &self.controls, is_persistent);
    }
}
