//! What the watches need of the directory whose changes they tell.

use std::sync::Arc;

use access::Rights;
use ldap::LdapResult;
use store::StoreError;

use super::event::Present;
use crate::search::{Persistent, SearchPlan};
use change::history::History;
use query::notices::Notices;

/// See the module.
pub(crate) trait Watched: Send + Sync {
    /// The changes that entries went through.
    fn changes(&self) -> &Arc<History>;

    /// The backends now.
    fn present(&self) -> Result<Present, StoreError>;

    /// Prepares a search anew under the schema in force, for the rights that its asker has.
    fn plan_again(&self, persistent: &Persistent, rights: &Arc<Rights>) -> Result<Box<SearchPlan>, LdapResult>;

    /// What the session of a search may do at a moment.
    fn rights_at(&self, present: &Present, session: &access::Session) -> Result<Arc<Rights>, StoreError>;

    /// Where an administrator is told what goes wrong.
    fn administrator_notices(&self) -> &Notices;
}
