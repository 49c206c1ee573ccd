//! Which entries and attributes of an import or export are wanted: the options that both tools share.

use std::sync::Arc;

use clap::Args;
use config::{BackendConfig, Config};
use jobs::selection::Wanted;
use schema::Schema;
use store::bulk::Selection;

use crate::failure::Failure;
use crate::instance;

#[derive(Debug, Args, Default)]
pub struct SelectionOptions {
    /// Only entries at or below this DN; may be given several times
    #[arg(short = 'b', long = "includeBranch", value_name = "DN")]
    include_branches: Vec<String>,
    /// No entries at or below this DN
    #[arg(short = 'B', long = "excludeBranch", value_name = "DN")]
    exclude_branches: Vec<String>,
    /// Only this attribute
    #[arg(short = 'i', long = "includeAttribute", value_name = "ATTRIBUTE")]
    include_attributes: Vec<String>,
    /// Not this attribute
    #[arg(short = 'e', long = "excludeAttribute", value_name = "ATTRIBUTE")]
    exclude_attributes: Vec<String>,
    /// Only entries that match this filter
    #[arg(short = 'I', long = "includeFilter", value_name = "FILTER")]
    include_filters: Vec<String>,
    /// No entries that match this filter
    #[arg(short = 'E', long = "excludeFilter", value_name = "FILTER")]
    exclude_filters: Vec<String>,
}

impl SelectionOptions {
    /// The backend that is named; without a name the one that holds the first branch asked for, or the only one.
    pub fn backend<'c>(
        &self,
        config: &'c Config,
        schema: &Schema,
        id: Option<&str>,
    ) -> Result<&'c BackendConfig, Failure> {
        match (id, self.include_branches.first()) {
            (None, Some(branch)) => instance::backend_above(config, schema, branch),
            (id, _) => instance::backend(config, id),
        }
    }

    /// The selection that the store applies.
    pub fn selection(&self, schema: &Arc<Schema>) -> Result<Selection, Failure> {
        Ok(self.wanted().selection(schema)?)
    }

    /// The same as it was given.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            include_branches: self.include_branches.clone(),
            exclude_branches: self.exclude_branches.clone(),
            include_attributes: self.include_attributes.clone(),
            exclude_attributes: self.exclude_attributes.clone(),
            include_filters: self.include_filters.clone(),
            exclude_filters: self.exclude_filters.clone(),
        }
    }
}
