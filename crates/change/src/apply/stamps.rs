//! What the server writes into an entry whenever it is added or changed: who, when, its numbers.

use schema::uuid;
use store::DescId;

use crate::csn::Csn;

/// Operational values that the server sets, with their descriptions.
pub(super) type Stamps = Vec<(DescId, Vec<u8>)>;

/// Stamps of a new entry.
pub(super) fn stamps_of_add(csn: Csn, creator: &str, entry_uuid: &[u8; 16]) -> Stamps {
    let mut stamps = vec![
        (DescId::ENTRY_UUID, uuid::text(entry_uuid)),
        (DescId::CREATE_TIMESTAMP, text(|out| csn.write_timestamp(out))),
        (DescId::CREATORS_NAME, creator.as_bytes().to_vec()),
    ];
    stamps.extend(stamps_of_modify(csn, creator));
    stamps
}

/// Stamps of a changed entry.
pub(super) fn stamps_of_modify(csn: Csn, modifier: &str) -> Stamps {
    vec![
        (DescId::MODIFY_TIMESTAMP, text(|out| csn.write_timestamp(out))),
        (DescId::MODIFIERS_NAME, modifier.as_bytes().to_vec()),
        (DescId::ENTRY_CSN, text(|out| csn.write(out))),
    ]
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(40);
    write(&mut out);
    out
}
