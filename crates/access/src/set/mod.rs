//! Which instructions there are: of backends, and of the configuration.

mod aci_set;
mod key;
mod live;
mod proposed;

pub(crate) use aci_set::{AciSet, Holder, Loading, values_of};
pub(crate) use key::{Key, Needs};
pub(crate) use live::LiveSets;
pub use proposed::{ProposedChange, ProposedInstructions};
