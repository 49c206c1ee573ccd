//! Bytes for stored values that no known password matches.

/// Enough for salt and hash of every scheme, a character each.
pub(super) type Random = [u8; 128];
