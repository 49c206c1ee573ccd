//! What a directory *is*: operations, the search planner, access, passwords, limits.
//!
//! Knows nothing of sockets and files: requests come decoded, entries come from `store`, answers leave as bytes.

pub mod access;
pub mod apply;
pub mod audit;
pub mod backend;
pub mod computed;
pub mod controls;
pub mod csn;
pub mod encode;
pub mod entry;
pub mod error;
pub mod facts;
pub mod filter;
pub mod groups;
pub mod history;
pub mod locate;
pub mod monitor;
pub mod open;
pub mod password;
pub mod proposal;
pub mod referral;
pub mod rootdse;
pub mod search;
pub mod session;
pub mod synthetic;
pub mod undo;
pub mod virtual_attributes;

mod account;
mod bind;
mod check;
mod circle;
mod compare;
mod directory;
mod inactive;
mod index_builder;
mod index_proposal;
mod index_secret;
mod indexes;
mod json;
mod limits;
mod notices;
mod schema_entry;
mod shown;
mod update;
mod watch;

pub use access::Access;
pub use backend::{Backend, Suffix};
pub use bind::{BindDone, BindFailure, BindStep, HashJob};
pub use check::check_configuration;
pub use directory::Directory;
pub use encode::MessageSink;
pub use index_builder::IndexNotice;
pub use indexes::Reconfigured;
pub use limits::{Allowance, Bound, Most, Page, PagedTotal, SessionLimits};
pub use monitor::{MonitorEntry, MonitorProvider};
pub use notices::Tell;
pub use open::{OpenError, configured_indexes, index_configs, leniency, load_schema, suffixes};
pub use rootdse::Capabilities;
pub use search::{RequestTime, SearchDone, SearchOutput, SearchPlan, Worker};
pub use session::{Identity, Session};
pub use update::{
    FollowedName, InternalLog, PasswordModifyTarget, SlowUpdate, Submitted, TRANSACTION_BYTES_MAX,
    TRANSACTION_UPDATES_MAX, UpdateCallback, UpdateDone,
};
pub use watch::{WatchOutput, WatchWaker};
