//! Attribute types with everything that they inherit resolved.
//!
//! It knows nothing of values in entries; descriptions with options are in `description`.

use std::sync::Arc;

use crate::definition::{AttributeTypeDefinition, Definition, Usage};
use crate::rule::MatchingRule;
use crate::syntax::Syntax;

/// The number of an attribute type in one schema. Another schema may number its types otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeIndex(pub u32);

/// One attribute type.
#[derive(Debug, Clone)]
pub struct AttributeType {
    /// Its number in the schema.
    pub index: TypeIndex,
    /// The definition as written: only what it says itself.
    pub definition: AttributeTypeDefinition,
    /// The type it is a subtype of.
    pub superior: Option<TypeIndex>,
    /// Its superiors, the nearest first.
    pub(crate) ancestors: Vec<TypeIndex>,
    /// Equality rule, possibly inherited; or the one that goes with the syntax, if `default_rules` says so.
    pub equality: Option<&'static MatchingRule>,
    /// Ordering rule, possibly inherited.
    pub ordering: Option<&'static MatchingRule>,
    /// Substring rule, possibly inherited.
    pub substring: Option<&'static MatchingRule>,
    /// Approximate rule, if values are text.
    pub approximate: Option<&'static MatchingRule>,
    /// Syntax, possibly inherited.
    pub syntax: Arc<Syntax>,
    /// The name in lower case that stands for the type in normal forms of DNs.
    pub(crate) normal_name: Box<str>,
}

impl AttributeType {
    /// Numeric OID.
    pub fn oid(&self) -> &str {
        &self.definition.head.oid
    }

    /// All names, the primary one first.
    pub fn names(&self) -> &[String] {
        &self.definition.head.names
    }

    /// The primary name, or the OID of a type without names.
    pub fn name(&self) -> &str {
        self.definition.head.name_or_oid()
    }

    /// Whether `name` is its OID or one of its names.
    pub fn has_name(&self, name: &str) -> bool {
        self.oid() == name || self.names().iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// At most one value in an entry.
    pub fn is_single_value(&self) -> bool {
        self.definition.single_value
    }

    /// Values come from a collective attribute subentry (RFC 3671).
    pub fn is_collective(&self) -> bool {
        self.definition.collective
    }

    /// Only the server writes it.
    pub fn is_no_user_modification(&self) -> bool {
        self.definition.no_user_modification
    }

    /// No longer to be used.
    pub fn is_obsolete(&self) -> bool {
        self.definition.head.obsolete
    }

    /// How it is used.
    pub fn usage(&self) -> Usage {
        self.definition.usage
    }

    /// Returned only when asked for by name or with `+`, and allowed in entries of any class.
    pub fn is_operational(&self) -> bool {
        self.definition.usage != Usage::UserApplications
    }

    /// Whether it is `other` or one of its subtypes.
    pub fn is_subtype_of(&self, other: TypeIndex) -> bool {
        self.index == other || self.ancestors.contains(&other)
    }

    /// The definition as the subschema entry shows it.
    pub fn definition(&self) -> Definition {
        Definition::AttributeType(self.definition.clone())
    }
}
