//! The rights of one asker on the entries of one backend at one moment.
//!
//! Belongs to one operation and one thread. A search that goes on at another moment takes another one.

use aci::Right;
use query::entry::EntryView;
use query::facts::Facts;
use query::read_moment::ReadAt;
use query::rights::{Answer, ReadRight, ReadRights};
use schema::TypeIndex;
use store::StoreError;

use crate::explanation::{Explanation, Reason};
use crate::identity::Identity;
use crate::policy::Access;
use crate::question::Question;
use crate::rights::Rights;

/// See the module.
pub struct EntryRights<'m> {
    rights: &'m Rights,
    at: Option<ReadAt<'m>>,
}

impl Rights {
    /// The rights on entries of a backend, at a moment.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn at<'m>(&'m self, at: ReadAt<'m>) -> Result<EntryRights<'m>, StoreError> {
        Ok(EntryRights { rights: self, at: Some(at) })
    }

    /// The rights on entries that lie in no backend: root DSE, schema, monitor, changelog. That the changelog and the
    /// monitor take a privilege is for whoever serves them.
    #[must_use]
    pub fn of_own_entries(&self) -> EntryRights<'_> {
        EntryRights { rights: self, at: None }
    }
}

impl<'m> EntryRights<'m> {
    /// Of whom.
    #[must_use]
    pub fn rights(&self) -> &'m Rights {
        self.rights
    }

    /// Whether the asker may do what is asked with an entry. An entry that is to be added comes with its parent and
    /// the id [`EntryId::ROOT`](store::EntryId::ROOT).
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may(&self, facts: &Facts, entry: &EntryView<'_>, question: Question<'_>) -> Result<bool, StoreError> {
        Ok(match self.rights.policy {
            Access::Root => true,
            Access::User => match question.right {
                Right::Read | Right::Search | Right::Compare => {
                    question.attribute.is_none_or(|attribute| !facts.is_secret(attribute))
                }
                Right::Write => {
                    question.attribute.is_some() && question.attribute == facts.user_password && self.is_self(entry)
                }
                _ => false,
            },
            Access::Anonymous => self.at.is_none() && question.right == Right::Read,
        })
    }

    /// Whether an entry may be moved below another: `import` on the new superior and `export` on the entry, or
    /// `moddn`. What the new name takes is asked as writing values.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may_move(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        new_superior: &EntryView<'_>,
    ) -> Result<bool, StoreError> {
        Ok(self.may(facts, entry, Question::entry(Right::Export))?
            && self.may(facts, new_superior, Question::entry(Right::Import))?)
    }

    /// Whether some decision so far took what an entry holds: then it has to be made again when the entry changes.
    #[must_use]
    pub fn looked_at_content(&self) -> bool {
        false
    }

    /// The same answer as [`EntryRights::may`] with its reasons. Slow: nothing is remembered.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn explain(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        question: Question<'_>,
    ) -> Result<Explanation, StoreError> {
        let reason = if self.rights.bypasses_acl() { Reason::BypassAcl } else { Reason::BuiltIn };
        Ok(Explanation { granted: self.may(facts, entry, question)?, reason, instructions: Vec::new() })
    }

    /// Anonymous clients see nothing of any backend.
    fn hides_all(&self) -> bool {
        self.rights.policy == Access::Anonymous && self.at.is_some()
    }

    fn is_self(&self, entry: &EntryView<'_>) -> bool {
        let own = self.at.map(|at| at.groups().own());
        matches!(&self.rights.identity, Identity::User { backend, entry: id, .. }
            if Some(*backend) == own && *id == entry.id)
    }
}

impl ReadRights for EntryRights<'_> {
    fn of_type(&self, facts: &Facts, right: ReadRight, attribute: TypeIndex) -> Answer {
        if self.hides_all() { Answer::No } else { self.rights.policy.of_type(facts, right, attribute) }
    }

    fn of_entry(
        &self,
        facts: &Facts,
        right: ReadRight,
        _entry: &EntryView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        Ok(self.of_type(facts, right, attribute) == Answer::Yes)
    }

    fn of_unknown(&self, _right: ReadRight) -> Answer {
        if self.hides_all() { Answer::No } else { Answer::Yes }
    }

    fn shows_entries(&self) -> Answer {
        if self.hides_all() { Answer::No } else { Answer::Yes }
    }

    fn shows(&self, _facts: &Facts, _entry: &EntryView<'_>) -> Result<bool, StoreError> {
        Ok(!self.hides_all())
    }
}
