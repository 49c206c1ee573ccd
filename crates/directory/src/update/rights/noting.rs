//! An asker whose every answer is noted with its reasons: for whoever wants to know why an update is granted, or not.
//!
//! Decides nothing itself. It may say yes to everything, so that a judgement does not end with the first refusal and
//! all of them are noted.

use std::cell::RefCell;

use access::{Privilege, Question, Right, WrittenValue};
use query::entry::EntryView;
use query::error::shown;
use store::StoreError;

use super::asker::{Asker, Granted};
use crate::needs::{Need, What};

/// What was asked of the asker.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) needs: RefCell<Vec<Need>>,
    /// Whether the judgement goes on behind what is refused.
    pub(crate) goes_on: bool,
}

/// See the module.
pub(super) struct Noting<'r, 'm> {
    pub(super) granted: Granted<'r, 'm>,
    pub(super) notes: &'r Notes,
}

impl Noting<'_, '_> {
    /// What the judgement is told.
    fn told(&self, granted: bool) -> bool {
        granted || self.notes.goes_on
    }

    fn note(&self, entry: &EntryView<'_>, question: Question<'_>, granted: bool) -> Result<(), StoreError> {
        let Granted { facts, rights } = self.granted;
        let explanation = rights.explain(facts, entry, question)?;
        let attribute = question.attribute.and_then(|attribute| facts.schema.attribute_by_index(attribute));
        let value = question.value.and_then(|value| match value {
            WrittenValue::Added(value) | WrittenValue::Deleted(value) => {
                match question.attribute.is_some_and(|attribute| facts.is_secret(attribute)) {
                    true => Some("***".to_owned()),
                    false => Some(shown(value)),
                }
            }
            WrittenValue::Every => None,
        });
        let attribute = attribute.map(|it| it.name().to_owned());
        let mut needs = self.notes.needs.borrow_mut();
        // A right to write just these values is asked for where there is none to write any.
        if needs.last().is_some_and(|last| !last.granted && is_of(last, question.right, attribute.as_deref())) {
            needs.pop();
        }
        let what = What::Right { right: question.right, dn: name_of(entry), attribute, value };
        needs.push(Need { what, granted, explanation: Some(explanation) });
        Ok(())
    }
}

/// Whether it is the right to write any value of an attribute.
fn is_of(need: &Need, asked: Right, of: Option<&str>) -> bool {
    matches!(&need.what, What::Right { right, attribute, value: None, .. }
        if *right == asked && of.is_some() && attribute.as_deref() == of)
}

fn name_of(entry: &EntryView<'_>) -> String {
    let mut name = Vec::new();
    entry.dn.put(&mut name);
    shown(&name)
}

impl Asker for Noting<'_, '_> {
    fn has(&self, privilege: Privilege) -> bool {
        let granted = self.granted.has(privilege);
        self.notes.needs.borrow_mut().push(Need { what: What::Privilege(privilege), granted, explanation: None });
        self.told(granted)
    }

    fn may(&self, entry: &EntryView<'_>, question: Question<'_>) -> Result<bool, StoreError> {
        let granted = self.granted.may(entry, question)?;
        self.note(entry, question, granted)?;
        // Where not every value may be written, each of the values is asked about.
        Ok(if matches!(question.value, Some(WrittenValue::Every)) { granted } else { self.told(granted) })
    }

    fn may_move(&self, entry: &EntryView<'_>, superior: &EntryView<'_>) -> Result<bool, StoreError> {
        let granted = self.granted.may_move(entry, superior)?;
        for (of, right) in [(entry, Right::Export), (superior, Right::Import)] {
            let question = Question::entry(right);
            let is_held = self.granted.may(of, question)?;
            // Where `moddn` is enough, neither is needed.
            if is_held || !granted {
                self.note(of, question, is_held)?;
            }
        }
        Ok(self.told(granted))
    }

    fn shows(&self, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        self.granted.shows(entry)
    }
}
