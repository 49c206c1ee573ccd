//! What became of an operation, as far as the connection, the log and the counters care.

use directory::Bound;
use ldap::{LdapResult, ResultCode};

use crate::stalls::Waits;

/// The outcome of one operation. The response itself is bytes in the connection's output.
#[derive(Debug)]
pub(crate) struct Answer {
    /// LDAP result code.
    pub(crate) code: ResultCode,
    /// Diagnostic message sent to the client.
    pub(crate) message: String,
    /// Why a bind failed, for the log only.
    pub(crate) auth_failure: Option<String>,
    /// Whom a bind was about, as the log names it.
    pub(crate) auth_dn: Option<String>,
    /// What the connection is from now on; binds only.
    pub(crate) bound: Option<Box<Bound>>,
    /// Entries returned; searches only.
    pub(crate) entries: Option<u64>,
    /// References returned.
    pub(crate) references: u64,
    /// No index could answer the search.
    pub(crate) is_unindexed: bool,
    /// A search that told changes as they came: how long it took says nothing about the server.
    pub(crate) is_persistent: bool,
    /// What the client would have been told of an entry that it may see.
    pub(crate) masked: Option<Box<LdapResult>>,
    /// Further items for the log, each with a leading blank.
    pub(crate) additional: String,
    /// What it waited for.
    pub(crate) waits: Waits,
    /// OIDs of response controls, separated by commas, if the log wants them.
    pub(crate) response_controls: String,
}

impl Answer {
    /// A plain result.
    pub(crate) fn of(code: ResultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), ..Self::default() }
    }
}

impl From<LdapResult> for Answer {
    fn from(result: LdapResult) -> Self {
        Self::of(result.code, result.message)
    }
}

impl Default for Answer {
    /// Success, and nothing more to say.
    fn default() -> Self {
        Self {
            code: ResultCode::SUCCESS,
            message: String::new(),
            auth_failure: None,
            auth_dn: None,
            bound: None,
            entries: None,
            references: 0,
            is_unindexed: false,
            is_persistent: false,
            masked: None,
            additional: String::new(),
            waits: Waits::default(),
            response_controls: String::new(),
        }
    }
}
