//! Which attributes a `targetattr` is about.

use aci::{AttributeTarget, TargetPart, Targets};
use query::facts::Facts;
use schema::{AttributeType, TypeIndex};

/// A `targetattr` under a schema.
pub(super) struct Attributes<'a> {
    facts: &'a Facts,
    part: &'a TargetPart<Vec<AttributeTarget>>,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(facts: &'a Facts, targets: &'a Targets) -> Option<Self> {
        targets.attributes.as_ref().map(|part| Self { facts, part })
    }

    /// Whether it is about that attribute.
    pub(super) fn contain(&self, attribute: &AttributeType) -> bool {
        let is_operational = attribute.is_operational();
        let listed = self.part.value.iter().any(|target| match target {
            AttributeTarget::All => !is_operational,
            AttributeTarget::AllOperational => is_operational,
            AttributeTarget::Named(name) => self.index_of(name) == Some(attribute.index),
        });
        if !self.part.negated {
            return listed;
        }
        // A negated list is about the other attributes of its kinds.
        !listed && self.part.value.iter().any(|target| self.is_operational(target) == is_operational)
    }

    /// Whether it is about everything that `other` is about; `false` also where that is not known.
    pub(super) fn cover(&self, other: &Attributes<'_>) -> bool {
        let has = |target| !self.part.negated && self.part.value.contains(target);
        if other.part.negated {
            return *self.part == *other.part || (has(&AttributeTarget::All) && has(&AttributeTarget::AllOperational));
        }
        other.part.value.iter().all(|target| match target {
            AttributeTarget::All | AttributeTarget::AllOperational => has(target),
            AttributeTarget::Named(name) => match self.facts.schema.attribute_type(name.as_bytes()) {
                Some(attribute) => self.contain(attribute),
                None => has(target),
            },
        })
    }

    /// Whether both are about some attribute.
    pub(super) fn overlap(&self, other: &Attributes<'_>) -> bool {
        self.facts.schema.attribute_types().iter().any(|it| self.contain(it) && other.contain(it))
    }

    /// The first attribute that only its owner may see, among those that it is about.
    pub(super) fn secret(&self) -> Option<String> {
        let mut types = self.facts.schema.attribute_types().iter();
        // What is hidden from everybody, no instruction shows.
        let is_seen = |it: TypeIndex| self.facts.is_secret(it) && !self.facts.is_hidden(it);
        let found = types.find(|it| is_seen(it.index) && self.contain(it));
        found.map(|attribute| attribute.name().to_owned())
    }

    /// The names that it lists.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.part.value.iter().filter_map(|target| match target {
            AttributeTarget::Named(name) => Some(name.as_str()),
            AttributeTarget::All | AttributeTarget::AllOperational => None,
        })
    }

    fn is_operational(&self, target: &AttributeTarget) -> bool {
        match target {
            AttributeTarget::All => false,
            AttributeTarget::AllOperational => true,
            AttributeTarget::Named(name) => {
                self.index_of(name).is_some_and(|attribute| self.facts.is_operational(attribute))
            }
        }
    }

    fn index_of(&self, name: &str) -> Option<TypeIndex> {
        self.facts.schema.attribute_type(name.as_bytes()).map(|known| known.index)
    }
}
