//! Whether an instruction is about what is asked, as far as rights, attributes and values tell.

use std::ops::ControlFlow;

use aci::{Effect, Right};
use query::entry::EntryView;
use query::facts::Facts;
use schema::TypeIndex;
use store::StoreError;

use crate::compiled::{FilterTest, Instruction, ValueTests};
use crate::question::{Question, WrittenValue};

/// Whether an instruction with that effect is about what is asked. Of reading an entry as such, an allow of any
/// attribute is, and a deny that names none.
pub(crate) fn is_about(
    facts: &Facts,
    instruction: &Instruction,
    effect: Effect,
    entry: &EntryView<'_>,
    question: Question<'_>,
) -> Result<bool, StoreError> {
    let Question { right, attribute, value } = question;
    Ok(match (right, attribute) {
        (Right::Read | Right::Search | Right::Compare, Some(attribute)) => {
            let hides = right == Right::Read && instruction.is_about_entries() && effect == Effect::Deny;
            hides || instruction.attributes.as_ref().is_some_and(|list| list.contains(facts, attribute))
        }
        (Right::Write | Right::SelfWrite, Some(attribute)) => {
            is_about_writing(facts, instruction, effect, attribute, value)
        }
        (Right::Read | Right::Search | Right::Compare | Right::Write | Right::SelfWrite, None) => {
            is_about_entry_as_such(instruction, effect)
        }
        (Right::Add, _) => is_about_all(facts, instruction, effect, entry, |it| &it.add)?,
        (Right::Delete, _) => is_about_all(facts, instruction, effect, entry, |it| &it.delete)?,
        (Right::Import | Right::Export | Right::Proxy | Right::ModDn, _) => true,
    })
}

/// Whether one is about writing an attribute, or one value of it.
fn is_about_writing(
    facts: &Facts,
    instruction: &Instruction,
    effect: Effect,
    attribute: TypeIndex,
    value: Option<WrittenValue<'_>>,
) -> bool {
    let covers = || instruction.attributes.as_ref().is_some_and(|list| list.contains(facts, attribute));
    let Some(filters) = &instruction.value_filters else { return covers() };
    let find = |list: &'_ [(TypeIndex, FilterTest)]| list.iter().position(|(named, _)| *named == attribute);
    let is_named = || find(&filters.add).is_some() || find(&filters.delete).is_some();
    let (list, value) = match value {
        // One value that may not be written is enough to ask about each.
        Some(WrittenValue::Every) if effect == Effect::Allow => return covers() && !is_named(),
        Some(WrittenValue::Every) => return covers() || is_named(),
        Some(WrittenValue::Added(value)) => (&filters.add, value),
        Some(WrittenValue::Deleted(value)) => (&filters.delete, value),
        // Some value may be written: an allow is about it. A deny is about the values that it names.
        None => return covers() || (is_named() && effect == Effect::Allow),
    };
    match find(list).and_then(|at| list.get(at)) {
        Some((_, filter)) => filter.matches_value(facts, attribute, value),
        None => covers(),
    }
}

/// Whether one is about the entry as such, as renaming it is: an allow of some attribute, or a deny that names none.
fn is_about_entry_as_such(instruction: &Instruction, effect: Effect) -> bool {
    instruction.is_invalid || instruction.is_about_entries() == (effect == Effect::Deny)
}

/// Whether one is about adding or deleting an entry: attributes do not matter, but values do for which it has filters.
/// All of them have to match what an allow says, and any what a deny says.
fn is_about_all(
    facts: &Facts,
    instruction: &Instruction,
    effect: Effect,
    entry: &EntryView<'_>,
    list: fn(&ValueTests) -> &[(TypeIndex, FilterTest)],
) -> Result<bool, StoreError> {
    let Some(filters) = &instruction.value_filters else { return Ok(true) };
    let is_allow = effect == Effect::Allow;
    for (attribute, filter) in list(filters) {
        let mut is_decided = false;
        query::entry::each_stored(entry, *attribute, &mut |value| {
            is_decided = filter.matches_value(facts, *attribute, value) != is_allow;
            if is_decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if is_decided {
            return Ok(!is_allow);
        }
    }
    Ok(is_allow)
}
