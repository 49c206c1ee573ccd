//! What is configured of access control.
//!
//! Values that whoever reads the configuration fills in.

use schema::NormalizedDn;

use crate::privilege::PrivilegeSet;

/// Instructions that one entry may hold by default.
pub const ACIS_PER_ENTRY_MAX: usize = 5_000;

/// What is configured of access control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSettings {
    /// Instructions that hold for every entry of every backend, the root DSE, the schema and the monitor.
    pub global_acis: Vec<String>,
    /// What root users have that are not in the next list.
    pub root_privileges: PrivilegeSet,
    /// What single root users have.
    pub privileges_of: Vec<(NormalizedDn, PrivilegeSet)>,
    /// Privileges that everybody has (OpenDJ: disabled-privilege).
    pub disabled_privileges: PrivilegeSet,
    /// Instructions that one entry may hold; with more it counts as one that is not valid.
    pub acis_per_entry_max: usize,
}

impl Default for AccessSettings {
    fn default() -> Self {
        AccessSettings {
            global_acis: Vec::new(),
            root_privileges: PrivilegeSet::of_root(),
            privileges_of: Vec::new(),
            disabled_privileges: PrivilegeSet::NONE,
            acis_per_entry_max: ACIS_PER_ENTRY_MAX,
        }
    }
}

/// A setting that is not valid.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A global instruction is not valid.
    #[error("global-aci number {number} is not valid: {why}")]
    GlobalAci {
        /// Which of them, from 1.
        number: usize,
        /// What is wrong with it, and where.
        why: String,
    },
}
