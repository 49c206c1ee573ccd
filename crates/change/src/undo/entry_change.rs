//! What happened to an entry, as undoing sees it.
//!
//! Knows values and whose they are to write; not when, by whom, or why.

use crate::history::{Change, ChangeKind, Edit};
use query::facts::Facts;

/// What happened to an entry. Attributes that the server writes are among the edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// What became of it.
    pub kind: ChangeKind,
    /// Its name before.
    pub dn: String,
    /// Its name afterwards.
    pub new_dn: String,
    /// Its attributes.
    pub edits: Vec<Edit>,
}

impl EntryChange {
    /// What a change of the history did.
    #[must_use]
    pub fn of(change: &Change<'_>) -> EntryChange {
        EntryChange {
            kind: change.kind,
            dn: change.dn.to_owned(),
            new_dn: change.dn_now().to_owned(),
            edits: change.attributes().map(|attribute| attribute.to_edit()).collect(),
        }
    }
}

/// Who writes an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Clients.
    Client,
    /// The server, once and for good: an entry that comes back has it as before.
    Stamp,
    /// The server, with every change, or it is not stored at all.
    Server,
}

/// Stamps of the latest change: those of the undoing itself.
const LATEST: [&str; 3] = ["modifyTimestamp", "modifiersName", "entryCSN"];

/// Who writes that attribute. One that the schema does not know any more is the clients'.
#[must_use]
pub fn upkeep(facts: &Facts, description: &str) -> Upkeep {
    match facts.schema.type_of_description(description.as_bytes()) {
        Some(attribute) if facts.is_virtual(attribute.index) => Upkeep::Server,
        Some(attribute) if !attribute.is_no_user_modification() => Upkeep::Client,
        Some(attribute) if LATEST.iter().any(|latest| attribute.has_name(latest)) => Upkeep::Server,
        Some(_) => Upkeep::Stamp,
        None => Upkeep::Client,
    }
}
