//! What a directory *does*: search, update, bind, compare, watch; and the entries that lie in no backend.
//!
//! Knows nothing of sockets and files: requests come decoded, entries come from `store`, the entries of a search leave
//! as what their reader is shown.

mod access_monitor;
mod access_settings;
mod account;
mod admission;
mod bind;
mod breach_lists;
mod check;
mod compare;
mod comparison;
mod configuration_keeper;
mod controls;
mod decision;
mod decoy_secret;
mod default_referral;
mod directory;
mod entry_lookup;
mod explaining;
mod guess_rates;
mod health;
mod identity_mappers;
mod in_force;
mod index_builder;
mod index_progress;
mod index_propose;
mod index_work;
mod indexes;
mod monitor;
mod must_change;
mod needs;
mod needs_json;
mod not_obeyed;
mod one_moment;
mod open_error;
mod opening;
mod operations;
mod own;
mod password_keys;
mod presence;
mod reconfigure;
mod refusal;
mod root_accounts;
mod root_passwords;
mod root_users;
mod sasl;
mod search;
mod second_factor;
mod server_name;
mod session;
mod shadow;
mod shadowing;
mod subject;
mod timer;
mod update;
mod user_name;
mod watch;
mod watching;

#[cfg(test)]
mod tests;

pub use access::AttackEvent;
pub use access::profiles::Profile;
pub use access::session::LOCAL_STRENGTH_BITS;
pub use access::{
    Allowance, Authentication, Bound, DnMatcher, Identity, LocalPeer, Most, Page, PagedTotal, Privilege, Revoked,
    SessionLimits, Standing, TlsChannel,
};
pub use account::{WalkPlace, WarnedSlice};
pub use admission::{Admitted, needs_admission};
pub use bind::{
    BindDone, BindFailure, BindStep, Credential, Elsewhere, Fill, HashJob, KeyMemory, MakeKey, Named, QueuedBind,
    ReadyBind, RemoteAccount, RemoteDone, RemoteJob, RemotePasswords, RemoteQuestion, RemoteVerdict, WaitingBind,
};
pub use check::{check_configuration, open_read_only};
pub use comparison::{Bounds, Change, Comparison, Difference, Side, Sides, Untold};
pub use configuration_keeper::{ConfigurationKeeper, KeptChange};
pub use decision::Asked;
pub use directory::Directory;
pub use explaining::AskedExplanation;
pub use index_builder::IndexNotice;
pub use index_progress::IndexBuild;
pub use monitor::MonitorProvider;
pub use needs::{Decision, FilterTruth, Need, What};
pub use open_error::OpenError;
pub use own::{Capabilities, refused_edit};
pub use query::encode::{EncodeError, EntryChange, MessageSink, ShownAttribute, ShownEntry};
pub use query::notices::{NoticeKind, Tell};
pub use reconfigure::Reconfigured;
pub use root_accounts::{RootAccounts, RootStateWritten};
pub use root_passwords::{
    ROOT_PASSWORD_BYTES_MIN, RootPasswordError, hash_root_passwords, hash_root_passwords_in_file, hashed_root_password,
    is_root_password, is_root_user,
};
pub use sasl::{SaslBind, SaslDone, SaslTail};
pub use search::{EntryWriter, RequestTime, SearchDone, SearchPlan, Worker};
pub use session::Session;
pub use shadowing::ShadowRequest;
pub use subject::SubjectError;
pub use update::{
    FollowedName, InternalLog, LogNote, SlowUpdate, Submitted, TRANSACTION_BYTES_MAX, TRANSACTION_UPDATES_MAX,
    UpdateCallback, UpdateDone, UpdateRequest,
};
pub use watch::{WatchOutput, WatchWaker};
