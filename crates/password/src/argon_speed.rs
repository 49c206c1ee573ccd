//! How fast this machine makes Argon2 hashes.

use std::time::{Duration, Instant};

use super::argon;
use super::argon_parameters::Argon2Parameters;

impl Argon2Parameters {
    /// How long one hash takes on this machine: the shortest of three, after one that takes the memory.
    #[must_use]
    pub fn measure(self) -> Duration {
        let hash = || {
            let begun = Instant::now();
            let _ = argon::encode(self, b"a password of some length", &[0x5a; 16]);
            begun.elapsed()
        };
        hash();
        (0..3).map(|_| hash()).min().unwrap_or_default()
    }
}
