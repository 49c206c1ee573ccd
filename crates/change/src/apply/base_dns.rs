//! Base DNs below those of a backend, its own or another backend's: an entry that took such a name would be found by
//! searches and by no name, because the longest base DN above a name holds it.
//!
//! They are kept in the backend ([`BASE_DNS_KEY`]) and change in the order of its log, so that a replay judges every
//! update as it was judged. Which backends hold them is not known here.

use schema::{NormalizedDn, Schema};

use super::error::ApplyError;
use super::work::Work;
use crate::parts::{join, split};
use crate::refusal::Refusal;
use query::backend::Suffix;

/// Where the base DNs are kept in `meta`.
pub const BASE_DNS_KEY: &[u8] = b"base-dns";

/// The base DNs as they are kept, and as a proposal carries them. None make no bytes.
#[must_use]
pub fn base_dns_bytes<'d>(base_dns: impl IntoIterator<Item = &'d str>) -> Vec<u8> {
    join(base_dns.into_iter().map(|dn| dn.as_bytes().to_vec()))
}

/// What [`base_dns_bytes`] wrote; none when it is not that.
pub(super) fn base_dns_of(schema: &Schema, bytes: &[u8]) -> Option<Vec<Suffix>> {
    let suffix = |part: &[u8]| {
        let normalized = NormalizedDn::parse(schema, part).ok()?;
        Some(Suffix { dn: String::from_utf8(part.to_vec()).ok()?, normalized })
    };
    split(bytes)?.into_iter().map(suffix).collect()
}

/// Puts base DNs into force, from the next proposal on.
pub(super) fn configure(work: &mut Work<'_, '_>, bytes: &[u8]) -> Result<(), ApplyError> {
    work.require_root("Changing the base DNs")?;
    if base_dns_of(&work.facts.schema, bytes).is_none() {
        return Err(Refusal::DamagedProposal { of: "the base DNs" }.into());
    }
    work.txn.set_meta(BASE_DNS_KEY, (!bytes.is_empty()).then_some(bytes));
    work.rules.is_settled = false;
    Ok(())
}

impl Work<'_, '_> {
    /// Refuses a name that another base DN than `suffix` holds.
    pub(super) fn check_held(&self, name: &NormalizedDn, suffix: &NormalizedDn) -> Result<(), ApplyError> {
        let holds =
            |base: &&Suffix| suffix.is_ancestor_of(&base.normalized) && base.normalized.is_ancestor_or_equal(name);
        match self.rules.base_dns.iter().find(holds) {
            None => Ok(()),
            Some(base) => Err(Refusal::HeldElsewhere { base: base.dn.clone() }.into()),
        }
    }

    /// Refuses a rename that brings an entry to the name of a base DN, or a base DN below another entry than before.
    pub(super) fn check_rename(&self, old: &NormalizedDn, new: &NormalizedDn) -> Result<(), ApplyError> {
        if old == new {
            return Ok(());
        }
        for Suffix { dn, normalized } in &self.rules.base_dns {
            let dn = || dn.clone();
            if old.is_ancestor_of(normalized) {
                return Err(Refusal::AboveBaseDn { base: dn() }.into());
            }
            if new == normalized {
                return Err(Refusal::NameOfBaseDn { base: dn() }.into());
            }
            if new.is_ancestor_of(normalized) {
                return Err(Refusal::NewNameAboveBaseDn { base: dn() }.into());
            }
        }
        Ok(())
    }
}
