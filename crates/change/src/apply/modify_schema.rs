//! A new user schema (a modify request of `cn=schema`, made into the whole text of the user's schema files): kept
//! beside the entries and in force from the next proposal on.
//!
//! Refuses what stored entries contradict: definitions that are in use neither go nor change how values compare.

use std::sync::Arc;

use schema::{AttributeType, Schema, SchemaBuilder};
use store::DescId;

use super::error::ApplyError;
use super::work::Work;
use crate::refusal::Refusal;

/// Where the copy of the user's schema is kept in `meta`.
pub const SCHEMA_KEY: &[u8] = b"schema";

/// The user's schema files as one text: for each its name and its text, each with a length before it. The same
/// definitions always make the same bytes; no user definitions make none.
#[must_use]
pub fn schema_text(schema: &Schema) -> Vec<u8> {
    let mut out = Vec::new();
    for name in schema.user_files() {
        let text = schema.user_file_text(&name);
        for part in [name.as_bytes(), text.as_bytes()] {
            out.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            out.extend_from_slice(part);
        }
    }
    out
}

/// The schema that a text and the shipped definitions make; `base` gives the switches.
pub(super) fn schema_of(base: &Schema, text: &[u8]) -> Result<Arc<Schema>, String> {
    let mut builder = SchemaBuilder::standard(base.options().clone());
    let mut rest = text;
    while !rest.is_empty() {
        let (Some(name), Some(text)) = (take(&mut rest), take(&mut rest)) else {
            return Err("the text of the schema is cut short".to_owned());
        };
        builder.add_ldif(name, text);
    }
    builder.build().map_err(|errors| errors.to_string())
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    std::str::from_utf8(part).ok()
}

/// Applies a new schema.
pub(super) fn modify_schema(work: &mut Work<'_, '_>, text: &[u8]) -> Result<(), ApplyError> {
    // The schema lies in no entry of the backend, so nothing of that was judged.
    if !work.may_know_all() {
        work.require_root("Changing the schema")?;
    }
    let old = work.facts.schema.clone();
    let new = schema_of(&old, text).map_err(|problem| Refusal::BadSchema { problem })?;
    if !work.is_relaxed() {
        check_use(work, &old, &new)?;
    }
    work.txn.set_meta(SCHEMA_KEY, Some(text));
    // Classes may mean something else now.
    work.txn.mark_membership();
    work.new_schema = Some(new);
    Ok(())
}

/// Looks for entries that still need what goes. Only descriptions and class sets that were ever stored are looked for;
/// when there is one, all entries are read.
fn check_use(work: &Work<'_, '_>, old: &Schema, new: &Schema) -> Result<(), ApplyError> {
    let tables = work.txn.tables();
    let doomed = |name: &str| {
        let before = old.type_of_description(name.as_bytes());
        before.filter(|before| is_broken(before, new.attribute_type(before.oid().as_bytes()))).is_some()
    };
    let descriptions: Vec<DescId> =
        tables.descriptions().filter(|(_, name)| doomed(name)).map(|(desc, _)| desc).collect();
    let doomed_class =
        |value: &[u8]| old.object_class(value).is_some_and(|class| new.object_class(class.oid().as_bytes()).is_none());
    let any_class = tables.class_sets().any(|set| set.values().iter().any(doomed_class));
    if descriptions.is_empty() && !any_class {
        return Ok(());
    }
    let view = work.view();
    for entry in view.entries(store::EntryId(1))? {
        let (id, record) = entry?;
        let record = record.view()?;
        let attribute = record.attributes().find(|attribute| descriptions.contains(&attribute.desc));
        let attribute = attribute.and_then(|attribute| tables.description(attribute.desc)).map(str::to_owned);
        let class = record.object_classes().iter().find(|value| doomed_class(value));
        let class = class.map(|class| String::from_utf8_lossy(class).into_owned());
        if let Some(name) = attribute.or(class) {
            let dn = view.dn_of(id)?.unwrap_or_default();
            return Err(Refusal::SchemaInUse { name, dn }.into());
        }
    }
    Ok(())
}

/// Whether stored values of the type would lose their meaning or compare otherwise.
fn is_broken(before: &AttributeType, after: Option<&AttributeType>) -> bool {
    after.is_none_or(|after| {
        before.syntax.oid() != after.syntax.oid()
            || before.equality != after.equality
            || before.ordering != after.ordering
            || before.substring != after.substring
            || (after.is_single_value() && !before.is_single_value())
            || before.name() != after.name()
    })
}
