//! The account usability control: with each entry, whether its account could be used now.
//!
//! Reads policies and states; knows nothing of how entries are found. Whoever may use the control may know this of
//! every entry that is shown.

use std::sync::Arc;

use accounts::{Account, Moment};
use ldap::controls::AccountUsability;
use query::account_state;
use query::entry::EntryView;
use query::facts::Facts;
use query::policies::{PolicyService, Seen, policy_in_force};
use query::read_moment::ReadAt;
use store::StoreError;

/// The moment that a search asks about.
#[derive(Clone)]
pub(super) struct UsabilityAsked {
    pub(super) policies: Arc<PolicyService>,
    pub(super) now: Moment,
}

impl UsabilityAsked {
    /// What is told of an entry.
    pub(super) fn of_entry(
        &self,
        facts: &Facts,
        at: &ReadAt<'_>,
        entry: &EntryView<'_>,
    ) -> Result<AccountUsability, StoreError> {
        let seen = Seen { groups: at.groups(), given: at.given_values()? };
        let policy = policy_in_force(&self.policies, &seen, entry)?;
        let state = account_state::read(facts, entry, &policy)?;
        Ok(Account { policy: &policy, state: &state, now: self.now }.usability_control())
    }
}
