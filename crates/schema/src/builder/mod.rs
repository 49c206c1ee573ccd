//! Puts definitions together into a schema: finds conflicts, resolves every reference, reports all that is wrong.

mod resolve;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::definition::{Definition, DefinitionError, DefinitionKind};
use crate::schema::{Schema, SchemaOptions, Source};
use crate::schema_file::{self, FileProblem, SCHEMA_FILE};

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

/// Collects definitions and builds a [`Schema`].
///
/// A definition with the identifier of one from another file takes its place, as OpenDJ does; so `99-user.ldif` can
/// change what is shipped.
#[derive(Debug)]
pub struct SchemaBuilder {
    options: SchemaOptions,
    sources: Vec<Arc<Source>>,
    by_oid: HashMap<(DefinitionKind, String), usize>,
    errors: Vec<SchemaError>,
}

impl SchemaBuilder {
    /// Begins with built-in syntaxes and rules only.
    pub fn new(options: SchemaOptions) -> SchemaBuilder {
        SchemaBuilder { options, sources: Vec::new(), by_oid: HashMap::new(), errors: Vec::new() }
    }

    /// Begins with all definitions of a schema.
    pub fn extending(schema: &Schema) -> SchemaBuilder {
        let mut builder = SchemaBuilder::new(schema.options.clone());
        for source in &schema.sources {
            builder.put(Arc::clone(source));
        }
        builder
    }

    /// Adds the definitions of a schema file; `file` is its name without folders.
    pub fn add_ldif(&mut self, file: &str, text: &str) {
        let file: Arc<str> = file.into();
        for line in schema_file::lines(text) {
            match line {
                Err((line, problem)) => self.error(&file, line, problem.into()),
                Ok(line) => {
                    if let Some(kind) = DefinitionKind::of_attribute(&line.attribute) {
                        self.add_text(kind, &line.value, &file, line.number);
                    }
                }
            }
        }
    }

    /// Adds one definition; `line` is 0 for one that is in no file yet.
    pub fn add_text(&mut self, kind: DefinitionKind, text: &str, file: &Arc<str>, line: u64) {
        match Definition::parse(kind, text) {
            Err(error) => self.error(file, line, SchemaProblem::Definition { kind, error }),
            Ok(definition) => self.add(definition, file, line),
        }
    }

    /// Adds one parsed definition.
    pub fn add(&mut self, mut definition: Definition, file: &Arc<str>, line: u64) {
        definition.head_mut().set_extension(SCHEMA_FILE, file);
        let key = key_of(&definition);
        if let Some(other) = self.by_oid.get(&key).and_then(|at| self.sources.get(*at))
            && line > 0
            && other.file == *file
            && other.definition != definition
        {
            let problem = SchemaProblem::Twice { oid: key.1, line: other.line };
            return self.error(file, line, problem);
        }
        self.put(Arc::new(Source { definition, file: Arc::clone(file), line }));
    }

    /// Takes a definition away; false if there is none.
    pub fn remove(&mut self, kind: DefinitionKind, oid: &str) -> bool {
        let Some(at) = self.by_oid.remove(&(kind, oid.to_ascii_lowercase())) else { return false };
        self.sources.remove(at);
        for place in self.by_oid.values_mut().filter(|place| **place > at) {
            *place -= 1;
        }
        true
    }

    /// Resolves everything.
    pub fn build(self) -> Result<Arc<Schema>, SchemaErrors> {
        if !self.errors.is_empty() {
            return Err(SchemaErrors(self.errors));
        }
        resolve::resolve(self.options, self.sources).map(Arc::new)
    }

    fn put(&mut self, source: Arc<Source>) {
        let key = key_of(&source.definition);
        match self.by_oid.get(&key).and_then(|at| self.sources.get_mut(*at)) {
            Some(place) => *place = source,
            None => {
                self.by_oid.insert(key, self.sources.len());
                self.sources.push(source);
            }
        }
    }

    fn error(&mut self, file: &str, line: u64, problem: SchemaProblem) {
        self.errors.push(SchemaError { file: file.to_owned(), line, problem });
    }
}

fn key_of(definition: &Definition) -> (DefinitionKind, String) {
    (definition.kind(), definition.head().oid.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
