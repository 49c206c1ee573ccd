//! Changes of `cn=schema`: what a modify request asks for becomes a new schema, or a reason why not.
//!
//! It knows nothing of entries; whether some still need what goes away is for the caller to find out, who is told what
//! that is.

use std::sync::Arc;

use ldap::ResultCode;
use thiserror::Error;

use crate::builder::{SchemaBuilder, SchemaErrors, SchemaProblem};
use crate::definition::{Definition, DefinitionError, DefinitionKind};
use crate::schema::{Schema, Source};
use crate::schema_file::{self, SCHEMA_FILE};
use crate::standard;

/// Where definitions go that do not say `X-SCHEMA-FILE`.
pub const USER_SCHEMA_FILE: &str = "99-user.ldif";

/// One change of the subschema entry. `replace` is a delete of everything followed by adds, which nobody means, so the
/// caller refuses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaChange {
    /// Add a definition; one with the same OID is replaced.
    Add {
        /// Which attribute of the subschema entry.
        kind: DefinitionKind,
        /// The definition.
        value: String,
    },
    /// Delete the definition with the OID of the value.
    Delete {
        /// Which attribute of the subschema entry.
        kind: DefinitionKind,
        /// The definition, or at least its OID in parentheses.
        value: String,
    },
}

/// Why a change is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModifySchemaError {
    /// The value does not parse.
    #[error("the value of {attribute} is not a definition: {error}", attribute = .kind.attribute())]
    BadDefinition {
        /// Which attribute.
        kind: DefinitionKind,
        /// Why not.
        error: DefinitionError,
    },
    /// Nothing with that OID.
    #[error("there is no {oid} in {attribute}", attribute = .kind.attribute())]
    NotFound {
        /// Which attribute.
        kind: DefinitionKind,
        /// The OID.
        oid: String,
    },
    /// A definition of the server itself.
    #[error(
        "{name} is part of the standard schema ({file}) and must stay; a definition with its OID may be added \
         in its place"
    )]
    Shipped {
        /// Primary name or OID.
        name: String,
        /// The file.
        file: String,
    },
    /// Another definition needs what would go away.
    #[error("{name} is not deleted: {by} refers to it")]
    StillReferenced {
        /// What would go away.
        name: String,
        /// Who needs it.
        by: String,
    },
    /// `X-SCHEMA-FILE` is no plain file name that ends in `.ldif`.
    #[error("\"{0}\" is not valid as the file of a definition")]
    BadFile(String),
    /// The new schema would be wrong.
    #[error("{0}")]
    Invalid(SchemaErrors),
}

impl ModifySchemaError {
    /// The LDAP result code.
    pub fn result_code(&self) -> ResultCode {
        match self {
            ModifySchemaError::BadDefinition { .. } => ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            ModifySchemaError::NotFound { .. } => ResultCode::NO_SUCH_ATTRIBUTE,
            ModifySchemaError::Shipped { .. } | ModifySchemaError::BadFile(_) => ResultCode::UNWILLING_TO_PERFORM,
            ModifySchemaError::StillReferenced { .. } | ModifySchemaError::Invalid(_) => {
                ResultCode::CONSTRAINT_VIOLATION
            }
        }
    }
}

/// The outcome of a change.
#[derive(Debug, Clone)]
pub struct ModifiedSchema {
    /// The new schema.
    pub schema: Arc<Schema>,
    /// Definitions that are gone.
    pub removed: Vec<Definition>,
    /// Definitions that changed, before and after.
    pub replaced: Vec<(Definition, Definition)>,
    /// Names of the user files whose contents are different now.
    pub files: Vec<String>,
}

impl Schema {
    /// Applies changes in order and judges the final state.
    pub fn modified(&self, changes: &[SchemaChange]) -> Result<ModifiedSchema, ModifySchemaError> {
        let mut work = Work { builder: SchemaBuilder::extending(self), sources: self.sources.clone() };
        for change in changes {
            match change {
                SchemaChange::Add { kind, value } => work.add(*kind, value)?,
                SchemaChange::Delete { kind, value } => work.delete(*kind, value)?,
            }
        }
        let schema = match work.builder.build() {
            Ok(schema) => schema,
            Err(errors) => return Err(explain(self, &work.sources, errors)),
        };
        let (mut removed, mut replaced) = (Vec::new(), Vec::new());
        for source in &self.sources {
            match find(&schema.sources, source.definition.kind(), &source.definition.head().oid) {
                None => removed.push(source.definition.clone()),
                Some(now) if now.definition != source.definition => {
                    replaced.push((source.definition.clone(), now.definition.clone()));
                }
                Some(_) => {}
            }
        }
        let files = changed_files(self, &schema);
        Ok(ModifiedSchema { schema, removed, replaced, files })
    }

    /// Names of the files that users' definitions live in, sorted.
    pub fn user_files(&self) -> Vec<String> {
        let mut files: Vec<String> = self.sources.iter().map(|source| source.file.to_string()).collect();
        files.retain(|file| !standard::is_shipped(file));
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The text of a user file: the same definitions always give the same text.
    pub fn user_file_text(&self, file: &str) -> String {
        let of_file = self.sources.iter().filter(|source| &*source.file == file);
        schema_file::write(of_file.map(|source| &source.definition))
    }
}

struct Work {
    builder: SchemaBuilder,
    /// The definitions as they are after the changes so far.
    sources: Vec<Arc<Source>>,
}

impl Work {
    fn add(&mut self, kind: DefinitionKind, value: &str) -> Result<(), ModifySchemaError> {
        let definition = parse(kind, value)?;
        let known = find(&self.sources, kind, &definition.head().oid).map(|source| Arc::clone(&source.file));
        let named = definition.head().extension(SCHEMA_FILE).and_then(<[String]>::first).cloned();
        let file: Arc<str> = match (named, known) {
            (Some(file), _) if !standard::is_shipped(&file) => checked_file(file)?.into(),
            (_, Some(file)) if !standard::is_shipped(&file) => file,
            _ => USER_SCHEMA_FILE.into(),
        };
        self.builder.add(definition.clone(), &file, 0);
        let oid = definition.head().oid.clone();
        let source = Arc::new(Source { definition, file, line: 0 });
        match self.sources.iter_mut().find(|source| is(source, kind, &oid)) {
            Some(place) => *place = source,
            None => self.sources.push(source),
        }
        Ok(())
    }

    /// A definition that had taken the place of a shipped one gives it back.
    fn delete(&mut self, kind: DefinitionKind, value: &str) -> Result<(), ModifySchemaError> {
        let oid = match oid_alone(value) {
            Some(oid) => oid.to_owned(),
            None => parse(kind, value)?.head().oid.clone(),
        };
        let Some(at) = self.sources.iter().position(|source| is(source, kind, &oid)) else {
            return Err(ModifySchemaError::NotFound { kind, oid });
        };
        let source = self.sources.remove(at);
        if standard::is_shipped(&source.file) {
            let name = source.definition.head().name_or_oid().to_owned();
            return Err(ModifySchemaError::Shipped { name, file: source.file.to_string() });
        }
        match find(&Schema::standard().sources, kind, &oid) {
            Some(shipped) => {
                self.builder.add(shipped.definition.clone(), &shipped.file, shipped.line);
                self.sources.push(Arc::clone(shipped));
            }
            None => {
                self.builder.remove(kind, &oid);
            }
        }
        Ok(())
    }
}

fn parse(kind: DefinitionKind, value: &str) -> Result<Definition, ModifySchemaError> {
    Definition::parse(kind, value).map_err(|error| ModifySchemaError::BadDefinition { kind, error })
}

/// `( 1.2.3 )`
fn oid_alone(value: &str) -> Option<&str> {
    let inside = value.trim().strip_prefix('(')?.strip_suffix(')')?.trim();
    (!inside.is_empty() && !inside.contains([' ', '\'', '(', '$'])).then_some(inside)
}

fn is(source: &Source, kind: DefinitionKind, oid: &str) -> bool {
    source.definition.kind() == kind && source.definition.head().oid.eq_ignore_ascii_case(oid)
}

fn find<'s>(sources: &'s [Arc<Source>], kind: DefinitionKind, oid: &str) -> Option<&'s Arc<Source>> {
    sources.iter().find(|source| is(source, kind, oid))
}

fn checked_file(file: String) -> Result<String, ModifySchemaError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = file.ends_with(".ldif") && !file.starts_with('.') && file.len() <= 100 && file.chars().all(plain);
    if good { Ok(file) } else { Err(ModifySchemaError::BadFile(file)) }
}

/// If the new schema fails because something was deleted, says so in these words.
fn explain(before: &Schema, after: &[Arc<Source>], errors: SchemaErrors) -> ModifySchemaError {
    for error in &errors.0 {
        let SchemaProblem::Unknown { of, name, .. } = &error.problem else { continue };
        let named = |source: &&Arc<Source>| {
            let head = source.definition.head();
            head.oid.eq_ignore_ascii_case(name) || head.names.iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        let gone = before.sources.iter().find(named).is_some() && !after.iter().any(|source| named(&source));
        if gone {
            return ModifySchemaError::StillReferenced { name: name.clone(), by: of.clone() };
        }
    }
    ModifySchemaError::Invalid(errors)
}

fn changed_files(before: &Schema, after: &Schema) -> Vec<String> {
    let mut files = before.user_files();
    files.extend(after.user_files());
    files.sort_unstable();
    files.dedup();
    files.retain(|file| before.user_file_text(file) != after.user_file_text(file));
    files
}

#[cfg(test)]
mod tests;
