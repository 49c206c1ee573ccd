//! What is remembered, shared by all threads, and the right to verify what is not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use super::claim::{Claim, Mac, MacKey};
use super::counts::{Counters, VerifiedCounts};
use super::shard::{Known, Shard, Uuid, Verdict, Waiter};

/// Parts with a lock of their own.
const SHARDS: usize = 16;

/// Bounds of what is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedLimits {
    /// Binds that are remembered.
    pub entries_max: usize,
    /// How long after its full verification a bind is forgotten.
    pub lifetime: Duration,
}

impl Default for VerifiedLimits {
    fn default() -> VerifiedLimits {
        VerifiedLimits { entries_max: 100_000, lifetime: Duration::from_secs(300) }
    }
}

/// Binds that were verified a moment ago; clones share them.
#[derive(Clone)]
pub struct VerifiedBinds {
    shared: Arc<Shared>,
}

/// What there is about a claim.
#[must_use]
pub enum LookUp {
    /// The password is right.
    Verified,
    /// Nothing: verify in full, and say how it ended.
    Verify(Verification),
    /// Another connection's bind with the same password is being verified; the waiter will be called.
    Waiting,
}

/// A claim that its holder verifies in full. When it is dropped without [`end`](Verification::end), those who wait for
/// it are told that it was not verified.
pub struct Verification {
    shared: Arc<Shared>,
    uuid: Uuid,
    mac: Mac,
    key: Arc<MacKey>,
    /// Others may be waiting.
    is_first: bool,
}

struct Shared {
    limits: VerifiedLimits,
    key: ArcSwap<MacKey>,
    shards: [Mutex<Shard>; SHARDS],
    counters: Counters,
}

impl VerifiedBinds {
    /// Remembers nothing yet.
    #[must_use]
    pub fn new(key: MacKey, limits: VerifiedLimits) -> VerifiedBinds {
        let key = ArcSwap::from_pointee(key);
        let (shards, counters) = (std::array::from_fn(|_| Mutex::default()), Counters::default());
        VerifiedBinds { shared: Arc::new(Shared { limits, key, shards, counters }) }
    }

    /// Whether the claim was verified. `waiter` is called for something to wait with, if another bind is verifying the
    /// same claim; otherwise not at all.
    pub fn look_up(&self, claim: &Claim<'_>, now: Instant, waiter: impl FnOnce() -> Waiter) -> LookUp {
        let shared = &self.shared;
        let key = shared.key.load();
        let mac = key.mac(claim);
        let known = shared.shard(claim.uuid).look_up(claim.uuid, mac, now.checked_sub(shared.limits.lifetime), waiter);
        let counters = &shared.counters;
        Counters::add(if matches!(known, Known::Verified) { &counters.hits } else { &counters.misses });
        let is_first = match known {
            Known::Verified => return LookUp::Verified,
            Known::Waits => {
                Counters::add(&counters.shared);
                return LookUp::Waiting;
            }
            Known::Begun => true,
            Known::TooManyWait => false,
        };
        let (shared, key) = (Arc::clone(shared), Arc::clone(&key));
        LookUp::Verify(Verification { shared, uuid: *claim.uuid, mac, key, is_first })
    }

    /// Forgets an entry: it was locked, disabled or deleted.
    pub fn forget(&self, uuid: &[u8; 16]) {
        self.shared.shard(uuid).forget(uuid);
    }

    /// Takes another key, and forgets everything. Meant to be called each hour, so that a key that got known is of use
    /// for an hour at most.
    pub fn rotate(&self, key: MacKey) {
        self.shared.key.store(Arc::new(key));
        for shard in &self.shared.shards {
            lock(shard).clear();
        }
    }

    /// For `cn=monitor`.
    #[must_use]
    pub fn counts(&self) -> VerifiedCounts {
        let entries: usize = self.shared.shards.iter().map(|shard| lock(shard).len()).sum();
        self.shared.counters.read(entries as u64)
    }

    #[cfg(test)]
    pub(super) fn order_len(&self) -> usize {
        self.shared.shards.iter().map(|shard| lock(shard).order_len()).sum()
    }
}

impl Verification {
    /// Says how it ended; whoever waits for the same claim is told.
    pub fn end(mut self, is_right: bool, now: Instant) {
        let shared = Arc::clone(&self.shared);
        let counters = &shared.counters;
        Counters::add(if is_right { &counters.right } else { &counters.wrong });
        let mut shard = shared.shard(&self.uuid);
        if !is_right {
            shard.forget(&self.uuid);
        } else if Arc::ptr_eq(&self.key, &shared.key.load()) {
            // Under a key that was replaced meanwhile nobody would find it.
            let max = shared.limits.entries_max.div_ceil(SHARDS).max(1);
            let evicted = shard.remember(self.uuid, self.mac, now, shared.limits.lifetime, max);
            counters.evicted.fetch_add(evicted, std::sync::atomic::Ordering::Relaxed);
        }
        drop(shard);
        self.tell(if is_right { Verdict::Right } else { Verdict::Wrong });
    }

    fn tell(&mut self, verdict: Verdict) {
        if !std::mem::take(&mut self.is_first) {
            return;
        }
        let waiters = self.shared.shard(&self.uuid).end(&self.uuid, self.mac);
        waiters.into_iter().for_each(|waiter| waiter(verdict));
    }
}

impl Drop for Verification {
    fn drop(&mut self) {
        self.tell(Verdict::NotVerified);
    }
}

impl Shared {
    fn shard(&self, uuid: &Uuid) -> MutexGuard<'_, Shard> {
        // All bytes count: in time-based UUIDs, some are the same for every entry.
        let folded = uuid.iter().fold(0u8, |folded, byte| folded.rotate_left(3) ^ byte);
        lock(&self.shards[usize::from(folded ^ (folded >> 4)) % SHARDS])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for VerifiedBinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerifiedBinds").field("limits", &self.shared.limits).finish_non_exhaustive()
    }
}
