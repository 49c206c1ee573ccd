//! Which classes make an entry a group, and which attributes tell its members: looked up once per schema.
//!
//! Knows names of the schema; no entry.

use schema::{ClassIndex, ObjectClass, Schema, TypeIndex};

use crate::class_flags::ClassFlags;

/// Classes whose entries are groups, and the kind of each. Subclasses are too.
const CLASSES: [(&[u8], ClassFlags); 6] = [
    (b"groupOfNames", ClassFlags::MEMBER_GROUP),
    (b"groupOfEntries", ClassFlags::MEMBER_GROUP),
    // draft-howard-rfc2307bis
    (b"groupOfMembers", ClassFlags::MEMBER_GROUP),
    (b"groupOfUniqueNames", ClassFlags::UNIQUE_MEMBER_GROUP),
    (b"groupOfURLs", ClassFlags::DYNAMIC_GROUP),
    (b"ds-virtual-static-group", ClassFlags::VIRTUAL_STATIC_GROUP),
];

/// The kinds whose entries list their members themselves.
pub const STATIC: ClassFlags = ClassFlags::MEMBER_GROUP.with(ClassFlags::UNIQUE_MEMBER_GROUP);

/// Every kind of group.
pub const ANY_GROUP: ClassFlags = STATIC.with(COMPUTED);

/// The kinds whose entries do not list their members.
pub const COMPUTED: ClassFlags = ClassFlags::DYNAMIC_GROUP.with(ClassFlags::VIRTUAL_STATIC_GROUP);

/// See the module.
#[derive(Debug, Default)]
pub struct GroupTypes {
    classes: Vec<(ClassIndex, ClassFlags)>,
    /// `member`
    pub member: Option<TypeIndex>,
    /// `uniqueMember`
    pub unique_member: Option<TypeIndex>,
    /// `memberURL`
    pub member_url: Option<TypeIndex>,
    /// `ds-target-group-dn`
    pub target: Option<TypeIndex>,
}

impl GroupTypes {
    /// Looks everything up.
    pub fn of(schema: &Schema) -> GroupTypes {
        let type_of = |name: &[u8]| schema.attribute_type(name).map(|it| it.index);
        let class_of = |(name, flags): &(&[u8], ClassFlags)| Some((schema.object_class(name)?.index, *flags));
        GroupTypes {
            classes: CLASSES.iter().filter_map(class_of).collect(),
            member: type_of(b"member"),
            unique_member: type_of(b"uniqueMember"),
            member_url: type_of(b"memberURL"),
            target: type_of(b"ds-target-group-dn"),
        }
    }

    /// What kind of group a class makes of an entry.
    pub fn flags_of(&self, class: &ObjectClass) -> ClassFlags {
        let own = self.classes.iter().filter(|(group, _)| class.is_subclass_of(*group));
        own.fold(ClassFlags::default(), |flags, (_, own)| flags.with(*own))
    }

    /// The names of the classes of some of these kinds.
    pub fn class_names(kinds: ClassFlags) -> impl Iterator<Item = &'static [u8]> {
        CLASSES.into_iter().filter(move |(_, flags)| flags.has(kinds)).map(|(name, _)| name)
    }

    /// The attributes that list the members of a group of these kinds itself, with the kind that makes them count.
    pub fn lists(&self) -> impl Iterator<Item = (TypeIndex, ClassFlags)> {
        let member = self.member.map(|index| (index, ClassFlags::MEMBER_GROUP));
        member.into_iter().chain(self.unique_member.map(|index| (index, ClassFlags::UNIQUE_MEMBER_GROUP)))
    }

    /// Whether the attribute lists members.
    pub fn is_list(&self, attribute: TypeIndex) -> bool {
        self.lists().any(|(list, _)| list == attribute)
    }
}

/// Whether an entry of these classes lists its members in the attributes of `kind` (OpenDJ: not if it is virtual static
/// too).
pub fn lists_by(flags: ClassFlags, kind: ClassFlags) -> bool {
    flags.has(kind) && !flags.has(ClassFlags::VIRTUAL_STATIC_GROUP)
}
