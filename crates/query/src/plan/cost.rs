//! What reading an index costs and what it saves: the one place for the figures by which the planner decides.
//!
//! Nanoseconds on one core of a present-day server with everything in memory. They need not be right, only in
//! proportion.

/// Finding one key.
pub const KEY: u64 = 500;
/// Taking one id out of a list that is read.
pub const ID: u64 = 20;
/// Stepping to the next key of a range.
pub const RANGE_KEY: u64 = 100;
/// Finding one container of a long list.
pub const CONTAINER: u64 = 300;
/// Asking a container for one id.
pub const PROBE: u64 = 10;
/// Looking at one entry: fetching it and trying the filter on it.
pub const ENTRY: u64 = 1_000;

/// Neighbouring ids in one container.
const CONTAINER_IDS: u64 = store::posting::container::CHUNK_IDS;

/// Finding out which of `ids` ids are in a list of `count`, in a backend with `entries` entries: the list is read, or
/// asked, whichever is less.
#[must_use]
pub fn of_common(ids: u64, count: u64, entries: u64) -> u64 {
    let containers = ids.min(entries / CONTAINER_IDS + 1);
    let asked = ids.saturating_mul(PROBE).saturating_add(containers.saturating_mul(CONTAINER));
    asked.min(count.saturating_mul(ID))
}

/// Whether it pays to find out which of `ids` candidates are in a list of `count`: what it costs is less than looking
/// at the entries that it rules out, if keys were spread evenly over the backend's `entries` entries.
#[must_use]
pub fn is_worth(ids: u64, count: u64, entries: u64) -> bool {
    let entries = entries.max(1);
    let kept = u128::from(ids) * u128::from(count.min(entries)) / u128::from(entries);
    let ruled_out = u128::from(ids).saturating_sub(kept);
    ruled_out * u128::from(ENTRY) > u128::from(of_common(ids, count, entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_when_they_rule_something_out() {
        // Everybody is a person: nothing would be ruled out.
        assert!(!is_worth(500, 999_000, 1_000_000));
        // Half of all entries, asked for 100,000 ids.
        assert!(is_worth(100_000, 500_000, 1_000_000));
        // A short list always.
        assert!(is_worth(111, 1_111, 10_002));
        assert!(is_worth(1_000, 1, 1_000_000_000));
        // A few ids in a very large list cost some container each.
        assert_eq!(of_common(20, 5_000_000, 10_000_000), 20 * PROBE + 20 * CONTAINER);
        assert!(is_worth(u64::MAX, u64::MAX / 2, u64::MAX));
    }
}
