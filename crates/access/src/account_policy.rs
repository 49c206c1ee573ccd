//! Which password policy is in force for an account.

use std::sync::Arc;

use accounts::PasswordPolicy;
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::read_moment::ReadContext;
use store::{RecordView, Snapshot, StoreError};

/// Finds the policy of an account, beside [`crate::limits::LimitsFinder`].
#[derive(Clone, Copy)]
pub struct PolicyFinder<'d> {
    /// The schema.
    pub facts: &'d Arc<Facts>,
    /// Where entries and policies are.
    pub context: &'d ReadContext,
}

impl PolicyFinder<'_> {
    /// The policy in force for an entry, whose record at the moment of the snapshot is `record`: the one that it names,
    /// or is given by name; else that of the first subentry that is about it; else the default.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn of_entry(
        &self,
        place: EntryPlace,
        record: &RecordView<'_>,
        snapshot: &Snapshot,
    ) -> Result<Arc<PasswordPolicy>, StoreError> {
        self.context.password_policy(self.facts, place, record, snapshot)
    }

    /// The policy of whom nothing says another: also what is done for names that do not exist.
    #[must_use]
    pub fn default_policy(&self) -> Arc<PasswordPolicy> {
        Arc::clone(self.context.policies.configured().default_policy())
    }
}
