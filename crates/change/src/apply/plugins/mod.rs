//! What `[plugin.NAME]` tables add to the rules of a backend: references that follow entries, unique values,
//! constraints.
//!
//! The tables in force are part of the backend ([`PLUGINS_KEY`]) and change in the order of its log, as the schema
//! does: a replay judges every update as it was judged. Judging happens on the written entry, inside the proposal, so
//! that the final state is what is judged; a refusal takes the writing back.
//!
//! | file | what |
//! |---|---|
//! | `text`, `configured` | the tables, and what they mean under a schema |
//! | `judge` | whether they allow a written entry |
//! | `scope` | which entries a rule is about |
//! | `lookup` | who has a value: by index |
//! | `references`, `queue` | referential integrity, and what of it waits |
//! | `unique`, `constraint` | what values may be |
//! | `source` | entries that an LDAP URL finds |
//! | `set_expression` | what a set expression gives |
//! | `dynamic` | entries that live for a time (RFC 2589) |

mod configured;
mod constraint;
pub mod dynamic;
mod judge;
mod judged;
mod lookup;
mod probe;
pub mod queue;
mod references;
mod scope;
mod set_expression;
mod source;
mod text;
mod unique;

pub(super) use configured::Plugins;
pub(super) use judge::{configure, judge};
pub use lookup::{Standing, standing};
pub use probe::ReferenceProbe;
pub(super) use references::{Moved, clean, follow};
pub use text::{PLUGINS_KEY, plugins_text};
