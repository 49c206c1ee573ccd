//! Undoing changes: the requests that lead back, and what stands in their way.
//!
//! | file | what |
//! |---|---|
//! | `choose` | which changes belong together, and their order |
//! | `entry_change` | what happened to an entry |
//! | `inverse` | the requests that take one change back |
//! | `rehearsal` | what the directory says to them now |

mod choose;
mod entry_change;
mod inverse;
mod rehearsal;

pub use choose::{Brief, Chosen, choose};
pub use entry_change::{EntryChange, Upkeep, upkeep};
pub use inverse::{Lost, REQUEST_BYTES, inverse, permissive};
pub use rehearsal::{Obstacle, Rehearsal, Rehearsed, Step};
