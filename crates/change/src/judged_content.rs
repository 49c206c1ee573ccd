//! Digests of the content of entries: by them `apply` knows that entries are what they were when they were judged, be
//! they many. An entry is its number and its `entryCSN`, which every change of it changes.

use sha2::{Digest, Sha256};
use store::record::Header;
use store::{EntryId, StoreError, View};

use crate::csn::Csn;

/// What entries contained.
pub type ContentDigest = [u8; 16];

/// Digests entries one after the other.
#[derive(Default)]
struct Digesting(Sha256);

impl Digesting {
    fn add(&mut self, id: EntryId, header: &Header<'_>) {
        self.0.update(id.0.to_le_bytes());
        let csn = csn_of(header);
        self.0.update([u8::from(csn.is_some())]);
        let Csn { time_us, count, replica } = csn.unwrap_or(Csn { time_us: 0, count: 0, replica: 0 });
        self.0.update(time_us.to_le_bytes());
        self.0.update(count.to_le_bytes());
        self.0.update(replica.to_le_bytes());
    }

    /// Adds the entry `at` and those above it, `count` in all.
    fn add_upwards(&mut self, view: &View<'_>, at: EntryId, count: u8) -> Result<(), StoreError> {
        let mut at = at;
        for _ in 0..count {
            let Some(record) = view.entry(at)? else { break };
            let record = record.view()?;
            self.add(at, record.header());
            at = record.parent();
        }
        Ok(())
    }

    fn finish(self) -> ContentDigest {
        let mut digest = [0; 16];
        digest.iter_mut().zip(self.0.finalize()).for_each(|(to, from)| *to = from);
        digest
    }
}

/// Of the entry `at` and those above it, `count` in all or as many as there are.
pub(crate) fn digest_upwards(view: &View<'_>, at: EntryId, count: u8) -> Result<ContentDigest, StoreError> {
    let mut digesting = Digesting::default();
    digesting.add_upwards(view, at, count)?;
    Ok(digesting.finish())
}

/// Of all these entries, each with `above` entries above it.
pub(crate) fn digest_all(view: &View<'_>, ids: &[EntryId], above: u8) -> Result<ContentDigest, StoreError> {
    let mut digesting = Digesting::default();
    for id in ids {
        digesting.add_upwards(view, *id, above.saturating_add(1))?;
    }
    Ok(digesting.finish())
}

/// The `entryCSN` of an entry.
pub(crate) fn csn_of(header: &Header<'_>) -> Option<Csn> {
    header.csn.map(|parts| Csn { time_us: parts.us, count: parts.count, replica: parts.replica })
}
