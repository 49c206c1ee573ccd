//! The rights of one asker as a search asks for them: answers for one operation, over all backends.

use std::sync::Arc;

use query::asker_rights::{Answers, AskerRights, LookingAt, Which};
use query::entry::EntryView;
use query::facts::Facts;
use query::rights::{Answer, ReadRight, ReadRights};
use schema::TypeIndex;
use store::StoreError;

use crate::policy::Access;
use crate::rights::Rights;

impl AskerRights for Rights {
    fn answers(self: Arc<Self>, at: LookingAt<'_>) -> Result<Answers, StoreError> {
        Ok(Answers::Fixed(match at.which {
            Which::Stored if self.policy == Access::Anonymous => Arc::new(Nothing),
            Which::Stored | Which::Own => Arc::new(self.policy),
        }))
    }
}

/// Whoever may see no entry.
struct Nothing;

impl ReadRights for Nothing {
    fn of_type(&self, _facts: &Facts, _right: ReadRight, _attribute: TypeIndex) -> Answer {
        Answer::No
    }

    fn of_entry(
        &self,
        _facts: &Facts,
        _right: ReadRight,
        _entry: &EntryView<'_>,
        _attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn of_unknown(&self, _right: ReadRight) -> Answer {
        Answer::No
    }

    fn shows_entries(&self) -> Answer {
        Answer::No
    }

    fn shows(&self, _facts: &Facts, _entry: &EntryView<'_>) -> Result<bool, StoreError> {
        Ok(false)
    }
}
