//! A point in time, as account states keep it.

use std::time::Duration;

/// Milliseconds since 1970-01-01 UTC: the precision of OpenDJ's state attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment so much later; the last one there is when that is too far away.
    #[must_use]
    pub fn after(self, span: Duration) -> Moment {
        Moment(self.0.saturating_add(milliseconds(span)))
    }

    /// The moment so much earlier; the first one there is when that is too far away.
    #[must_use]
    pub fn before(self, span: Duration) -> Moment {
        Moment(self.0.saturating_sub(milliseconds(span)))
    }

    /// The time from `earlier` to this moment; none when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_end_where_numbers_end() {
        let (now, second) = (Moment(5_000), Duration::from_secs(1));
        assert_eq!((now.after(second), now.before(second)), (Moment(6_000), Moment(4_000)));
        assert_eq!((now.before(Duration::from_secs(9)), Moment(u64::MAX).after(second)), (Moment(0), Moment(u64::MAX)));
        assert_eq!(
            (now.since(Moment(3_500)), now.since(Moment(9_000))),
            (Duration::from_millis(1_500), Duration::ZERO)
        );
    }
}
