//! Classes of entries that say what other entries get, looked up once per schema.
//!
//! Knows names of classes; what such an entry says is for [`crate::computed`].

use schema::{ClassIndex, ObjectClass, Schema};
use store::Values;

use crate::class_flags::ClassFlags;

/// What kind of definition an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    /// A role whose members name it in `nsRoleDN`.
    ManagedRole,
    /// A role whose members match its filter.
    FilteredRole,
    /// A role that has the members of other roles.
    NestedRole,
    /// A class of service whose template the definition names.
    PointerCos,
    /// A class of service whose template an attribute of the entry names.
    IndirectCos,
    /// A class of service whose template is named like a value of the entry.
    ClassicCos,
    /// A subentry of collective attributes (RFC 3671).
    Collective,
    /// Collective attributes that come from an entry that the target names.
    InheritedFromDn,
    /// Collective attributes that come from an entry that is named like a value of the target.
    InheritedFromRdn,
}

/// The classes. An entry is read by the first whose class it has; subclasses count, and have to be listed themselves to
/// be found.
const CLASSES: [(&[u8], DefinitionKind); 10] = [
    (b"nsManagedRoleDefinition", DefinitionKind::ManagedRole),
    (b"nsFilteredRoleDefinition", DefinitionKind::FilteredRole),
    (b"nsNestedRoleDefinition", DefinitionKind::NestedRole),
    (b"cosPointerDefinition", DefinitionKind::PointerCos),
    (b"cosIndirectDefinition", DefinitionKind::IndirectCos),
    (b"cosClassicDefinition", DefinitionKind::ClassicCos),
    (b"cosDefinition", DefinitionKind::ClassicCos),
    (b"collectiveAttributeSubentry", DefinitionKind::Collective),
    (b"inheritedFromDNCollectiveAttributeSubentry", DefinitionKind::InheritedFromDn),
    (b"inheritedFromRDNCollectiveAttributeSubentry", DefinitionKind::InheritedFromRdn),
];

/// The classes in one schema.
#[derive(Debug, Default)]
pub struct DefinitionTypes {
    classes: Vec<(ClassIndex, DefinitionKind)>,
}

impl DefinitionTypes {
    /// Looks them up.
    #[must_use]
    pub fn of(schema: &Schema) -> DefinitionTypes {
        let known = |(name, kind): &(&[u8], DefinitionKind)| Some((schema.object_class(name)?.index, *kind));
        DefinitionTypes { classes: CLASSES.iter().filter_map(known).collect() }
    }

    /// The names of all these classes.
    pub fn class_names() -> impl Iterator<Item = &'static [u8]> {
        CLASSES.iter().map(|(class, _)| *class)
    }

    /// What a class makes of an entry.
    #[must_use]
    pub fn flags_of(&self, class: &ObjectClass) -> ClassFlags {
        let defines = self.classes.iter().any(|(known, _)| class.is_subclass_of(*known));
        if defines { ClassFlags::DEFINITION } else { ClassFlags::default() }
    }

    /// What kind of definition an entry of these classes is; none if it defines nothing.
    #[must_use]
    pub fn kind_of(&self, schema: &Schema, classes: Values<'_>) -> Option<DefinitionKind> {
        let is_of = |known: ClassIndex| {
            classes.iter().filter_map(|name| schema.object_class(name)).any(|class| class.is_subclass_of(known))
        };
        self.classes.iter().find(|(known, _)| is_of(*known)).map(|(_, kind)| *kind)
    }
}
