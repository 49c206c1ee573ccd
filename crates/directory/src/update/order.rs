//! An update as a client asked for it, and what it becomes before it is handed to a writer.
//!
//! Knows the request and its session; not how either is judged, but that an anonymous client changes nothing.

use ldap::{Controls, LdapResult, Request, ResultCode};

use super::decided::Decided;
use crate::own::SchemaModification;
use crate::session::Session;
use access::Identity;
use query::error::refuse;

/// A request on its way.
pub(crate) struct Order<'o, 'm> {
    pub(crate) session: &'o Session,
    pub(crate) message_id: i32,
    /// Number of the operation on its connection.
    pub(crate) operation: u32,
    pub(crate) request: &'o Request<'m>,
    /// The same as it came.
    pub(crate) op_bytes: &'m [u8],
    pub(crate) controls: &'o Controls<'m>,
    /// Whether this is a pool's thread.
    pub(crate) may_be_slow: bool,
}

/// What a request became.
pub(crate) enum Ready<'m> {
    Proposal(Box<Decided<'m>>),
    Schema(SchemaModification),
    Slow,
}

/// Anonymous clients change nothing: said before anything is looked up, so that the answer tells nothing.
pub(crate) fn check_authenticated(identity: &Identity) -> Result<(), LdapResult> {
    if identity.is_anonymous() {
        let message = "Anonymous clients cannot change anything: authenticate with a bind request";
        return Err(refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, message));
    }
    Ok(())
}
