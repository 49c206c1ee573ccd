//! The options that change properties, and what they say.

use clap::Args;
use config::{Change, Edit, Step};

use crate::failure::Failure;

/// How properties change.
#[derive(Debug, Clone, Default, Args)]
pub struct Changes {
    /// Set a property, as in enabled:false; repeat it to set several values
    #[arg(long = "set", value_name = "PROP:VALUE")]
    pub set: Vec<String>,
    /// Add a value to a property
    #[arg(long = "add", value_name = "PROP:VALUE")]
    add: Vec<String>,
    /// Remove a value of a property
    #[arg(long = "remove", value_name = "PROP:VALUE")]
    remove: Vec<String>,
    /// Set a property back to its default
    #[arg(long = "reset", value_name = "PROP")]
    reset: Vec<String>,
}

/// What becomes of the values of one property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyChange {
    /// The property, as it was written.
    pub property: String,
    /// What is done with the values.
    pub change: Change,
    /// The values; none where the property is set back.
    pub values: Vec<String>,
}

impl Changes {
    /// All of them, in the order in which they are made.
    pub fn all(&self) -> Result<Vec<PropertyChange>, Failure> {
        let mut all = Vec::new();
        for (change, given) in [(Change::Set, &self.set), (Change::Add, &self.add), (Change::Remove, &self.remove)] {
            all.extend(by_property(change, given)?);
        }
        let reset = |property: &String| PropertyChange {
            property: property.clone(),
            change: Change::Reset,
            values: Vec::new(),
        };
        all.extend(self.reset.iter().map(reset));
        Ok(all)
    }
}

impl PropertyChange {
    /// Makes it to an object of the file.
    pub fn make(&self, edit: &mut Edit, object: &[Step<'_>]) -> Result<(), Failure> {
        edit.change(object, &self.property, self.change, &self.values).map_err(Failure::new)
    }

    /// The options that would say it.
    pub fn options(&self) -> Vec<[String; 2]> {
        let option = match self.change {
            Change::Set => "--set",
            Change::Add => "--add",
            Change::Remove => "--remove",
            Change::Reset => return vec![["--reset".to_owned(), self.property.clone()]],
        };
        self.values.iter().map(|value| [option.to_owned(), format!("{}:{value}", self.property)]).collect()
    }
}

/// `PROP:VALUE` pairs, the values of one property together.
fn by_property(change: Change, given: &[String]) -> Result<Vec<PropertyChange>, Failure> {
    let mut found: Vec<PropertyChange> = Vec::new();
    for pair in given {
        let Some((property, value)) = pair.split_once(':') else {
            return Err(Failure::new(format_args!("\"{pair}\" must be PROPERTY:VALUE, such as index-type:equality")));
        };
        match found.iter_mut().find(|known| known.property == property) {
            Some(known) => known.values.push(value.to_owned()),
            None => {
                found.push(PropertyChange { property: property.to_owned(), change, values: vec![value.to_owned()] })
            }
        }
    }
    Ok(found)
}
