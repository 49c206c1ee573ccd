//! The search operation (RFC 4511 §4.5): plan, then run.
//!
//! [`Directory::plan_search`](crate::Directory::plan_search) does everything that can refuse a search and finds the candidates;
//! [`SearchPlan::run`] looks at them and writes what matches straight into the output buffer. A plan borrows nothing, so that a long
//! one can go to another thread. It knows no sockets: [`SearchOutput`] is all it sees of the client.

pub mod advice;
mod alias;
mod arrange;
mod arrangement;
mod changelog;
mod covered;
mod explain;
mod explanation;
mod list_view;
mod output;
mod paged;
mod part;
mod persistent;
mod persistent_state;
mod prepare;
mod request_time;
mod run;
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

pub use output::{LONG_CANDIDATES, SearchDone, SearchOutput};
pub use paged::CookieKey;
pub(crate) use persistent_state::Persistent;
pub use request_time::RequestTime;
pub use search_plan::SearchPlan;
pub use worker::Worker;
