//! The seam between connections and the directory: "execute this message".
//!
//! Connections do framing, limits, order, logging; an `Executor` decides and answers. The real one is in `operation`;
//! the tests of the loop use a small one of their own.

use std::sync::Arc;
use std::time::Instant;

use directory::{Admitted, Bound, RequestTime, Revoked, Session};
use ldap::{ControlBuf, LdapResult, Message};
use runtime::backlog::Backlog;
use runtime::listener::Audience;
use runtime::mailbox::Mailbox;

use crate::answer::Answer;
use crate::log::OperationIds;
use crate::log::criteria::Groups;
use crate::remote::{Encode, LdapMail, OperationAddress, Remote};

/// Executes messages; each loop has its own.
pub(crate) trait Executor: Groups + Send + 'static {
    /// The session of a connection that has just come, at `now`, through a door for that audience.
    fn session(&self, connection: u64, audience: Audience, now: Instant) -> Session;

    /// What a failed bind leaves of a session.
    fn nobody(&self) -> Bound;

    /// Begins to look the name of the client's host up, if some access rule asks for it; `told` is called when it is
    /// known. Returns whether that is so.
    fn look_up_host_name(&self, session: &Session, told: Box<dyn FnOnce() + Send>) -> bool;

    /// Why the session of a connection ends, if it does: what it is bound as is gone, or may not be used any more.
    fn revoked(&self, session: &Session) -> Option<Revoked>;

    /// Whether a session may use a server that is locked down.
    fn bypasses_lockdown(&self, _session: &Session, _unix_seconds: i64) -> bool {
        false
    }

    /// Refuses what may not be requested by who must change the password first.
    ///
    /// # Errors
    /// The result, and a control, to send.
    fn check_must_change(
        &self,
        session: &Session,
        message: &Message<'_>,
    ) -> Result<(), Box<(LdapResult, Option<ControlBuf>)>>;

    /// Decides about the controls and the OID of a request for which [`directory::needs_admission`] says so.
    ///
    /// # Errors
    /// The result to send.
    fn admit(&self, session: &Session, message: &Message<'_>, time: RequestTime) -> Result<Admitted, LdapResult>;

    /// Executes one request other than unbind, abandon and what concerns the connection itself. Called on the loop that
    /// read it: what may take long must be given away with [`Call::remote`].
    fn execute(&mut self, call: &mut Call<'_>, message: &Message<'_>) -> Step;
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Step {
    /// The response is in `Call::out`.
    Done(Answer),
    /// The response comes through the [`Remote`] that was taken.
    Pending,
}

/// One request and where its answer goes.
pub(crate) struct Call<'a> {
    /// Who asks.
    pub(crate) session: &'a Session,
    pub(crate) ids: OperationIds,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) begun: Instant,
    /// The same moment on the calendar.
    pub(crate) unix_seconds: i64,
    mailbox: &'a Arc<Mailbox<LdapMail>>,
    address: OperationAddress,
    taken: Option<Taken>,
}

/// What the connection must remember of an operation that was given away.
pub(crate) struct Taken {
    pub(crate) backlog: Arc<Backlog>,
    pub(crate) is_abortable: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        session: &'a Session,
        ids: OperationIds,
        out: &'a mut Vec<u8>,
        begun: Instant,
        unix_seconds: i64,
        mailbox: &'a Arc<Mailbox<LdapMail>>,
        address: OperationAddress,
    ) -> Self {
        Self { session, ids, out, begun, unix_seconds, mailbox, address, taken: None }
    }

    /// Takes the operation away from the loop. `on_loss` words the answer in case the job is lost; return
    /// [`Step::Pending`] afterwards.
    pub(crate) fn remote(&mut self, is_abortable: bool, on_loss: Encode) -> Remote {
        let backlog = Arc::new(Backlog::default());
        self.taken = Some(Taken { backlog: Arc::clone(&backlog), is_abortable });
        Remote::new(Arc::clone(self.mailbox), self.address, backlog, on_loss)
    }

    pub(crate) fn taken(&mut self) -> Option<Taken> {
        self.taken.take()
    }
}
