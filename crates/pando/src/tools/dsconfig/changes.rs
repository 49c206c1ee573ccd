//! The options that change properties, and how they are made to an object.

use clap::Args;
use config::{Change, Edit, Step};

use crate::failure::Failure;

/// How properties change.
#[derive(Debug, Default, Args)]
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

impl Changes {
    /// Makes them to an object.
    pub fn make(&self, edit: &mut Edit, object: &[Step<'_>]) -> Result<(), Failure> {
        for (change, given) in [(Change::Set, &self.set), (Change::Add, &self.add), (Change::Remove, &self.remove)] {
            for (property, values) in by_property(given)? {
                edit.change(object, property, change, &values).map_err(Failure::new)?;
            }
        }
        for property in &self.reset {
            edit.change(object, property, Change::Reset, &[]).map_err(Failure::new)?;
        }
        Ok(())
    }
}

/// `PROP:VALUE` pairs, the values of one property together.
fn by_property(given: &[String]) -> Result<Vec<(&str, Vec<String>)>, Failure> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for pair in given {
        let Some((property, value)) = pair.split_once(':') else {
            return Err(Failure::new(format_args!("\"{pair}\" must be PROPERTY:VALUE, such as index-type:equality")));
        };
        match found.iter_mut().find(|(known, _)| *known == property) {
            Some((_, values)) => values.push(value.to_owned()),
            None => found.push((property, vec![value.to_owned()])),
        }
    }
    Ok(found)
}
