//! One backend: its suffixes, its indexes, its store.
//!
//! Knows where entries are; not who may see them.

use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use config::Writability;
use schema::NormalizedDn;
use store::index::IndexConfigs;
use store::{EntryId, StoreError, View};

/// A backend's place in a list of them: the directory's, or that of a history read from files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendIndex(pub usize);

/// The places of all backends in the list.
pub fn all_indices(backends: &[Backend]) -> impl Iterator<Item = BackendIndex> + use<> {
    (0..backends.len()).map(BackendIndex)
}

/// The backends, each with its place in the list.
pub fn numbered(backends: &[Backend]) -> impl Iterator<Item = (BackendIndex, &Backend)> + Clone {
    backends.iter().enumerate().map(|(at, backend)| (BackendIndex(at), backend))
}

/// One suffix.
#[derive(Clone, Debug)]
pub struct Suffix {
    /// As configured.
    pub dn: String,
    /// Its normal form.
    pub normalized: NormalizedDn,
}

impl Suffix {
    /// Whether it is the empty name, which holds every name that no other base DN holds (slapd's `suffix ""`).
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.normalized.is_root()
    }

    /// How many RDNs the name of a base entry has. The empty name is that of the root DSE, so below it every entry of
    /// one RDN is a base entry.
    #[must_use]
    pub fn base_depth(&self) -> usize {
        self.normalized.len().max(1)
    }

    /// Whether `name`, which it holds, is that of a base entry.
    #[must_use]
    pub fn is_base(&self, name: &NormalizedDn) -> bool {
        if self.is_root() { name.len() == 1 } else { *name == self.normalized }
    }

    /// What all its entries are at or below: its base entry, or the root of the tree.
    pub fn top(&self, view: &View<'_>) -> Result<Option<EntryId>, StoreError> {
        if self.is_root() { Ok(Some(EntryId::ROOT)) } else { view.child(EntryId::ROOT, self.normalized.as_bytes()) }
    }
}

/// A backend in service.
pub struct Backend {
    /// `backend-id`
    pub id: String,
    /// `base-dn`
    pub suffixes: Vec<Suffix>,
    /// `writability-mode`
    pub writability: Writability,
    /// Where its entries are.
    pub store: store::Backend,
    /// `index-entry-limit`; 0 is no limit.
    pub entry_limit: AtomicU64,
    /// What index keys need beside the schema: filters and secret.
    pub key_makers: ArcSwap<IndexConfigs>,
    /// Why the builder of its indexes could not go on, until it does.
    pub build_failure: ArcSwapOption<String>,
}

impl Backend {
    /// `index-entry-limit`, as it is now; 0 is no limit.
    #[must_use]
    pub fn entry_limit(&self) -> u64 {
        self.entry_limit.load(Ordering::Relaxed)
    }

    /// Takes another one. Returns whether it differs.
    pub fn set_entry_limit(&self, limit: u64) -> bool {
        self.entry_limit.swap(limit, Ordering::Relaxed) != limit
    }

    /// The suffix that holds `dn`, if one does; the longest, when suffixes are nested.
    #[must_use]
    pub fn suffix_of(&self, dn: &[u8]) -> Option<&Suffix> {
        let holding = self.suffixes.iter().filter(|suffix| dn.starts_with(suffix.normalized.as_bytes()));
        holding.max_by_key(|suffix| suffix.normalized.as_bytes().len())
    }
}

/// The backend and the suffix that hold `dn`: the longest suffix wins.
#[must_use]
pub fn holder<'b>(backends: &'b [Backend], dn: &[u8]) -> Option<(BackendIndex, &'b Suffix)> {
    let found = numbered(backends).filter_map(|(at, backend)| Some((at, backend.suffix_of(dn)?)));
    found.max_by_key(|(_, suffix)| suffix.normalized.as_bytes().len())
}

#[cfg(test)]
mod tests {
    use schema::Schema;

    use super::*;

    #[test]
    fn base_entries_of_the_empty_suffix_have_one_rdn() {
        let schema = Schema::standard();
        let name = |dn: &str| NormalizedDn::parse(&schema, dn.as_bytes()).unwrap();
        let suffix = |dn: &str| Suffix { dn: dn.to_owned(), normalized: name(dn) };
        let (all, own) = (suffix(""), suffix("dc=example,dc=com"));
        assert!(all.is_root() && !own.is_root());
        assert_eq!((all.base_depth(), own.base_depth()), (1, 2));
        assert_eq!(["", "dc=com", "dc=example,dc=com"].map(|dn| all.is_base(&name(dn))), [false, true, false]);
        assert_eq!(["", "dc=com", "dc=example,dc=com"].map(|dn| own.is_base(&name(dn))), [false, false, true]);
    }
}
