//! What the attribute descriptions of LDIF records mean, and normal forms of their values: two values are the same if
//! their forms are.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use schema::{AttributeDescription, AttributeType, MatchingRule, Schema};

/// Descriptions that are remembered, at most: a file may have any number of different ones.
const REMEMBERED_MAX: usize = 10_000;

/// First byte of a normal form.
const NORMAL: u8 = 0;
/// First byte of a value as it is written: it has no normal form.
const AS_WRITTEN: u8 = 1;

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// By the equality rule of the attribute.
    BySchema,
    /// Byte by byte.
    Exact,
}

/// An attribute description.
#[derive(Debug)]
pub struct Described {
    /// Primary name and options, in lower case: the same for all that mean the same.
    pub key: String,
    /// The description, if it is one.
    pub description: Option<AttributeDescription>,
    /// Its equality rule.
    pub rule: Option<&'static MatchingRule>,
    /// The definition of its type names no equality rule: many servers cannot delete one of its values then.
    pub lacks_equality: bool,
    /// Only servers write it (`NO-USER-MODIFICATION`).
    pub is_of_server: bool,
}

/// Looks descriptions up.
pub struct Descriptions {
    schema: Arc<Schema>,
    comparison: Comparison,
    known: HashMap<Box<[u8]>, Rc<Described>>,
}

impl Descriptions {
    pub fn new(schema: Arc<Schema>, comparison: Comparison) -> Descriptions {
        Descriptions { schema, comparison, known: HashMap::new() }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// What a description means.
    pub fn get(&mut self, text: &[u8]) -> Rc<Described> {
        if let Some(known) = self.known.get(text) {
            return Rc::clone(known);
        }
        let described = Rc::new(self.describe(text));
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        self.known.insert(text.into(), Rc::clone(&described));
        described
    }

    fn describe(&self, text: &[u8]) -> Described {
        let description = AttributeDescription::parse(&self.schema, text).ok();
        let attribute = description.as_ref().and_then(|it| self.schema.attribute_by_index(it.attribute?));
        let key = match &description {
            Some(description) => description.canonical(&self.schema).to_ascii_lowercase(),
            None => String::from_utf8_lossy(text).to_ascii_lowercase(),
        };
        let rule = attribute.and_then(|attribute| attribute.equality);
        Described {
            key,
            rule,
            lacks_equality: attribute.is_some_and(|attribute| !self.declares_equality(attribute)),
            is_of_server: attribute.is_some_and(|attribute| attribute.is_no_user_modification()),
            description,
        }
    }

    /// Whether its definition, or that of a type above it, names a rule. Types without one have that of their syntax.
    fn declares_equality(&self, attribute: &AttributeType) -> bool {
        let above = |attribute: &&AttributeType| self.schema.attribute_by_index(attribute.superior?);
        std::iter::successors(Some(attribute), above).any(|attribute| attribute.definition.equality.is_some())
    }

    /// What two values have in common if they are the same.
    pub fn form(&self, described: &Described, value: &[u8]) -> Vec<u8> {
        let mut form = vec![NORMAL];
        if let Some(rule) = described.rule.filter(|_| self.comparison == Comparison::BySchema)
            && rule.normalize(&self.schema, value, &mut form).is_ok()
        {
            return form;
        }
        form.clear();
        form.push(AS_WRITTEN);
        form.extend_from_slice(value);
        form
    }
}
