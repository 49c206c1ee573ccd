//! Who asks for an update, as far as a judgement asks about it: privileges, and rights on entries.
//!
//! A trait, so that a judgement can be tested without instructions. Knows no request.

use access::{EntryRights, Privilege, Question};
use query::entry::EntryView;
use query::facts::Facts;
use query::rights::Reader;
use store::StoreError;

/// See the module.
pub(crate) trait Asker {
    /// Whether the asker has a privilege.
    fn has(&self, privilege: Privilege) -> bool;

    /// Whether the asker may do something with an entry.
    ///
    /// # Errors
    /// When something cannot be read.
    fn may(&self, entry: &EntryView<'_>, question: Question<'_>) -> Result<bool, StoreError>;

    /// Whether the asker may move an entry below another.
    ///
    /// # Errors
    /// When something cannot be read.
    fn may_move(&self, entry: &EntryView<'_>, superior: &EntryView<'_>) -> Result<bool, StoreError>;

    /// Whether an entry shows: to the asker, others do not exist.
    ///
    /// # Errors
    /// When something cannot be read.
    fn shows(&self, entry: &EntryView<'_>) -> Result<bool, StoreError>;
}

/// The rights of a session on the entries of one backend at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Granted<'r, 'm> {
    pub(crate) facts: &'r Facts,
    pub(crate) rights: &'r EntryRights<'m>,
}

impl Asker for Granted<'_, '_> {
    fn has(&self, privilege: Privilege) -> bool {
        self.rights.rights().has(privilege)
    }

    fn may(&self, entry: &EntryView<'_>, question: Question<'_>) -> Result<bool, StoreError> {
        self.rights.may(self.facts, entry, question)
    }

    fn may_move(&self, entry: &EntryView<'_>, superior: &EntryView<'_>) -> Result<bool, StoreError> {
        self.rights.may_move(self.facts, entry, superior)
    }

    fn shows(&self, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        Reader { facts: self.facts, rights: self.rights }.shows(entry)
    }
}
