//! Decisions: what concerns an asker, what of it applies at a place, and what that means for an entry.
//!
//! | file | what |
//! |---|---|
//! | `open_rule` | bind rules after all is decided that depends on the asker alone |
//! | `concern` | the instructions that concern an asker |
//! | `certain` | what holds for all entries, before any is looked at |
//! | `place` | what applies to the children of an entry; tables of attribute types |
//! | `making` | finds all of this out |

mod certain;
mod concern;
mod making;
mod open_rule;
mod place;

pub(crate) use certain::Certain;
pub(crate) use concern::{BackendConcerns, Concern, concerns_of};
pub(crate) use making::{Making, certain_of_own};
pub(crate) use open_rule::{Additions, EntryQuestion, OpenRule, Subject};
pub(crate) use place::{About, Applying, FindChild, NameTest, Place, Table, depth, name_test};
