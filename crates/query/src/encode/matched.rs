//! Matched values (RFC 3876): of each attribute only the values that match one of the control's filter items.
//!
//! Knows single values; the [`layout`](super::layout) of an entry is narrowed by them.

use ldap::Filter;
use schema::{AttributeDescription, MatchContext};

use crate::facts::Facts;
use crate::filter::{FilterScratch, Matcher};

/// The filter items of a request.
#[derive(Debug, Default)]
pub struct MatchedValues {
    matcher: Matcher,
    scratch: FilterScratch,
}

impl MatchedValues {
    /// Prepares the items; one that cannot be evaluated matches nothing. Values that may not be read are not tried:
    /// they are not sent.
    #[must_use]
    pub fn new(facts: &Facts, items: &[Filter<'_>], context: MatchContext) -> MatchedValues {
        let mut matched = MatchedValues::default();
        matched.matcher.compile_items(facts, items, context);
        matched
    }

    /// Whether the value of the attribute is sent.
    pub(super) fn sends(&mut self, facts: &Facts, own: &AttributeDescription, value: &[u8]) -> bool {
        let (matcher, scratch) = (&self.matcher, &mut self.scratch);
        matcher.items_about(facts, own).any(|item| matcher.matches_value(facts, item, value, scratch))
    }
}
