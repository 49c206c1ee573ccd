//! The state of each index of a backend: its number, how far it is built and how its keys were derived.
//!
//! An index is *trusted* when every entry is in it. A new index of a backend with entries is not, until it is built;
//! nor is one whose keys were derived by other rules ([`key_derivation`]). Serialised for `meta`; knows nothing of
//! LMDB.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::LazyLock;

use super::error::IndexError;
use crate::{EntryId, IndexId};

/// How keys are derived: the version of string preparation, and our own revision in front. A stored index with another
/// stamp is rebuilt before it is used.
#[must_use]
pub fn key_derivation() -> &'static str {
    static STAMP: LazyLock<String> = LazyLock::new(|| format!("2/{}", schema::UNICODE_VERSION));
    &STAMP
}

/// How far an index is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Build {
    /// Every entry is in it.
    Complete,
    /// All entries up to a point are in it, and no other.
    UpTo(BuildPoint),
    /// It is not known what is missing in it: it is rebuilt under another number.
    Unknown,
}

/// How far the building of an index has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildPoint {
    /// All entries up to this one are in the index.
    pub through: EntryId,
    /// How many those were.
    pub entries: u64,
    /// The entry after them, when it is so large that it is done in parts, and the row of the last of its large values
    /// that is in.
    pub within: Option<(EntryId, Vec<u8>)>,
}

/// The state of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// Its number; never given to another name.
    pub id: IndexId,
    /// How far it is built.
    pub build: Build,
    /// How its keys were derived when it was built.
    pub derivation: String,
}

impl IndexState {
    /// Whether the index may answer searches.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.build == Build::Complete && self.is_current()
    }

    /// Whether its keys are derived as this program derives them.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.derivation == key_derivation()
    }
}

/// All indexes of the backend by name, and the numbers of former indexes that still have rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStates {
    by_name: BTreeMap<String, IndexState>,
    retired: BTreeSet<IndexId>,
    /// Numbers below this one are taken.
    next: u32,
}

impl IndexStates {
    /// The number of that name; a new one for a new name, as an index without entries.
    ///
    /// # Errors
    /// When all numbers are taken.
    pub fn number(&mut self, name: &str) -> Result<IndexId, IndexError> {
        if let Some(state) = self.by_name.get(name) {
            return Ok(state.id);
        }
        let too_many = |_| IndexError::TooMany { name: name.to_owned() };
        let next = self.next.max(u32::from(IndexId::FIRST_CONFIGURED.0));
        let id = IndexId(u16::try_from(next).map_err(too_many)?);
        self.next = next + 1;
        let build = Build::UpTo(BuildPoint::default());
        self.by_name.insert(name.to_owned(), IndexState { id, build, derivation: key_derivation().to_owned() });
        Ok(id)
    }

    /// Replaces the indexes: those that are not named lose their numbers for good, new ones get a number.
    ///
    /// # Errors
    /// When all numbers are taken.
    pub fn set_names(&mut self, names: &[String]) -> Result<(), IndexError> {
        let gone: Vec<String> = self.by_name.keys().filter(|name| !names.contains(name)).cloned().collect();
        gone.iter().for_each(|name| self.retire(name));
        for name in names {
            self.number(name)?;
        }
        Ok(())
    }

    /// Forgets an index; its number is kept until its rows are gone.
    pub fn retire(&mut self, name: &str) {
        if let Some(state) = self.by_name.remove(name) {
            self.retired.insert(state.id);
        }
    }

    /// Numbers of former indexes that may still have rows.
    pub fn retired(&self) -> impl ExactSizeIterator<Item = IndexId> {
        self.retired.iter().copied()
    }

    /// Notes that former indexes have no rows any more.
    pub fn forget(&mut self, numbers: &[IndexId]) {
        self.retired.retain(|id| !numbers.contains(id));
    }

    /// The state of the index of that number.
    #[must_use]
    pub fn get(&self, id: IndexId) -> Option<&IndexState> {
        self.by_name.values().find(|state| state.id == id)
    }

    /// Whether the index may answer searches.
    #[must_use]
    pub fn is_trusted(&self, id: IndexId) -> bool {
        self.get(id).is_some_and(IndexState::is_trusted)
    }

    /// Notes how far an index is built.
    pub fn set_build(&mut self, id: IndexId, build: Build) {
        for state in self.by_name.values_mut().filter(|state| state.id == id) {
            state.build = build.clone();
        }
    }

    /// Notes that every entry is in the index, with keys as this program derives them; or that this is not so.
    pub fn set_trusted(&mut self, id: IndexId, trusted: bool) {
        for state in self.by_name.values_mut().filter(|state| state.id == id) {
            state.build = if trusted { Build::Complete } else { Build::Unknown };
            if trusted {
                key_derivation().clone_into(&mut state.derivation);
            }
        }
    }

    /// The same for all.
    pub fn set_all_trusted(&mut self) {
        for state in self.by_name.values_mut() {
            state.build = Build::Complete;
            key_derivation().clone_into(&mut state.derivation);
        }
    }

    /// Names of indexes that no builder can complete: they have to be rebuilt from the beginning.
    #[must_use]
    pub fn degraded(&self) -> Vec<String> {
        let is_degraded = |state: &IndexState| !state.is_current() || state.build == Build::Unknown;
        self.by_name.iter().filter(|(_, state)| is_degraded(state)).map(|(name, _)| name.clone()).collect()
    }

    /// All names with their states.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &IndexState)> {
        self.by_name.iter().map(|(name, state)| (name.as_str(), state))
    }

    /// Only the indexes of these numbers.
    #[must_use]
    pub fn only(&self, ids: &[IndexId]) -> Self {
        let of = |(name, state): (&String, &IndexState)| (name.clone(), state.clone());
        let by_name = self.by_name.iter().filter(|(_, state)| ids.contains(&state.id)).map(of).collect();
        Self { by_name, ..Self::default() }
    }

    /// Lines of `number build derivation name`, `retired number` and `next number`. A build is `trusted`, `untrusted`
    /// or `partial` with the last entry, the count of entries, and the entry and row (hexadecimal) that it is within.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = String::new();
        for (name, IndexState { id, build, derivation }) in &self.by_name {
            let _ = write!(out, "{} ", id.0);
            let _ = match build {
                Build::Complete => write!(out, "trusted"),
                Build::Unknown => write!(out, "untrusted"),
                Build::UpTo(point) => write!(out, "partial:{}:{}", point.through.0, point.entries),
            };
            if let Build::UpTo(BuildPoint { within: Some((entry, row)), .. }) = build {
                let _ = write!(out, ":{}:", entry.0);
                for byte in row {
                    let _ = write!(out, "{byte:02x}");
                }
            }
            let _ = writeln!(out, " {derivation} {name}");
        }
        for id in &self.retired {
            let _ = writeln!(out, "retired {}", id.0);
        }
        if self.next > 0 {
            let _ = writeln!(out, "next {}", self.next);
        }
        out.into_bytes()
    }

    /// Reads [`IndexStates::to_bytes`]; `None` when the text has another form.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut states = Self::default();
        for line in std::str::from_utf8(bytes).ok()?.lines() {
            let mut words = line.splitn(4, ' ');
            match words.next()? {
                "next" => states.next = words.next()?.parse().ok()?,
                "retired" => drop(states.retired.insert(IndexId(words.next()?.parse().ok()?))),
                number => {
                    let id = IndexId(number.parse().ok()?);
                    let build = build_of(words.next()?)?;
                    let derivation = words.next()?.to_owned();
                    states.by_name.insert(words.next()?.to_owned(), IndexState { id, build, derivation });
                    // Older versions wrote no `next`.
                    states.next = states.next.max(u32::from(id.0) + 1);
                }
            }
        }
        Some(states)
    }
}

fn build_of(word: &str) -> Option<Build> {
    let mut parts = word.split(':');
    match parts.next()? {
        "trusted" => Some(Build::Complete),
        "untrusted" => Some(Build::Unknown),
        "partial" => {
            let through = EntryId(parts.next()?.parse().ok()?);
            let entries = parts.next()?.parse().ok()?;
            let within = match parts.next() {
                None => None,
                Some(entry) => Some((EntryId(entry.parse().ok()?), from_hex(parts.next()?)?)),
            };
            Some(Build::UpTo(BuildPoint { through, entries, within }))
        }
        _ => None,
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
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
        let within = Some((EntryId(9), vec![0, 255]));
        states.set_build(sn, Build::UpTo(BuildPoint { through: EntryId(7), entries: 5, within }));
        let mut read = IndexStates::from_bytes(&states.to_bytes()).unwrap();
        assert_eq!(read, states);
        assert_eq!(read.number("sn.caseIgnoreMatch").unwrap(), sn);
        assert!(read.is_trusted(cn) && !read.is_trusted(sn));
        assert!(IndexStates::from_bytes(b"16 perhaps 1 cn").is_none());
    }

    #[test]
    fn a_number_is_never_given_to_another() {
        let mut states = IndexStates::default();
        let first = states.number("cn.caseIgnoreMatch").unwrap();
        states.set_names(&["sn.caseIgnoreMatch".to_owned()]).unwrap();
        assert_eq!(states.retired().collect::<Vec<_>>(), [first]);
        states.forget(&[first]);
        let mut read = IndexStates::from_bytes(&states.to_bytes()).unwrap();
        let again = read.number("cn.caseIgnoreMatch").unwrap();
        assert!(again > states.number("sn.caseIgnoreMatch").unwrap() && again != first);
    }

    #[test]
    fn another_derivation_is_not_trusted() {
        let states = IndexStates::from_bytes(b"16 trusted 2/unicode-15.0.0 cn.caseIgnoreMatch\n").unwrap();
        assert!(!states.is_trusted(IndexId(16)));
        assert_eq!(states.degraded(), ["cn.caseIgnoreMatch"]);
    }
}
