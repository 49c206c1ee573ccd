//! The rights of one asker as a search asks for them: answers for one operation, over all backends.

use std::rc::Rc;
use std::sync::Arc;

use query::answers::Answers;
use query::asker_rights::{AskerRights, Snapshots, Which};
use query::backend::BackendIndex;
use query::entry::EntryView;
use query::facts::Facts;
use query::rights::{Answer, Everything, ReadRight, ReadRights};
use schema::TypeIndex;
use store::{Snapshot, StoreError};

use crate::decider::{Decider, Memo};
use crate::rights::Rights;
use crate::visible::shows;

impl AskerRights for Rights {
    fn answers(self: Arc<Self>, which: Which) -> Result<Answers, StoreError> {
        if self.bypasses_acl() {
            return Ok(Answers::Fixed(Arc::new(Everything)));
        }
        let certain = if which == Which::Stored { &self.stored } else { &self.own };
        if certain.is_fixed() {
            return Ok(Answers::Fixed(Arc::new(FixedAnswers { rights: self, which })));
        }
        Ok(Answers::ByEntry(Rc::new(EntryAnswers { rights: self, which, memo: Memo::default() })))
    }

    fn are_of(&self, backend: BackendIndex, snapshot: &Snapshot) -> bool {
        Rights::are_of(self, backend, snapshot)
    }

    fn renewed(
        &self,
        snapshots: Snapshots<'_>,
        now_unix_seconds: i64,
    ) -> Result<Option<Arc<dyn AskerRights>>, StoreError> {
        let renewed = Rights::renewed(self, snapshots, now_unix_seconds)?;
        Ok(renewed.map(|rights| rights as Arc<dyn AskerRights>))
    }
}

/// Answers of which none depends on an entry.
struct FixedAnswers {
    rights: Arc<Rights>,
    which: Which,
}

/// Answers of which some depend on the entry.
struct EntryAnswers {
    rights: Arc<Rights>,
    which: Which,
    memo: Memo,
}

impl ReadRights for FixedAnswers {
    fn of_type(&self, _facts: &Facts, right: ReadRight, attribute: TypeIndex) -> Answer {
        self.rights.of_type(self.which, right, attribute)
    }

    fn of_unknown(&self, right: ReadRight) -> Answer {
        self.rights.of_unknown(self.which, right)
    }

    fn shows_entries(&self) -> Answer {
        self.rights.shows_entries(self.which)
    }
}

impl EntryAnswers {
    fn decider(&self) -> Decider<'_> {
        Decider { rights: &self.rights, memo: &self.memo, which: self.which }
    }
}

impl ReadRights for EntryAnswers {
    fn of_type(&self, _facts: &Facts, right: ReadRight, attribute: TypeIndex) -> Answer {
        self.rights.of_type(self.which, right, attribute)
    }

    fn of_entry(
        &self,
        facts: &Facts,
        right: ReadRight,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        self.decider().reads(facts, right, entry, attribute)
    }

    fn of_unknown(&self, right: ReadRight) -> Answer {
        self.rights.of_unknown(self.which, right)
    }

    fn shows_entries(&self) -> Answer {
        self.rights.shows_entries(self.which)
    }

    fn shows(&self, facts: &Facts, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        shows(self.decider(), facts, entry)
    }
}
