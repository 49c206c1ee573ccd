//! Random numbers that are the same for the same seed, on every machine and in every version.
//!
//! The generator is xoshiro256++ seeded by splitmix64 (public-domain algorithms of Blackman and Vigna). Sample data that a bug
//! report names by its seed must come out again years later, which no library promises. Refuses to be used for secrets.

/// A source of sample data.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The source of that seed.
    pub fn new(seed: u64) -> Self {
        let mut seed = seed;
        let mut next = || {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = seed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self { state: [next(), next(), next(), next()] }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number below `bound`; 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of the multiplication is below bound / 2^64, nothing that sample data could show.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `min` to `max`, both included.
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        match max.wrapping_sub(min).checked_add(1) {
            Some(width) if max >= min => min + self.below(width),
            _ => self.bits(),
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

    /// The first numbers of seed 0, as the reference implementations give them.
    #[test]
    fn a_seed_gives_its_numbers_for_ever() {
        let mut random = Random::new(0);
        assert_eq!(
            [random.bits(), random.bits(), random.bits()],
            [0x53175d61490b23df, 0x61da6f3dc380d507, 0x5c0fdf91ec9a7bfc]
        );
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
        let _ = random.between(0, u64::MAX);
    }
}
