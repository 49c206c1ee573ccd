//! The attributes that definitions give to entries of a backend, by number; who gives them, and what, is for
//! [`crate::computed`].

use std::collections::HashMap;

use schema::TypeIndex;

use crate::facts::Facts;

/// See the module.
#[derive(Debug, Default)]
pub struct DefinedAttributes {
    attributes: Vec<TypeIndex>,
    /// By attribute, the positions that an assertion on it is about: its own and those of its subtypes.
    concerned: HashMap<TypeIndex, Vec<usize>>,
}

impl DefinedAttributes {
    /// These, in this order.
    #[must_use]
    pub fn new(facts: &Facts, attributes: Vec<TypeIndex>) -> DefinedAttributes {
        let mut concerned: HashMap<TypeIndex, Vec<usize>> = HashMap::new();
        for (at, attribute) in attributes.iter().enumerate() {
            let Some(own) = facts.schema.attribute_by_index(*attribute) else { continue };
            for above in facts.schema.attribute_types().iter().filter(|above| own.is_subtype_of(above.index)) {
                concerned.entry(above.index).or_default().push(at);
            }
        }
        DefinedAttributes { attributes, concerned }
    }

    /// The attributes, by position.
    #[must_use]
    pub fn attributes(&self) -> &[TypeIndex] {
        &self.attributes
    }

    /// What an assertion on an attribute is about, as positions in [`DefinedAttributes::attributes`].
    #[must_use]
    pub fn concerned(&self, attribute: TypeIndex) -> &[usize] {
        self.concerned.get(&attribute).map(Vec::as_slice).unwrap_or_default()
    }
}
