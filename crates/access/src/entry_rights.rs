//! The rights of one asker on the entries of one backend at one moment.
//!
//! Belongs to one operation and one thread. A search that goes on at another moment takes another one.

use std::ops::ControlFlow;

use aci::{Effect, Right};
use query::asker_rights::Which;
use query::entry::EntryView;
use query::facts::Facts;
use query::read_moment::ReadAt;
use query::rights::{Answer, ReadRight, ReadRights};
use schema::{NormalizedDn, TypeIndex};
use store::{EntryId, StoreError};

use crate::compiled::{FilterTest, Instruction, ValueTests};
use crate::decide::Concern;
use crate::decider::{Decider, Memo};
use crate::explanation::{Explanation, Reason};
use crate::identity::Identity;
use crate::policy::Access;
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
        if let Some(policy) = self.rights.policy {
            return Ok(self.by_policy(policy, facts, entry, question));
        }
        if self.rights.bypasses_acl() {
            return Ok(true);
        }
        self.may_here(facts, &self.here(entry), question)
    }

    fn may_here(&self, facts: &Facts, entry: &EntryView<'_>, question: Question<'_>) -> Result<bool, StoreError> {
        let decider = self.decider();
        let Question { right, attribute, value } = question;
        match (right, attribute) {
            (Right::Read, None) => shows(decider, facts, entry),
            (Right::Read, Some(attribute)) => decider.reads(facts, ReadRight::Read, entry, attribute),
            (Right::Search, Some(attribute)) => decider.reads(facts, ReadRight::Search, entry, attribute),
            (Right::Compare, Some(attribute)) => decider.reads(facts, ReadRight::Compare, entry, attribute),
            (Right::Search | Right::Compare, None) => Ok(false),
            (Right::Write, Some(attribute)) => {
                let mut is_about = |it: &Concern| Ok(is_about_writing(facts, it, attribute, value));
                if decider.decide(facts, entry, Right::Write, &mut is_about)? {
                    return Ok(true);
                }
                Ok(self.is_own_name(facts, attribute, value)
                    && decider.decide(facts, entry, Right::SelfWrite, &mut is_about)?)
            }
            (Right::SelfWrite, Some(attribute)) => {
                decider.decide(facts, entry, right, &mut |it| Ok(is_about_writing(facts, it, attribute, value)))
            }
            (Right::Write | Right::SelfWrite, None) => {
                decider.decide(facts, entry, right, &mut |it| Ok(is_about_entry_as_such(it)))
            }
            (Right::Add, _) => {
                decider.decide(facts, entry, right, &mut |it| is_about_all(facts, it, entry, |it| &it.add))
            }
            (Right::Delete, _) => {
                decider.decide(facts, entry, right, &mut |it| is_about_all(facts, it, entry, |it| &it.delete))
            }
            (Right::Import | Right::Export | Right::Proxy | Right::ModDn, _) => {
                decider.decide(facts, entry, right, &mut |_| Ok(true))
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
        let (None, Some(at)) = (self.rights.policy, &self.at) else { return Ok(false) };
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
        self.memo.looked_at_content.get()
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

    fn by_policy(&self, policy: Access, facts: &Facts, entry: &EntryView<'_>, question: Question<'_>) -> bool {
        match policy {
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
        }
    }

    fn is_self(&self, entry: &EntryView<'_>) -> bool {
        let own = self.at.map(|at| at.groups().own());
        matches!(&self.rights.identity, Identity::User { backend, entry: id, .. }
            if Some(*backend) == own && *id == entry.id && *id != EntryId::ROOT)
    }

    /// Whether a value is the asker's own name, in an attribute of names.
    fn is_own_name(&self, facts: &Facts, attribute: TypeIndex, value: Option<WrittenValue<'_>>) -> bool {
        let Some(WrittenValue::Added(value) | WrittenValue::Deleted(value)) = value else { return false };
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

/// Whether one is about writing an attribute, or one value of it.
fn is_about_writing(facts: &Facts, concern: &Concern, attribute: TypeIndex, value: Option<WrittenValue<'_>>) -> bool {
    let instruction = &concern.instruction;
    let covers = || instruction.attributes.as_ref().is_some_and(|list| list.contains(facts, attribute));
    let Some(filters) = &instruction.value_filters else { return covers() };
    let find = |list: &'_ [(TypeIndex, FilterTest)]| list.iter().position(|(named, _)| *named == attribute);
    let (list, value) = match value {
        Some(WrittenValue::Added(value)) => (&filters.add, value),
        Some(WrittenValue::Deleted(value)) => (&filters.delete, value),
        // Some value may be written: an allow is about it. A deny is about the values that it names.
        None => {
            let is_named = find(&filters.add).is_some() || find(&filters.delete).is_some();
            return covers() || (is_named && concern.effect == Effect::Allow);
        }
    };
    match find(list).and_then(|at| list.get(at)) {
        Some((_, filter)) => filter.matches_value(facts, attribute, value),
        None => covers(),
    }
}

/// Whether one is about changing an entry as such, as renaming it does: an allow of writing some attribute, or a deny
/// that names none.
fn is_about_entry_as_such(concern: &Concern) -> bool {
    let Instruction { attributes, value_filters, is_invalid, .. } = &*concern.instruction;
    let names_some = attributes.is_some() || value_filters.is_some();
    *is_invalid || names_some == (concern.effect == Effect::Allow)
}

/// Whether one is about adding or deleting an entry: attributes do not matter, but values do for which it has filters.
/// All of them have to match what an allow says, and any what a deny says.
fn is_about_all(
    facts: &Facts,
    concern: &Concern,
    entry: &EntryView<'_>,
    list: fn(&ValueTests) -> &[(TypeIndex, FilterTest)],
) -> Result<bool, StoreError> {
    let Some(filters) = &concern.instruction.value_filters else { return Ok(true) };
    let is_allow = concern.effect == Effect::Allow;
    for (attribute, filter) in list(filters) {
        let mut is_decided = false;
        query::entry::each_stored(entry, *attribute, &mut |value| {
            is_decided = filter.matches_value(facts, *attribute, value) != is_allow;
            if is_decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if is_decided {
            return Ok(!is_allow);
        }
    }
    Ok(is_allow)
}

impl ReadRights for EntryRights<'_> {
    fn of_type(&self, facts: &Facts, right: ReadRight, attribute: TypeIndex) -> Answer {
        self.rights.of_type(self.which(), facts, right, attribute)
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
