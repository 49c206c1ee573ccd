//! Requests that are kept for another thread: what they ask for, without the message that they came in.

use ldap::{Operation, Update};
use zeroize::Zeroizing;

/// A request that reads.
pub(crate) enum KeptRead {
    /// As [`SearchRequest::encoded`](ldap::SearchRequest::encoded) gave it.
    Search(Box<[u8]>),
    /// A compare, without the value.
    Compare { dn: String, attribute: String },
}

/// A request that reads or changes an entry.
pub(crate) enum Kept {
    Read(KeptRead),
    /// As [`EntryUpdate::encoded`](ldap::EntryUpdate::encoded) gave it.
    Update(Zeroizing<Vec<u8>>),
}

impl KeptRead {
    /// Of a search or a compare.
    pub(crate) fn of(operation: &Operation<'_>) -> Option<KeptRead> {
        match operation {
            Operation::Search(search) => Some(KeptRead::Search(search.encoded().into())),
            Operation::Compare(compare) => {
                Some(KeptRead::Compare { dn: text(compare.entry), attribute: text(compare.attribute) })
            }
            _ => None,
        }
    }
}

impl Kept {
    /// Of a request about entries.
    pub(crate) fn of(operation: &Operation<'_>) -> Option<Kept> {
        match operation {
            Operation::Update(Update::Entry(update)) => Some(Kept::Update(update.encoded().to_vec().into())),
            read => KeptRead::of(read).map(Kept::Read),
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
