//! What an Argon2 hash costs, and which cost suits a machine.

use std::time::Duration;

use super::limits::MEMORY_BYTES_MAX;

/// Least memory, in KiB for each lane (RFC 9106).
const MEMORY_KIB_MIN: u32 = 8;
/// Most memory, in KiB.
const MEMORY_KIB_MAX: u32 = (MEMORY_BYTES_MAX >> 10) as u32;
/// Most passes over that memory.
const ITERATIONS_MAX: u32 = 64;
/// Most lanes.
const LANES_MAX: u32 = 64;
/// Most memory times passes, in KiB: some seconds of one core.
const WORK_KIB_MAX: u64 = 4 << 20;
/// What tuning takes at most, in KiB: a server keeps it once for each core.
const TUNED_MEMORY_KIB_MAX: u32 = 64 << 10;
/// Passes that tuning takes at most.
const TUNED_ITERATIONS_MAX: u32 = 20;

/// Which of Argon2's ways through the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argon2Variant {
    /// Argon2id: what is advised for passwords.
    Id,
    /// Argon2i.
    I,
    /// Argon2d.
    D,
}

/// Memory, passes and lanes within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Argon2Parameters {
    variant: Argon2Variant,
    memory_kib: u32,
    iterations: u32,
    lanes: u32,
}

/// Why parameters of Argon2 are not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Argon2Error {
    /// Too little memory, no pass, no lane.
    #[error("Argon2 needs at least one lane, one pass, and {MEMORY_KIB_MIN} KiB of memory for each lane")]
    TooLittle,
    /// Beyond a bound.
    #[error(
        "Argon2 takes at most {MEMORY_KIB_MAX} KiB of memory, {ITERATIONS_MAX} passes, {LANES_MAX} lanes, and \
         {WORK_KIB_MAX} KiB of memory times passes"
    )]
    TooMuch,
}

impl Argon2Error {
    /// Whether it is a bound of ours that is exceeded.
    pub(super) fn is_too_much(self) -> bool {
        self == Argon2Error::TooMuch
    }
}

impl Argon2Variant {
    /// The name in stored values.
    pub(super) fn phc(self) -> &'static str {
        match self {
            Argon2Variant::Id => "argon2id",
            Argon2Variant::I => "argon2i",
            Argon2Variant::D => "argon2d",
        }
    }

    pub(super) fn from_phc(name: &str) -> Option<Argon2Variant> {
        [Argon2Variant::Id, Argon2Variant::I, Argon2Variant::D].into_iter().find(|variant| variant.phc() == name)
    }
}

impl Argon2Parameters {
    /// The least that OWASP advises (19 MiB, two passes, one lane), which is the default.
    pub const OWASP: Argon2Parameters =
        Argon2Parameters { variant: Argon2Variant::Id, memory_kib: 19 << 10, iterations: 2, lanes: 1 };

    /// Checks the bounds.
    ///
    /// # Errors
    /// When a number is outside of them.
    pub fn new(
        variant: Argon2Variant,
        memory_kib: u32,
        iterations: u32,
        lanes: u32,
    ) -> Result<Argon2Parameters, Argon2Error> {
        if memory_kib > MEMORY_KIB_MAX
            || iterations > ITERATIONS_MAX
            || lanes > LANES_MAX
            || u64::from(memory_kib) * u64::from(iterations) > WORK_KIB_MAX
        {
            return Err(Argon2Error::TooMuch);
        }
        if iterations == 0 || lanes == 0 || memory_kib < MEMORY_KIB_MIN * lanes {
            return Err(Argon2Error::TooLittle);
        }
        Ok(Argon2Parameters { variant, memory_kib, iterations, lanes })
    }

    /// Which variant.
    #[must_use]
    pub fn variant(self) -> Argon2Variant {
        self.variant
    }

    /// Memory in KiB.
    #[must_use]
    pub fn memory_kib(self) -> u32 {
        self.memory_kib
    }

    /// Passes over the memory.
    #[must_use]
    pub fn iterations(self) -> u32 {
        self.iterations
    }

    /// Lanes, which are computed one after the other.
    #[must_use]
    pub fn lanes(self) -> u32 {
        self.lanes
    }

    /// The parameters whose hash takes about `target`, never less than [`OWASP`](Argon2Parameters::OWASP): first more
    /// memory, up to 64 MiB, then more passes. `measure` says how long a hash takes, as
    /// [`measure`](Argon2Parameters::measure) does.
    #[must_use]
    pub fn tuned(target: Duration, mut measure: impl FnMut(Argon2Parameters) -> Duration) -> Argon2Parameters {
        let least = Argon2Parameters::OWASP;
        let mut chosen = least;
        let mut took = measure(least);
        // The second round corrects what the first guessed: more memory is slower for each KiB.
        for _ in 0..2 {
            if took.is_zero() || (took >= target && chosen == least) {
                break;
            }
            let factor = target.as_secs_f64() / took.as_secs_f64();
            chosen = chosen.scaled(factor);
            took = measure(chosen);
        }
        chosen
    }

    /// With the work multiplied by `factor`, within the bounds of tuning.
    fn scaled(self, factor: f64) -> Argon2Parameters {
        let least = Argon2Parameters::OWASP;
        let work = f64::from(self.memory_kib) * f64::from(self.iterations) * factor;
        let memory = (work / f64::from(least.iterations)).min(f64::from(TUNED_MEMORY_KIB_MAX));
        // Whole MiB, so that the file reads well.
        let memory_kib = (((memory / 1024.0).floor() as u32) << 10).max(least.memory_kib);
        let passes = (work / f64::from(memory_kib)).floor() as u32;
        let iterations = passes.clamp(least.iterations, TUNED_ITERATIONS_MAX);
        Argon2Parameters { memory_kib, iterations, ..self }
    }
}

impl Default for Argon2Parameters {
    fn default() -> Argon2Parameters {
        Argon2Parameters::OWASP
    }
}
