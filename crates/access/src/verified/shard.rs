//! One part of what is remembered, and the verifications that are under way for it. Knows no locks.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::claim::Mac;

/// How a verification ended, for those who waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The password is right.
    Right,
    /// The password is wrong.
    Wrong,
    /// It was not verified (the pool had no room): answer as for that.
    NotVerified,
}

/// What a bind that waits for another's verification does then. It is called on the thread that verified.
pub type Waiter = Box<dyn FnOnce(Verdict) + Send>;

/// Binds that may wait for one verification; more verify for themselves, and the pool bounds those.
const WAITERS_MAX: usize = 4096;

/// An entry's UUID.
pub(super) type Uuid = [u8; 16];

/// A verified bind.
struct Verified {
    mac: Mac,
    at: Instant,
}

/// What there is about a claim.
pub(super) enum Known {
    /// It was verified, and not too long ago.
    Verified,
    /// Nothing; a verification of it has begun with this call.
    Begun,
    /// It is being verified, and the waiter is in the list.
    Waits,
    /// It is being verified, and too many wait for that.
    TooManyWait,
}

#[derive(Default)]
pub(super) struct Shard {
    verified: HashMap<Uuid, Verified>,
    /// In the order of verification, which is that of forgetting. One whose time is not that in `verified` is void.
    order: VecDeque<(Uuid, Instant)>,
    under_way: HashMap<(Uuid, Mac), Vec<Waiter>>,
}

impl Shard {
    pub(super) fn look_up(
        &mut self,
        uuid: &Uuid,
        mac: Mac,
        fresh_since: Option<Instant>,
        waiter: impl FnOnce() -> Waiter,
    ) -> Known {
        let is_fresh = |verified: &Verified| fresh_since.is_none_or(|since| verified.at > since);
        if self.verified.get(uuid).is_some_and(|verified| verified.mac == mac && is_fresh(verified)) {
            return Known::Verified;
        }
        match self.under_way.entry((*uuid, mac)) {
            Entry::Vacant(place) => {
                place.insert(Vec::new());
                Known::Begun
            }
            Entry::Occupied(waiting) if waiting.get().len() >= WAITERS_MAX => Known::TooManyWait,
            Entry::Occupied(mut waiting) => {
                waiting.get_mut().push(waiter());
                Known::Waits
            }
        }
    }

    /// Who waited for that verification.
    pub(super) fn end(&mut self, uuid: &Uuid, mac: Mac) -> Vec<Waiter> {
        self.under_way.remove(&(*uuid, mac)).unwrap_or_default()
    }

    /// Remembers a bind, and forgets those that are too old or too many; says how many of the latter.
    pub(super) fn remember(&mut self, uuid: Uuid, mac: Mac, at: Instant, lifetime: Duration, max: usize) -> u64 {
        self.verified.insert(uuid, Verified { mac, at });
        self.order.push_back((uuid, at));
        let mut evicted = 0;
        while let Some((uuid, since)) = self.order.front().copied() {
            let is_void = self.verified.get(&uuid).is_none_or(|verified| verified.at != since);
            let is_old = at.saturating_duration_since(since) >= lifetime;
            // Void ones count too: an entry that is verified again and again does not make the list grow.
            if !is_void && !is_old && self.order.len() <= max {
                break;
            }
            self.order.pop_front();
            if !is_void {
                self.verified.remove(&uuid);
                evicted += u64::from(!is_old);
            }
        }
        evicted
    }

    pub(super) fn forget(&mut self, uuid: &Uuid) {
        self.verified.remove(uuid);
    }

    pub(super) fn clear(&mut self) {
        self.verified = HashMap::new();
        self.order = VecDeque::new();
    }

    pub(super) fn len(&self) -> usize {
        self.verified.len()
    }

    #[cfg(test)]
    pub(super) fn order_len(&self) -> usize {
        self.order.len()
    }
}
