//! What a search shows of an entry, and the same as bytes: from a record straight into the output buffer.
//!
//! | file | what |
//! |---|---|
//! | `selection` | which attributes a request asks for and its reader may read |
//! | `layout` | where their values are, and how long everything is |
//! | `shown` | the entry that comes of it, for whoever takes it |
//! | `message` | the same as an LDAP message |
//! | `matched`, `range` | only some of the values |

mod cursors;
mod layout;
mod matched;
mod message;
mod range;
mod selection;
mod shown;
mod sink;

#[cfg(test)]
mod tests;

pub use cursors::RangeCursors;
pub use layout::Layout;
pub use matched::MatchedValues;
pub use message::entry_op;
pub use selection::{AttributeKinds, SELECTORS_MAX, Selection};
pub use shown::{Dereferenced, EntryChange, ShownAttribute, ShownEntry};
pub use sink::{EncodeError, MessageSink};
