//! Values: as properties have them and as attributes show them. A reference is the DN of what it refers to.
//!
//! Knows the declarations.

use ldap::Dn;

use super::place::{Place, dn_of, place_of};
use crate::declare::Property;
use crate::syntax::Syntax;
use crate::value::parse;

/// Properties with a word for a storage scheme are references in OpenDJ.
const SCHEMES: &str = "password-storage-scheme";

/// Whether nobody is shown the value.
#[must_use]
pub fn is_secret(property: &Property) -> bool {
    matches!(property.syntax, Syntax::Password)
}

/// The class of the objects that a property refers to.
pub(super) fn refers_to(property: &Property) -> Option<&'static str> {
    match property.syntax {
        Syntax::Reference(class) => Some(class),
        Syntax::Choice(_) if property.name.ends_with(SCHEMES) => Some(SCHEMES),
        _ => None,
    }
}

/// A value as its attribute shows it.
#[must_use]
pub fn shown_value(property: &Property, value: &str) -> String {
    refers_to(property).map_or_else(|| value.to_owned(), |class| dn_of(&[(class, value)]))
}

/// A value of an attribute as its property has it. A reference may also be the bare name.
#[must_use]
pub fn written_value(property: &Property, value: &str) -> String {
    let named = refers_to(property).and_then(|wanted| {
        let place = place_of(&Dn::parse(value).ok()?)?;
        let Place::Object(path) = place else { return None };
        let [(class, name)] = path.as_slice() else { return None };
        (class.name == wanted).then(|| name.clone())
    });
    named.unwrap_or_else(|| value.to_owned())
}

/// Whether two texts are the same value of a property: `60 s` and `1 m` are.
#[must_use]
pub fn is_same_value(property: &Property, one: &str, other: &str) -> bool {
    if one.eq_ignore_ascii_case(other) {
        return true;
    }
    let value = |text| parse(property.syntax, text);
    value(one).is_some() && value(one) == value(other)
}
