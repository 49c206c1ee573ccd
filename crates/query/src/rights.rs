//! Whether an attribute of an entry may be read: what filters and answers ask, and whoever knows the asker answers.
//!
//! What holds for a type in all entries is asked once per search (of a filter in [`crate::filter::ItemRights`], of a
//! selection in its decisions); only where the answer is [`Answer::Ask`] is the asker's side called again with each
//! entry.

use schema::TypeIndex;
use store::StoreError;

use crate::entry::EntryView;
use crate::facts::Facts;

/// Whether values of a type may be read, compared and asserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// In every entry.
    Yes,
    /// In none.
    No,
    /// It depends on the entry.
    Ask,
}

/// Answers for one asker.
pub trait ReadRights: Sync {
    /// What holds for a type in all entries.
    fn of_type(&self, facts: &Facts, attribute: TypeIndex) -> Answer;

    /// What holds in one entry; asked where [`ReadRights::of_type`] says [`Answer::Ask`].
    ///
    /// # Errors
    /// When something cannot be read.
    fn of_entry(&self, facts: &Facts, entry: &EntryView<'_>, attribute: TypeIndex) -> Result<bool, StoreError>;
}

/// The server itself: everything may be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrestricted;

impl ReadRights for Unrestricted {
    fn of_type(&self, _facts: &Facts, _attribute: TypeIndex) -> Answer {
        Answer::Yes
    }

    fn of_entry(&self, _facts: &Facts, _entry: &EntryView<'_>, _attribute: TypeIndex) -> Result<bool, StoreError> {
        Ok(true)
    }
}

/// Who reads entries: the schema, and the asker's rights.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The schema.
    pub facts: &'a Facts,
    /// Answers for the asker.
    pub rights: &'a dyn ReadRights,
}

impl<'a> Reader<'a> {
    /// The server itself.
    #[must_use]
    pub fn server(facts: &'a Facts) -> Reader<'a> {
        Reader { facts, rights: &Unrestricted }
    }

    /// What holds for a type in all entries.
    #[must_use]
    pub fn of_type(&self, attribute: TypeIndex) -> Answer {
        self.rights.of_type(self.facts, attribute)
    }

    /// What holds in one entry.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn of_entry(&self, entry: &EntryView<'_>, attribute: TypeIndex) -> Result<bool, StoreError> {
        self.rights.of_entry(self.facts, entry, attribute)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Everything but secrets, as users may read before access control rules.
    pub struct NoSecrets;

    impl ReadRights for NoSecrets {
        fn of_type(&self, facts: &Facts, attribute: TypeIndex) -> Answer {
            if facts.is_secret(attribute) { Answer::No } else { Answer::Yes }
        }

        fn of_entry(&self, facts: &Facts, _entry: &EntryView<'_>, attribute: TypeIndex) -> Result<bool, StoreError> {
            Ok(!facts.is_secret(attribute))
        }
    }

    /// `sn` only of entries that have a `uid`, as an access control rule may say.
    pub struct ByUid;

    impl ReadRights for ByUid {
        fn of_type(&self, facts: &Facts, attribute: TypeIndex) -> Answer {
            let known = facts.schema.attribute_by_index(attribute).unwrap();
            if known.has_name("sn") { Answer::Ask } else { Answer::Yes }
        }

        fn of_entry(&self, facts: &Facts, entry: &EntryView<'_>, _attribute: TypeIndex) -> Result<bool, StoreError> {
            let uid = facts.schema.attribute_type(b"uid").unwrap().index;
            let descs = entry.record.tables().by_type(uid.0);
            Ok(entry.record.attributes().any(|stored| descs.contains(&stored.desc)))
        }
    }
}
