//! How much one password may ask for, so that none can stop a server.

/// Longest clear password that is hashed. Some schemes cost time in proportion to the length, so that it must end
/// somewhere.
pub const PASSWORD_BYTES_MAX: usize = 4096;

/// Most memory that verifying one stored value may take.
pub(crate) const MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Most rounds of PBKDF2, SCRAM included: some seconds of one core.
pub(crate) const PBKDF2_ITERATIONS_MAX: u32 = 10_000_000;
