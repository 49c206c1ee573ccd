//! Values made of an entry's own ones by a template, `{uid}@{domain|example.com}` (ForgeRock DS: user-template virtual
//! attributes).
//!
//! An entry gets one value for each combination of the values that it shows of the attributes named, and none if it
//! lacks one that has no default. [`super::invert`] goes the other way, from a value to the entries that may have it.

use std::ops::ControlFlow;

use config::{Template, TemplatePart};
use schema::{AttributeType, TypeIndex};
use store::StoreError;

use super::alternatives::{Alternatives, Narrowing};
use super::definition::{ComputedAssertion, Priority, Shows, ValueSource};
use super::distinct::Distinct;
use super::from_entries::tells_groups;
use super::invert::{Inverse, Split};
use super::template_part::Part;
use crate::entry::EntryView;
use crate::facts::Facts;

/// Values that one entry gets.
const VALUES_MAX: usize = 100;

/// Bytes of one value; longer ones are left out.
const VALUE_BYTES_MAX: usize = 16 * 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct FromTemplate {
    parts: Vec<Part>,
    /// Only one value can be shown.
    takes_one: bool,
    /// An attribute that is named tells groups.
    follows_groups: bool,
    inverse: Option<Inverse>,
}

impl FromTemplate {
    /// The template's names looked up; why it is not valid, in words that follow "is not valid:".
    pub fn new(facts: &Facts, attribute: &AttributeType, template: &Template) -> Result<FromTemplate, String> {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => Ok(Part::Text(text.clone().into_bytes())),
            TemplatePart::Attribute { name, default } => {
                let known = facts.schema.attribute_type(name.as_bytes());
                let known = known.ok_or_else(|| format!("the schema has no attribute type {name}"))?;
                if facts.is_secret(known.index) {
                    return Err(format!("{name} is secret, so no other attribute may show it"));
                }
                Ok(Part::Attribute { index: known.index, default: default.clone().map(String::into_bytes) })
            }
        };
        let parts: Vec<Part> = template.parts().iter().map(part).collect::<Result<_, _>>()?;
        let inverse = Inverse::new(facts, attribute, &parts);
        let follows_groups = parts.iter().any(|part| match part {
            Part::Attribute { index, .. } => tells_groups(facts, *index),
            Part::Text(_) => false,
        });
        Ok(FromTemplate { parts, takes_one: attribute.is_single_value(), follows_groups, inverse })
    }

    /// The values of every part, in the order of the parts; none when one has no value.
    fn choices(&self, at: &dyn Shows, entry: &EntryView<'_>) -> Result<Option<Vec<Vec<Vec<u8>>>>, StoreError> {
        let mut all = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let mut values: Vec<Vec<u8>> = Vec::new();
            match part {
                Part::Text(text) => values.push(text.clone()),
                Part::Attribute { index, default } => {
                    at.values_of(entry, *index, &mut |value| {
                        if value.len() <= VALUE_BYTES_MAX {
                            values.push(value.to_vec());
                        }
                        if values.len() < VALUES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                    })?;
                    if values.is_empty() {
                        values.extend(default.clone());
                    }
                }
            }
            if values.is_empty() {
                return Ok(None);
            }
            all.push(values);
        }
        Ok(Some(all))
    }
}

/// Calls `each` with the combinations of the choices, the last part changing fastest, until it says stop.
fn combine(choices: &[Vec<Vec<u8>>], each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
    let mut at = vec![0usize; choices.len()];
    let mut value = Vec::new();
    loop {
        value.clear();
        for (values, at) in choices.iter().zip(&at) {
            value.extend_from_slice(values.get(*at).map(Vec::as_slice).unwrap_or_default());
        }
        if each(&value).is_break() {
            return;
        }
        let mut moved = false;
        for (values, at) in choices.iter().zip(&mut at).rev() {
            *at += 1;
            moved = *at < values.len();
            if moved {
                break;
            }
            *at = 0;
        }
        if !moved {
            return;
        }
    }
}

impl ValueSource for FromTemplate {
    fn supply(
        &self,
        at: &dyn Shows,
        attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        let Some(choices) = self.choices(at, entry)? else { return Ok(None) };
        let known = at.entries().facts().schema.attribute_by_index(attribute);
        let mut distinct = Distinct::new(at.entries().facts(), attribute);
        let most = if self.takes_one { 1 } else { VALUES_MAX };
        let mut tried = 0;
        combine(&choices, &mut |value| {
            tried += 1;
            // What the attribute's syntax does not allow is no value of it.
            let is_good = value.len() <= VALUE_BYTES_MAX
                && known.is_some_and(|known| known.syntax.validate(&at.entries().facts().schema, value).is_ok());
            if is_good {
                distinct.add(value, out);
            }
            if distinct.len() >= most || tried >= VALUES_MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        Ok(Some(Priority::LOWEST))
    }

    fn narrow(
        &self,
        at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        let Some(splits) = self.inverse.as_ref().and_then(|inverse| inverse.of(wanted)) else {
            return Ok(Narrowing::Everybody);
        };
        for Split(conditions) in splits {
            // One of the conditions is enough to find the entries; those on stored values are asked for together.
            let (stored, computed): (Vec<_>, Vec<_>) =
                conditions.iter().partition(|condition| !at.is_computed(condition.attribute()));
            if !stored.is_empty() {
                any.filter(&super::invert::all_of(at.entries().facts(), &stored));
            } else if let Some((attribute, value)) = computed.iter().find_map(|condition| condition.equality()) {
                any.equal(at.entries().facts(), attribute, value)?;
            } else {
                return Ok(Narrowing::Everybody);
            }
            if any.is_full() {
                return Ok(Narrowing::Everybody);
            }
        }
        Ok(any.narrowing())
    }

    fn is_costly(&self) -> bool {
        self.follows_groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_come_in_the_order_of_the_parts() {
        let bytes = |list: &[&str]| list.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
        let mut all = Vec::new();
        combine(&[bytes(&["a", "b"]), bytes(&["-"]), bytes(&["1", "2"])], &mut |value| {
            all.push(String::from_utf8_lossy(value).into_owned());
            ControlFlow::Continue(())
        });
        assert_eq!(all, ["a-1", "a-2", "b-1", "b-2"]);
    }
}
