//! Updates: from a request to a proposal in the queue of a backend.
//!
//! | file | what |
//! |---|---|
//! | `context` | what updates need of the directory |
//! | `submit` | decides a request, and hands it to a writer |
//! | `order` | a request with its session |
//! | `decided` | a decided update, all of a proposal but its time |
//! | `rights` | whether the asker may make it, and what of its result may be told |
//! | `committing` | a transaction that is being done |
//! | `judging`, `review`, `judged_update`, `judging_again` | an update that is judged, and on its way |
//! | `done` | what became of it |
//! | `intake` | the way into the queues of the backends |
//! | `state` | what updates keep while the server runs |
//! | the others | one part each of deciding, or of what follows a change |

mod account_items;
mod account_state;
mod base_dns;
mod committing;
mod configuration_change;
mod context;
mod controls;
mod decided;
mod done;
mod dynamic;
mod dynamic_state;
mod expiry;
mod inbound;
mod intake;
mod judged_update;
mod judging;
mod judging_again;
mod kept_settings;
mod new_instructions;
mod old_password;
mod order;
mod password_case;
mod password_checks;
mod password_modify;
mod passwords;
mod plugins;
mod policy_control;
mod policy_names;
mod references;
mod requestor;
mod review;
mod rights;
mod schema_change;
mod second_factor;
mod shadowed;
mod state;
mod submit;
mod subtree_delete;
mod task_update;
mod transaction;
mod transaction_slot;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use context::UpdateContext;
pub use done::{UpdateCallback, UpdateDone};
pub(crate) use intake::{Cause, Intake};
pub use order::UpdateRequest;
pub(crate) use password_modify::user_called;
pub(crate) use plugins::check_declared_plugins;
pub use references::{FollowedName, InternalLog};
pub use rights::LogNote;
pub(crate) use rights::{End, Judge, Matter, Notes, TreePart, privilege_to_write};
pub(crate) use schema_change::bind_schema;
pub(crate) use state::UpdateState;
pub use submit::{SlowUpdate, Submitted};
pub(crate) use transaction::start_transaction;
pub(crate) use transaction_slot::TransactionSlot;
pub use transaction_slot::{TRANSACTION_BYTES_MAX, TRANSACTION_UPDATES_MAX};
