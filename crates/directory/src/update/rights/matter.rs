//! One request to be judged. Knows nothing of who asks.

use change::judged_tree::{SLICE_ENTRIES, SLICES_MAX};
use change::proposal::{Flags, Kind};
use ldap::EntryRequest;
use query::backend::BackendIndex;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Matter<'r, 'm> {
    pub(crate) backend: BackendIndex,
    pub(crate) kind: Kind,
    pub(crate) flags: Flags,
    pub(crate) request: &'r EntryRequest<'m>,
    /// The filter of an assertion control, in BER; empty for none.
    pub(crate) assertion: &'r [u8],
    /// Whether the entry is to be shown as it was.
    pub(crate) wants_pre_read: bool,
    /// Entries below a deleted one that may be looked at now.
    pub(crate) most_below: usize,
    /// What is judged of a subtree that is deleted.
    pub(crate) tree: TreePart,
}

/// What of a subtree is judged. The judgement covers those entries that are deleted next: others are judged again when
/// it is their turn, with what has come below them meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreePart {
    /// Whether some of it is deleted already: then only those that are deleted next are judged.
    pub(crate) is_begun: bool,
    /// Entries that are deleted with one proposal.
    pub(crate) entries: usize,
}

impl TreePart {
    /// A subtree delete at its beginning.
    pub(crate) fn first(is_in_transaction: bool) -> TreePart {
        let slices = if is_in_transaction { SLICES_MAX } else { 1 };
        TreePart { is_begun: false, entries: slices * SLICE_ENTRIES }
    }
}
