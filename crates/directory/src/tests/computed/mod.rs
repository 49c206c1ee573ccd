//! Computed attributes through whole searches and compares.

mod branches;
mod collective;
mod cos;
mod random;
mod tables;

use std::collections::BTreeMap;

use config::{ConflictBehavior, GivenTo, VirtualAttributeConfig, VirtualAttributeKind, default_indexes};

use crate::search::tests::fixture::{Asked, Fixture, user};

pub(super) const BASE: &str = "dc=example,dc=com";

/// What entries show of an attribute that is asked for by name, by the first RDN value of the entry.
pub(super) fn shown(it: &mut Fixture, filter: &str, attribute: &str) -> BTreeMap<String, Vec<String>> {
    let attributes = [attribute];
    let found = it.search(&Asked { attributes: &attributes, ..Asked::new(BASE, filter) }).unwrap();
    let value = |dn: &str| dn.split(['=', ',']).nth(1).unwrap_or_default().to_owned();
    let values = |values: &BTreeMap<String, Vec<String>>| values.get(attribute).cloned().unwrap_or_default();
    found.entries.iter().map(|(dn, attributes)| (value(dn), values(attributes))).collect()
}

/// What one entry shows of an attribute that is asked for by name.
pub(super) fn of(it: &mut Fixture, name: &str, attribute: &str) -> Vec<String> {
    shown(it, &format!("(|(uid={name})(cn={name}))"), attribute).remove(name).unwrap_or_default()
}

/// The entries that match, by the first RDN value.
pub(super) fn matching(it: &mut Fixture, filter: &str) -> Vec<String> {
    shown(it, filter, "1.1").into_keys().collect()
}
