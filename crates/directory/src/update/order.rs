//! An update as a client asked for it, and what it becomes before it is handed to a writer.
//!
//! Knows the request and its session; not how either is judged.

use ldap::{Controls, Update};
use zeroize::Zeroizing;

use super::decided::Decided;
use super::rights::Told;
use crate::bind::Wait;
use crate::own::{ConfigurationChange, SchemaModification, TaskUpdate};
use crate::session::Session;

/// An update as a client asks for it.
#[derive(Clone, Copy, Debug)]
pub struct UpdateRequest<'o, 'm> {
    /// What is asked for.
    pub update: &'o Update<'m>,
    /// How it is asked for.
    pub controls: &'o Controls<'m>,
    /// Number of the operation on its connection.
    pub operation: u32,
    /// Tells the updates of a transaction apart: in LDAP the message id.
    pub message_id: i32,
}

/// Who asks for an update, and how.
pub(super) struct Order<'o, 'm> {
    pub(super) session: &'o Session,
    pub(super) controls: &'o Controls<'m>,
    pub(super) operation: u32,
    pub(super) message_id: i32,
    /// Whether this is a pool's thread.
    pub(super) may_be_slow: bool,
}

/// What a request became.
pub(super) enum Ready<'m> {
    Proposal(Box<Decided<'m>>),
    Schema(SchemaModification),
    Task(Box<TaskUpdate>),
    Configuration(Box<ConfigurationChange>),
    /// It takes a pool's thread.
    Slow(KeptUpdate),
    /// It is refused for a wrong password: the answer waits.
    WrongPassword {
        told: Box<Told>,
        wait: Box<Wait>,
    },
}

/// An update that outlives the message that it came in.
pub(super) enum KeptUpdate {
    /// As [`EntryUpdate::encoded`](ldap::EntryUpdate::encoded) gave it.
    Entry(Zeroizing<Vec<u8>>),
    /// As [`PasswordModify::encode`](ldap::extended::PasswordModify::encode) wrote it.
    PasswordModify(Zeroizing<Vec<u8>>),
}
