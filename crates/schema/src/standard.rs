//! The schema that is shipped, as LDIF files compiled into the binary.

use std::sync::Arc;

use crate::builder::SchemaBuilder;
use crate::schema::{Schema, SchemaOptions};

/// Name and text of every file, in the order in which they are read.
pub(crate) static FILES: &[(&str, &str)] = &[("00-core.ldif", include_str!("../ldif/00-core.ldif"))];

impl SchemaBuilder {
    /// Begins with the shipped files.
    pub fn standard(options: SchemaOptions) -> SchemaBuilder {
        let mut builder = SchemaBuilder::new(options);
        for (file, text) in FILES {
            builder.add_ldif(file, text);
        }
        builder
    }
}

pub(crate) fn build() -> Arc<Schema> {
    // Invariant: the shipped files build; a test holds them to it. Should one not, the bare schema is still a schema.
    SchemaBuilder::standard(SchemaOptions::default()).build().unwrap_or_else(|_| Schema::empty())
}

/// Whether a file is one of those shipped.
pub(crate) fn is_shipped(file: &str) -> bool {
    FILES.iter().any(|(name, _)| *name == file)
}
