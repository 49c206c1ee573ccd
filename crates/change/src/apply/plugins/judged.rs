//! An entry that was just written, as plugins judge it.

use std::collections::BTreeSet;

use query::error::shown;
use query::facts::Facts;
use schema::NormalizedDn;
use store::Content;

use crate::apply::draft::{Draft, Now, Touched};
use crate::apply::value_set::normal_form;

/// An entry that was just written.
#[derive(Clone, Copy)]
pub(super) struct Judged<'j, 'd> {
    /// What was written, and what was there before.
    pub(super) draft: &'j Draft<'d>,
    /// Its name before; none for a new one.
    pub(super) before: Option<&'j NormalizedDn>,
    /// Its name now.
    pub(super) name: &'j NormalizedDn,
}

/// The values of a touched attribute that were not there before.
pub(super) fn new_values<'t>(draft: &Draft<'_>, touched: &'t Touched) -> Vec<&'t [u8]> {
    let set = match &touched.now {
        Now::Edit(edit) => return edit.added.values().map(|value| &**value).collect(),
        Now::Set(set) => set,
    };
    let schema = draft.schema;
    let rule = touched.type_index.and_then(|index| schema.attribute_by_index(index)).and_then(|it| it.equality);
    let mut scratch = Vec::new();
    let stored = match (draft.record, touched.desc) {
        (Some(record), Some(desc)) => record.attribute(desc, &mut scratch).map(|attribute| attribute.content),
        _ => None,
    };
    match stored {
        Some(Content::Inline(values)) => {
            let old: BTreeSet<Box<[u8]>> = values.iter().map(|value| normal_form(rule, schema, value)).collect();
            set.iter().filter(|value| !old.contains(&normal_form(rule, schema, value))).collect()
        }
        _ => set.iter().collect(),
    }
}

/// A value as a message may show it: secrets stay secret.
pub(super) fn shown_value(facts: &Facts, touched: &Touched, value: &[u8]) -> String {
    let is_secret = touched.type_index.is_some_and(|index| facts.is_secret(index));
    if is_secret { "a value".to_owned() } else { format!("the value \"{}\"", shown(value)) }
}
