//! Which password policy is in force for an entry: what it names, stored or given; else the first subentry that is
//! about it; else the default.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use accounts::PasswordPolicy;
use schema::NormalizedDn;
use store::StoreError;

use super::service::PolicyService;
use crate::backend::holder;
use crate::computed::{ComputedAt, EntriesAt};
use crate::entry::{EntryView, each_stored};
use crate::entry_place::EntryPlace;
use crate::filter::FilterScratch;
use crate::groups::GroupsAt;
use crate::notices::{NoticeKind, Notices};

/// An entry's backend at one moment.
pub struct Seen<'s> {
    /// With the groups of the moment.
    pub groups: GroupsAt<'s>,
    /// What entries are given, if something is.
    pub given: Option<ComputedAt<'s>>,
}

/// The policy in force for an entry.
///
/// # Errors
/// When something cannot be read.
pub fn policy_in_force(
    service: &PolicyService,
    seen: &Seen<'_>,
    entry: &EntryView<'_>,
) -> Result<Arc<PasswordPolicy>, StoreError> {
    if let Some(pointer) = pointer(seen, entry)? {
        if let Some(policy) = named(service, seen, &pointer)? {
            return Ok(policy);
        }
        tell_missing(service.notices(), seen, entry, &String::from_utf8_lossy(&pointer));
        return Ok(Arc::clone(service.configured().default_policy()));
    }
    let (groups, view) = (seen.groups, seen.groups.view());
    let set = service.set_of(groups.own(), groups.facts_shared(), &view)?;
    let at = EntriesAt::new(groups, groups);
    for policy in set.entries() {
        if let Some(reach) = &policy.reach {
            let resolved = Rc::new(reach.resolve(&at)?);
            if reach.has(&at, &resolved, entry, &mut FilterScratch::default())? {
                return Ok(Arc::clone(&policy.policy));
            }
        }
    }
    Ok(Arc::clone(service.configured().default_policy()))
}

/// Names the first entry that has the name of no policy.
fn tell_missing(notices: &Notices, seen: &Seen<'_>, entry: &EntryView<'_>, pointer: &str) {
    notices.warn_first_of(NoticeKind::Definition, &format!("ds-pwp-password-policy-dn: {pointer}"), || {
        let mut dn = Vec::new();
        entry.dn.put(&mut dn);
        if dn.is_empty() {
            // A search does not always know the names of the entries it looks at.
            let place = EntryPlace { backend: seen.groups.own(), id: entry.id };
            let _ = seen.groups.put_dn(place, &mut dn);
        }
        let dn = String::from_utf8_lossy(&dn);
        format!(
            "\"{dn}\" has in ds-pwp-password-policy-dn \"{pointer}\", which is no password policy: the default holds \
             for it, and for all others that have it"
        )
    });
}

/// What an entry has, or is given, as the name of its policy: the first value.
fn pointer(seen: &Seen<'_>, entry: &EntryView<'_>) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(attribute) = seen.groups.facts().account.policy_dn else { return Ok(None) };
    let mut first = None;
    let mut take = |value: &[u8]| {
        first = Some(value.to_vec());
        ControlFlow::Break(())
    };
    match &seen.given {
        Some(given) => given.values_of(entry, attribute, &mut take)?,
        None => each_stored(entry, attribute, &mut take)?,
    }
    Ok(first)
}

/// The policy of a name, of the configuration or an entry of any backend.
fn named(service: &PolicyService, seen: &Seen<'_>, dn: &[u8]) -> Result<Option<Arc<PasswordPolicy>>, StoreError> {
    let configured = service.configured();
    if let Some(policy) = configured.spelled(dn) {
        return Ok(Some(Arc::clone(policy)));
    }
    let groups = seen.groups;
    let Ok(name) = NormalizedDn::parse(&groups.facts().schema, dn) else { return Ok(None) };
    if let Some(policy) = configured.named(&name) {
        return Ok(Some(Arc::clone(policy)));
    }
    let Some((backend, _)) = holder(groups.backends(), name.as_bytes()) else { return Ok(None) };
    let set = service.set_of(backend, groups.facts_shared(), &groups.view_of(backend)?)?;
    Ok(set.named(&name).cloned())
}
