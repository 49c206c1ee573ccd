//! What `dsconfig` sees of a configuration and changes in it, wherever that configuration is.
//!
//! Knows the shape of objects; each door knows how it reads and writes them.

use config::{Component, Listed, Property, Step, Variant};

use super::changes::PropertyChange;
use crate::failure::Failure;

/// A configuration: the file of an instance, or that of a server on the network.
pub trait Door {
    /// The objects of a class inside another object, which an empty path leaves out; `None` without that object.
    fn list(&mut self, above: &[Step<'_>], class: &'static str) -> Result<Option<Vec<Listed>>, Failure>;

    /// One object.
    fn seen(&mut self, path: &[Step<'_>]) -> Result<Option<Seen>, Failure>;

    /// Makes a change, or none of it; gives what an operator has to know about its effect.
    fn change(&mut self, proposed: &Proposed<'_>) -> Result<Vec<String>, Failure>;

    /// Where it leads, for messages.
    fn place(&self) -> String;
}

/// An object with its properties, defaults included.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its kind.
    pub variant: &'static Variant,
    /// Each property with its values.
    pub values: Vec<(&'static Property, Vec<String>)>,
}

/// A change of one object.
#[derive(Debug)]
pub struct Proposed<'p> {
    /// What the object is.
    pub component: &'static Component,
    /// The way to the object.
    pub path: Vec<Step<'p>>,
    /// What becomes of the object.
    pub deed: Deed<'p>,
    /// What becomes of its properties.
    pub changes: Vec<PropertyChange>,
}

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed<'p> {
    /// It comes, of this kind.
    Create(Option<&'p str>),
    /// Its properties change.
    Set,
    /// It goes.
    Delete,
}

impl Proposed<'_> {
    /// How values that a new object lacks would be given.
    pub fn needs(&self, missing: &[&'static Property]) -> Failure {
        let wanted: Vec<String> = missing
            .iter()
            .map(|property| format!("--set {}:VALUE ({})", property.name, property.syntax.allowed()))
            .collect();
        Failure::new(format_args!("create-{} needs {}", self.component.name(), wanted.join(" and ")))
    }
}

impl Seen {
    /// The values of a property.
    pub fn values_of(&self, name: &str) -> Option<&[String]> {
        self.values.iter().find(|(property, _)| property.name == name).map(|(_, values)| values.as_slice())
    }
}
