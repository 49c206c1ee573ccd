//! Changes that were applied twice: a supplier sends a change again when the answer takes longer than it waits.

use std::collections::HashMap;

/// Long changes that are remembered.
const CHANGES_MAX: usize = 8192;

/// Replays that are kept.
const REPLAYS_MAX: usize = 100;

const CSN_BYTES_MAX: usize = 64;

/// A change that came twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Its number.
    pub csn: String,
    /// How long it took each time, and on which connection.
    pub first: (u64, u64),
    /// See `first`.
    pub second: (u64, u64),
}

/// Finds them.
#[derive(Debug, Default)]
pub struct Replays {
    /// Number → how long it took, on which connection.
    changes: HashMap<Box<[u8]>, (u64, u64)>,
    replays: Vec<Replay>,
    found: u64,
}

impl Replays {
    /// A change was applied. Only those that take long are remembered.
    pub fn add(&mut self, csn: &[u8], ns: u64, connection: u64, is_slow: bool) {
        let csn = csn.get(..csn.len().min(CSN_BYTES_MAX)).unwrap_or_default();
        if let Some(first) = self.changes.get(csn) {
            self.found += 1;
            if self.replays.len() < REPLAYS_MAX {
                let csn = String::from_utf8_lossy(csn).into_owned();
                self.replays.push(Replay { csn, first: *first, second: (ns, connection) });
            }
        } else if is_slow {
            if self.changes.len() >= CHANGES_MAX {
                self.changes.clear();
            }
            self.changes.insert(csn.into(), (ns, connection));
        }
    }

    /// How many there were, and the first of them.
    #[must_use]
    pub fn found(&self) -> (u64, &[Replay]) {
        (self.found, &self.replays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S3-08
    #[test]
    fn a_change_that_comes_again_is_found() {
        let mut replays = Replays::default();
        replays.add(b"47f23c12000000290000", 5, 1, false);
        replays.add(b"47f23c12000000290000", 34_587_640_000, 273_450, true);
        replays.add(b"47f23c18000000290000", 18_521_180_000, 273_450, true);
        replays.add(b"47f23c12000000290000", 11_183, 285_358, false);
        let csn = "47f23c12000000290000".to_owned();
        let replay = Replay { csn, first: (34_587_640_000, 273_450), second: (11_183, 285_358) };
        assert_eq!(replays.found(), (1, &[replay][..]));
        for number in 0..100_000_u32 {
            replays.add(number.to_string().as_bytes(), 1, 1, true);
            replays.add(number.to_string().as_bytes(), 1, 2, true);
            assert!(replays.changes.len() <= CHANGES_MAX && replays.replays.len() <= REPLAYS_MAX);
        }
    }
}
