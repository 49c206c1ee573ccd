//! A prepared filter on one value that is in no entry: the filters of access control on values that are written.

use schema::TypeIndex;
use store::StoreError;

use super::evaluate::{FilterScratch, Truth, TryItem};
use super::matcher::{Item, Matcher, Node, NodeIndex, Target};
use crate::facts::Facts;

struct OneValue<'v> {
    facts: &'v Facts,
    attribute: TypeIndex,
    value: &'v [u8],
    scratch: FilterScratch,
}

impl Matcher {
    /// Takes what nobody can tell (an attribute that the schema does not have) for false, so that its negation is true:
    /// what OpenDJ does in `targetfilter`.
    pub fn take_undefined_for_false(&mut self) {
        for (at, node) in self.nodes.iter_mut().enumerate() {
            if let Node::Undefined = node {
                *node = Node::Or { end: NodeIndex(at).next() };
            }
        }
    }

    /// Whether an entry that had just this value would match. Options do not count.
    #[must_use]
    pub fn matches_single(&self, facts: &Facts, attribute: TypeIndex, value: &[u8]) -> Truth {
        let mut trial = OneValue { facts, attribute, value, scratch: FilterScratch::default() };
        self.decide(&mut trial).unwrap_or(Truth::Undefined)
    }
}

impl TryItem for OneValue<'_> {
    fn item(&mut self, matcher: &Matcher, _at: NodeIndex, item: &Item) -> Result<Truth, StoreError> {
        let own = self.facts.schema.attribute_by_index(self.attribute);
        let is_about = match item.target {
            Target::Type(asked) | Target::Tagged(asked, _) | Target::Virtual(asked, _) => {
                own.is_some_and(|own| own.is_subtype_of(asked))
            }
            Target::Every => false,
        };
        Ok((is_about && matcher.matches_value(self.facts, item, self.value, &mut self.scratch)).into())
    }
}
