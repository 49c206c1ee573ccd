//! The limits of a record and how its form is marked.

use crate::posting::Damaged;

/// Values above this many leave the record.
pub const INLINE_VALUES_MAX: usize = 256;
/// A value above this size makes its attribute leave the record (one page holds at least two rows).
pub const INLINE_VALUE_BYTES_MAX: usize = 1_536;
/// Largest record: everything bigger is large values. Bounds what a reader must assemble.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// First byte of a record.
pub(super) const FORMAT_PLAIN: u8 = 1;
/// What a record that is not readable is reported as.
pub(super) const DAMAGED: Damaged = Damaged("entry record");
