//! Which of all filtering criteria a request matches: one bit for each.

use smallvec::{SmallVec, smallvec};

/// Bits by the numbers of criteria.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matched {
    bits: SmallVec<[u64; 1]>,
    /// Which publishers the numbers are of; none: it was not judged.
    generation: Option<u64>,
}

impl Matched {
    /// None matches yet, of those that publishers of a generation have.
    pub fn none_of(generation: u64, count: usize) -> Self {
        Self { bits: smallvec![0; count.div_ceil(64)], generation: Some(generation) }
    }

    /// Whether it was judged by the criteria of that generation.
    pub fn is_of(&self, generation: u64) -> bool {
        self.generation == Some(generation)
    }

    /// That one matches.
    pub fn set(&mut self, number: usize) {
        if let Some(word) = self.bits.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    /// That one does not match.
    pub fn clear(&mut self, number: usize) {
        if let Some(word) = self.bits.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Whether that one matches.
    pub fn has(&self, number: usize) -> bool {
        self.bits.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}
