//! The search operation (RFC 4511 §4.5): plan, then run.
//!
//! [`Directory::plan_search`](crate::Directory::plan_search) does everything that can refuse a search and finds the
//! candidates; [`SearchPlan::run`] looks at them and gives what matches to an [`EntryWriter`], which is all that it
//! sees of the client. A plan borrows nothing, so that a long one can go to another thread. It knows neither sockets
//! nor messages.

mod account_usability;
pub mod advice;
mod alias;
mod arrange;
mod arrangement;
mod asked;
mod asked_rights;
mod assertion;
mod bases;
mod changelog;
mod context;
mod covered;
mod dereference;
#[cfg(test)]
pub(crate) mod doubles;
mod effective_rights;
mod entry_writer;
mod explain;
mod explanation;
mod kept_rights;
mod limits;
mod list_view;
mod paged;
mod part;
mod persistent;
mod persistent_state;
mod plan_part;
mod prepare;
mod refusal;
mod request_time;
mod run;
mod run_own;
mod search_done;
mod search_plan;
mod sort;
mod special;
mod stop;
mod visible;
mod vlv;
mod vlv_index;
mod worker;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use assertion::assert_on;
pub(crate) use context::SearchContext;
pub(crate) use entry_writer::Each;
pub use entry_writer::EntryWriter;
pub use paged::CookieKey;
pub(crate) use persistent_state::Persistent;
pub(crate) use refusal::SearchRefusal;
pub use request_time::RequestTime;
pub use search_done::SearchDone;
pub use search_plan::SearchPlan;
pub use worker::Worker;
