//! Which entries and attributes are wanted, as options and tasks say it.

use std::sync::Arc;

use ldap::Dn;
use schema::Schema;
use store::bulk::{EntryFilter, Selection};

use crate::JobError;
use crate::filter::compile;

/// The texts. Empty lists do not restrict.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only entries at or below one of these.
    pub include_branches: Vec<String>,
    /// No entries at or below one of these.
    pub exclude_branches: Vec<String>,
    /// Only these attributes.
    pub include_attributes: Vec<String>,
    /// Not these.
    pub exclude_attributes: Vec<String>,
    /// Only entries that match one of these.
    pub include_filters: Vec<String>,
    /// No entries that match one of these.
    pub exclude_filters: Vec<String>,
}

impl Wanted {
    /// The selection that the store applies.
    ///
    /// # Errors
    /// Says what is no name, no attribute or no filter.
    pub fn selection(&self, schema: &Arc<Schema>) -> Result<Selection, JobError> {
        for branch in self.include_branches.iter().chain(&self.exclude_branches) {
            Dn::parse(branch).map_err(|error| JobError::Branch { dn: branch.clone(), problem: error.to_string() })?;
        }
        for name in self.include_attributes.iter().chain(&self.exclude_attributes) {
            if !matches!(name.as_str(), "*" | "+") && schema.type_of_description(name.as_bytes()).is_none() {
                return Err(JobError::Attribute(name.clone()));
            }
        }
        let filters = |texts: &[String]| -> Result<Vec<EntryFilter>, JobError> {
            texts.iter().map(|text| compile(text, schema)).collect()
        };
        Ok(Selection {
            include_branches: self.include_branches.clone(),
            exclude_branches: self.exclude_branches.clone(),
            include_filters: filters(&self.include_filters)?,
            exclude_filters: filters(&self.exclude_filters)?,
            include_attributes: self.include_attributes.clone(),
            exclude_attributes: self.exclude_attributes.clone(),
        })
    }
}
