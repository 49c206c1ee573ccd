//! Definitions from tables `[virtual-attribute.NAME]`.

use std::sync::Arc;

use config::{GivenTo, VirtualAttributeConfig, VirtualAttributeKind};
use schema::NormalizedDn;

use super::definition::check_attribute;
use super::definition::{Definition, Source};
use super::fixed::Given;
use super::reach::Reach;
use super::template::FromTemplate;
use crate::facts::Facts;

/// A table that cannot be.
#[derive(Debug, thiserror::Error)]
#[error("pando.toml:{line}:{column}: [virtual-attribute.{name}] cannot be: {reason}")]
pub struct TableError {
    /// Its name.
    pub name: String,
    /// Its line.
    pub line: usize,
    /// Its column.
    pub column: usize,
    /// Why.
    pub reason: String,
}

/// Whether a table is one of those that define values.
pub(super) fn defines(table: &VirtualAttributeConfig) -> bool {
    table.enabled
        && matches!(table.kind, VirtualAttributeKind::UserDefined { .. } | VirtualAttributeKind::UserTemplate { .. })
}

/// Whether all tables can be.
///
/// # Errors
/// The first that cannot.
pub fn check_tables(facts: &Facts, tables: &[VirtualAttributeConfig]) -> Result<(), TableError> {
    for table in tables {
        let refused = |reason| TableError { name: table.name.clone(), line: table.line, column: table.column, reason };
        definition(facts, table).map_err(refused)?;
    }
    Ok(())
}

/// What a table defines, if it does; why it cannot, in words that follow "cannot be:".
pub(super) fn definition(facts: &Facts, table: &VirtualAttributeConfig) -> Result<Option<Definition>, String> {
    if !defines(table) {
        return Ok(None);
    }
    let known = facts.schema.attribute_type(table.attribute.as_bytes());
    let attribute = known.ok_or_else(|| format!("the schema has no attribute type {}", table.attribute))?;
    check_attribute(facts, attribute.index).map_err(|why| format!("{} {why}", attribute.name()))?;
    let (source, given): (Arc<dyn Source>, &GivenTo) = match &table.kind {
        VirtualAttributeKind::UserDefined { values, given } => {
            if attribute.is_single_value() && values.len() > 1 {
                return Err(format!("{} can have one value only", attribute.name()));
            }
            (Arc::new(Given::new(values.iter().map(String::as_bytes))), given)
        }
        VirtualAttributeKind::UserTemplate { template, given } => {
            (Arc::new(FromTemplate::new(facts, attribute, template)?), given)
        }
        VirtualAttributeKind::IsMemberOf | VirtualAttributeKind::Member { .. } => return Ok(None),
    };
    Ok(Some(Definition {
        attribute: attribute.index,
        reach: reach(facts, given)?,
        conflict: given.conflict,
        is_by_name_only: false,
        merges: false,
        // As in OpenDJ: who writes such a table knows what the entries are.
        needs_schema: false,
        refuses_writes: false,
        source,
    }))
}

fn reach(facts: &Facts, given: &GivenTo) -> Result<Reach, String> {
    let names = |texts: &[String]| -> Result<Vec<NormalizedDn>, String> {
        let name = |text: &String| {
            NormalizedDn::parse(&facts.schema, text.as_bytes()).map_err(|problem| format!("\"{text}\": {problem}"))
        };
        texts.iter().map(name).collect()
    };
    let mut reach = Reach::below(names(&given.base_dns)?);
    reach.scope = given.scope;
    reach.groups = names(&given.group_dns)?;
    reach.set_filter(facts, &given.filter)?;
    Ok(reach)
}
