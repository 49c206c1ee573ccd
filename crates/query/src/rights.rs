//! Whether an attribute of an entry may be read: what filters and answers ask, and whoever knows the asker answers.
//!
//! What holds for a type in all entries is asked once per search ([`ItemRights`], the decisions of a selection); only where the answer
//! is [`Answer::Ask`] is the asker's side called again with each entry.

use schema::TypeIndex;
use smallvec::SmallVec;
use store::StoreError;

use crate::entry::EntryView;
use crate::facts::Facts;
use crate::filter::{Matcher, Node, Target};

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

/// Of a prepared filter, the assertions that the asker may not make of every entry: by position of the node, ascending. Empty for most.
#[derive(Clone, Debug, Default)]
pub struct ItemRights(SmallVec<[(usize, Answer); 2]>);

impl ItemRights {
    /// Every assertion may be made.
    pub const ALL: &'static ItemRights = &ItemRights(SmallVec::new_const());

    /// Asks about the attributes of a filter.
    #[must_use]
    pub fn of(matcher: &Matcher, facts: &Facts, rights: &dyn ReadRights) -> ItemRights {
        let answer = |node: &Node| match node {
            Node::Item(item) => match item.target {
                Target::Type(attribute) | Target::Tagged(attribute, _) | Target::Virtual(attribute, _) => {
                    rights.of_type(facts, attribute)
                }
                // Every attribute is asked about when it is looked at.
                Target::Every => Answer::Yes,
            },
            _ => Answer::Yes,
        };
        let all = matcher.nodes().iter().map(answer).enumerate();
        ItemRights(all.filter(|(_, answer)| *answer != Answer::Yes).collect())
    }

    /// Whether every assertion may be made of every entry.
    #[inline]
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some assertion may be made of some entries only.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.0.iter().any(|(_, answer)| *answer == Answer::Ask)
    }

    /// Whether an assertion may be made.
    #[must_use]
    pub fn of_node(&self, at: usize) -> Answer {
        self.0.iter().find(|(node, _)| *node == at).map_or(Answer::Yes, |(_, answer)| *answer)
    }
}

/// Who tries a filter on entries.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    /// Answers for the asker.
    pub rights: &'a dyn ReadRights,
    /// What was answered about the filter's assertions.
    pub items: &'a ItemRights,
}

impl Asker<'static> {
    /// The server itself.
    pub const SERVER: Asker<'static> = Asker { rights: &Unrestricted, items: ItemRights::ALL };
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
