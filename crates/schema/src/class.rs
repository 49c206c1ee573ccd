//! Object classes, name forms, and the rules that govern content and structure of the tree.

use crate::attribute::TypeIndex;
use crate::definition::{
    ClassKind, ContentRuleDefinition, Definition, NameFormDefinition, ObjectClassDefinition, StructureRuleDefinition,
};

/// The number of an object class in one schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassIndex(pub u32);

/// One object class.
#[derive(Debug, Clone)]
pub struct ObjectClass {
    /// Its number in the schema.
    pub index: ClassIndex,
    /// The definition as written.
    pub definition: ObjectClassDefinition,
    /// Its direct superiors.
    pub superiors: Vec<ClassIndex>,
    /// All superiors, direct or not, each once.
    pub(crate) ancestors: Vec<ClassIndex>,
    /// Required attributes, inherited ones included.
    pub must: Vec<TypeIndex>,
    /// Allowed attributes, inherited ones included.
    pub may: Vec<TypeIndex>,
}

impl ObjectClass {
    /// Numeric OID.
    pub fn oid(&self) -> &str {
        &self.definition.head.oid
    }

    /// All names, the primary one first.
    pub fn names(&self) -> &[String] {
        &self.definition.head.names
    }

    /// The primary name, or the OID of a class without names.
    pub fn name(&self) -> &str {
        self.definition.head.name_or_oid()
    }

    /// Abstract, structural or auxiliary.
    pub fn kind(&self) -> ClassKind {
        self.definition.kind
    }

    /// No longer to be used.
    pub fn is_obsolete(&self) -> bool {
        self.definition.head.obsolete
    }

    /// `extensibleObject` allows every attribute (RFC 4512 §4.3).
    pub fn is_extensible(&self) -> bool {
        self.oid() == EXTENSIBLE_OBJECT
    }

    /// Whether it is `other` or inherits from it.
    pub fn is_subclass_of(&self, other: ClassIndex) -> bool {
        self.index == other || self.ancestors.contains(&other)
    }

    /// All superiors, direct or not.
    pub fn ancestors(&self) -> &[ClassIndex] {
        &self.ancestors
    }

    /// The definition as the subschema entry shows it.
    pub fn definition(&self) -> Definition {
        Definition::ObjectClass(self.definition.clone())
    }
}

/// OID of `extensibleObject`.
pub(crate) const EXTENSIBLE_OBJECT: &str = "1.3.6.1.4.1.1466.101.120.111";

/// Which attributes may name entries of a structural class.
#[derive(Debug, Clone)]
pub struct NameForm {
    /// The definition as written.
    pub definition: NameFormDefinition,
    /// The structural class.
    pub class: ClassIndex,
    /// Attributes that the RDN must have.
    pub must: Vec<TypeIndex>,
    /// Attributes that it may have.
    pub may: Vec<TypeIndex>,
}

impl NameForm {
    /// The primary name, or the OID.
    pub fn name(&self) -> &str {
        self.definition.head.name_or_oid()
    }
}

/// What entries of a structural class may contain.
#[derive(Debug, Clone)]
pub struct ContentRule {
    /// The definition as written.
    pub definition: ContentRuleDefinition,
    /// The structural class.
    pub class: ClassIndex,
    /// Auxiliary classes that are allowed.
    pub auxiliaries: Vec<ClassIndex>,
    /// Additional required attributes.
    pub must: Vec<TypeIndex>,
    /// Additional allowed attributes.
    pub may: Vec<TypeIndex>,
    /// Attributes that must not be there though a class allows them.
    pub not: Vec<TypeIndex>,
}

impl ContentRule {
    /// The primary name, or the OID.
    pub fn name(&self) -> &str {
        self.definition.head.name_or_oid()
    }
}

/// Which entries may stand below which.
#[derive(Debug, Clone)]
pub struct StructureRule {
    /// The definition as written.
    pub definition: StructureRuleDefinition,
    /// The structural class of the name form.
    pub class: ClassIndex,
    /// Position of the name form in [`Schema::name_forms`](crate::Schema::name_forms).
    pub form: usize,
    /// Rules that may govern the parent.
    pub superiors: Vec<u32>,
}

impl StructureRule {
    /// The rule identifier.
    pub fn id(&self) -> u32 {
        self.definition.id
    }

    /// The primary name, or the rule identifier.
    pub fn name(&self) -> &str {
        self.definition.head.name_or_oid()
    }
}
