//! What a client may change, decided before its update is proposed: a root user everything, a user its own password.
//!
//! Knows identities and requests; that what is changed is what was judged is for `apply` to see.

use ldap::{Change, EntryRequest, LdapResult, MadeUpdate};
use schema::NormalizedDn;

use super::context::UpdateContext;
use super::decided::snapshot;
use crate::refusal::Refusal as OwnRefusal;
use access::Identity;
use change::Refusal;
use change::judged::{Judged, JudgedEntry};
use query::backend::BackendIndex;
use query::error::{invalid_dn, store_failure};
use query::locate::locate;

impl UpdateContext<'_> {
    /// What was judged of a request to the backend at `at`, for its proposal.
    pub(super) fn judge(
        &self,
        identity: &Identity,
        at: BackendIndex,
        request: &EntryRequest<'_>,
    ) -> Result<Judged, LdapResult> {
        let (what, modify) = match request {
            EntryRequest::Add(_) => ("Adding an entry", None),
            EntryRequest::Modify(modify) => ("This modification", Some(modify)),
            EntryRequest::Delete(_) => ("Deleting an entry", None),
            EntryRequest::ModifyDn(_) => ("Renaming an entry", None),
        };
        let (user, backend, entry) = match identity {
            Identity::Root { .. } => return Ok(Judged::Unneeded),
            Identity::Anonymous => return Err(Refusal::NotAuthenticated { what }.into()),
            Identity::User { dn, backend, entry } => (dn, backend, entry),
        };
        let refused = || match request {
            EntryRequest::Modify(_) => OwnRefusal::ForeignPassword.into(),
            _ => Refusal::NotAllowed { what, user: user.to_string() }.into(),
        };
        let facts = self.facts();
        let password = facts.user_password;
        let is_password = |change: Change<'_>| {
            facts.schema.attribute_type(change.attribute.description).is_some_and(|it| Some(it.index) == password)
        };
        let is_own_password = |modify: &&&ldap::ModifyRequest<'_>| {
            *backend == at && !modify.changes.is_empty() && modify.changes.iter().all(is_password)
        };
        let modify = modify.as_ref().filter(is_own_password).ok_or_else(refused)?;
        let held = self.backends.get(at.0).ok_or_else(refused)?;
        let name =
            NormalizedDn::parse(&facts.schema, modify.object).map_err(|error| invalid_dn(modify.object, error))?;
        let suffix = held.suffix_of(name.as_bytes()).ok_or_else(refused)?;
        let snapshot = snapshot(held)?;
        let path = locate(&snapshot.view(), &suffix.normalized, name.as_bytes());
        let found = path.map_err(|error| store_failure(&error))?.found();
        match found.filter(|found| found == entry) {
            Some(own) => Ok(Judged::Entry(JudgedEntry::whatever_it_contains(own))),
            None => Err(refused()),
        }
    }

    /// The same of a request that was made for another one.
    pub(super) fn judge_made(
        &self,
        identity: &Identity,
        at: BackendIndex,
        made: &MadeUpdate,
    ) -> Result<Judged, LdapResult> {
        let update = made.update().map_err(|error| OwnRefusal::MadeRequest { problem: error.to_string() })?;
        self.judge(identity, at, update.request())
    }
}
