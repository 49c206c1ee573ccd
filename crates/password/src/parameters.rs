//! What new values cost: the numbers that a configuration may set for each scheme.

use super::argon_parameters::Argon2Parameters;
use super::limits::PBKDF2_ITERATIONS_MAX;
use super::scheme::Scheme;

/// Rounds of PBKDF2 and of SCRAM unless set (OpenDJ's defaults).
const ITERATIONS: u32 = 10_000;
/// Least rounds of a new SCRAM value: RFC 5802 §5.1 wants no fewer.
pub const SCRAM_ITERATIONS_MIN: u32 = 4096;
/// Cost of Bcrypt unless set (OpenDJ's default).
const BCRYPT_COST: u32 = 12;
/// Costs that a new Bcrypt value may have: some 15 seconds of one core at most.
pub const BCRYPT_COSTS: std::ops::RangeInclusive<u32> = 4..=18;

/// The form of new crypt values. The old DES form is never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CryptAlgorithm {
    /// `$1$`
    Md5,
    /// `$5$`
    Sha256,
    /// `$6$`
    #[default]
    Sha512,
}

/// Parameters of every scheme that has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    pbkdf2: [u32; 3],
    scram: [u32; 3],
    bcrypt_cost: u32,
    crypt: CryptAlgorithm,
    argon2: Argon2Parameters,
}

/// Why a number is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// A scheme without rounds.
    #[error("the scheme {} has no iterations", scheme.config_name())]
    NoIterations {
        /// Which.
        scheme: Scheme,
    },
    /// Rounds out of bounds.
    #[error("{} takes {least} to {PBKDF2_ITERATIONS_MAX} iterations", scheme.config_name())]
    Iterations {
        /// Which.
        scheme: Scheme,
        /// The least that it takes.
        least: u32,
    },
    /// The cost of Bcrypt is out of bounds.
    #[error("Bcrypt takes a cost of {} to {}", BCRYPT_COSTS.start(), BCRYPT_COSTS.end())]
    BcryptCost,
}

/// Where the rounds of a scheme are kept, and the least it takes.
enum Rounds {
    Pbkdf2(usize),
    Scram(usize),
}

impl Rounds {
    fn of(scheme: Scheme) -> Option<Rounds> {
        Some(match scheme {
            Scheme::Pbkdf2 => Rounds::Pbkdf2(0),
            Scheme::Pbkdf2HmacSha256 => Rounds::Pbkdf2(1),
            Scheme::Pbkdf2HmacSha512 => Rounds::Pbkdf2(2),
            Scheme::ScramSha1 => Rounds::Scram(0),
            Scheme::ScramSha256 => Rounds::Scram(1),
            Scheme::ScramSha512 => Rounds::Scram(2),
            _ => return None,
        })
    }
}

impl Parameters {
    /// Sets the rounds of a PBKDF2 or SCRAM scheme.
    ///
    /// # Errors
    /// When the scheme has none, or the number is out of bounds.
    pub fn set_iterations(&mut self, scheme: Scheme, iterations: u32) -> Result<(), ParameterError> {
        let (place, least) = match Rounds::of(scheme).ok_or(ParameterError::NoIterations { scheme })? {
            Rounds::Pbkdf2(index) => (&mut self.pbkdf2[index], 1),
            Rounds::Scram(index) => (&mut self.scram[index], SCRAM_ITERATIONS_MIN),
        };
        if !(least..=PBKDF2_ITERATIONS_MAX).contains(&iterations) {
            return Err(ParameterError::Iterations { scheme, least });
        }
        *place = iterations;
        Ok(())
    }

    /// Sets the cost of Bcrypt.
    ///
    /// # Errors
    /// When it is out of bounds.
    pub fn set_bcrypt_cost(&mut self, cost: u32) -> Result<(), ParameterError> {
        if !BCRYPT_COSTS.contains(&cost) {
            return Err(ParameterError::BcryptCost);
        }
        self.bcrypt_cost = cost;
        Ok(())
    }

    /// Sets the form of new crypt values.
    pub fn set_crypt(&mut self, algorithm: CryptAlgorithm) {
        self.crypt = algorithm;
    }

    /// Sets memory, passes and lanes of Argon2.
    pub fn set_argon2(&mut self, argon2: Argon2Parameters) {
        self.argon2 = argon2;
    }

    /// Rounds of a scheme; the default for one that has none.
    #[must_use]
    pub fn iterations(&self, scheme: Scheme) -> u32 {
        match Rounds::of(scheme) {
            Some(Rounds::Pbkdf2(index)) => self.pbkdf2[index],
            Some(Rounds::Scram(index)) => self.scram[index],
            None => ITERATIONS,
        }
    }

    /// Cost of Bcrypt.
    #[must_use]
    pub fn bcrypt_cost(&self) -> u32 {
        self.bcrypt_cost
    }

    /// The form of new crypt values.
    #[must_use]
    pub fn crypt(&self) -> CryptAlgorithm {
        self.crypt
    }

    /// Memory, passes and lanes of Argon2.
    #[must_use]
    pub fn argon2(&self) -> Argon2Parameters {
        self.argon2
    }
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            pbkdf2: [ITERATIONS; 3],
            scram: [ITERATIONS; 3],
            bcrypt_cost: BCRYPT_COST,
            crypt: CryptAlgorithm::default(),
            argon2: Argon2Parameters::default(),
        }
    }
}
