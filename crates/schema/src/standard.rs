//! The schema that is shipped, as LDIF files compiled into the binary.

use std::sync::{Arc, OnceLock};

use crate::builder::SchemaBuilder;
use crate::schema::{Schema, SchemaOptions};

/// Name and text of every file, in the order in which they are read.
pub(crate) static FILES: &[(&str, &str)] = &[
    ("00-core.ldif", include_str!("../ldif/00-core.ldif")),
    ("01-pwpolicy.ldif", include_str!("../ldif/01-pwpolicy.ldif")),
    ("02-config.ldif", include_str!("../ldif/02-config.ldif")),
    ("03-changelog.ldif", include_str!("../ldif/03-changelog.ldif")),
    ("03-pwpolicyextension.ldif", include_str!("../ldif/03-pwpolicyextension.ldif")),
    ("03-rfc2713.ldif", include_str!("../ldif/03-rfc2713.ldif")),
    ("03-rfc2714.ldif", include_str!("../ldif/03-rfc2714.ldif")),
    ("03-rfc2739.ldif", include_str!("../ldif/03-rfc2739.ldif")),
    ("03-rfc2926.ldif", include_str!("../ldif/03-rfc2926.ldif")),
    ("03-rfc3112.ldif", include_str!("../ldif/03-rfc3112.ldif")),
    ("03-rfc3712.ldif", include_str!("../ldif/03-rfc3712.ldif")),
    ("04-rfc2307bis.ldif", include_str!("../ldif/04-rfc2307bis.ldif")),
    ("05-eduperson.ldif", include_str!("../ldif/05-eduperson.ldif")),
    ("05-netscape.ldif", include_str!("../ldif/05-netscape.ldif")),
    ("05-openldap.ldif", include_str!("../ldif/05-openldap.ldif")),
    ("05-rfc4876.ldif", include_str!("../ldif/05-rfc4876.ldif")),
    ("05-samba.ldif", include_str!("../ldif/05-samba.ldif")),
    ("05-solaris.ldif", include_str!("../ldif/05-solaris.ldif")),
    ("05-sudo.ldif", include_str!("../ldif/05-sudo.ldif")),
    ("06-compat.ldif", include_str!("../ldif/06-compat.ldif")),
    ("06-monitor.ldif", include_str!("../ldif/06-monitor.ldif")),
    ("07-configuration.ldif", include_str!("../ldif/07-configuration.ldif")),
];

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

impl Schema {
    /// The schema that the server ships.
    pub fn standard() -> Arc<Schema> {
        static STANDARD: OnceLock<Arc<Schema>> = OnceLock::new();
        Arc::clone(STANDARD.get_or_init(build))
    }
}

fn build() -> Arc<Schema> {
    // Invariant: the shipped files build; a test holds them to it. Should one not, the bare schema is still a schema.
    SchemaBuilder::standard(SchemaOptions::default()).build().unwrap_or_else(|_| Schema::empty())
}

/// Whether a file is one of those shipped.
pub(crate) fn is_shipped(file: &str) -> bool {
    FILES.iter().any(|(name, _)| *name == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_files_build() {
        let schema = SchemaBuilder::standard(SchemaOptions::default()).build();
        match schema {
            Ok(schema) => assert!(schema.attribute_types().len() > 600 && schema.object_classes().len() > 150),
            Err(errors) => panic!("{errors}"),
        }
    }
}
