//! Which entries a subtree delete deletes next, and by what `apply` knows that they are those that were judged.
//!
//! Entries come below others, and change, between a judgement and its turn. So the judgement of a part of the subtree
//! goes with the proposal that deletes that part.
//!
//! ```text
//! entries u32 · levels u8 · digest 16 bytes                                                (integers little-endian)
//! ```

use store::{EntryId, StoreError, View};

use crate::judged_content::{ContentDigest, digest_all};

/// Entries that one proposal deletes, some milliseconds of work: a larger subtree goes slice by slice, other updates
/// between them.
pub const SLICE_ENTRIES: usize = 128;

/// Slices of subtree deletes in one transaction: it is one change, and other updates wait for it.
pub const SLICES_MAX: usize = 80;

/// The entries of a subtree that were judged: those that are deleted next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedTree {
    /// At most so many.
    entries: u32,
    /// Of so many entries above each the content counted, too.
    levels: u8,
    digest: ContentDigest,
}

impl JudgedTree {
    /// The entries of [`doomed`] as they are now; of so many entries above each the content counted.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn new(view: &View<'_>, top: EntryId, entries: usize, levels: u8) -> Result<Self, StoreError> {
        let entries = u32::try_from(entries).unwrap_or(u32::MAX);
        let mut it = Self { entries, levels, digest: ContentDigest::default() };
        it.digest = it.digest_of(view, top)?;
        Ok(it)
    }

    /// Whether the same entries are deleted next, each unchanged.
    pub(crate) fn is(&self, view: &View<'_>, top: EntryId) -> Result<bool, StoreError> {
        Ok(self.digest_of(view, top)? == self.digest)
    }

    fn digest_of(&self, view: &View<'_>, top: EntryId) -> Result<ContentDigest, StoreError> {
        digest_all(view, &doomed(view, top, self.entries as usize)?, self.levels)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.entries.to_le_bytes());
        out.push(self.levels);
        out.extend_from_slice(&self.digest);
    }

    pub(crate) fn decode(rest: &mut &[u8]) -> Option<Self> {
        let (entries, after) = rest.split_first_chunk::<4>()?;
        let (levels, after) = after.split_first()?;
        let (digest, after) = after.split_first_chunk::<16>()?;
        *rest = after;
        Some(Self { entries: u32::from_le_bytes(*entries), levels: *levels, digest: *digest })
    }
}

/// At most `limit` entries at or below `top`, each after everything below it; the last is `top` if they are all.
///
/// # Errors
/// When something cannot be read.
pub fn doomed(view: &View<'_>, top: EntryId, limit: usize) -> Result<Vec<EntryId>, StoreError> {
    let mut found = Vec::new();
    // The way down: an entry, and which of its children was done last.
    let mut way = vec![(top, EntryId::ROOT)];
    while let Some((id, done)) = way.last_mut()
        && found.len() < limit
    {
        match view.child_after(*id, *done)? {
            Some(child) => {
                *done = child;
                way.push((child, EntryId::ROOT));
            }
            None => {
                found.push(*id);
                way.pop();
            }
        }
    }
    Ok(found)
}
