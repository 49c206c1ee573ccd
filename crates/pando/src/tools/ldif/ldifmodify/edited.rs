//! One entry that changes, and what modifications do to it. As in OpenDJ's tool a value that is added although it is
//! there, or deleted although it is not, is no mistake: of an added one the new spelling stays.

use std::io::{self, Write};

use ldap::ldif::{AttributeLines, LdifEntry, LdifModification, Writer};
use ldap::{ModifyOperation, Rdn};
use thiserror::Error;

use crate::tools::ldif::described::{Described, Descriptions};

/// Why a modification cannot be made.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum EditError {
    /// `increment` without one number.
    #[error("an increment of {0} takes one whole number")]
    NotOneIncrement(String),
    /// `increment` of something else.
    #[error("{0} has no value that is a whole number which can be increased by that much")]
    NotANumber(String),
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edited {
    /// Its name, as written.
    pub dn: String,
    /// Descriptions and values in their order.
    lines: Vec<(String, Vec<u8>)>,
}

impl Edited {
    pub fn new(dn: String, lines: &AttributeLines) -> Edited {
        let owned = lines.iter().map(|line| (text(line.description), line.value.to_vec()));
        Edited { dn, lines: owned.collect() }
    }

    pub fn of(entry: &LdifEntry) -> Edited {
        Edited::new(entry.dn.clone(), &entry.attributes)
    }

    pub fn write<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        writer.begin(&self.dn);
        self.lines.iter().for_each(|(description, value)| writer.line(description.as_bytes(), value));
        writer.end()
    }

    /// Makes one modification.
    pub fn modify(&mut self, descriptions: &mut Descriptions, change: &LdifModification) -> Result<(), EditError> {
        let described = descriptions.get(change.description.as_bytes());
        match change.operation {
            ModifyOperation::Add => {
                for value in &change.values {
                    self.add(descriptions, &described, &change.description, value);
                }
            }
            ModifyOperation::Delete if change.values.is_empty() => self.clear(descriptions, &described),
            ModifyOperation::Delete => {
                for value in &change.values {
                    self.remove(descriptions, &described, value);
                }
            }
            ModifyOperation::Replace => {
                self.clear(descriptions, &described);
                for value in &change.values {
                    self.add(descriptions, &described, &change.description, value);
                }
            }
            ModifyOperation::Increment => self.increment(descriptions, &described, change)?,
        }
        Ok(())
    }

    /// Gives it another name: values of the old RDN may go, those of the new one are there.
    pub fn rename(&mut self, descriptions: &mut Descriptions, dn: String, old: Option<&Rdn<'_>>, new: &Rdn<'_>) {
        self.dn = dn;
        for ava in old.into_iter().flat_map(|rdn| rdn.avas()) {
            let described = descriptions.get(ava.attribute.as_bytes());
            self.remove(descriptions, &described, &ava.value);
        }
        for ava in new.avas() {
            let described = descriptions.get(ava.attribute.as_bytes());
            if self.position(descriptions, &described, &ava.value).is_none() {
                self.lines.push((ava.attribute.to_string(), ava.value.to_vec()));
            }
        }
    }

    fn position(&self, descriptions: &mut Descriptions, described: &Described, value: &[u8]) -> Option<usize> {
        let form = descriptions.form(described, value);
        self.lines.iter().position(|(description, own)| {
            let is_it = descriptions.get(description.as_bytes()).key == described.key;
            is_it && descriptions.form(described, own) == form
        })
    }

    fn add(&mut self, descriptions: &mut Descriptions, described: &Described, description: &str, value: &[u8]) {
        match self.position(descriptions, described, value).and_then(|at| self.lines.get_mut(at)) {
            Some((_, own)) => *own = value.to_vec(),
            None => self.lines.push((description.to_owned(), value.to_vec())),
        }
    }

    fn remove(&mut self, descriptions: &mut Descriptions, described: &Described, value: &[u8]) {
        if let Some(at) = self.position(descriptions, described, value) {
            self.lines.remove(at);
        }
    }

    fn clear(&mut self, descriptions: &mut Descriptions, described: &Described) {
        self.lines.retain(|(description, _)| descriptions.get(description.as_bytes()).key != described.key);
    }

    fn increment(
        &mut self,
        descriptions: &mut Descriptions,
        described: &Described,
        change: &LdifModification,
    ) -> Result<(), EditError> {
        let number = |value: &[u8]| std::str::from_utf8(value).ok()?.trim().parse::<i128>().ok();
        let [by] = change.values.as_slice() else {
            return Err(EditError::NotOneIncrement(change.description.clone()));
        };
        let by = number(by).ok_or_else(|| EditError::NotOneIncrement(change.description.clone()))?;
        let not_a_number = || EditError::NotANumber(change.description.clone());
        let mut sums = Vec::new();
        for (at, (description, value)) in self.lines.iter().enumerate() {
            if descriptions.get(description.as_bytes()).key == described.key {
                let sum = number(value).and_then(|old| old.checked_add(by)).ok_or_else(not_a_number)?;
                sums.push((at, sum.to_string().into_bytes()));
            }
        }
        if sums.is_empty() {
            return Err(not_a_number());
        }
        for (at, sum) in sums {
            if let Some((_, value)) = self.lines.get_mut(at) {
                *value = sum;
            }
        }
        Ok(())
    }
}

/// Descriptions are ASCII.
fn text(description: &[u8]) -> String {
    String::from_utf8_lossy(description).into_owned()
}
