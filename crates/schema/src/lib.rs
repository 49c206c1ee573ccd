//! Syntaxes, matching rules, string preparation and the standard LDAP schema.
//!
//! What a name means: which attribute types and object classes exist, which values are good, when two values are the
//! same, and whether an entry is what its classes say. A [`Schema`] is immutable and shared; a change makes a new one.
//!
//! | module | what lives there |
//! |---|---|
//! | `definition` | the text of definitions (RFC 4512 §4.1), parsed and printed |
//! | `builder`, `schema_file` | definitions from files and clients put together into a [`Schema`] |
//! | `modify` | changes of `cn=schema`, and what they would break |
//! | `attribute`, `class`, `description` | the resolved schema elements |
//! | `syntax` | what values may look like |
//! | `instruction` | access control instructions and the entries that hold them |
//! | `calendar` | dates and days |
//! | `uuid` | the text of UUIDs |
//! | `prep`, `rule` | normal forms: byte strings whose comparison is the matching |
//! | `dn` | normal forms of DNs, root first |
//! | `check` | whether an entry obeys the schema |
//! | `standard` | the schema that is shipped (`ldif/*.ldif`) |
//!
//! This crate knows nothing of storage, networks, operations or configuration files.

mod attribute;
mod builder;
mod class;
mod definition;
mod description;
mod display_text;
mod dn;
mod modify;
mod name_table;
mod schema;
mod schema_file;
mod standard;

pub mod calendar;
pub mod check;
pub mod instruction;
pub mod prep;
pub mod rule;
pub mod syntax;
pub mod uuid;

pub use attribute::{AttributeType, TypeIndex};
pub use builder::{SchemaBuilder, SchemaError, SchemaErrors, SchemaProblem};
pub use class::{ClassIndex, ContentRule, NameForm, ObjectClass, StructureRule};
pub use definition::{
    AttributeTypeDefinition, ClassKind, ContentRuleDefinition, Definition, DefinitionError, DefinitionKind, Head,
    MatchingRuleDefinition, MatchingRuleUseDefinition, NameFormDefinition, ObjectClassDefinition,
    StructureRuleDefinition, SyntaxDefinition, Usage,
};
pub use description::{AttributeDescription, DescriptionError, Options};
pub use display_text::display_text;
pub use dn::{DnSyntaxError, NormalizedDn, NormalizedRdn};
pub use modify::{ModifiedSchema, ModifySchemaError, SchemaChange, USER_SCHEMA_FILE};
pub use rule::{
    Assertion, COLLATION_VERSION, InvalidValue, MatchContext, MatchingRule, Position, RuleRole, Substrings,
};
pub use schema::{Schema, SchemaOptions};
pub use syntax::{Syntax, SyntaxError};

/// The Unicode versions that normal forms depend on. Index keys made under another one must be made anew.
pub const UNICODE_VERSION: UnicodeVersion = UnicodeVersion {
    case: char::UNICODE_VERSION,
    normalization: unicode_normalization::UNICODE_VERSION,
    preparation: PREPARATION_VERSION,
};

/// Counts changes of our own preparation and normal forms.
const PREPARATION_VERSION: u8 = 1;

/// What normal forms depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnicodeVersion {
    /// Of the letter case tables.
    pub case: (u8, u8, u8),
    /// Of the normalization tables.
    pub normalization: (u8, u8, u8),
    /// Of the code of this crate.
    pub preparation: u8,
}

impl std::fmt::Display for UnicodeVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (case, normalization) = (self.case, self.normalization);
        write!(
            f,
            "{}.{}.{}/{}.{}.{}/{}",
            case.0, case.1, case.2, normalization.0, normalization.1, normalization.2, self.preparation
        )
    }
}
