//! Sizes above which an instruction is refused.

/// Longest text of one instruction, in bytes.
pub const BYTES_MAX: usize = 64 * 1024;

/// Most levels of a bind rule: parentheses, negations, and changes between `and` and `or`.
pub const DEPTH_MAX: usize = 64;
