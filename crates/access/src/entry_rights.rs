//! The rights of one asker on the entries of one backend at one moment.
//!
//! Belongs to one operation and one thread. A search that goes on at another moment takes another one.

use aci::Right;
use query::asker_rights::Which;
use query::entry::EntryView;
use query::facts::Facts;
use query::read_moment::ReadAt;
use query::rights::{Answer, ReadRight, ReadRights};
use schema::{NormalizedDn, TypeIndex};
use store::StoreError;

use crate::about::is_about;
use crate::decide::Concern;
use crate::decider::{Decider, Memo};
use crate::explanation::Explanation;
use crate::plain::explain;
use crate::question::{Question, WrittenValue};
use crate::rights::Rights;
use crate::visible::shows;

/// The syntax of attributes whose values are names.
const DN_SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.12";

/// See the module.
pub struct EntryRights<'m> {
    rights: &'m Rights,
    at: Option<ReadAt<'m>>,
    memo: Memo,
}

impl Rights {
    /// The rights on entries of a backend, at a moment.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn at<'m>(&'m self, at: ReadAt<'m>) -> Result<EntryRights<'m>, StoreError> {
        Ok(EntryRights { rights: self, at: Some(at), memo: Memo::default() })
    }

    /// The rights on entries that lie in no backend: root DSE, schema, monitor, changelog. That the changelog and the
    /// monitor take a privilege is for whoever serves them.
    #[must_use]
    pub fn of_own_entries(&self) -> EntryRights<'_> {
        EntryRights { rights: self, at: None, memo: Memo::default() }
    }
}

impl<'m> EntryRights<'m> {
    /// Of whom.
    #[must_use]
    pub fn rights(&self) -> &'m Rights {
        self.rights
    }

    fn decider(&self) -> Decider<'_> {
        Decider { rights: self.rights, memo: &self.memo, which: self.which() }
    }

    fn which(&self) -> Which {
        if self.at.is_some() { Which::Stored } else { Which::Own }
    }

    /// An entry comes again in another image: what was found out of the last one is forgotten.
    pub fn forget_entry(&self) {
        self.memo.forget_entry();
    }

    /// Whether the asker may do what is asked with an entry. An entry that is to be added comes with its parent and
    /// the id [`EntryId::ROOT`](store::EntryId::ROOT).
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may(&self, facts: &Facts, entry: &EntryView<'_>, question: Question<'_>) -> Result<bool, StoreError> {
        if self.rights.bypasses_acl() {
            let reads = matches!(question.right, Right::Read | Right::Search | Right::Compare);
            return Ok(!(reads && question.attribute.is_some_and(|attribute| facts.is_hidden(attribute))));
        }
        self.may_here(facts, &self.here(entry), question)
    }

    fn may_here(&self, facts: &Facts, entry: &EntryView<'_>, question: Question<'_>) -> Result<bool, StoreError> {
        let decider = self.decider();
        match (question.right, question.attribute) {
            (Right::Read, None) => shows(decider, facts, entry),
            (Right::Read, Some(attribute)) => {
                Ok(decider.reads(facts, ReadRight::Read, entry, attribute)? && shows(decider, facts, entry)?)
            }
            (Right::Search, Some(attribute)) => decider.reads(facts, ReadRight::Search, entry, attribute),
            (Right::Compare, Some(attribute)) => decider.reads(facts, ReadRight::Compare, entry, attribute),
            (Right::Search | Right::Compare, None) => Ok(false),
            (right, _) => {
                let mut about = |it: &Concern| is_about(facts, &it.instruction, it.effect, entry, question);
                Ok(decider.decide(facts, entry, right, &mut about)?
                    || (self.is_own_name(facts, question)
                        && decider.decide(facts, entry, Right::SelfWrite, &mut about)?))
            }
        }
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
        if self.may(facts, entry, Question::entry(Right::Export))?
            && self.may(facts, new_superior, Question::entry(Right::Import))?
        {
            return Ok(true);
        }
        let Some(at) = &self.at else { return Ok(false) };
        let backend = at.groups().own();
        let (mut from, mut to) = (Vec::new(), Vec::new());
        at.groups().put_form(backend, &entry.record, &mut from)?;
        at.groups().put_form(backend, &new_superior.record, &mut to)?;
        let superior = EntryView { source: at, ..*new_superior };
        self.decider().decide(facts, &superior, Right::ModDn, &mut |it| {
            let moves = it.instruction.moves.as_ref();
            Ok(moves.is_none_or(|moves| moves.is_about(&facts.schema, &from, &to)))
        })
    }

    /// Whether some decision so far took what an entry holds: then it has to be made again when the entry changes.
    #[must_use]
    pub fn looked_at_content(&self) -> bool {
        self.memo.looked.get().at_content
    }

    /// How many entries above the one asked about were looked at, of which the same goes.
    #[must_use]
    pub fn looked_above(&self) -> u8 {
        self.memo.looked.get().levels
    }

    /// The same answer as [`EntryRights::may`] with its reasons: every instruction is evaluated as it is written. Slow:
    /// nothing is remembered.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn explain(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        question: Question<'_>,
    ) -> Result<Explanation, StoreError> {
        let entry = self.here(entry);
        let explained = explain(self.decider(), facts, &entry, question)?;
        if !explained.granted && self.is_own_name(facts, question) {
            let own = Question { right: Right::SelfWrite, ..question };
            return Ok(Some(explain(self.decider(), facts, &entry, own)?).filter(|it| it.granted).unwrap_or(explained));
        }
        Ok(explained)
    }

    /// Whether it is about writing the asker's own name, in an attribute of names.
    fn is_own_name(&self, facts: &Facts, question: Question<'_>) -> bool {
        let Question { right: Right::Write, attribute: Some(attribute), value: Some(value) } = question else {
            return false;
        };
        let (WrittenValue::Added(value) | WrittenValue::Deleted(value)) = value else { return false };
        let is_name = facts.schema.attribute_by_index(attribute).is_some_and(|it| it.syntax.oid() == DN_SYNTAX);
        let Some(own) = self.rights.asker.name.as_ref().filter(|_| is_name) else { return false };
        NormalizedDn::parse(&facts.schema, value).is_ok_and(|name| name.as_bytes() == &**own)
    }

    /// An entry whose source says where it is stored.
    fn here<'e>(&'e self, entry: &EntryView<'e>) -> EntryView<'e> {
        match &self.at {
            Some(at) if entry.source.stored().is_none() => EntryView { source: at, ..*entry },
            _ => *entry,
        }
    }
}

impl ReadRights for EntryRights<'_> {
    fn of_type(&self, _facts: &Facts, right: ReadRight, attribute: TypeIndex) -> Answer {
        self.rights.of_type(self.which(), right, attribute)
    }

    fn of_entry(
        &self,
        facts: &Facts,
        right: ReadRight,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        self.decider().reads(facts, right, &self.here(entry), attribute)
    }

    fn of_unknown(&self, right: ReadRight) -> Answer {
        self.rights.of_unknown(self.which(), right)
    }

    fn shows_entries(&self) -> Answer {
        self.rights.shows_entries(self.which())
    }

    fn shows(&self, facts: &Facts, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        shows(self.decider(), facts, &self.here(entry))
    }
}
