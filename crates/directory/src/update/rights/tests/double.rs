//! An asker that has exactly the listed rights and privileges, and remembers what it was asked.

use std::cell::RefCell;

use access::{Privilege, Question, Right, WrittenValue};
use query::entry::EntryView;
use query::facts::Facts;
use store::StoreError;

use crate::update::rights::asker::Asker;
use crate::update::rights::case::name_of;

/// See the module. A grant is written as a question: `write sn`, `write sn +Frost`, `write sn -*` (any value goes),
/// `add`.
pub(super) struct Double<'d> {
    pub(super) facts: &'d Facts,
    pub(super) grants: &'d [&'d str],
    pub(super) privileges: &'d [Privilege],
    pub(super) asked: RefCell<Vec<String>>,
}

impl<'d> Double<'d> {
    pub(super) fn new(facts: &'d Facts, grants: &'d [&'d str], privileges: &'d [Privilege]) -> Self {
        Self { facts, grants, privileges, asked: RefCell::default() }
    }

    fn text(&self, question: Question<'_>) -> String {
        let right = format!("{:?}", question.right).to_lowercase();
        let known = question.attribute.and_then(|index| self.facts.schema.attribute_by_index(index));
        let attribute = known.map(|it| format!(" {}", it.name())).unwrap_or_default();
        let value = match question.value {
            None => String::new(),
            Some(WrittenValue::Added(value)) => format!(" +{}", String::from_utf8_lossy(value)),
            Some(WrittenValue::Deleted(value)) => format!(" -{}", String::from_utf8_lossy(value)),
            Some(WrittenValue::Every) => " every".to_owned(),
        };
        format!("{right}{attribute}{value}")
    }

    fn answer(&self, asked: String) -> bool {
        let matches = |grant: &&str| match grant.strip_suffix('*') {
            Some(start) => asked.starts_with(start) && !asked.ends_with(" every"),
            None => asked == *grant || asked.strip_suffix(" every") == Some(grant),
        };
        let answer = self.grants.iter().any(matches);
        self.asked.borrow_mut().push(asked);
        answer
    }
}

impl Asker for Double<'_> {
    fn has(&self, privilege: Privilege) -> bool {
        self.privileges.contains(&privilege)
    }

    fn may(&self, _entry: &EntryView<'_>, question: Question<'_>) -> Result<bool, StoreError> {
        Ok(self.answer(self.text(question)))
    }

    fn may_move(&self, entry: &EntryView<'_>, superior: &EntryView<'_>) -> Result<bool, StoreError> {
        Ok(self.answer(format!("export {}", name_of(entry))) && self.answer(format!("import {}", name_of(superior))))
    }

    fn shows(&self, _entry: &EntryView<'_>) -> Result<bool, StoreError> {
        Ok(self.answer(format!("{:?}", Right::Read).to_lowercase()))
    }
}
