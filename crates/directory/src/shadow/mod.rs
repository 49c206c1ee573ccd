//! Shadow mode: proposed access control instructions that are tried beside those in force. What would be decided
//! otherwise is counted, with examples; no answer depends on it.
//!
//! | file | what |
//! |---|---|
//! | `live` | what is proposed, and whether anything is |
//! | `entries` | the file with proposed instructions of entries |
//! | `tally` | what was compared and what differs, for `cn=monitor` |
//! | `observed` | one difference, as it is counted and shown |
//!
//! Which requests are compared, and how, says [`shadowing`](crate::shadowing).

mod entries;
mod live;
mod observed;
mod tally;

pub use entries::ProposedEntriesError;
pub(crate) use entries::{Entries, ProposedEntries};
pub(crate) use live::{Proposal, Proposed, Shadow};
pub(crate) use observed::{Observed, Request};
pub(crate) use tally::LeftOut;
