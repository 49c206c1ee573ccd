//! What an asker may do with an entry and its attributes without changing it: what filters and answers ask, and whoever
//! knows the asker answers.
//!
//! What holds for a type in all entries is asked once per search (of a filter in [`crate::filter::ItemRights`], of a
//! selection in its decisions); only where the answer is [`Answer::Ask`] is the asker's side called again with each
//! entry. The same goes for entries as a whole: where all show, or none, no entry is asked about.

use schema::TypeIndex;
use store::StoreError;

use crate::entry::EntryView;
use crate::facts::Facts;

/// What is to be done with the values of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadRight {
    /// They are tested by a filter.
    Search,
    /// They are shown.
    Read,
    /// One is compared with a value that the asker gives.
    Compare,
}

/// Whether something is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// In every entry.
    Yes,
    /// In none.
    #[default]
    No,
    /// It depends on the entry.
    Ask,
}

/// Answers for one asker, about the entries of all backends and the server's own.
///
/// It may remember what it found out: it belongs to one operation and one thread. Of an entry it is given the number,
/// the record and the source, which says where the entry is stored
/// ([`EntrySource::stored`](crate::entry::EntrySource::stored)); the name may be left out ([`EntryView::dn`]). It is
/// made by [`AskerRights`](crate::asker_rights::AskerRights).
pub trait ReadRights {
    /// What holds for a type in all entries.
    fn of_type(&self, facts: &Facts, right: ReadRight, attribute: TypeIndex) -> Answer;

    /// What holds in one entry; asked where [`ReadRights::of_type`] says [`Answer::Ask`], of the type or a subtype.
    /// Whoever never says that has nothing to add.
    ///
    /// # Errors
    /// When something cannot be read.
    fn of_entry(
        &self,
        facts: &Facts,
        right: ReadRight,
        _entry: &EntryView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        Ok(self.of_type(facts, right, attribute) == Answer::Yes)
    }

    /// What holds for attributes that the schema does not know, in all entries.
    fn of_unknown(&self, right: ReadRight) -> Answer;

    /// Which entries show: those of which some attribute, any, may be read, and that are not hidden as a whole.
    /// To the asker, others do not exist.
    fn shows_entries(&self) -> Answer;

    /// Whether one entry shows; asked where [`ReadRights::shows_entries`] says [`Answer::Ask`]. Whoever never says that
    /// has nothing to add.
    ///
    /// # Errors
    /// When something cannot be read.
    fn shows(&self, _facts: &Facts, _entry: &EntryView<'_>) -> Result<bool, StoreError> {
        Ok(self.shows_entries() == Answer::Yes)
    }
}

/// The server itself: everything is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrestricted;

impl ReadRights for Unrestricted {
    fn of_type(&self, _facts: &Facts, _right: ReadRight, _attribute: TypeIndex) -> Answer {
        Answer::Yes
    }

    fn of_unknown(&self, _right: ReadRight) -> Answer {
        Answer::Yes
    }

    fn shows_entries(&self) -> Answer {
        Answer::Yes
    }
}

/// Whoever access control does not concern: everything is allowed but what nobody may read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl ReadRights for Everything {
    fn of_type(&self, facts: &Facts, _right: ReadRight, attribute: TypeIndex) -> Answer {
        if facts.is_hidden(attribute) { Answer::No } else { Answer::Yes }
    }

    fn of_unknown(&self, _right: ReadRight) -> Answer {
        Answer::Yes
    }

    fn shows_entries(&self) -> Answer {
        Answer::Yes
    }
}

/// Whoever may see no entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRights;

impl ReadRights for NoRights {
    fn of_type(&self, _facts: &Facts, _right: ReadRight, _attribute: TypeIndex) -> Answer {
        Answer::No
    }

    fn of_unknown(&self, _right: ReadRight) -> Answer {
        Answer::No
    }

    fn shows_entries(&self) -> Answer {
        Answer::No
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

    /// Whether values of a type may be shown, in all entries.
    #[must_use]
    pub fn of_type(&self, attribute: TypeIndex) -> Answer {
        self.rights.of_type(self.facts, ReadRight::Read, attribute)
    }

    /// Whether values of a type may be shown, in one entry where that depends on it.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn of_entry(&self, entry: &EntryView<'_>, attribute: TypeIndex) -> Result<bool, StoreError> {
        self.rights.of_entry(self.facts, ReadRight::Read, entry, attribute)
    }

    /// Whether the asker has a right to an attribute of an entry.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may(&self, right: ReadRight, entry: &EntryView<'_>, attribute: TypeIndex) -> Result<bool, StoreError> {
        match self.rights.of_type(self.facts, right, attribute) {
            Answer::Yes => Ok(true),
            Answer::No => Ok(false),
            Answer::Ask => self.rights.of_entry(self.facts, right, entry, attribute),
        }
    }

    /// Whether an entry shows.
    ///
    /// # Errors
    /// When something cannot be read.
    #[inline]
    pub fn shows(&self, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        match self.rights.shows_entries() {
            Answer::Yes => Ok(true),
            Answer::No => Ok(false),
            Answer::Ask => self.rights.shows(self.facts, entry),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Everything but secrets, as users may read before access control rules.
    pub struct NoSecrets;

    impl ReadRights for NoSecrets {
        fn of_type(&self, facts: &Facts, _right: ReadRight, attribute: TypeIndex) -> Answer {
            if facts.is_secret(attribute) { Answer::No } else { Answer::Yes }
        }

        fn of_unknown(&self, _right: ReadRight) -> Answer {
            Answer::No
        }

        fn shows_entries(&self) -> Answer {
            Answer::Yes
        }
    }

    /// `sn` only of entries that have a `uid`, as an access control rule may say.
    pub struct ByUid;

    impl ReadRights for ByUid {
        fn of_type(&self, facts: &Facts, _right: ReadRight, attribute: TypeIndex) -> Answer {
            let known = facts.schema.attribute_by_index(attribute).unwrap();
            if known.has_name("sn") { Answer::Ask } else { Answer::Yes }
        }

        fn of_entry(
            &self,
            facts: &Facts,
            _right: ReadRight,
            entry: &EntryView<'_>,
            attribute: TypeIndex,
        ) -> Result<bool, StoreError> {
            if self.of_type(facts, ReadRight::Read, attribute) == Answer::Yes {
                return Ok(true);
            }
            let uid = facts.schema.attribute_type(b"uid").unwrap().index;
            let descs = entry.record.tables().by_type(uid.0);
            Ok(entry.record.attributes().any(|stored| descs.contains(&stored.desc)))
        }

        fn of_unknown(&self, _right: ReadRight) -> Answer {
            Answer::Yes
        }

        fn shows_entries(&self) -> Answer {
            Answer::Yes
        }
    }
}
