//! Definitions from tables `[virtual-attribute.NAME]`.

use std::collections::BTreeSet;
use std::sync::Arc;

use config::{GivenTo, VirtualAttributeConfig, VirtualAttributeKind};
use schema::syntax::oid;
use schema::{AttributeType, ClassIndex, NormalizedDn, TypeIndex};
use store::{StoreError, View};

use super::definition::{Definition, ValueSource, check_attribute};
use super::fixed::Given;
use super::lists::{self, FromUrls, check_listed};
use super::memberships::FromGroups;
use super::reach::Reach;
use super::template::FromTemplate;
use crate::facts::Facts;
use crate::groups::GroupPair;

/// A table that cannot be.
#[derive(Debug, thiserror::Error)]
#[error("pando.toml:{line}:{column}: [virtual-attribute.{name}] is not valid: {reason}")]
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
        && matches!(
            table.kind,
            VirtualAttributeKind::UserDefined { .. }
                | VirtualAttributeKind::UserTemplate { .. }
                | VirtualAttributeKind::DynamicList { .. }
                | VirtualAttributeKind::GroupMembership { .. }
        )
}

/// Whether all tables can be.
///
/// # Errors
/// The first that cannot.
pub fn check_tables(facts: &Facts, tables: &[VirtualAttributeConfig]) -> Result<(), TableError> {
    for table in tables {
        let refused = |reason| TableError { name: table.name.clone(), line: table.line, column: table.column, reason };
        definitions(facts, table, &BTreeSet::new()).map_err(refused)?;
    }
    Ok(())
}

/// What a table defines; why it is not valid, in words that follow "is not valid:". `listed` are the attributes that
/// URLs list, see [`listed`].
pub(super) fn definitions(
    facts: &Facts,
    table: &VirtualAttributeConfig,
    listed: &BTreeSet<TypeIndex>,
) -> Result<Vec<Definition>, String> {
    if !defines(table) {
        return Ok(Vec::new());
    }
    match &table.kind {
        VirtualAttributeKind::UserDefined { values, given } => {
            let attribute = attribute(facts, &table.attribute)?;
            if attribute.is_single_value() && values.len() > 1 {
                return Err(format!("{} can have one value only", attribute.name()));
            }
            let source = Given::new(values.iter().map(String::as_bytes));
            Ok(vec![definition(attribute, reach(facts, given)?, given, source)])
        }
        VirtualAttributeKind::UserTemplate { template, given } => {
            let attribute = attribute(facts, &table.attribute)?;
            let source = FromTemplate::new(facts, attribute, template)?;
            Ok(vec![definition(attribute, reach(facts, given)?, given, source)])
        }
        VirtualAttributeKind::GroupMembership { class, member, given } => {
            let shown = attribute(facts, &table.attribute)?;
            let member = type_of(facts, member)?;
            if shown.syntax.oid() != oid::DN {
                return Err(format!("the values of {} are not distinguished names", shown.name()));
            }
            if ![oid::DN, oid::NAME_AND_OPTIONAL_UID].contains(&member.syntax.oid()) {
                return Err(format!("the values of {} are not distinguished names", member.name()));
            }
            let class_name = class.clone();
            let class = object_class(facts, class)?;
            let source = FromGroups(GroupPair { class, class_name, member: member.index });
            Ok(vec![definition(shown, reach(facts, given)?, given, source)])
        }
        VirtualAttributeKind::DynamicList { class, url_attribute, attributes, given } => {
            let urls = type_of(facts, url_attribute)?;
            object_class(facts, class)?;
            let mut reach = reach(facts, given)?;
            reach.set_filter(facts, &format!("(&(objectClass={class}){})", given.filter))?;
            let mut pairs: Vec<(&AttributeType, TypeIndex)> = Vec::new();
            for pair in attributes {
                let listed = type_of(facts, &pair.listed)?;
                check_listed(facts, listed).map_err(|why| format!("{} {why}", listed.name()))?;
                pairs.push((attribute(facts, &pair.shown)?, listed.index));
            }
            if attributes.is_empty() {
                pairs.extend(listed.iter().filter_map(|it| Some((facts.schema.attribute_by_index(*it)?, *it))));
            }
            let definition = |(shown, listed): (&AttributeType, TypeIndex)| {
                let source = FromUrls {
                    url_attribute: urls.index,
                    listed,
                    is_listed_by_default: !attributes.is_empty(),
                    takes_one: shown.is_single_value(),
                };
                Definition { merges: true, ..definition(shown, reach.clone(), given, source) }
            };
            Ok(pairs.into_iter().map(definition).collect())
        }
        VirtualAttributeKind::IsMemberOf | VirtualAttributeKind::Member { .. } => Ok(Vec::new()),
    }
}

/// The attributes that a table shows because URLs list them; nothing for a table that names them itself.
pub(super) fn listed(
    facts: &Facts,
    table: &VirtualAttributeConfig,
    view: &View<'_>,
) -> Result<BTreeSet<TypeIndex>, StoreError> {
    match &table.kind {
        VirtualAttributeKind::DynamicList { class, url_attribute, attributes, .. } if attributes.is_empty() => {
            match facts.schema.attribute_type(url_attribute.as_bytes()) {
                Some(urls) => lists::listed(facts, view, class, urls.index),
                None => Ok(BTreeSet::new()),
            }
        }
        _ => Ok(BTreeSet::new()),
    }
}

fn object_class(facts: &Facts, name: &str) -> Result<ClassIndex, String> {
    let known = facts.schema.object_class(name.as_bytes()).map(|class| class.index);
    known.ok_or_else(|| format!("the schema has no object class {name}"))
}

fn type_of<'f>(facts: &'f Facts, name: &str) -> Result<&'f AttributeType, String> {
    let known = facts.schema.attribute_type(name.as_bytes());
    known.ok_or_else(|| format!("the schema has no attribute type {name}"))
}

/// An attribute that can be computed.
fn attribute<'f>(facts: &'f Facts, name: &str) -> Result<&'f AttributeType, String> {
    let known = type_of(facts, name)?;
    check_attribute(facts, known.index).map_err(|why| format!("{} {why}", known.name()))?;
    Ok(known)
}

fn definition(
    attribute: &AttributeType,
    reach: Reach,
    given: &GivenTo,
    source: impl ValueSource + 'static,
) -> Definition {
    Definition {
        attribute: attribute.index,
        reach,
        conflict: given.conflict,
        is_by_name_only: false,
        merges: false,
        // As in OpenDJ: who writes such a table knows what the entries are.
        needs_schema: false,
        refuses_writes: false,
        source: Arc::new(source),
    }
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
