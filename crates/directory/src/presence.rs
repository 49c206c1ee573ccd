//! Whether an entry of some name is there, for those who look at access control instructions.

use std::sync::Arc;

use access::lint::Presence;
use change::history::History;
use query::backend::{Backend, holder};
use query::class_flags::ClassFlags;
use query::facts::Facts;
use query::locate::locate;
use schema::NormalizedDn;
use store::StoreError;

use crate::in_force::InForce;
use crate::root_users::RootUsers;

/// Classes of groups.
const GROUPS: ClassFlags = ClassFlags::MEMBER_GROUP
    .with(ClassFlags::UNIQUE_MEMBER_GROUP)
    .with(ClassFlags::DYNAMIC_GROUP)
    .with(ClassFlags::VIRTUAL_STATIC_GROUP);

/// Everything that has names.
pub(crate) struct Holders<'d> {
    pub(crate) facts: &'d Facts,
    pub(crate) backends: &'d [Backend],
    pub(crate) in_force: &'d InForce,
    pub(crate) history: &'d Arc<History>,
    pub(crate) roots: &'d RootUsers,
}

impl Holders<'_> {
    /// Whether an entry of that name is there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn presence(&self, name: &NormalizedDn) -> Result<Presence, StoreError> {
        let is_of_server =
            || self.in_force.own_entries().holder(self.history, name).is_some() || self.roots.user(name).is_some();
        Ok(match self.in_backend(name)? {
            Presence::Missing | Presence::Elsewhere if is_of_server() => Presence::OfServer,
            other => other,
        })
    }

    fn in_backend(&self, name: &NormalizedDn) -> Result<Presence, StoreError> {
        let Some((at, suffix)) = holder(self.backends, name.as_bytes()) else { return Ok(Presence::Elsewhere) };
        let Some(backend) = self.backends.get(at.0) else { return Ok(Presence::Elsewhere) };
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let found = locate(&view, &suffix.normalized, name.as_bytes())?.found();
        let Some(record) = found.map(|id| view.entry(id)).transpose()?.flatten() else {
            return Ok(Presence::Missing);
        };
        let is_group = self.facts.class_flags(record.view()?.object_classes()).has(GROUPS);
        Ok(if is_group { Presence::Group } else { Presence::There })
    }
}
