//! Random numbers that are the same for the same seed, on every machine and in every version.
//!
//! The generator is the linear congruential one that Java documents for `java.util.Random`: with it a seed gives the
//! same sample data as in OpenDJ's makeldif, so that figures measured there can be measured here. Refuses to be used
//! for secrets.

/// A source of sample data.
#[derive(Debug, Clone)]
pub struct Random {
    /// 48 bits.
    state: u64,
}

const MULTIPLIER: u64 = 0x5_deec_e66d;
const INCREMENT: u64 = 0xb;
const MASK: u64 = (1 << 48) - 1;

impl Random {
    /// The source of that seed.
    pub fn new(seed: u64) -> Self {
        Self { state: (seed ^ MULTIPLIER) & MASK }
    }

    /// The next `count` bits, at most 32.
    fn next(&mut self, count: u32) -> u32 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & MASK;
        (self.state >> (48 - count)) as u32
    }

    /// 64 random bits (`nextLong`, which adds the lower half as a signed number).
    pub fn bits(&mut self) -> u64 {
        let high = u64::from(self.next(32)) << 32;
        high.wrapping_add_signed(i64::from(self.next(32).cast_signed()))
    }

    /// A number below `bound` (`nextInt(bound)` where that fits); 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let Some(small) = u32::try_from(bound).ok().filter(|bound| *bound <= i32::MAX.unsigned_abs()) else {
            return (self.bits() & i64::MAX.unsigned_abs()) % bound;
        };
        if small == 0 {
            return 0;
        }
        if small.is_power_of_two() {
            return (bound * u64::from(self.next(31))) >> 31;
        }
        loop {
            let bits = self.next(31);
            let value = bits % small;
            // The last, incomplete row of the range would favour small numbers.
            if bits - value <= i32::MAX.unsigned_abs() - (small - 1) {
                return u64::from(value);
            }
        }
    }

    /// A number from `min` to `max`, both included, of all 63 bits (`nextLong`).
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        let positive = self.bits() & i64::MAX.unsigned_abs();
        match max.wrapping_sub(min).checked_add(1) {
            Some(width) if max >= min => min + positive % width,
            _ => positive,
        }
    }

    /// One of `items`; `None` if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(usize::try_from(self.below(items.len() as u64)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of seed 0, as Java prints them.
    #[test]
    fn a_seed_gives_its_numbers_for_ever() {
        let mut random = Random::new(0);
        assert_eq!([random.next(32), random.next(32)].map(u32::cast_signed), [-1_155_484_576, -723_955_400]);
        assert_eq!(Random::new(0).bits().cast_signed(), -4_962_768_465_676_381_896);
        let mut random = Random::new(42);
        assert_eq!([random.below(10), random.below(10), random.below(10)], [0, 3, 8]);
        assert_eq!(Random::new(42).below(16), 11);
    }

    #[test]
    fn bounds_hold_and_are_reached() {
        let mut random = Random::new(7);
        let mut seen = [0u32; 6];
        for _ in 0..6000 {
            seen[random.between(0, 5) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        assert_eq!((random.between(9, 9), random.below(0)), (9, 0));
        assert!(random.below(u64::MAX) < u64::MAX);
        let _ = random.between(0, u64::MAX);
    }
}
