//! One entry as bytes, and reading it in place.
//!
//! ```text
//! format 1 | flags 1 | parent varint | rdn length varint, rdn (user form; a base entry: its whole DN)
//! [entryUUID 16] [created varint] [modified varint: difference to created] [creator varint] [modifier varint]
//! [CSN: µs after `modified` varint, count, replica, modification varints] [class set varint]
//! attributes: (description id × 2 + large) varint, value count varint, body length varint, body
//! ```
//! A body is the values in BER wire form (`04 len value`…), so that sending an attribute is one copy. A *large*
//! attribute has no body here: its values are rows of the `values` table, the stub keeps their number and, as body
//! length, their total bytes.
//!
//! Invariants:
//! (1) An operational value is in the header only if its text can be restored exactly; otherwise it is an ordinary
//!     attribute.
//! (2) A description occurs at most once. Attributes keep the order in which they were stored.
//!
//! In the database a record with several times in one attribute has another form (`packed`), which only reading and
//! writing rows knows.
//!
//! It knows no schema, and no value but times.

mod build;
mod format;
mod header;
mod packed;
mod time;
mod values;
mod view;

#[cfg(test)]
mod packed_tests;
#[cfg(test)]
mod tests;

pub use build::RecordBuilder;
pub use format::{INLINE_VALUE_BYTES_MAX, INLINE_VALUES_MAX, RECORD_BYTES_MAX};
pub use header::{CsnParts, Header};
pub(crate) use packed::{packed, unpacked};
pub use time::{Timestamp, seconds_of, write_seconds};
pub use values::{ValueIter, Values, put_value, value_size};
pub use view::{Attribute, AttributeIter, Content, LargeStub, RecordView};
