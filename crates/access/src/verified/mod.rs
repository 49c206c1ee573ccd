//! Binds that were verified a moment ago: who repeats a password that was right is not made to wait for a slow hash
//! again.
//!
//! 1. What is kept is a keyed hash over the entry's UUID, its stored values, the time of its last change and the
//!    password that was right: never the password, and nothing that is of use without the key, which only this process
//!    has. A change of the stored values by whatever way makes another hash, so nothing has to be told of it.
//! 2. Only a full verification puts something in, and it is forgotten [`VerifiedLimits::lifetime`] later, however often
//!    it was used.
//! 3. A wrong password is always verified in full, so a guess costs what it costs without this; and it removes what is
//!    kept of the entry.
//! 4. The same password of the same entry is verified once at a time: whoever comes meanwhile waits for the answer.
//! 5. Bounded: beyond [`VerifiedLimits::entries_max`] the oldest go.
//!
//! It answers "this password was right" and nothing else: whether the account may bind now (locked, expired, disabled)
//! is judged at every bind from the entry. Knows no policies, no entries, no pool and no clock: the caller says who may
//! be remembered at all, gives the time, and runs the verification.

mod binds;
mod claim;
mod counts;
mod shard;
#[cfg(test)]
mod tests;

pub use binds::{LookUp, Verification, VerifiedBinds, VerifiedLimits};
pub use claim::{Claim, KEY_BYTES, KeyLength, MacKey};
pub use counts::VerifiedCounts;
pub use shard::{Verdict, Waiter};
