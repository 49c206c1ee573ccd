//! Dynamic entries (RFC 2589): when the time of one is over, as it is stored.
//!
//! Knows one entry; who gives it time and who removes it are elsewhere (the plugins of `apply`, the thread that
//! proposes).

use store::record::seconds_of;
use store::{Content, RecordView};

use crate::class_flags::ClassFlags;
use crate::facts::Facts;

/// The attribute with the time (OpenLDAP's name).
pub const EXPIRY: &str = "entryExpireTimestamp";

/// Seconds since 1970 at which the time of a dynamic entry is over; none for other entries, and for one that was
/// imported without it.
#[must_use]
pub fn expires_at(facts: &Facts, record: &RecordView<'_>) -> Option<u64> {
    // By name: numbers of types may be those of another schema during a replay.
    let desc = record.tables().description_id(EXPIRY)?;
    let mut scratch = Vec::new();
    let Content::Inline(values) = record.attribute(desc, &mut scratch)?.content else { return None };
    let until = seconds_of(values.iter().next()?)?;
    facts.class_flags(record.object_classes()).has(ClassFlags::DYNAMIC).then_some(until)
}
