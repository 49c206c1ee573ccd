//! What the object classes of an entry mean to operations, as bits.
//!
//! Knows no schema and no entry.

/// What the object classes of an entry mean to every operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassFlags(u16);

impl ClassFlags {
    /// Every flag: what is true where nobody has looked.
    pub const ALL: ClassFlags = ClassFlags(u16::MAX);
    /// A referral object (RFC 3296).
    pub const REFERRAL: ClassFlags = ClassFlags(1);
    /// An alias (RFC 4512 §2.6).
    pub const ALIAS: ClassFlags = ClassFlags(2);
    /// A subentry (RFC 3672).
    pub const SUBENTRY: ClassFlags = ClassFlags(4);
    /// A group whose members `member` names.
    pub const MEMBER_GROUP: ClassFlags = ClassFlags(8);
    /// A group whose members `uniqueMember` names.
    pub const UNIQUE_MEMBER_GROUP: ClassFlags = ClassFlags(16);
    /// A group whose members `memberURL` describes.
    pub const DYNAMIC_GROUP: ClassFlags = ClassFlags(32);
    /// A group that has the members of another; no `member` of its own counts.
    pub const VIRTUAL_STATIC_GROUP: ClassFlags = ClassFlags(64);
    /// It says what other entries get (classes of service, roles, collective attributes).
    pub const DEFINITION: ClassFlags = ClassFlags(128);
    /// A dynamic entry (RFC 2589).
    pub const DYNAMIC: ClassFlags = ClassFlags(256);
    /// A password policy.
    pub const PASSWORD_POLICY: ClassFlags = ClassFlags(512);

    /// Whether something of `other` is set.
    #[inline]
    #[must_use]
    pub fn has(self, other: ClassFlags) -> bool {
        self.0 & other.0 != 0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: ClassFlags) -> ClassFlags {
        ClassFlags(self.0 | other.0)
    }
}
