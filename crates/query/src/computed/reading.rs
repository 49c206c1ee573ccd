//! An entry that defines something, as those who read definitions see it: its values by name, and why one is not
//! usable.
//!
//! Knows no kind of definition.

use std::cell::RefCell;
use std::ops::ControlFlow;

use schema::{AttributeType, NormalizedDn};
use store::record::Attribute;

use super::roles::Role;
use crate::entry::EntryView;
use crate::facts::Facts;

/// An entry that defines something.
pub struct Reading<'r> {
    /// The schema.
    pub facts: &'r Facts,
    /// The entry.
    pub entry: EntryView<'r>,
    /// Its name, normalized.
    pub name: NormalizedDn,
    /// Where a role is put: all of a backend are one definition together, see [`super::roles`].
    pub roles: &'r RefCell<Vec<Role>>,
}

impl<'r> Reading<'r> {
    /// The name of the entry above.
    pub fn parent(&self) -> NormalizedDn {
        self.name.parent().unwrap_or_default()
    }

    /// All values of an attribute, whatever its options; `Err` when they are more than `most`.
    pub fn all_values(&self, attribute: &str, most: usize) -> Result<Vec<Vec<u8>>, String> {
        self.all_of(self.stored(attribute), attribute, most)
    }

    /// All values of what the entry has stored of `attribute`; `Err` when they are more than `most`.
    pub fn all_of(
        &self,
        stored: impl Iterator<Item = Attribute<'r>>,
        attribute: &str,
        most: usize,
    ) -> Result<Vec<Vec<u8>>, String> {
        let mut values: Vec<Vec<u8>> = Vec::new();
        let read = self.entry.each_value(stored, &mut |value| {
            values.push(value.to_vec());
            if values.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        read.map_err(|problem| format!("cannot be read: {problem}"))?;
        if values.len() > most { Err(format!("has more than {most} values of {attribute}")) } else { Ok(values) }
    }

    /// The only value of an attribute, or its first.
    pub fn value(&self, attribute: &str) -> Result<Option<Vec<u8>>, String> {
        let mut first = None;
        let read = self.entry.each_value(self.stored(attribute), &mut |value| {
            first = Some(value.to_vec());
            ControlFlow::Break(())
        });
        read.map_err(|problem| format!("cannot be read: {problem}"))?;
        Ok(first)
    }

    /// What the entry has stored of an attribute, whatever its options.
    fn stored(&self, attribute: &str) -> impl Iterator<Item = Attribute<'r>> + use<'r> {
        let record = self.entry.record;
        let known = self.facts.schema.attribute_type(attribute.as_bytes());
        let descs = known.map(|it| record.tables().by_type(it.index.0)).unwrap_or_default();
        record.attributes().filter(move |stored| descs.contains(&stored.desc))
    }

    /// The attribute type that is called `name` in `property`.
    pub fn known(&self, property: &str, name: &[u8]) -> Result<&'r AttributeType, String> {
        self.facts.schema.attribute_type(name.trim_ascii()).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            format!("names in {property} the attribute type \"{name}\", which is not in the schema")
        })
    }

    /// The attribute type that a property names, by whose values entries are told apart: no secret one.
    pub fn attribute_in(&self, property: &str) -> Result<&'r AttributeType, String> {
        let name = self.value(property)?.ok_or_else(|| format!("has no {property}"))?;
        let known = self.known(property, &name)?;
        if self.facts.is_secret(known.index) {
            return Err(format!("names in {property} the attribute type {}, which is secret", known.name()));
        }
        Ok(known)
    }

    /// A value as a name; `Err` when it is none.
    pub fn name_in(&self, attribute: &str) -> Result<Option<NormalizedDn>, String> {
        let Some(value) = self.value(attribute)? else { return Ok(None) };
        let parsed = NormalizedDn::parse(&self.facts.schema, &value);
        parsed.map(Some).map_err(|problem| format!("has in {attribute} no name of an entry: {problem}"))
    }
}
