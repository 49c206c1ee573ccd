//! What the directory keeps for groups between operations, and what is configured of them.

use std::sync::Arc;

use config::{VirtualAttributeConfig, VirtualAttributeKind};

use super::dynamic::MemberUrls;
use crate::class_flags::ClassFlags;
use crate::group_types::COMPUTED;
use crate::notices::Notices;

/// What the directory keeps for groups between operations.
pub struct GroupService {
    pub(super) urls: MemberUrls,
    pub(super) options: GroupOptions,
    pub(super) notices: Arc<Notices>,
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
                (
                    VirtualAttributeKind::UserDefined { .. }
                    | VirtualAttributeKind::UserTemplate { .. }
                    | VirtualAttributeKind::DynamicList { .. }
                    | VirtualAttributeKind::GroupMembership { .. },
                    _,
                ) => {}
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
    /// What administrators should know is told here.
    #[must_use]
    pub fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    /// A service that tells `notices` each thing once.
    #[must_use]
    pub fn new(options: GroupOptions, notices: &Arc<Notices>) -> GroupService {
        GroupService { urls: MemberUrls::default(), options, notices: Arc::clone(notices) }
    }
}
