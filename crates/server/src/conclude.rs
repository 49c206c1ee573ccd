//! What follows an answer: identity, counters, the access log.

use std::time::{Duration, Instant};

use ldap::oids::control;
use ldap::{Message, Operation, ResultCode};
use runtime::loop_core::Core;

use crate::answer::Answer;
use crate::client::Client;
use crate::ldap_loop::{LdapLoop, origin_of};
use crate::limits::BIND_FAILURES_FREE;
use crate::log::fields::Field;
use crate::log::{OperationIds, ResultFields, request};
use crate::metrics::OperationKind;
use crate::stalls::Waits;

impl LdapLoop {
    /// Makes the log name an extended operation whose request is gone.
    pub(crate) fn set_extended_fields(&mut self, oid: &str) {
        self.request.clear();
        request::capture_extended(&mut self.request.fields, oid.as_bytes());
    }

    /// Counts and logs an answered operation, and takes over a new identity.
    pub(crate) fn conclude(
        &mut self,
        core: &mut Core,
        client: &mut Client,
        kind: OperationKind,
        ids: OperationIds,
        mut answer: Answer,
    ) {
        let now = Instant::now();
        let elapsed = now.duration_since(core.moment);
        core.moment = now;
        if let Some(bound) = answer.bound.take() {
            client.state.session.take(*bound, now);
        }
        // A search may have found out that the session's limits are others now.
        let session = &client.state.session;
        core.has_deadlines |= session.idle_limit().is_some() || session.standing.is_watched();
        if kind == OperationKind::Bind {
            self.note_bind(core, client, answer.code);
        }
        self.count(kind, &answer, core.minute, elapsed);
        if !answer.is_persistent && self.stalls.is_long(elapsed) {
            self.stalls.look(kind, ids, elapsed, &answer.waits);
        }
        if !self.log.is_enabled() {
            return;
        }
        if !self.log.has_judged(&self.request) {
            // Of another kind than it began as, or other logs are configured since.
            let target = self.request.fields.target().map(<[u8]>::to_vec);
            self.judge(client, kind, target.as_deref());
        }
        if kind == OperationKind::Bind && self.log.has_criteria() {
            self.judge_bind_again(client);
        }
        let result = ResultFields {
            code: answer.code.as_i32(),
            message: &answer.message,
            auth_failure: answer.auth_failure.as_deref(),
            auth_dn: answer.auth_dn.as_deref(),
            user: client.state.session.identity.dn(),
            entries: answer.entries,
            is_unindexed: answer.is_unindexed,
            additional: answer.additional.as_bytes(),
            masked: answer.masked.as_ref().map(|masked| (masked.code.as_i32(), masked.message.as_str())),
            acting_as: self.acting_as.as_deref(),
            phases: if let Waits::Writer(phases) = &answer.waits { Some(phases) } else { None },
            elapsed,
            response_controls: &answer.response_controls,
        };
        let origin = origin_of(&self.listeners, client);
        self.log.response(kind, ids, &origin, &self.request, &result);
    }

    /// Guessing passwords over one connection becomes slow.
    fn note_bind(&self, core: &mut Core, client: &mut Client, code: ResultCode) {
        let failures = &mut client.state.bind_failures;
        *failures = match code {
            ResultCode::INVALID_CREDENTIALS => failures.saturating_add(1),
            // Not decided yet.
            ResultCode::SASL_BIND_IN_PROGRESS => *failures,
            _ => 0,
        };
        if *failures > BIND_FAILURES_FREE {
            core.hold(client, self.limits.bind_failure_delay);
        }
    }

    fn count(&self, kind: OperationKind, answer: &Answer, minute: u64, elapsed: Duration) {
        if answer.is_persistent {
            self.metrics.of(kind).responses.add(1);
        } else {
            self.metrics.record(kind, minute, elapsed);
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

    pub(crate) fn log_request(
        &mut self,
        client: &Client,
        kind: OperationKind,
        ids: OperationIds,
        message: &Message<'_>,
    ) {
        if let Operation::Search(search) = &message.operation {
            request::count_scope(&self.metrics, search);
        }
        self.request.clear();
        if !self.log.is_enabled() || !self.judge(client, kind, request::target(&message.operation)) {
            return;
        }
        let is_persistent = self.keep_request(kind, message);
        let origin = origin_of(&self.listeners, client);
        self.log.request(kind, ids, &origin, &self.request, is_persistent);
    }

    /// Keeps a request for the logs. Returns whether it is a persistent search.
    pub(crate) fn keep_request(&mut self, kind: OperationKind, message: &Message<'_>) -> bool {
        let request = &mut self.request;
        let is_persistent =
            kind == OperationKind::Search && message.controls.find(control::PERSISTENT_SEARCH).is_some();
        request::capture(&mut request.fields, &message.operation);
        if is_persistent {
            // As 389 Directory Server marks them.
            request.fields.push(Field::Options, b"persistent");
        }
        request.controls.clear();
        request::write_control_oids(&mut request.controls, message.controls);
        is_persistent
    }
}
