//! How often wrong passwords come from one address, and for one name, whether somebody has that name or not. More than
//! the limits allow within a minute are an attack, which is told once when it begins and once when it has ended, and
//! whose further guesses can be refused.
//!
//! Each address (of IPv6: each network of 64 bits) and each name has a level: a wrong password raises it by one, and it
//! falls by the limit within a minute. Bounded: what comes while too many are watched is counted, and not watched.
//! Knows no requests and no accounts.

use std::collections::hash_map::{Entry, HashMap, RandomState};
use std::collections::{BTreeSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use query::monitor_entry::MonitorEntry;

use crate::attack::{Attack, AttackEvent, Attacked};

const SHARDS: usize = 16;
/// Addresses, and as many names, that are watched at once.
const WATCHED_MAX: usize = 1 << 16;
/// Events that wait to be told.
const EVENTS_MAX: usize = 256;
/// Attacks that the monitor names.
const NAMED_MAX: usize = 50;
const MINUTE_SECONDS: f64 = 60.0;

/// How many wrong passwords a minute are no attack yet; 0: however many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GuessLimits {
    /// From one address.
    pub per_address: u32,
    /// For one name.
    pub per_name: u32,
    /// Guesses beyond are refused.
    pub refuses: bool,
}

/// Where a guess comes from, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Guesser<'g> {
    /// None of a local socket.
    pub address: Option<IpAddr>,
    /// The name in a form that is the same for all spellings, and as it was sent.
    pub name: Option<(&'g [u8], &'g str)>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct GuessRates {
    per_address: AtomicU32,
    per_name: AtomicU32,
    refuses: AtomicBool,
    addresses: Rates<IpAddr>,
    names: Rates<u64>,
    hasher: RandomState,
    wrong: AtomicU64,
    refused: AtomicU64,
    unwatched: AtomicU64,
    begun: AtomicU64,
    events: Mutex<VecDeque<AttackEvent>>,
}

#[derive(Debug)]
struct Rates<K>(Box<[Mutex<HashMap<K, Rate>>]>);

#[derive(Debug)]
struct Rate {
    level: f64,
    /// When the level was that.
    at: Instant,
    attack: Option<Box<Attack>>,
}

impl Rate {
    fn fall(&mut self, limit: u32, now: Instant) {
        let fallen = now.saturating_duration_since(self.at).as_secs_f64() * f64::from(limit) / MINUTE_SECONDS;
        self.level = (self.level - fallen).max(0.0);
        self.at = now;
    }
}

impl<K> Default for Rates<K> {
    fn default() -> Self {
        Rates((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl<K: Eq + Hash> Rates<K> {
    fn with<R>(&self, hash: u64, act: impl FnOnce(&mut HashMap<K, Rate>) -> R) -> Option<R> {
        let shard = self.0.get((hash % SHARDS as u64) as usize)?;
        Some(act(&mut shard.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Notes a wrong password; gives the attack that begins with it, or whether there is no room to watch.
    fn wrong(&self, (key, hash): (K, u64), limit: u32, now: Instant, guess: &Attacked<'_>) -> Noted {
        let noted = self.with(hash, |rates| {
            let is_full = rates.len() >= WATCHED_MAX / SHARDS;
            let rate = match rates.entry(key) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(_) if is_full => return Noted::Unwatched,
                Entry::Vacant(new) => new.insert(Rate { level: 0.0, at: now, attack: None }),
            };
            rate.fall(limit, now);
            rate.level += 1.0;
            if let Some(attack) = &mut rate.attack {
                attack.wrong(guess);
            } else if rate.level > f64::from(limit) {
                let attack = Attack::begin(guess, u64::from(limit) + 1, now);
                let event = attack.begun();
                rate.attack = Some(Box::new(attack));
                return Noted::Attack(event);
            }
            Noted::Watched
        });
        noted.unwrap_or(Noted::Unwatched)
    }

    /// How long a guess has to wait until it is within the limit, and the attack that begins with it.
    fn wait(&self, (key, hash): (K, u64), limit: u32, now: Instant, guess: &Attacked<'_>) -> Option<(Duration, Noted)> {
        self.with(hash, |rates| {
            let rate = rates.get_mut(&key)?;
            rate.fall(limit, now);
            let above = rate.level - f64::from(limit) + 1.0;
            if above <= 0.0 {
                return None;
            }
            let (attack, noted) = match rate.attack.take() {
                Some(attack) => (attack, Noted::Watched),
                None => {
                    let attack = Box::new(Attack::begin(guess, u64::from(limit), now));
                    let event = attack.begun();
                    (attack, Noted::Attack(event))
                }
            };
            rate.attack.insert(attack).refused();
            Some((Duration::from_secs_f64(above * MINUTE_SECONDS / f64::from(limit)), noted))
        })?
    }

    /// Forgets who guesses no more; the attacks that have ended.
    fn settle(&self, limit: u32, now: Instant, ended: &mut Vec<AttackEvent>) {
        for shard in &self.0 {
            let mut rates = shard.lock().unwrap_or_else(PoisonError::into_inner);
            rates.retain(|_, rate| {
                rate.fall(limit, now);
                let is_quiet = limit == 0 || rate.level <= f64::from(limit) / 2.0;
                if let Some(attack) = rate.attack.take_if(|_| is_quiet) {
                    ended.push(attack.ended(now));
                }
                limit != 0 && rate.level > 0.0
            });
        }
    }

    fn attacks(&self, shown: &mut BTreeSet<String>) -> (usize, usize) {
        let (mut watched, mut attacks) = (0, 0);
        for shard in &self.0 {
            let rates = shard.lock().unwrap_or_else(PoisonError::into_inner);
            watched += rates.len();
            for attack in rates.values().filter_map(|rate| rate.attack.as_ref()) {
                attacks += 1;
                if shown.len() < NAMED_MAX {
                    shown.insert(attack.to_string());
                }
            }
        }
        (watched, attacks)
    }
}

/// What became of a wrong password.
enum Noted {
    Watched,
    Attack(AttackEvent),
    Unwatched,
}

impl GuessRates {
    /// Takes other limits; whether they are others.
    pub fn set(&self, limits: GuessLimits) -> bool {
        let GuessLimits { per_address, per_name, refuses } = limits;
        let before = (
            self.per_address.swap(per_address, Ordering::Relaxed),
            self.per_name.swap(per_name, Ordering::Relaxed),
            self.refuses.swap(refuses, Ordering::Relaxed),
        );
        before != (per_address, per_name, refuses)
    }

    /// Whether guesses beyond the limits are refused.
    #[inline]
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }

    /// How long a guess has to wait, if guesses beyond the limits are refused; none: it may be made.
    pub fn wait(&self, guesser: &Guesser<'_>, now: Instant) -> Option<Duration> {
        if !self.refuses() {
            return None;
        }
        let longest = self.sides(guesser, |address, name| {
            let by_address = address.and_then(|(key, limit, guess)| self.addresses.wait(key, limit, now, &guess));
            let by_name = name.and_then(|(hash, limit, guess)| self.names.wait((hash, hash), limit, now, &guess));
            let mut longest = None;
            for (wait, noted) in by_address.into_iter().chain(by_name) {
                self.note(noted);
                longest = longest.max(Some(wait));
            }
            longest
        });
        if longest.is_some() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        longest
    }

    /// Notes a wrong password.
    pub fn wrong(&self, guesser: &Guesser<'_>, now: Instant) {
        self.wrong.fetch_add(1, Ordering::Relaxed);
        self.sides(guesser, |address, name| {
            if let Some((key, limit, guess)) = address {
                self.note(self.addresses.wrong(key, limit, now, &guess));
            }
            if let Some((hash, limit, guess)) = name {
                self.note(self.names.wrong((hash, hash), limit, now, &guess));
            }
        });
    }

    /// The address and the name of a guess as far as they are limited: keys, limits, and how they are told.
    fn sides<R>(
        &self,
        guesser: &Guesser<'_>,
        act: impl FnOnce(Option<((IpAddr, u64), u32, Attacked<'_>)>, Option<(u64, u32, Attacked<'_>)>) -> R,
    ) -> R {
        let (per_address, per_name) = self.limits();
        let source = self.source(guesser);
        let address = &*source.map(|(address, _)| address.to_string()).unwrap_or_default();
        let name = guesser.name.map(|(_, sent)| sent).unwrap_or_default();
        let by_address = source.filter(|_| per_address > 0);
        let by_name = self.name(guesser).filter(|_| per_name > 0);
        act(
            by_address.map(|key| (key, per_address, Attacked::FromAddress { address, name })),
            by_name.map(|hash| (hash, per_name, Attacked::ForName { name, address })),
        )
    }

    fn note(&self, noted: Noted) {
        match noted {
            Noted::Watched => {}
            Noted::Unwatched => drop(self.unwatched.fetch_add(1, Ordering::Relaxed)),
            Noted::Attack(event) => {
                self.begun.fetch_add(1, Ordering::Relaxed);
                let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
                if events.len() < EVENTS_MAX {
                    events.push_back(event);
                }
            }
        }
    }

    /// The attacks that have begun and ended since the last time.
    pub fn events(&self, now: Instant) -> Vec<AttackEvent> {
        let mut events = std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner));
        let mut ended = Vec::new();
        let (per_address, per_name) = self.limits();
        self.addresses.settle(per_address, now, &mut ended);
        self.names.settle(per_name, now, &mut ended);
        events.extend(ended);
        events.into()
    }

    /// `cn=Wrong Passwords,cn=monitor`.
    #[must_use]
    pub fn monitor_entry(&self) -> MonitorEntry {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut shown = BTreeSet::new();
        let (addresses, by_address) = self.addresses.attacks(&mut shown);
        let (names, by_name) = self.names.attacks(&mut shown);
        let mut entry = MonitorEntry::new("Wrong Passwords")
            .with("wrong-passwords", get(&self.wrong))
            .with("guesses-refused", get(&self.refused))
            .with("guesses-not-watched", get(&self.unwatched))
            .with("addresses-watched", addresses)
            .with("names-watched", names)
            .with("attacks-begun", get(&self.begun))
            .with("attacks-now", by_address + by_name);
        if !shown.is_empty() {
            entry.attributes.push(("attack".to_owned(), shown.into_iter().collect()));
        }
        entry
    }

    fn limits(&self) -> (u32, u32) {
        (self.per_address.load(Ordering::Relaxed), self.per_name.load(Ordering::Relaxed))
    }

    fn source(&self, guesser: &Guesser<'_>) -> Option<(IpAddr, u64)> {
        let address = match guesser.address?.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
            address @ IpAddr::V4(_) => address,
        };
        Some((address, self.hasher.hash_one(address)))
    }

    fn name(&self, guesser: &Guesser<'_>) -> Option<u64> {
        guesser.name.map(|(name, _)| self.hasher.hash_one(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: GuessLimits = GuessLimits { per_address: 60, per_name: 6, refuses: true };

    fn rates(limits: GuessLimits) -> GuessRates {
        let rates = GuessRates::default();
        rates.set(limits);
        rates
    }

    fn from(address: &str) -> Guesser<'static> {
        Guesser { address: address.parse().ok(), name: Some((b"uid=ann", "uid=Ann")) }
    }

    fn texts(rates: &GuessRates, now: Instant) -> Vec<String> {
        rates.events(now).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_attack_on_a_name_is_told_when_it_begins_and_when_it_ends() {
        let (rates, now) = (rates(GuessLimits { refuses: false, ..LIMITS }), Instant::now());
        for number in 0..6 {
            rates.wrong(&from(&format!("10.0.0.{number}")), now);
        }
        assert!(texts(&rates, now).is_empty(), "the limit is reached");
        rates.wrong(&from("10.0.0.7"), now);
        rates.wrong(&from("10.0.0.8"), now);
        let begun = "Passwords are being guessed for \"uid=Ann\": 7 wrong ones within a minute, the last from 10.0.0.7";
        assert_eq!(texts(&rates, now), [begun]);
        assert!(texts(&rates, now).is_empty(), "once");
        let ended = "Passwords are no longer guessed for \"uid=Ann\": 8 were wrong in 60 s, from 10.0.0.7, 10.0.0.8";
        assert_eq!(texts(&rates, now + Duration::from_secs(60)), [ended]);
    }

    #[test]
    fn guesses_beyond_the_limit_are_refused_until_it_is_kept() {
        let (rates, now) = (rates(LIMITS), Instant::now());
        (0..6).for_each(|_| rates.wrong(&from("10.0.0.1"), now));
        assert_eq!(rates.wait(&from("10.0.0.9"), now), Some(Duration::from_secs(10)));
        let begun = "Passwords are being guessed for \"uid=Ann\": 6 wrong ones within a minute, the last from 10.0.0.9";
        assert_eq!(texts(&rates, now), [begun]);
        assert_eq!(rates.wait(&from("10.0.0.9"), now + Duration::from_secs(11)), None);
        let ended = "Passwords are no longer guessed for \"uid=Ann\": 6 were wrong in 40 s, from 10.0.0.9; 1 further \
                     guess was refused";
        assert_eq!(texts(&rates, now + Duration::from_secs(40)), [ended]);
    }

    #[test]
    fn a_network_of_ipv6_is_one_source() {
        let (rates, now) = (rates(GuessLimits { per_name: 0, ..LIMITS }), Instant::now());
        for number in 0..60 {
            rates.wrong(&from(&format!("2001:db8:0:1::{number}")), now);
        }
        assert_eq!(rates.wait(&from("2001:db8:0:1:ffff::1"), now), Some(Duration::from_secs(1)));
        assert_eq!(rates.wait(&from("2001:db8:0:2::1"), now), None);
        let local = Guesser { address: None, name: None };
        assert_eq!(rates.wait(&local, now), None, "who comes over a local socket gets in");
        assert_eq!(rates.wait(&from("2001:db8:0:1::1"), now + Duration::from_secs(2)), None);
    }

    #[test]
    fn nothing_is_refused_unless_it_is_said() {
        let (rates, now) = (rates(GuessLimits { refuses: false, ..LIMITS }), Instant::now());
        (0..100).for_each(|_| rates.wrong(&from("10.0.0.1"), now));
        assert_eq!((texts(&rates, now).len(), rates.wait(&from("10.0.0.1"), now)), (2, None));
        rates.set(GuessLimits::default());
        assert_eq!(texts(&rates, now).len(), 2, "what is not watched any more has ended");
        (0..100).for_each(|_| rates.wrong(&from("10.0.0.1"), now));
        assert!(texts(&rates, now).is_empty());
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let (rates, now) = (rates(LIMITS), Instant::now());
        for number in 0..WATCHED_MAX + 10_000 {
            let name = number.to_string();
            rates.wrong(&Guesser { address: None, name: Some((name.as_bytes(), &name)) }, now);
        }
        let watched: usize = rates.names.0.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(watched <= WATCHED_MAX && rates.unwatched.load(Ordering::Relaxed) >= 10_000, "{watched}");
        rates.events(now + Duration::from_secs(11));
        assert!(rates.names.0.iter().all(|shard| shard.lock().unwrap().is_empty()), "nothing is kept");
    }
}
