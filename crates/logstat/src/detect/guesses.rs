//! Failed binds by where they came from, and for how many names.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::record::Moment;
use crate::tables::frequent::Frequent;

/// Sources that are told apart.
const SOURCES_MAX: usize = 8192;

/// Names of a source that are told apart.
pub const NAMES_MAX: usize = 64;

const NAME_BYTES_MAX: usize = 256;

/// What is known of a source.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// When the first and the last came.
    pub first: Option<Moment>,
    /// See `first`.
    pub last: Option<Moment>,
    /// The name that was tried last.
    pub name: Box<[u8]>,
    /// Hashes of names.
    names: Vec<u64>,
}

impl Source {
    /// Different names that were tried; 64 stands for as many or more.
    #[must_use]
    pub fn names(&self) -> usize {
        self.names.len()
    }
}

/// The sources.
#[derive(Debug)]
pub struct Guesses(Frequent<Source>);

impl Default for Guesses {
    fn default() -> Self {
        Self(Frequent::new(SOURCES_MAX))
    }
}

impl Guesses {
    /// A bind failed because the name or the password is wrong.
    pub fn add(&mut self, client: &[u8], name: &[u8], at: Option<Moment>) {
        let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
        self.0.add(client, |source| {
            source.first = source.first.or(at);
            source.last = at.or(source.last);
            if *source.name != *name {
                source.name = name.into();
            }
            let mut hasher = DefaultHasher::new();
            name.to_ascii_lowercase().hash(&mut hasher);
            let hash = hasher.finish();
            if source.names.len() < NAMES_MAX && !source.names.contains(&hash) {
                source.names.push(hash);
            }
        });
    }

    /// So many sources with how many failures each, the worst first.
    #[must_use]
    pub fn top(&self, rows: usize) -> Vec<(&[u8], u64, &Source)> {
        let rows = self.0.top(rows, |row| row.count);
        rows.into_iter().map(|(client, row)| (client, row.count, &row.more)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_failures_and_names() {
        let mut guesses = Guesses::default();
        for number in 0..100 {
            guesses.add(b"192.0.2.9", format!("uid={number},o=x").as_bytes(), None);
        }
        guesses.add(b"192.0.2.7", b"uid=A", None);
        guesses.add(b"192.0.2.7", b"uid=a", None);
        let top = guesses.top(5);
        assert_eq!((top[0].0, top[0].1, top[0].2.names()), (&b"192.0.2.9"[..], 100, NAMES_MAX));
        assert_eq!((top[1].1, top[1].2.names(), &*top[1].2.name), (2, 1, &b"uid=a"[..]));
    }
}
