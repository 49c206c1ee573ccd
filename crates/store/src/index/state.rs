//! What a backend remembers of its indexes: number, trust and how keys were derived.
//!
//! An index is *trusted* when every entry is in it. A new index of a backend with entries is not, until it is rebuilt; nor
//! is one whose keys were derived by other rules ([`key_derivation`]). Serialised for `meta`; knows nothing of LMDB.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::set::IndexError;
use crate::IndexId;

/// How keys are derived: the version of string preparation, and our own revision in front. A stored index with another
/// stamp is rebuilt before it is used.
#[must_use]
pub fn key_derivation() -> &'static str {
    static STAMP: LazyLock<String> = LazyLock::new(|| format!("2/{}", schema::UNICODE_VERSION));
    &STAMP
}

/// One index as remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// Its number; never given to another name.
    pub id: IndexId,
    /// Whether every entry is in it.
    pub trusted: bool,
    /// How its keys were derived when it was built.
    pub derivation: String,
}

/// All indexes that the backend has or had, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStates {
    by_name: BTreeMap<String, IndexState>,
}

impl IndexStates {
    /// The number of that name; a new one for a new name, as an untrusted index.
    ///
    /// # Errors
    /// When all numbers are taken.
    pub fn number(&mut self, name: &str) -> Result<IndexId, IndexError> {
        if let Some(state) = self.by_name.get(name) {
            return Ok(state.id);
        }
        let last = self.by_name.values().map(|state| state.id.0).max();
        let next = last.map_or(Some(IndexId::FIRST_CONFIGURED.0), |last| last.checked_add(1));
        let id = IndexId(next.ok_or_else(|| IndexError::TooMany { name: name.to_owned() })?);
        let state = IndexState { id, trusted: false, derivation: key_derivation().to_owned() };
        self.by_name.insert(name.to_owned(), state);
        Ok(id)
    }

    /// Whether the index may answer searches.
    #[must_use]
    pub fn is_trusted(&self, id: IndexId) -> bool {
        self.by_name.values().any(|state| state.id == id && state.trusted && state.derivation == key_derivation())
    }

    /// Says of an index that every entry is in it now, by today's derivation; or that this is no longer so.
    pub fn set_trusted(&mut self, id: IndexId, trusted: bool) {
        for state in self.by_name.values_mut().filter(|state| state.id == id) {
            state.trusted = trusted;
            if trusted {
                key_derivation().clone_into(&mut state.derivation);
            }
        }
    }

    /// The same for all.
    pub fn set_all_trusted(&mut self) {
        for state in self.by_name.values_mut() {
            state.trusted = true;
            key_derivation().clone_into(&mut state.derivation);
        }
    }

    /// All names with what is remembered of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &IndexState)> {
        self.by_name.iter().map(|(name, state)| (name.as_str(), state))
    }

    /// Lines of `number trusted derivation name`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let line = |(name, state): (&String, &IndexState)| {
            let trusted = if state.trusted { "trusted" } else { "untrusted" };
            format!("{} {trusted} {} {name}\n", state.id.0, state.derivation)
        };
        self.by_name.iter().map(line).collect::<String>().into_bytes()
    }

    /// Reads [`IndexStates::to_bytes`]; `None` when it is not that.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut by_name = BTreeMap::new();
        for line in std::str::from_utf8(bytes).ok()?.lines() {
            let mut words = line.splitn(4, ' ');
            let id = IndexId(words.next()?.parse().ok()?);
            let trusted = match words.next()? {
                "trusted" => true,
                "untrusted" => false,
                _ => return None,
            };
            let derivation = words.next()?.to_owned();
            by_name.insert(words.next()?.to_owned(), IndexState { id, trusted, derivation });
        }
        Some(Self { by_name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_with_their_names() {
        let mut states = IndexStates::default();
        let cn = states.number("cn.caseIgnoreMatch").unwrap();
        let sn = states.number("sn.caseIgnoreMatch").unwrap();
        assert_eq!((cn, sn), (IndexId::FIRST_CONFIGURED, IndexId(IndexId::FIRST_CONFIGURED.0 + 1)));
        states.set_trusted(cn, true);
        let mut read = IndexStates::from_bytes(&states.to_bytes()).unwrap();
        assert_eq!(read, states);
        assert_eq!(read.number("sn.caseIgnoreMatch").unwrap(), sn);
        assert!(read.is_trusted(cn) && !read.is_trusted(sn));
        assert!(IndexStates::from_bytes(b"16 perhaps 1 cn").is_none());
    }

    #[test]
    fn another_derivation_is_not_trusted() {
        let states = IndexStates::from_bytes(b"16 trusted 2/unicode-15.0.0 cn.caseIgnoreMatch\n").unwrap();
        assert!(!states.is_trusted(IndexId(16)));
    }
}
