//! The schema of built-in syntaxes and rules alone, which every other one begins with.

use std::sync::{Arc, OnceLock};

use super::elements::Schema;
use super::options::SchemaOptions;
use crate::name_table::NameTable;
use crate::rule::RULES;
use crate::syntax::{BUILT_IN, Syntax};

impl Schema {
    /// Built-in syntaxes and rules, and nothing else.
    pub fn empty() -> Arc<Schema> {
        static EMPTY: OnceLock<Arc<Schema>> = OnceLock::new();
        Arc::clone(EMPTY.get_or_init(|| Arc::new(Schema::bare(SchemaOptions::default()))))
    }

    /// Built-in syntaxes and rules.
    pub(crate) fn bare(options: SchemaOptions) -> Schema {
        static RULE_NAMES: OnceLock<Arc<NameTable>> = OnceLock::new();
        let rule_names = RULE_NAMES.get_or_init(|| {
            let mut names = NameTable::default();
            for (at, rule) in (0u32..).zip(RULES) {
                names.insert(rule.oid.as_bytes(), at);
                for name in rule.names {
                    names.insert(name.as_bytes(), at);
                }
            }
            // OpenDJ had an OID of its own for this rule before it had an official one.
            if let Some(at) = names.get(b"caseExactIA5SubstringsMatch") {
                names.insert(b"1.3.6.1.4.1.26027.1.4.902", at);
            }
            Arc::new(names)
        });
        let mut syntax_names = NameTable::default();
        let syntaxes: Vec<Arc<Syntax>> = BUILT_IN.iter().map(|row| Arc::new(row.syntax())).collect();
        for (at, syntax) in (0u32..).zip(&syntaxes) {
            syntax_names.insert(syntax.oid().as_bytes(), at);
        }
        Schema {
            options,
            syntaxes,
            syntax_names,
            rule_names: Arc::clone(rule_names),
            rule_heads: Vec::new(),
            attributes: Vec::new(),
            attribute_names: NameTable::default(),
            subtypes: Vec::new(),
            classes: Vec::new(),
            class_names: NameTable::default(),
            name_forms: Vec::new(),
            content_rules: Vec::new(),
            structure_rules: Vec::new(),
            sources: Vec::new(),
            other_names: NameTable::default(),
            other_oids: Vec::new(),
        }
    }
}
