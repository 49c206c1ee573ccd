//! What one asker may do: its privileges, and the instructions that concern it.
//!
//! Made by [`crate::AccessControl::rights_of`] and kept in the session as long as it holds. Shared between threads;
//! what is found out about single entries is in [`crate::EntryRights`], which belongs to one operation.

use std::fmt;
use std::sync::{Arc, Weak};

use query::asker_rights::{Snapshots, Which};
use query::backend::BackendIndex;
use query::facts::Facts;
use query::read_moment::ReadContext;
use query::rights::{Answer, Everything, ReadRight, ReadRights};
use schema::TypeIndex;
use store::{PublishedMarks, Snapshot, StoreError};

use crate::asker::{Asker, Connection};
use crate::compiled::Kinds;
use crate::decide::{BackendConcerns, Certain, Concern};
use crate::explanation::name_of;
use crate::identity::Identity;
use crate::privilege::{Privilege, PrivilegeSet};
use crate::set::{LiveSets, Needs};
use crate::settings::AccessSettings;

/// See the module.
pub struct Rights {
    pub(crate) identity: Identity,
    pub(crate) privileges: PrivilegeSet,
    pub(crate) stamp: Stamp,
    pub(crate) asker: Asker,
    pub(crate) facts: Arc<Facts>,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) context: ReadContext,
    pub(crate) sets: Arc<LiveSets>,
    pub(crate) settings: Arc<AccessSettings>,
    /// The instructions of the configuration that concern it.
    pub(crate) global: Vec<Concern>,
    /// Those of the backends.
    pub(crate) backends: Vec<BackendConcerns>,
    /// What is certain of all entries of the backends.
    pub(crate) stored: Arc<Certain>,
    /// What is certain of the server's own entries.
    pub(crate) own: Arc<Certain>,
    /// Who made them, and makes them anew.
    pub(crate) maker: Weak<dyn RightsMaker>,
}

/// Makes rights.
pub(crate) trait RightsMaker: Send + Sync {
    /// The rights that the same asker has now, by the instructions that `snapshots` have; none where `rights` are
    /// still right.
    fn renewed(
        &self,
        rights: &Rights,
        snapshots: Snapshots<'_>,
        now_unix_seconds: i64,
    ) -> Result<Option<Arc<Rights>>, StoreError>;
}

/// What has to be the same for rights to hold.
#[derive(Debug, Default)]
pub(crate) struct Stamp {
    /// Of the settings.
    pub generation: u64,
    /// Of each backend, loaded before anything was read.
    pub marks: Vec<PublishedMarks>,
    /// Of the asker's entry, likewise.
    pub entry_counter: u32,
    pub needs: Needs,
    /// Whether the name of the address was known.
    pub had_host: bool,
    pub connection: Connection,
    /// From when on rules about the time may say something else (seconds since 1970).
    pub until: Option<i64>,
    /// It holds for one request: something was computed from entries that nobody watches.
    pub is_for_one_request: bool,
}

impl Stamp {
    /// Whether marks of a backend are those under which rights were made, as far as these depend on them.
    pub fn has_marks(&self, of_backend: &PublishedMarks, now: &PublishedMarks) -> bool {
        now.access == of_backend.access
            && now.tree_generation == of_backend.tree_generation
            && (now.membership == of_backend.membership || !(self.needs.groups || self.needs.roles))
    }
}

/// The marks that a snapshot has.
pub(crate) fn marks_of(snapshot: &Snapshot) -> PublishedMarks {
    let marks = snapshot.marks();
    PublishedMarks { access: marks.access, membership: marks.membership, tree_generation: snapshot.tree_generation() }
}

impl Rights {
    /// Whether instructions, names and groups are in a snapshot what they were when these rights were made.
    #[must_use]
    pub fn are_of(&self, backend: BackendIndex, snapshot: &Snapshot) -> bool {
        let is_of = |marks| self.stamp.has_marks(marks, &marks_of(snapshot));
        self.bypasses_acl() || self.stamp.marks.get(backend.0).is_some_and(is_of)
    }

    /// The rights that the asker has now, by the instructions that `snapshots` have; none where these are still right.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn renewed(&self, snapshots: Snapshots<'_>, now_unix_seconds: i64) -> Result<Option<Arc<Rights>>, StoreError> {
        let maker = self.maker.upgrade().ok_or(StoreError::Closed)?;
        maker.renewed(self, snapshots, now_unix_seconds)
    }

    /// Who asks.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether access control instructions are not asked.
    #[inline]
    #[must_use]
    pub fn bypasses_acl(&self) -> bool {
        self.has(Privilege::BypassAcl)
    }

    /// Whether the asker has a privilege.
    #[inline]
    #[must_use]
    pub fn has(&self, privilege: Privilege) -> bool {
        self.privileges.has(privilege)
    }

    /// The privileges of the asker.
    #[must_use]
    pub fn privileges(&self) -> PrivilegeSet {
        self.privileges
    }

    /// The name (`acl "…"`) of a global instruction, by its position.
    #[must_use]
    pub fn name_of_global(&self, position: usize) -> String {
        let text = self.settings.global_acis.get(position).map_or("", String::as_str);
        name_of(text)
    }

    /// What holds for a type in all entries.
    #[inline]
    pub(crate) fn of_type(&self, which: Which, right: ReadRight, attribute: TypeIndex) -> Answer {
        match self.bypasses_acl() {
            true => Everything.of_type(&self.facts, right, attribute),
            false => self.certain(which).of_type(right, attribute),
        }
    }

    /// What holds for attributes that the schema does not have, in all entries.
    pub(crate) fn of_unknown(&self, which: Which, right: ReadRight) -> Answer {
        if self.bypasses_acl() { Answer::Yes } else { self.certain(which).of_unknown(right) }
    }

    /// Whether all entries show.
    pub(crate) fn shows_entries(&self, which: Which) -> Answer {
        if self.bypasses_acl() { Answer::Yes } else { self.certain(which).shows() }
    }

    fn certain(&self, which: Which) -> &Certain {
        match which {
            Which::Stored => &self.stored,
            Which::Own => &self.own,
        }
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, privileges, stamp, .. } = self;
        f.debug_struct("Rights")
            .field("identity", identity)
            .field("privileges", privileges)
            .field("stamp", stamp)
            .finish_non_exhaustive()
    }
}
