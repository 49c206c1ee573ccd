//! An entry that was just written, as plugins judge it.

use query::error::shown;
use query::facts::Facts;
use schema::NormalizedDn;

use crate::apply::draft::{Draft, Touched};

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

/// A value as a message may show it: secrets stay secret.
pub(super) fn shown_value(facts: &Facts, touched: &Touched, value: &[u8]) -> String {
    let is_secret = touched.type_index.is_some_and(|index| facts.is_secret(index));
    if is_secret { "a value".to_owned() } else { format!("the value \"{}\"", shown(value)) }
}
