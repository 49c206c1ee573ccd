//! Operational attributes that no record holds: the server computes them when they are asked for or asserted.
//!
//! Knows their names; their values are made in [`crate::virtual_values`]. A stored value of the same type (slapd
//! exports some of them) is never shown.

/// One computed attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualAttribute {
    /// RFC 5020
    EntryDn,
    /// X.501; Boolean
    HasSubordinates,
    /// The number of children, as OpenDJ and DSEE know it.
    NumSubordinates,
    /// RFC 4512 §4.2
    SubschemaSubentry,
    /// RFC 4512 §3.4.6
    StructuralObjectClass,
    /// The DNs of the groups that the entry is in, as Sun and OpenDJ name it.
    IsMemberOf,
    /// The same, as Microsoft and OpenLDAP name it.
    MemberOf,
    /// RFC 2589: how many seconds a dynamic entry still lives.
    EntryTtl,
    /// The password policy in force (draft-behera-ldap-password-policy).
    PwdPolicySubentry,
    /// When the password expires, as OpenDJ names it.
    PasswordExpirationTime,
}

/// The name of the subschema subentry.
pub const SCHEMA_DN: &str = "cn=schema";

impl VirtualAttribute {
    /// All of them.
    pub const ALL: [VirtualAttribute; 10] = [
        VirtualAttribute::EntryDn,
        VirtualAttribute::HasSubordinates,
        VirtualAttribute::NumSubordinates,
        VirtualAttribute::StructuralObjectClass,
        VirtualAttribute::SubschemaSubentry,
        VirtualAttribute::IsMemberOf,
        VirtualAttribute::MemberOf,
        VirtualAttribute::EntryTtl,
        VirtualAttribute::PwdPolicySubentry,
        VirtualAttribute::PasswordExpirationTime,
    ];

    /// Whether it tells groups, which are in other entries than the one asked for.
    #[inline]
    #[must_use]
    pub fn is_membership(self) -> bool {
        matches!(self, VirtualAttribute::IsMemberOf | VirtualAttribute::MemberOf)
    }

    /// Whether it tells of the entry's children.
    #[inline]
    #[must_use]
    pub fn counts_children(self) -> bool {
        matches!(self, VirtualAttribute::HasSubordinates | VirtualAttribute::NumSubordinates)
    }

    /// Whether it follows from the password policy in force.
    #[inline]
    #[must_use]
    pub fn follows_from_policy(self) -> bool {
        matches!(self, VirtualAttribute::PwdPolicySubentry | VirtualAttribute::PasswordExpirationTime)
    }

    /// Whether the entry alone does not tell it: who knows the groups, the policies, or the time, has to be asked.
    #[inline]
    #[must_use]
    pub fn needs_moment(self) -> bool {
        self.is_membership() || self.follows_from_policy() || self == VirtualAttribute::EntryTtl
    }

    /// The attribute's name, as it is sent.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            VirtualAttribute::EntryDn => "entryDN",
            VirtualAttribute::HasSubordinates => "hasSubordinates",
            VirtualAttribute::NumSubordinates => "numSubordinates",
            VirtualAttribute::SubschemaSubentry => "subschemaSubentry",
            VirtualAttribute::StructuralObjectClass => "structuralObjectClass",
            VirtualAttribute::IsMemberOf => "isMemberOf",
            VirtualAttribute::MemberOf => "memberOf",
            VirtualAttribute::EntryTtl => "entryTtl",
            VirtualAttribute::PwdPolicySubentry => "pwdPolicySubentry",
            VirtualAttribute::PasswordExpirationTime => "ds-pwp-password-expiration-time",
        }
    }
}
