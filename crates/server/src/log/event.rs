//! What an access log is told: connections, requests, answers. Knows no form of a line.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use runtime::end::EndReason;

use super::fields::Fields;
use super::matched::Matched;

/// Why a connection ended, in OpenDJ's words: the text of the `reason` field.
pub fn reason_text(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Goodbye => "Client Unbind",
        EndReason::ClientDisconnect => "Client Disconnect",
        EndReason::Rejected => "Client Connection Rejected",
        EndReason::IoError => "I/O Error",
        EndReason::ProtocolError => "Protocol Error",
        EndReason::InvalidCredentials => "Invalid Credentials",
        EndReason::Administrator => "Administrative Termination",
        EndReason::ServerShutdown => "Server Shutdown",
        EndReason::SecurityProblem => "Security Problem",
        EndReason::MaxRequestSize => "Maximum Request Size Exceeded",
        EndReason::IdleTimeLimit => "Idle Time Limit Exceeded",
        EndReason::IoTimeout => "I/O Timeout",
        EndReason::ServerError => "Server Error",
    }
}

/// One end of a connection as it is printed.
#[derive(Debug, Clone, Copy)]
pub enum EndPoint<'a> {
    /// TCP.
    Address(SocketAddr),
    /// A local process (ldapi), by its credentials.
    Process {
        /// User of the process.
        uid: u32,
        /// Process id.
        pid: i32,
    },
    /// The path of a unix socket.
    Path(&'a Path),
    /// The server itself.
    Internal,
}

/// A connection.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Its number, unique in the life of the server.
    pub connection: u64,
    /// The client.
    pub from: EndPoint<'a>,
    /// The server.
    pub to: EndPoint<'a>,
    /// `LDAP`, `LDAPS`, `LDAPI`.
    pub protocol: &'static str,
}

/// Which operation a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationIds {
    /// Connection number, unique in the life of the server.
    pub connection: u64,
    /// Number of the request on its connection, from 0.
    pub operation: u64,
    /// The client's message id.
    pub message: i32,
}

/// What is kept of a request until it is answered.
#[derive(Debug, Clone, Default)]
pub struct LoggedRequest {
    /// What it says.
    pub fields: Fields,
    /// OIDs of its controls, separated by commas.
    pub controls: String,
    /// The criteria that it matches, as far as the request tells.
    pub matched: Matched,
}

impl LoggedRequest {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.fields.clear();
        self.controls.clear();
        self.matched = Matched::default();
    }
}

/// What the response part of a line says.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultFields<'a> {
    /// LDAP result code.
    pub code: i32,
    /// Diagnostic message, if any.
    pub message: &'a str,
    /// Why a bind failed; not sent to the client.
    pub auth_failure: Option<&'a str>,
    /// Who a bind authenticated, or tried to.
    pub auth_dn: Option<&'a str>,
    /// Who the connection is bound as.
    pub user: &'a str,
    /// Entries returned; searches only.
    pub entries: Option<u64>,
    /// The search had to look at entries one by one.
    pub is_unindexed: bool,
    /// Further items, already formatted, each with a leading blank.
    pub additional: &'a [u8],
    /// What the client would have been told of an entry that it may see: result code and message.
    pub masked: Option<(i32, &'a str)>,
    /// Who the operation acted as (proxied authorization), if that is not the connection's user.
    pub acting_as: Option<&'a str>,
    /// Where the time of an update went: `queue` (waiting for other updates), `apply`, `sync`, in the unit of `etime`.
    pub phases: Option<&'a store::Phases>,
    /// Time from the end of decoding to the response.
    pub elapsed: Duration,
    /// OIDs of response controls, separated by commas.
    pub response_controls: &'a str,
}
