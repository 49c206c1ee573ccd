//! The names of attributes, object classes and containers.
//!
//! Knows the declarations and the few names of OpenDJ that follow no rule.

use crate::component::{plural, titled};
use crate::declare::{Class, Property, Variant};

/// The entry at the top.
pub const CONFIG_DN: &str = "cn=config";

/// The object class of entries that only hold others.
pub const BRANCH_CLASS: &str = "ds-cfg-branch";

/// What OpenDJ calls a class against the rules.
struct ClassNames {
    class: &'static str,
    /// The structural class that all its objects have.
    object_class: &'static str,
    /// The entry that holds its objects, or the object itself if there is exactly one.
    entry: &'static str,
}

const CLASS_NAMES: [ClassNames; 10] = [
    names("global", "ds-cfg-root-config", "config"),
    names("limits", "ds-cfg-limits-rule", "Limits Rules"),
    names("root-dn", "ds-cfg-root-dn", "Root DNs"),
    names("root-dn-user", "ds-cfg-root-dn-user", "Root DNs"),
    names("index", "ds-cfg-backend-index", "Index"),
    names("vlv-index", "ds-cfg-backend-vlv-index", "VLV Index"),
    names("sasl-mechanism-handler", "ds-cfg-sasl-mechanism-handler", "SASL Mechanisms"),
    names("password-policy", "ds-cfg-authentication-policy", "Password Policies"),
    names("log-publisher", "ds-cfg-log-publisher", "Loggers"),
    names("access-log-filtering-criteria", "ds-cfg-access-log-filtering-criteria", "Filtering Criteria"),
];

const fn names(class: &'static str, object_class: &'static str, entry: &'static str) -> ClassNames {
    ClassNames { class, object_class, entry }
}

/// Classes between that of the class and that of the kind, and kinds that are called against the rule
/// (`ds-cfg-KIND-CLASS`): class, kind, the rest of the object classes.
const KINDS: [(&str, &str, &[&str]); 11] = [
    ("access-control-handler", "", &["ds-cfg-dsee-compat-access-control-handler"]),
    ("backend", "", &["ds-cfg-local-backend", "ds-cfg-pluggable-backend"]),
    ("password-policy", "password-policy", &["ds-cfg-password-policy"]),
    ("password-policy", "ldap-pass-through", &["ds-cfg-ldap-pass-through-authentication-policy"]),
    ("schema-provider", "core-schema", &["ds-cfg-core-schema"]),
    ("log-publisher", "file-based-access", &["ds-cfg-access-log-publisher", "ds-cfg-file-based-access-log-publisher"]),
    ("log-publisher", "json-file-access", &["ds-cfg-access-log-publisher", "ds-cfg-json-file-access-log-publisher"]),
    ("log-publisher", "csv-file-access", &["ds-cfg-access-log-publisher", "ds-cfg-csv-file-access-log-publisher"]),
    ("access-log-filtering-criteria", "generic", &[]),
    ("log-publisher", "file-based-audit", &["ds-cfg-access-log-publisher", "ds-cfg-file-based-audit-log-publisher"]),
    ("log-publisher", "file-based-error", &["ds-cfg-error-log-publisher", "ds-cfg-file-based-error-log-publisher"]),
];

/// Attributes that are called against the rule (`ds-cfg-PROPERTY`): class, kind (all if empty), property, attribute.
const ATTRIBUTES: [(&str, &str, &str, &str); 4] = [
    ("root-dn-user", "", "password", "userPassword"),
    ("root-dn-user", "", "privilege-name", "ds-privilege-name"),
    ("root-dn-user", "", "password-policy", "ds-pwp-password-policy-dn"),
    ("plugin", "unique-attribute", "attribute-type", "ds-cfg-type"),
];

fn special(class: &Class) -> Option<&'static ClassNames> {
    CLASS_NAMES.iter().find(|names| names.class == class.name)
}

/// The attribute of a property: `ds-cfg-size-limit`.
#[must_use]
pub fn attribute_of(class: &Class, variant: &Variant, property: &Property) -> String {
    let special = ATTRIBUTES.iter().find(|(of_class, of_kind, name, _)| {
        *of_class == class.name && (of_kind.is_empty() || *of_kind == variant.type_name) && *name == property.name
    });
    special.map_or_else(|| format!("ds-cfg-{}", property.name), |(_, _, _, attribute)| (*attribute).to_owned())
}

/// The property of an attribute.
#[must_use]
pub fn property_of(class: &Class, variant: &'static Variant, attribute: &str) -> Option<&'static Property> {
    let is_it = |property: &&Property| attribute_of(class, variant, property).eq_ignore_ascii_case(attribute);
    variant.properties.iter().find(is_it)
}

/// The attribute that names the objects of a class in their DNs.
#[must_use]
pub fn naming_attribute(class: &Class) -> &'static str {
    match class.name {
        "backend" => "ds-cfg-backend-id",
        "index" => "ds-cfg-attribute",
        "vlv-index" => "ds-cfg-name",
        _ => "cn",
    }
}

/// The object classes of a kind of object: `top` first, each below the one before it.
#[must_use]
pub fn object_classes(class: &Class, variant: &Variant) -> Vec<String> {
    let own = special(class).map_or_else(|| format!("ds-cfg-{}", class.name), |names| names.object_class.to_owned());
    let mut all = vec!["top".to_owned(), own];
    match KINDS.iter().find(|(of_class, kind, _)| *of_class == class.name && *kind == variant.type_name) {
        Some((_, _, others)) => all.extend(others.iter().map(ToString::to_string)),
        None if variant.type_name.is_empty() => {}
        None => all.push(format!("ds-cfg-{}-{}", variant.type_name, class.name)),
    }
    all
}

/// The kind of an object that has these object classes. Where they name none of several: the kind that need not be
/// said, if there is one.
#[must_use]
pub fn variant_of(class: &'static Class, classes: &[String]) -> Option<&'static Variant> {
    let has = |wanted: &String| classes.iter().any(|own| own.eq_ignore_ascii_case(wanted));
    let named = |variant: &&Variant| object_classes(class, variant).last().is_some_and(has);
    let several: Vec<&'static Variant> = class.variants.iter().filter(named).collect();
    match several.as_slice() {
        [one] => Some(one),
        [] => class.unsaid(),
        _ => None,
    }
}

/// The entry that holds the objects of a class, or the object itself if there is exactly one: the value of its `cn`.
pub(super) fn entry_name(class: &Class) -> String {
    match (special(class), class.named_by) {
        (Some(names), _) => names.entry.to_owned(),
        (None, None) => titled(class.name),
        (None, Some(_)) => titled(&plural(class.name)),
    }
}
