//! All definitions that hold for the entries of one backend at one moment, by attribute.

use std::sync::Arc;

use schema::TypeIndex;

use super::definition::Definition;
use crate::defined_attributes::DefinedAttributes;
use crate::facts::Facts;
use crate::filter::{Matcher, Node, Target};

/// See the module.
#[derive(Debug, Default)]
pub struct Definitions {
    groups: Vec<Group>,
    /// Their attributes.
    defined: Arc<DefinedAttributes>,
    is_costly: bool,
}

/// The definitions of one attribute.
#[derive(Debug)]
pub struct Group {
    /// The attribute.
    pub attribute: TypeIndex,
    /// Each with its number among all.
    pub definitions: Vec<(usize, Definition)>,
}

impl Definitions {
    /// Puts them in order: of two that say the same, the first counts.
    #[must_use]
    pub fn new(facts: &Facts, all: Vec<Definition>) -> Definitions {
        let mut set = Definitions::default();
        for (number, definition) in all.into_iter().enumerate() {
            set.is_costly |= definition.source.is_costly() || definition.reach.is_costly();
            let attribute = definition.attribute;
            let at = match set.groups.iter().position(|group| group.attribute == attribute) {
                Some(at) => at,
                None => {
                    set.groups.push(Group { attribute, definitions: Vec::new() });
                    set.groups.len() - 1
                }
            };
            if let Some(group) = set.groups.get_mut(at) {
                group.definitions.push((number, definition));
            }
        }
        let attributes = set.groups.iter().map(|group| group.attribute).collect();
        set.defined = Arc::new(DefinedAttributes::new(facts, attributes));
        set
    }

    /// The definitions of each attribute.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The attributes that are defined.
    #[must_use]
    pub fn defined(&self) -> &Arc<DefinedAttributes> {
        &self.defined
    }

    /// How many definitions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.definitions.len()).sum()
    }

    /// Whether nothing is defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// What an assertion on an attribute is about, as positions in [`Definitions::groups`].
    #[must_use]
    pub fn concerned(&self, attribute: TypeIndex) -> &[usize] {
        self.defined.concerned(attribute)
    }

    /// Whether a filter asks for something that is computed.
    #[must_use]
    pub fn concern_filter(&self, matcher: &Matcher) -> bool {
        matcher.nodes().iter().any(|node| match node {
            Node::Item(item) => match item.target {
                Target::Type(attribute) => !self.concerned(attribute).is_empty(),
                Target::Tagged(..) | Target::Virtual(..) | Target::Every => false,
            },
            _ => false,
        })
    }

    /// Whether one entry may take long.
    #[must_use]
    pub fn is_costly(&self) -> bool {
        self.is_costly
    }
}
