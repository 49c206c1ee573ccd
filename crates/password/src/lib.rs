//! Storage schemes of `userPassword`: which ones exist, how a stored value is told from a clear one, how it is verified
//! and how a new one is made.
//!
//! This crate knows byte strings and nothing else: not entries, not policies, not where the salt comes from
//! (the caller gives it, so that encoding is a function and can be tested against published vectors).
//! It refuses to guess: a stored value that names a scheme it cannot check matches no password.

mod argon;
mod argon_parameters;
mod argon_speed;
mod crypt;
mod digest;
mod encode;
mod encrypted;
mod fault;
mod form;
mod generate;
mod itoa64;
mod key_ring;
mod limits;
mod md5_crypt;
mod netscape_mail;
mod parameters;
mod pbkdf;
mod random;
mod same;
mod scheme;
mod scram;
mod scrypt_value;
mod stored_scheme;
mod verify;

#[cfg(test)]
mod tests;

pub use argon_parameters::{Argon2Error, Argon2Parameters, Argon2Variant};
pub use encode::{decoy, encode, encode_random};
pub use fault::{EncodeError, Unverifiable};
pub use generate::{GENERATED_LENGTH, generate};
pub use key_ring::{Cipher, KeyFileError, KeyId, KeyProblem, KeyRing, set_keys};
pub use limits::PASSWORD_BYTES_MAX;
pub use parameters::{BCRYPT_COSTS, CryptAlgorithm, ParameterError, Parameters, SCRAM_ITERATIONS_MIN};
pub use scheme::Scheme;
pub use scram::{ScramHash, ScramKeys, prepare};
pub use stored_scheme::StoredScheme;
pub use verify::{clear_text, is_encoded, is_slow, sasl_user, scheme_of, scram_keys, unverifiable, verify};
