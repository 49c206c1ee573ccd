//! The names of the entries that lie in no backend, whatever names a backend holds.
//!
//! Knows names only; what these entries show is made in `directory`.

use config::mapping::CONFIG_DN;

use crate::virtual_attributes::SCHEMA_DN;

/// The monitor.
pub const MONITOR_DN: &str = "cn=monitor";

/// The changelog.
pub const CHANGELOG_DN: &str = "cn=changelog";

/// The tasks.
pub const TASKS_DN: &str = "cn=tasks";

/// All names at the top of such entries, but that of the root DSE. No entry of a backend has them or is below them.
pub const OWN_NAMES: [&str; 5] = [SCHEMA_DN, MONITOR_DN, CHANGELOG_DN, CONFIG_DN, TASKS_DN];
