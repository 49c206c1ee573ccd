//! Matched values (RFC 3876): of each attribute only the values that match one of the control's filter items.
//!
//! Narrows what was laid out for an entry. An attribute none of whose values match is sent without values, as section 2 (4 ii) says.

use std::ops::ControlFlow;

use ldap::Filter;
use schema::{AttributeDescription, MatchContext};
use store::record::put_value;
use store::{StoreError, Values};

use super::{Body, Layout};
use crate::entry::EntryView;
use crate::facts::Facts;
use crate::filter::{FilterScratch, Matcher};

/// The filter items of a request.
#[derive(Debug, Default)]
pub struct MatchedValues {
    matcher: Matcher,
    scratch: FilterScratch,
}

impl MatchedValues {
    /// Prepares the items; one that cannot be evaluated matches nothing. Values that may not be read are not tried: they are not sent.
    #[must_use]
    pub fn new(facts: &Facts, items: &[Filter<'_>], context: MatchContext) -> MatchedValues {
        let mut matched = MatchedValues::default();
        matched.matcher.compile_items(facts, items, context);
        matched
    }

    /// Whether the value of the attribute is sent.
    fn sends(&mut self, facts: &Facts, own: &AttributeDescription, value: &[u8]) -> bool {
        let (matcher, scratch) = (&self.matcher, &mut self.scratch);
        matcher.items_about(facts, own).any(|item| matcher.matches_value(facts, item, value, scratch))
    }
}

impl<'a> Layout<'a> {
    /// Leaves out the values that do not match.
    pub(super) fn keep_matching(
        &mut self,
        facts: &Facts,
        entry: &EntryView<'a>,
        matched: &mut MatchedValues,
        scratch: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        self.attributes = 0;
        let mut kept = Vec::new();
        for piece in std::mem::take(&mut self.pieces) {
            kept.clear();
            // What has no name in the schema has no values that an item could match.
            if let Ok(own) = AttributeDescription::parse(&facts.schema, piece.description) {
                let mut keep = |value: &[u8]| {
                    if matched.sends(facts, &own, value) {
                        put_value(&mut kept, value);
                    }
                };
                match piece.body {
                    Body::Stored(body) => Values::new(0, body).iter().for_each(keep),
                    Body::Computed(start) => {
                        let body = scratch.get(start..start + piece.values).unwrap_or_default();
                        Values::new(0, body).iter().for_each(keep);
                    }
                    Body::Large(part) => part.each(entry, &mut |_, value| {
                        keep(value);
                        ControlFlow::Continue(())
                    })?,
                }
            }
            let start = scratch.len();
            scratch.extend_from_slice(&kept);
            self.push_range(piece.description, piece.range, Body::Computed(start), kept.len());
        }
        Ok(())
    }
}
