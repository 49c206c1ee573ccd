//! Values of one attribute, each once: equal under its equality rule is the same.

use std::collections::HashSet;

use schema::TypeIndex;
use store::record::put_value;

use crate::facts::Facts;

/// Values of one attribute, each once.
pub(super) struct Distinct<'f> {
    facts: &'f Facts,
    attribute: TypeIndex,
    forms: HashSet<Vec<u8>>,
}

impl<'f> Distinct<'f> {
    /// None yet.
    pub fn new(facts: &'f Facts, attribute: TypeIndex) -> Distinct<'f> {
        Distinct { facts, attribute, forms: HashSet::new() }
    }

    /// Appends a value in wire form unless there is an equal one.
    pub fn add(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let mut form = Vec::new();
        let rule = self.facts.schema.attribute_by_index(self.attribute).and_then(|it| it.equality);
        if rule.is_none_or(|rule| rule.normalize(&self.facts.schema, value, &mut form).is_err()) {
            form = value.to_vec();
        }
        if self.forms.insert(form) {
            put_value(out, value);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.forms.len()
    }
}
