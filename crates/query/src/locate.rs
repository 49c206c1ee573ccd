//! From a normalized DN to an entry: one step down the tree per RDN, from the suffix on.
//!
//! Works on a [`View`], so readers and `apply` find entries by the same code. Knows no referrals and no aliases: it
//! gives the path, the caller looks at what stands on it.

use schema::NormalizedDn;
use smallvec::SmallVec;
use store::{EntryId, StoreError, View};

/// How far the tree goes along a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Entries from the suffix down, as far as they exist.
    pub entries: SmallVec<[EntryId; 8]>,
    /// Whether the last of them is the entry asked for.
    pub is_complete: bool,
}

impl Path {
    /// The entry asked for, if it exists.
    #[must_use]
    pub fn found(&self) -> Option<EntryId> {
        if self.is_complete { self.entries.last().copied() } else { None }
    }

    /// The deepest entry on the way.
    #[must_use]
    pub fn deepest(&self) -> Option<EntryId> {
        self.entries.last().copied()
    }
}

/// Walks down to `dn`, which is `suffix` or below it. The empty name leads nowhere: the root DSE is in no backend.
pub fn locate(view: &View<'_>, suffix: &NormalizedDn, dn: &[u8]) -> Result<Path, StoreError> {
    let mut path = Path::default();
    let Some(below) = dn.strip_prefix(suffix.as_bytes()) else { return Ok(path) };
    let (base, below) = if suffix.is_root() { first_rdn(dn) } else { (suffix.as_bytes(), below) };
    let Some(base) = view.child(EntryId::ROOT, base)? else { return Ok(path) };
    path.entries.push(base);
    let mut at = base;
    for rdn in rdns(below) {
        match view.child(at, rdn)? {
            Some(child) => {
                path.entries.push(child);
                at = child;
            }
            None => return Ok(path),
        }
    }
    path.is_complete = true;
    Ok(path)
}

/// The name of the base entry above `dn` where the suffix is the empty name, and what is below it.
fn first_rdn(dn: &[u8]) -> (&[u8], &[u8]) {
    let end = dn.iter().position(|byte| *byte == 0).map_or(dn.len(), |end| end + 1);
    dn.split_at_checked(end).unwrap_or((dn, &[]))
}

/// The RDNs of (the end of) a normalized DN, root first. Each ends with a zero byte, which no RDN contains.
pub fn rdns(normalized: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = normalized.strip_suffix(&[0]).unwrap_or(normalized);
    let count = if normalized.is_empty() { 0 } else { usize::MAX };
    body.split(|byte| *byte == 0).take(count)
}
