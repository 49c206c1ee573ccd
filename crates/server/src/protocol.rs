//! LDAP as the event loops see it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use config::LogRecordType;
use directory::{LOCAL_STRENGTH_BITS, LocalPeer, TlsChannel};
use ldap::{ResultCode, encode};
use runtime::connection::{Connection, Peer};
use runtime::end::{End, EndReason};
use runtime::listener::Audience;
use runtime::loop_core::Core;
use runtime::protocol::{Next, Protocol};
use runtime::sys::PeerCredentials;
use runtime::tls_facts::TlsFacts;
use sasl::scram::ChannelBindings;

use crate::activity;
use crate::client::{Client, ClientState};
use crate::ldap_loop::{LdapLoop, origin_of};
use crate::limits::HOST_NAME_TIME_MAX;
use crate::log::criteria::Asked;
use crate::remote::{LdapMail, News};

impl LdapLoop {
    /// Has the first request wait for the name of the client's host, if access rules ask for it: undecided, they would
    /// refuse what they allow.
    fn look_up_host_name(&self, client: &mut Client) {
        let (mailbox, address) = (Arc::clone(&self.mailbox), client.address());
        let told = move || mailbox.send(address, LdapMail { operation: 0, news: News::HostName });
        if self.executor.look_up_host_name(&client.state.session, Box::new(told)) {
            let until = Instant::now() + HOST_NAME_TIME_MAX;
            client.held_until = Some(until);
            client.state.waits_for_host_name = Some(until);
        }
    }
}

impl Protocol for LdapLoop {
    type State = ClientState;
    type Mail = LdapMail;

    fn begin_turn(&mut self, now: SystemTime) {
        if self.log.begin_turn(now) {
            self.wants_control_oids = self.log.wants_control_oids();
        }
    }

    fn admits(&self, listener: usize, address: IpAddr) -> bool {
        let Some(settings) = self.listeners.get(listener) else { return true };
        self.connection_rules.admits(&settings.handler, address)
    }

    fn connect(&mut self, id: u64, peer: Peer, audience: Audience, now: Instant) -> ClientState {
        let mut session = self.executor.session(id, audience, now);
        if let Peer::Local(credentials) = peer {
            let PeerCredentials { uid, gid, .. } = credentials;
            let is_trusted = credentials.is_own_user_or_root();
            session.local_peer = Some(LocalPeer { uid, gid, is_trusted });
            session.security_strength_bits = LOCAL_STRENGTH_BITS;
        }
        ClientState::new(session)
    }

    fn open(&mut self, client: &mut Client) {
        self.connections.opened(client.id(), client.address(), &self.mailbox);
        if let Peer::Tcp { remote, .. } = client.peer() {
            client.state.session.address = Some(remote.ip().to_canonical());
            self.look_up_host_name(client);
        }
        if client.state.is_logged || !self.log.is_enabled() {
            return;
        }
        client.state.is_logged = true;
        let origin = origin_of(&self.listeners, client);
        let (record, groups) = (LogRecordType::Connect, self.executor.as_ref());
        self.log.connect(&Asked { record, origin: &origin, user: None, target: None, groups });
    }

    fn secure(&mut self, state: &mut ClientState, facts: TlsFacts) {
        let TlsFacts { strength_bits, end_point, exporter, client_certificate } = facts;
        let bindings = ChannelBindings { tls_server_end_point: Some(end_point), tls_exporter: exporter };
        state.session.set_tls(strength_bits, TlsChannel { bindings, client_certificate });
    }

    fn take(&mut self, core: &mut Core, client: &mut Client, bytes: &[u8], budget: &mut usize) -> (usize, Next) {
        self.execute_all(core, client, bytes, budget)
    }

    #[inline]
    fn may_take(&self, state: &ClientState) -> bool {
        state.may_execute(self.limits.outstanding_max)
    }

    fn drained(&mut self, state: &mut ClientState) {
        for operation in &mut state.outstanding {
            if operation.unacknowledged_bytes > 0 {
                operation.backlog.sent(std::mem::take(&mut operation.unacknowledged_bytes));
            }
        }
    }

    fn mail(&mut self, core: &mut Core, client: &mut Client, mail: LdapMail) -> Option<End> {
        self.read(core, client, mail)
    }

    fn is_busy(&self, state: &ClientState) -> bool {
        !state.outstanding.is_empty()
    }

    fn idle_limit(&self, state: &ClientState) -> Option<Duration> {
        state.session.idle_limit()
    }

    fn is_watched(&self, state: &ClientState) -> bool {
        state.session.standing.is_watched()
    }

    fn over(&self, state: &ClientState) -> Option<End> {
        let revoked = self.executor.revoked(&state.session)?;
        Some(End::new(EndReason::InvalidCredentials, revoked.to_string()))
    }

    fn describe(&self, client: &Client, now: Instant) -> String {
        activity::describe(client, now)
    }

    fn last_words(&self, state: &ClientState, out: &mut Vec<u8>, reason: EndReason, text: &str) {
        let code = match reason {
            EndReason::IdleTimeLimit => ResultCode::ADMIN_LIMIT_EXCEEDED,
            EndReason::Rejected => ResultCode::BUSY,
            EndReason::InvalidCredentials => ResultCode::INVALID_CREDENTIALS,
            _ => ResultCode::UNAVAILABLE,
        };
        if state.partial.is_none() {
            encode::notice_of_disconnection(out, code, text);
        }
    }

    fn close(&mut self, client: &mut Connection<ClientState>, end: &End) {
        client.state.cancel_all();
        self.connections.closed(client.id());
        if !self.log.is_enabled() {
            return;
        }
        let origin = origin_of(&self.listeners, client);
        let (record, groups) = (LogRecordType::Disconnect, self.executor.as_ref());
        let user = Some(&client.state.session.identity);
        let asked = Asked { record, origin: &origin, user, target: None, groups };
        self.log.disconnect(&asked, end.reason, &end.message);
    }
}
