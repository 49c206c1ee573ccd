//! The names in a question: of entries, and of attributes, which must be in the schema, since of a mistyped one
//! everybody is refused.

use std::collections::BTreeSet;
use std::time::Instant;

use directory::Directory;
use ldap::Scope;
use nearest::nearest;
use schema::{AttributeType, NormalizedDn, Schema};

use super::searching::{Asked, search};
use crate::failure::Failure;

/// What a search asks for that is not one attribute.
const OTHERS: [&str; 3] = ["*", "+", "1.1"];

/// Whether the name stands for all attributes of a kind.
pub fn is_wildcard(name: &str) -> bool {
    matches!(name, "*" | "+")
}

/// Refuses what is not a distinguished name.
pub fn check_dn(schema: &Schema, dn: &str) -> Result<(), Failure> {
    let parsed = NormalizedDn::parse(schema, dn.as_bytes());
    parsed.map(drop).map_err(|_| Failure::new(format_args!("\"{dn}\" is not a distinguished name")))
}

/// Refuses an attribute that the schema does not have.
pub fn check_attribute(schema: &Schema, name: &str) -> Result<(), Failure> {
    if OTHERS.contains(&name) || schema.type_of_description(name.as_bytes()).is_some() {
        return Ok(());
    }
    let known = schema.attribute_types().iter().map(AttributeType::name);
    let close: Vec<String> = nearest(name, known).into_iter().map(|name| format!("\"{name}\"")).collect();
    let meant = if close.is_empty() { String::new() } else { format!(": did you mean {}?", close.join(", ")) };
    Err(Failure::new(format_args!("the schema has no attribute \"{name}\"{meant}")))
}

/// Whether the entry has values of an attribute, or of a subtype of it.
pub fn is_held(directory: &Directory, dn: &str, name: &str) -> Result<bool, Failure> {
    Ok(held(directory, dn, &[name.to_owned()])?.is_some_and(|held| !held.is_empty()))
}

/// Of these, the attributes that the entry has; none where there is no entry.
fn held(directory: &Directory, dn: &str, names: &[String]) -> Result<Option<BTreeSet<String>>, Failure> {
    let asked = Asked {
        base: dn.to_owned(),
        scope: Scope::BaseObject,
        filter: "(objectClass=*)".to_owned(),
        attributes: names.to_vec(),
    };
    let root = directory.administrator_session(0, Instant::now());
    Ok(search(directory, &root, &asked, 0, 1)?.entries.into_values().next())
}

/// The attributes with `*` and `+` replaced by those that the entry has.
pub fn expanded(directory: &Directory, dn: &str, names: &[String]) -> Result<Vec<String>, Failure> {
    if !names.iter().any(|name| is_wildcard(name)) {
        return Ok(names.to_vec());
    }
    let held = held(directory, dn, names)?;
    let held = held.ok_or_else(|| Failure::new(format_args!("there is no entry \"{dn}\"")))?;
    // Those that are named stand first and are kept, whether the entry has them or not.
    let mut all: Vec<String> = names.iter().filter(|name| !is_wildcard(name)).cloned().collect();
    let named: BTreeSet<String> = all.iter().map(|name| name.to_ascii_lowercase()).collect();
    all.extend(held.into_iter().filter(|name| !named.contains(&name.to_ascii_lowercase())));
    Ok(all)
}
