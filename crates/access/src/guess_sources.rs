//! From which addresses the wrong passwords of an account came last: what an administrator wants to know who looks at a
//! locked account.
//!
//! Kept in memory, and bounded: a restart forgets it, and of many accounts those go first that came first.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use accounts::Moment;

use crate::guesses::Guessed;

/// Accounts that something is known of.
const ACCOUNTS_MAX: usize = 1 << 14;
const SHARDS: usize = 16;
/// Addresses of one account.
const ADDRESSES_MAX: usize = 4;

/// See the module.
#[derive(Debug)]
pub struct GuessSources {
    shards: Box<[Mutex<Shard>]>,
}

#[derive(Debug, Default)]
struct Shard {
    known: HashMap<Guessed, Known>,
    /// In the order of coming.
    order: VecDeque<Guessed>,
}

/// What is known of one account.
#[derive(Debug, Default)]
struct Known {
    /// With the time of the last wrong password from there; no address of a local socket.
    last: Vec<(Option<IpAddr>, Moment)>,
    /// The time of the last wrong password from an address that made way for another.
    left_out: Option<Moment>,
}

/// Where wrong passwords came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// No address of a local socket.
    pub addresses: Vec<Option<IpAddr>>,
    /// There were others.
    pub has_more: bool,
}

impl Default for GuessSources {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl GuessSources {
    /// Notes a wrong password.
    pub fn note(&self, whose: Guessed, address: Option<IpAddr>, now: Moment) {
        let Some(shard) = self.shards.get(whose.shard(SHARDS)) else { return };
        let shard = &mut *shard.lock().unwrap_or_else(PoisonError::into_inner);
        if !shard.known.contains_key(&whose) {
            if shard.order.len() >= ACCOUNTS_MAX / SHARDS
                && let Some(oldest) = shard.order.pop_front()
            {
                shard.known.remove(&oldest);
            }
            shard.order.push_back(whose);
        }
        let known = shard.known.entry(whose).or_default();
        known.last.retain(|(other, _)| *other != address);
        if known.last.len() >= ADDRESSES_MAX {
            known.left_out = known.left_out.max(Some(known.last.remove(0).1));
        }
        known.last.push((address, now));
    }

    /// From where those came that are not older.
    #[must_use]
    pub fn since(&self, whose: Guessed, oldest: Moment) -> Sources {
        let Some(shard) = self.shards.get(whose.shard(SHARDS)) else { return Sources::default() };
        let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = shard.known.get(&whose) else { return Sources::default() };
        let is_recent = |at: &Moment| *at >= oldest;
        Sources {
            addresses: known.last.iter().filter(|(_, at)| is_recent(at)).map(|(address, _)| *address).collect(),
            has_more: known.left_out.as_ref().is_some_and(is_recent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Guessed = Guessed::Entry(0, 7);

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, last]))
    }

    #[test]
    fn the_addresses_of_the_last_wrong_passwords_are_known() {
        let sources = GuessSources::default();
        for (last, at) in [(1, 10), (2, 20), (1, 30)] {
            sources.note(ANN, address(last), Moment(at));
        }
        sources.note(ANN, None, Moment(40));
        let since = |at| sources.since(ANN, Moment(at));
        assert_eq!(since(0), Sources { addresses: vec![address(2), address(1), None], has_more: false });
        assert_eq!(since(25).addresses, [address(1), None]);
        assert_eq!(since(41), Sources::default());
        assert_eq!(sources.since(Guessed::Root(7), Moment(0)), Sources::default());
    }

    #[test]
    fn what_is_known_is_bounded() {
        let sources = GuessSources::default();
        for last in 0..200 {
            sources.note(ANN, address(last), Moment(last.into()));
        }
        let found = sources.since(ANN, Moment(0));
        assert_eq!((found.addresses.len(), found.has_more), (ADDRESSES_MAX, true));
        assert!(!sources.since(ANN, Moment(196)).has_more);
        for id in 0..ACCOUNTS_MAX as u64 * 2 {
            sources.note(Guessed::Entry(0, id), address(1), Moment(1));
        }
        let known: usize = sources.shards.iter().map(|shard| shard.lock().unwrap().known.len()).sum();
        assert_eq!(known, ACCOUNTS_MAX);
        assert_eq!(sources.since(ANN, Moment(0)), Sources::default(), "it came first");
    }
}
