//! Who may read what, until access control rules exist: root everything, an authenticated user everything except
//! passwords, anonymous the root DSE and the schema.
//!
//! Decided once per search: what is left on the path of every entry is one table look-up per attribute, the same as
//! root's.

use query::entry::EntryView;
use query::facts::Facts;
use query::rights::{Answer, ReadRight, ReadRights};
use schema::TypeIndex;
use store::StoreError;

use crate::identity::Identity;

/// What an identity may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Root DSE and schema.
    #[default]
    Anonymous,
    /// Everything except passwords.
    User,
    /// Everything.
    Root,
}

impl Access {
    /// The access of an identity.
    #[must_use]
    pub fn of(identity: &Identity) -> Access {
        match identity {
            Identity::Anonymous => Access::Anonymous,
            Identity::Root { .. } => Access::Root,
            Identity::User { .. } => Access::User,
        }
    }
}

impl ReadRights for Access {
    #[inline]
    fn of_type(&self, facts: &Facts, _right: ReadRight, attribute: TypeIndex) -> Answer {
        if *self == Access::Root || !facts.is_secret(attribute) { Answer::Yes } else { Answer::No }
    }

    fn of_entry(
        &self,
        facts: &Facts,
        right: ReadRight,
        _entry: &EntryView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        Ok(self.of_type(facts, right, attribute) != Answer::No)
    }

    fn of_unknown(&self, _right: ReadRight) -> Answer {
        Answer::Yes
    }

    fn shows_entries(&self) -> Answer {
        Answer::Yes
    }

    fn shows(&self, _facts: &Facts, _entry: &EntryView<'_>) -> Result<bool, StoreError> {
        Ok(true)
    }
}
