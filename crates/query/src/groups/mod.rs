//! Who is in which group: `isMemberOf` and `memberOf`, filters on them, the in-chain rule, and members that are not listed.
//!
//! Nothing is stored for it. The equality indexes of `member` and `uniqueMember` are the reverse index: from a name to the groups
//! that list it. Nested groups are followed from there by entry number; dynamic and virtual static groups are few and looked at one
//! by one. All of it is read at one moment, so it is right immediately after any update or rename.
//!
//! Membership is: a static group has the entries that it lists, and the members of listed entries that are static, dynamic or
//! virtual static groups; a dynamic group has the entries that one of its URLs describes, but not the members of those; a virtual
//! static group has the members of its target. In a circle of groups everybody is a member of all of them, the groups included.
//! Groups of every backend count for entries of any.
//!
//! For whoever computes attributes: [`GroupsAt::values`], [`GroupsAt::contains`], [`GroupsAt::candidates`].
//! It knows nothing of who asks.

mod dynamic;
mod expand;
mod graph;
mod members;
mod moment;

use std::sync::Arc;

use config::{VirtualAttributeConfig, VirtualAttributeKind};
use store::{EntryId, StoreError, record::put_value};

use crate::class_flags::ClassFlags;
use crate::computed::ComputedService;
use crate::entry::EntryView;
use crate::notices::Notices;
use crate::virtual_attributes::VirtualAttribute;

use crate::group_types::COMPUTED;
use dynamic::MemberUrls;
pub use expand::{Expanded, MemberPlan};
pub use graph::CHAIN_MAX;
pub use moment::{Groups, GroupsAt};

/// An entry of some backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The backend's place in the directory's list.
    pub backend: usize,
    /// The entry.
    pub id: EntryId,
}

/// What the directory keeps for groups between operations.
pub struct GroupService {
    urls: MemberUrls,
    options: GroupOptions,
    notices: Arc<Notices>,
    /// What entries get that are in groups, or not: membership may depend on nothing of it, it on membership.
    pub computed: ComputedService,
}

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupOptions {
    /// Whether entries have `isMemberOf`.
    pub is_member_of: bool,
    /// Whether entries have `memberOf`.
    pub member_of: bool,
    /// What is computed of `member`.
    pub member: Members,
    /// What is computed of `uniqueMember`.
    pub unique_member: Members,
}

/// What is computed of an attribute of members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Dynamic groups answer who is a member, as virtual static groups always do.
    pub of_dynamic_groups: bool,
    /// `allow-retrieving-membership`
    pub are_shown: bool,
}

impl Default for GroupOptions {
    fn default() -> Self {
        GroupOptions {
            is_member_of: true,
            member_of: true,
            member: Members::default(),
            unique_member: Members::default(),
        }
    }
}

impl GroupOptions {
    /// What `[virtual-attribute.*]` says.
    pub fn of(config: &[VirtualAttributeConfig]) -> GroupOptions {
        let mut options = GroupOptions::default();
        for it in config {
            match (&it.kind, it.attribute.as_str()) {
                (VirtualAttributeKind::IsMemberOf, "isMemberOf") => options.is_member_of = it.enabled,
                (VirtualAttributeKind::IsMemberOf, _) => options.member_of = it.enabled,
                (VirtualAttributeKind::Member { allow_retrieving_membership }, attribute) => {
                    let are_shown = it.enabled && *allow_retrieving_membership;
                    let members = Members { of_dynamic_groups: it.enabled, are_shown };
                    if attribute == "member" {
                        options.member = members;
                    } else {
                        options.unique_member = members;
                    }
                }
                (VirtualAttributeKind::UserDefined { .. } | VirtualAttributeKind::UserTemplate { .. }, _) => {}
            }
        }
        options
    }

    /// Whether members of groups that do not list them are shown at all.
    #[must_use]
    pub fn shows_members(&self) -> bool {
        self.member.are_shown || self.unique_member.are_shown
    }

    /// The kinds of groups that answer to `member` or `uniqueMember` without having it.
    #[must_use]
    pub fn answering(&self) -> ClassFlags {
        if self.member.of_dynamic_groups || self.unique_member.of_dynamic_groups {
            COMPUTED
        } else {
            ClassFlags::VIRTUAL_STATIC_GROUP
        }
    }
}

impl GroupService {
    /// A service that tells `notices` each thing once.
    pub fn new(options: GroupOptions, computed: ComputedService, notices: &Arc<Notices>) -> GroupService {
        GroupService { urls: MemberUrls::default(), options, notices: Arc::clone(notices), computed }
    }
}

impl GroupsAt<'_> {
    /// Whether the configuration has that attribute.
    #[must_use]
    pub fn offers(&self, attribute: VirtualAttribute) -> bool {
        let options = self.groups.service.options;
        match attribute {
            VirtualAttribute::IsMemberOf => options.is_member_of,
            VirtualAttribute::MemberOf => options.member_of,
            _ => false,
        }
    }

    /// Appends the DNs of all groups that the entry is in, in wire form and in the order of their numbers; `false` when it is in none.
    pub fn values(&self, entry: &EntryView<'_>, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        let place = Place { backend: self.own, id: entry.id };
        if let Some((_, wire)) = self.groups.state.borrow().last.as_ref().filter(|(last, _)| *last == place) {
            out.extend_from_slice(wire);
            return Ok(!wire.is_empty());
        }
        let mut groups = self.all_above(entry)?;
        groups.sort_unstable();
        let start = out.len();
        let mut dn = Vec::new();
        for group in groups {
            dn.clear();
            if self.put_dn(group, &mut dn)? {
                put_value(out, &dn);
            }
        }
        let wire: Box<[u8]> = out.get(start..).unwrap_or_default().into();
        self.groups.state.borrow_mut().last = Some((place, wire));
        Ok(out.len() > start)
    }
}
