//! The limits of a record, and the byte that says its format.

use crate::posting::Damaged;

/// Attributes with more values are stored outside the record.
pub const INLINE_VALUES_MAX: usize = 256;
/// Attributes with a larger value are stored outside the record (one page holds at least two rows).
pub const INLINE_VALUE_BYTES_MAX: usize = 1_536;
/// Largest record; larger attributes are stored outside it. Bounds what a reader must assemble.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// First byte of a record.
pub(super) const FORMAT_PLAIN: u8 = 1;
/// First byte of a record in the database that has times in fewer bytes.
pub(super) const FORMAT_PACKED: u8 = 2;
/// The error for a record that is not readable.
pub(super) const DAMAGED: Damaged = Damaged("entry record");
