//! What LDAP keeps of one connection: who asks, and which operations are not answered yet.
//!
//! 1. `outstanding` names every operation whose answer is still to come; its size is bounded by the limits.
//! 2. While the output ends within a message (`partial`), only the operation whose it is adds to it, and no request is
//!    executed.
//! 3. While `is_exclusive` (a bind runs), no other message of the connection is executed.
//!
//! Holds state; what happens to it is in `execute`, `conclude` and `mail`.

use std::sync::Arc;
use std::time::Instant;

use directory::Session;
use runtime::backlog::Backlog;
use runtime::connection::Connection;

use crate::log::OperationIds;
use crate::log::event::LoggedRequest;
use crate::metrics::OperationKind;
use crate::remote::LdapMail;

/// A connection that speaks LDAP.
pub(crate) type Client = Connection<ClientState>;

/// An operation that is not answered yet.
#[derive(Debug)]
pub(crate) struct Outstanding {
    pub(crate) kind: OperationKind,
    pub(crate) ids: OperationIds,
    pub(crate) begun: Instant,
    /// The request as the logs know it.
    pub(crate) request: LoggedRequest,
    /// Who it acts as, if that is somebody else than the connection's user.
    pub(crate) acting_as: Option<Box<str>>,
    pub(crate) backlog: Arc<Backlog>,
    /// Whether it can be stopped; an update that the writer has cannot.
    pub(crate) is_abortable: bool,
    /// The client does not want the answer.
    pub(crate) is_abandoned: bool,
    /// A cancel request (RFC 3909) that waits for this operation to end.
    pub(crate) cancelled_by: Option<OperationIds>,
    /// Bytes in the output that the job believes unsent.
    pub(crate) unacknowledged_bytes: usize,
}

/// A message that is sent in parts.
pub(crate) struct Partial {
    /// The operation whose it is.
    pub(crate) operation: u64,
    /// What others have to say after it.
    pub(crate) deferred: Vec<LdapMail>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct ClientState {
    pub(crate) session: Session,
    pub(crate) outstanding: Vec<Outstanding>,
    /// While the output ends within a message.
    pub(crate) partial: Option<Box<Partial>>,
    pub(crate) next_operation: u64,
    /// A bind runs.
    pub(crate) is_exclusive: bool,
    /// Until when the first request waits for the name of the client's host.
    pub(crate) waits_for_host_name: Option<Instant>,
    /// A message waits until nothing is outstanding.
    pub(crate) waits_for_outstanding: bool,
    /// CONNECT was logged.
    pub(crate) is_logged: bool,
    /// Binds that failed in a row.
    pub(crate) bind_failures: u32,
}

impl std::fmt::Debug for Partial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partial").field("operation", &self.operation).field("deferred", &self.deferred.len()).finish()
    }
}

impl ClientState {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            outstanding: Vec::new(),
            partial: None,
            next_operation: 0,
            is_exclusive: false,
            waits_for_host_name: None,
            waits_for_outstanding: false,
            is_logged: false,
            bind_failures: 0,
        }
    }

    /// Whether the next message may be executed now.
    #[inline]
    pub(crate) fn may_execute(&self, outstanding_max: usize) -> bool {
        let is_waiting = self.waits_for_outstanding && !self.outstanding.is_empty();
        let is_full = self.outstanding.len() >= outstanding_max && self.waits_for_updates();
        !(self.is_exclusive || self.partial.is_some() || is_waiting || is_full)
    }

    /// Whether everything outstanding ends soon by itself. Otherwise further requests are refused with `busy`, because
    /// the request to abandon one of them must still be read.
    fn waits_for_updates(&self) -> bool {
        self.outstanding.iter().all(|operation| !operation.is_abortable)
    }

    /// Cancels every job; nobody will read the answers.
    pub(crate) fn cancel_all(&mut self) {
        for operation in &mut self.outstanding {
            operation.is_abandoned = true;
            operation.backlog.cancel();
        }
    }

    /// The operation with a message id, if it is outstanding.
    pub(crate) fn outstanding_by_message(&mut self, message: i32) -> Option<&mut Outstanding> {
        self.outstanding.iter_mut().find(|operation| operation.ids.message == message)
    }
}
