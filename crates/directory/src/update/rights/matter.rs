//! One request to be judged. Knows nothing of who asks.

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
}
