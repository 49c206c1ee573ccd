//! What LDAP keeps for all connections of one event loop: executor, limits, logs, counters.
//!
//! Holds state; `execute`, `connection_requests`, `conclude` and `mail` work on it, and `protocol` shows it to the
//! loop.

use std::sync::Arc;

use directory::Revoked;
use ldap::{ResultCode, encode};
use runtime::connection::Peer;
use runtime::end::{End, EndReason};
use runtime::listener::ListenAt;
use runtime::log::error::ErrorLog;
use runtime::loop_core::Core;
use runtime::loops::LoopParts;
use runtime::mailbox::Mailbox;

use crate::client::Client;
use crate::connection_rules::ConnectionRules;
use crate::connections::Connections;
use crate::executor::Executor;
use crate::limits::Limits;
use crate::listener::LdapListener;
use crate::log::AccessLog;
use crate::log::criteria::{Asked, record_of};
use crate::log::event::{EndPoint, LoggedRequest, Origin};
use crate::metrics::{LdapMetrics, OperationKind};
use crate::refusal::Refusal;
use crate::remote::LdapMail;
use crate::stalls::Stalls;

/// Where clients come in.
pub(crate) struct Listening {
    pub(crate) listeners: Arc<[LdapListener]>,
    pub(crate) rules: Arc<ConnectionRules>,
    pub(crate) connections: Arc<Connections>,
}

/// See the module.
pub(crate) struct LdapLoop {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) limits: Limits,
    pub(crate) listeners: Arc<[LdapListener]>,
    pub(crate) connection_rules: Arc<ConnectionRules>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) log: AccessLog,
    pub(crate) errors: ErrorLog,
    pub(crate) metrics: Arc<LdapMetrics>,
    pub(crate) stalls: Arc<Stalls>,
    pub(crate) mailbox: Arc<Mailbox<LdapMail>>,
    /// The request as the logs know it.
    pub(crate) request: LoggedRequest,
    /// Who the request acts as, if that is somebody else than the connection's user.
    pub(crate) acting_as: Option<Box<str>>,
    pub(crate) wants_control_oids: bool,
}

impl LdapLoop {
    pub(crate) fn new(
        executor: Box<dyn Executor>,
        limits: Limits,
        listening: Listening,
        log: AccessLog,
        stalls: Arc<Stalls>,
        parts: LoopParts<LdapMail>,
    ) -> Self {
        let wants_control_oids = log.wants_control_oids();
        Self {
            executor,
            limits,
            listeners: listening.listeners,
            connection_rules: listening.rules,
            connections: listening.connections,
            log,
            errors: stalls.errors().clone(),
            metrics: Arc::new(LdapMetrics::new(parts.metrics)),
            stalls,
            mailbox: parts.mailbox,
            request: LoggedRequest::default(),
            acting_as: None,
            wants_control_oids,
        }
    }

    /// Has the logs judge a request that is about `target`. Returns whether any of them may have it.
    pub(crate) fn judge(&mut self, client: &Client, kind: OperationKind, target: Option<&[u8]>) -> bool {
        let origin = origin_of(&self.listeners, client);
        let user = Some(&client.state.session.identity);
        let asked = Asked { record: record_of(kind), origin: &origin, user, target, groups: self.executor.as_ref() };
        self.log.judge(&asked, &mut self.request.matched)
    }

    /// Has the logs judge a bind that was answered.
    pub(crate) fn judge_bind_again(&mut self, client: &Client) {
        let origin = origin_of(&self.listeners, client);
        let user = Some(&client.state.session.identity);
        let request = &mut self.request;
        let target = request.fields.target();
        let (record, groups) = (record_of(OperationKind::Bind), self.executor.as_ref());
        let asked = Asked { record, origin: &origin, user, target, groups };
        self.log.judge_bind_again(&asked, &mut request.matched);
    }

    /// The same as [`LdapLoop::notice`].
    pub(crate) fn notice_refusal(&self, client: &mut Client, refusal: Refusal) -> End {
        self.notice(client, refusal.code(), &refusal.to_string())
    }

    /// Ends the connection of a client that is bound as somebody who is gone, was taken out of use, or has another
    /// password.
    #[inline]
    pub(crate) fn end_if_revoked(&self, client: &mut Client) -> Option<End> {
        let revoked = self.executor.revoked(&client.state.session)?;
        Some(self.end_revoked(client, revoked))
    }

    #[cold]
    pub(crate) fn end_revoked(&self, client: &mut Client, revoked: Revoked) -> End {
        let text = revoked.to_string();
        encode::notice_of_disconnection(&mut client.output, ResultCode::INVALID_CREDENTIALS, &text);
        End::new(EndReason::InvalidCredentials, text)
    }

    /// Ends a connection because an administrator wants it; the client is told, unless a message has begun.
    #[cold]
    pub(crate) fn end_for_administrator(&self, core: &mut Core, client: &mut Client, message: Option<String>) -> End {
        if let Some(text) = message.as_ref().filter(|_| client.state.partial.is_none()) {
            core.lend_output(client);
            encode::notice_of_disconnection(&mut client.output, ResultCode::UNAVAILABLE, text);
        }
        End::new(EndReason::Administrator, message.unwrap_or_default())
    }

    /// Tells the client that and why the connection ends.
    pub(crate) fn notice(&self, client: &mut Client, code: ResultCode, text: &str) -> End {
        if code == ResultCode::PROTOCOL_ERROR {
            self.metrics.network.protocol_errors.add(1);
        }
        encode::notice_of_disconnection(&mut client.output, code, text);
        End::new(EndReason::ProtocolError, text)
    }
}

/// A connection as the logs name it.
pub(crate) fn origin_of<'l>(listeners: &'l [LdapListener], client: &Client) -> Origin<'l> {
    let listener = listeners.get(client.listener());
    let to = match listener.map(|listener| &listener.network.at) {
        Some(ListenAt::Path(path)) => EndPoint::Path(path),
        Some(ListenAt::Tcp(at)) => EndPoint::Address(*at),
        None => EndPoint::Internal,
    };
    let (from, to) = match client.peer() {
        Peer::Tcp { remote, local } => (EndPoint::Address(remote), EndPoint::Address(local)),
        Peer::Local(peer) => (EndPoint::Process { uid: peer.uid, pid: peer.pid }, to),
    };
    Origin { connection: client.id(), from, to, protocol: listener.map_or("LDAP", LdapListener::protocol) }
}
