//! The configuration as LDAP entries: the DN of each object, the attribute of each property, the object classes of each
//! kind, both ways. All of it follows from the declarations; names are OpenDJ's where OpenDJ has the thing, and what
//! OpenDJ has not is named by the same rules.
//!
//! Knows the declarations and DNs; who may read or change the entries is not its business.

#[cfg(test)]
mod definitions;
mod entries;
mod names;
mod place;
mod values;

pub use entries::{ConfigEntry, entries};
pub use names::{BRANCH_CLASS, CONFIG_DN, attribute_of, naming_attribute, object_classes, property_of, variant_of};
pub use place::{Place, container_dn, dn_of, place_of};
pub use values::{is_same_value, is_secret, shown_value, written_value};
