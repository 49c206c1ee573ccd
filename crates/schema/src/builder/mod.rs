//! Puts definitions together into a schema: finds conflicts, resolves every reference, reports all that is wrong.

mod problem;
mod resolve;

pub use problem::{SchemaError, SchemaErrors, SchemaProblem};

use std::collections::HashMap;
use std::sync::Arc;

use crate::definition::{Definition, DefinitionKind};
use crate::schema::{Schema, SchemaOptions, Source};
use crate::schema_file::{self, SCHEMA_FILE};

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
