//! The entries of a configuration, each object with its defaults filled in, without secrets.
//!
//! Knows configurations and names; makes no LDAP entry of them.

use super::names::{BRANCH_CLASS, attribute_of, naming_attribute, object_classes};
use super::place::{container_dn, dn_of};
use super::values::{is_secret, shown_value};
use crate::config::Config;
use crate::declarations::CLASSES;
use crate::declare::Class;
use crate::step::Step;

/// An object, or an entry that holds objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its name.
    pub dn: String,
    /// Its attributes with their values, object classes first.
    pub attributes: Vec<(String, Vec<String>)>,
    /// How many entries are right below it.
    pub children: u64,
}

/// All entries: each before those below it.
#[must_use]
pub fn entries(config: &Config) -> Vec<ConfigEntry> {
    let mut found = Vec::new();
    for class in CLASSES {
        match class.named_by {
            None => found.extend(object_entry(config, &[(class.name, "")], class)),
            Some(_) => add_objects(config, &[], class, &mut found),
        }
    }
    count_children(&mut found);
    found
}

fn add_objects(config: &Config, above: &[Step<'_>], class: &'static Class, found: &mut Vec<ConfigEntry>) {
    let dn = container_dn(above, class);
    // An object may be what holds those of another class: that of the root users' defaults.
    if !found.iter().any(|entry| entry.dn == dn) {
        let cn = dn.split(',').next().and_then(|rdn| rdn.strip_prefix("cn=")).unwrap_or_default().to_owned();
        let classes = vec!["top".to_owned(), BRANCH_CLASS.to_owned()];
        let attributes = vec![("objectClass".to_owned(), classes), ("cn".to_owned(), vec![cn])];
        found.push(ConfigEntry { dn, attributes, children: 0 });
    }
    for object in config.list(above, class.name).unwrap_or_default() {
        let path = [above, &[(class.name, object.name.as_str())]].concat();
        found.extend(object_entry(config, &path, class));
        class.children.iter().for_each(|child| add_objects(config, &path, child, found));
    }
}

/// The entry of one object, if there is such an object.
fn object_entry(config: &Config, path: &[Step<'_>], class: &'static Class) -> Option<ConfigEntry> {
    let variant = config.variant_of(path)?;
    let dn = dn_of(path);
    let mut attributes = vec![("objectClass".to_owned(), object_classes(class, variant))];
    let name = match (class.named_by, path.last()) {
        (Some(_), Some((_, name))) => (*name).to_owned(),
        _ => dn.split(',').next().and_then(|rdn| rdn.strip_prefix("cn=")).unwrap_or_default().to_owned(),
    };
    attributes.push((naming_attribute(class).to_owned(), vec![name]));
    for (property, values) in config.properties_of(path)? {
        let Some(property) = variant.property(property) else { continue };
        if values.is_empty() || is_secret(property) {
            continue;
        }
        let values = values.iter().map(|value| shown_value(property, value)).collect();
        attributes.push((attribute_of(class, variant, property), values));
    }
    Some(ConfigEntry { dn, attributes, children: 0 })
}

fn count_children(found: &mut [ConfigEntry]) {
    let parents: Vec<Option<String>> = found
        .iter()
        .map(|entry| ldap::Dn::parse(&entry.dn).ok().and_then(|dn| dn.parent()).map(|parent| parent.to_string()))
        .collect();
    for entry in found.iter_mut() {
        let is_here = |parent: &&String| parent.eq_ignore_ascii_case(&entry.dn);
        entry.children = parents.iter().flatten().filter(is_here).count() as u64;
    }
}
