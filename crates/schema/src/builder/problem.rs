//! What may be wrong with definitions, and where it stands.

use std::fmt;

use thiserror::Error;

use crate::definition::{DefinitionError, DefinitionKind};
use crate::schema_file::FileProblem;

/// What is wrong with a definition or a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaProblem {
    /// The line is no LDIF.
    #[error("{0}")]
    File(#[from] FileProblem),
    /// The definition does not parse.
    #[error("{kind}: {error}", kind = .kind.attribute())]
    Definition {
        /// Which kind it should be.
        kind: DefinitionKind,
        /// Why not.
        error: DefinitionError,
    },
    /// The identifier is no numeric OID.
    #[error("\"{0}\" is not a numeric OID")]
    BadOid(String),
    /// A name with characters that names cannot have.
    #[error("\"{name}\" is not a valid name (letters, digits and hyphens, a letter first){hint}")]
    BadName {
        /// The name.
        name: String,
        /// What would allow it.
        hint: &'static str,
    },
    /// The same identifier twice in a file.
    #[error("{oid} is defined twice in this file; the first is at line {line}")]
    Twice {
        /// The identifier.
        oid: String,
        /// Where it was first.
        line: u64,
    },
    /// Two things of one kind want one name.
    #[error("the name \"{name}\" of {oid} already belongs to {other} ({file}:{line})")]
    NameTaken {
        /// The name.
        name: String,
        /// Who wants it.
        oid: String,
        /// Who has it.
        other: String,
        /// Where that is.
        file: String,
        /// Its line.
        line: u64,
    },
    /// A reference to what is not defined.
    #[error("{of} refers to the unknown {what} \"{name}\"")]
    Unknown {
        /// Whose definition.
        of: String,
        /// Attribute type, object class …
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A definition that inherits from itself.
    #[error("{0} is its own superior")]
    Cycle(String),
    /// A superior of the wrong kind.
    #[error("{of} cannot have the superior {superior}: {reason}")]
    BadSuperior {
        /// Whose definition.
        of: String,
        /// The superior.
        superior: String,
        /// Why not.
        reason: &'static str,
    },
    /// An attribute type that says neither where its syntax comes from nor what it is.
    #[error("{0} has neither SYNTAX nor SUP")]
    NoSyntax(String),
    /// A rule in the place of one with another role.
    #[error("{of}: {rule} is not {role} rule")]
    WrongRole {
        /// Whose definition.
        of: String,
        /// The rule.
        rule: String,
        /// "an equality" …
        role: &'static str,
    },
    /// Something else that RFC 4512 forbids.
    #[error("{of}: {reason}")]
    Forbidden {
        /// Whose definition.
        of: String,
        /// Why.
        reason: &'static str,
    },
    /// A pattern that is no regular expression.
    #[error("{of}: the pattern is not a regular expression: {reason}")]
    BadPattern {
        /// Whose definition.
        of: String,
        /// Why not.
        reason: String,
    },
}

/// A problem and its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}")]
pub struct SchemaError {
    /// The file; for definitions that came over LDAP the one they would go to.
    pub file: String,
    /// The line of the definition; 0 for one that came over LDAP.
    pub line: u64,
    /// What is wrong.
    pub problem: SchemaProblem,
}

/// Everything that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaErrors(pub Vec<SchemaError>);

impl std::error::Error for SchemaErrors {}

impl fmt::Display for SchemaErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}
