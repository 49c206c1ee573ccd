//! Attribute types and object classes of the configuration's entries, as the file `07-configuration.ldif` of the
//! schema. Made from the declarations; a test holds the file to them.
//!
//! OIDs follow from the names, so that one that comes later moves none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::names::{BRANCH_CLASS, attribute_of, naming_attribute, object_classes, property_of, variant_of};
use super::place::{container_dn, dn_of};
use super::values::refers_to;
use super::*;
use crate::component::Component;
use crate::declare::Property;
use crate::syntax::Syntax;
use crate::variations::variations;

const HEAD: &str = "\
# Attributes and classes of the entries below cn=config. Made from the
# declarations in the crate config: PANDO_WRITE_REFERENCE=1 cargo test -p config
# --lib mapping writes it again.
dn: cn=schema
objectClass: top
objectClass: ldapSubentry
objectClass: subschema
";

/// Below the arc of the project: attribute types, object classes.
const ARCS: [&str; 2] =
    ["2.25.147956338378721996647761782572648861249.3", "2.25.147956338378721996647761782572648861249.4"];

/// A number that follows from a name (FNV-1a).
fn number_of(name: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(16_777_619);
    name.bytes().fold(2_166_136_261, step) >> 1
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Matching {
    Boolean,
    Integer,
    Dn,
    Exact,
    Ignore,
    Secret,
}

fn matching(property: &Property) -> Matching {
    match property.syntax {
        _ if refers_to(property).is_some() => Matching::Dn,
        Syntax::Boolean => Matching::Boolean,
        Syntax::Integer { .. } => Matching::Integer,
        Syntax::Dn | Syntax::BaseDn => Matching::Dn,
        Syntax::Path | Syntax::Pattern => Matching::Exact,
        Syntax::Password => Matching::Secret,
        _ => Matching::Ignore,
    }
}

impl Matching {
    fn text(self) -> &'static str {
        match self {
            Self::Boolean => "EQUALITY booleanMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.7",
            Self::Integer => "EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27",
            Self::Dn => "EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12",
            Self::Exact => {
                "EQUALITY caseExactMatch SUBSTR caseExactSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15"
            }
            Self::Ignore => {
                "EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15"
            }
            Self::Secret => "SYNTAX 1.3.6.1.4.1.1466.115.121.1.40",
        }
    }
}

fn kinds() -> Vec<(&'static crate::Class, &'static crate::Variant)> {
    let classes = Component::all().into_iter().map(|component| component.class());
    classes.flat_map(|class| class.variants.iter().map(move |variant| (class, variant))).collect()
}

/// Names of `attributeTypes` or `objectClasses` that other files of the schema define.
fn known(kind: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/ldif");
    let mut known = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("07-configuration.ldif") {
            let text = fs::read_to_string(path).unwrap();
            let text = text.replace("\n ", "");
            for line in text.lines().filter(|line| line.starts_with(kind)) {
                known.extend(line.split('\'').skip(1).step_by(2).map(str::to_ascii_lowercase));
            }
        }
    }
    known
}

fn attributes() -> BTreeMap<String, (Matching, bool)> {
    let mut found: BTreeMap<String, (Matching, bool)> = BTreeMap::new();
    for (class, variant) in kinds() {
        for property in variant.properties {
            let name = attribute_of(class, variant, property);
            let own = (matching(property), property.multi_valued);
            let entry = found.entry(name).or_insert(own);
            let matching = if entry.0 == own.0 { own.0 } else { Matching::Ignore };
            *entry = (matching, entry.1 || own.1);
        }
        found.entry(naming_attribute(class).to_owned()).or_insert((Matching::Ignore, true));
    }
    found
}

fn folded(out: &mut String, text: &str) {
    let (mut line, mut rest) = (String::new(), Vec::new());
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > 78 {
            rest.push(std::mem::take(&mut line));
            line.push(' ');
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    rest.push(line);
    let _ = writeln!(out, "{}", rest.join("\n"));
}

fn file() -> String {
    let (mut out, known_types) = (HEAD.to_owned(), known("attributeTypes"));
    for (name, (matching, is_multi)) in attributes() {
        if known_types.contains(&name.to_ascii_lowercase()) {
            continue;
        }
        let single = if is_multi { "" } else { " SINGLE-VALUE" };
        let (arc, number) = (ARCS[0], number_of(&name));
        let text = matching.text();
        folded(&mut out, &format!("attributeTypes: ( {arc}.{number} NAME '{name}' {text}{single} X-ORIGIN 'Pando' )"));
    }
    // What a class may have: what all kinds below it have.
    let mut classes: BTreeMap<String, (String, &'static str, BTreeSet<String>)> = BTreeMap::new();
    classes.insert(BRANCH_CLASS.to_owned(), ("top".to_owned(), "cn", BTreeSet::new()));
    let mut order = vec![BRANCH_CLASS.to_owned()];
    for (class, variant) in kinds() {
        let own: BTreeSet<String> =
            variant.properties.iter().map(|property| attribute_of(class, variant, property)).collect();
        for pair in object_classes(class, variant).windows(2) {
            let [above, name] = pair else { continue };
            match classes.get_mut(name) {
                Some((_, _, all)) => all.retain(|attribute| own.contains(attribute)),
                None => {
                    order.push(name.clone());
                    let row = (above.clone(), naming_attribute(class), own.clone());
                    classes.insert(name.clone(), row);
                }
            }
        }
    }
    let known_classes = known("objectClasses");
    for name in order.into_iter().filter(|name| !known_classes.contains(name)) {
        let (above, naming, attributes) = &classes[&name];
        let mut inherited: BTreeSet<&String> = BTreeSet::new();
        let mut up = above;
        while let Some((next, _, own)) = classes.get(up) {
            inherited.extend(own);
            up = next;
        }
        let own: Vec<&str> = attributes.iter().filter(|it| !inherited.contains(it)).map(String::as_str).collect();
        let must = if above == "top" { format!(" MUST {naming}") } else { String::new() };
        let may = if own.is_empty() { String::new() } else { format!(" MAY ( {} )", own.join(" $ ")) };
        let (arc, number) = (ARCS[1], number_of(&name));
        folded(
            &mut out,
            &format!(
                "objectClasses: ( {arc}.{number} NAME '{name}' SUP {above} STRUCTURAL{must}{may} X-ORIGIN 'Pando' )"
            ),
        );
    }
    out
}

#[test]
fn the_schema_has_what_the_declarations_need() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/ldif/07-configuration.ldif");
    if std::env::var_os("PANDO_WRITE_REFERENCE").is_some() {
        fs::write(&path, file()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == file(), "write it again with PANDO_WRITE_REFERENCE=1");
    let mut oids: Vec<&str> = written.split("( 2.25").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    let count = oids.len();
    oids.sort_unstable();
    oids.dedup();
    assert_eq!(oids.len(), count, "two names have one OID");
}

#[test]
fn every_property_and_kind_maps_both_ways() {
    let mut places = BTreeSet::new();
    for component in Component::all() {
        let class = component.class();
        let names: Vec<(&'static str, &str)> = component
            .classes()
            .iter()
            .map(|class| (class.name, if class.named_by.is_some() { "A, \"b\" + c" } else { "" }))
            .collect();
        let dn = dn_of(&names);
        assert!(places.insert(dn.clone()), "{dn} twice");
        let place = place_of(&ldap::Dn::parse(&dn).unwrap()).unwrap_or_else(|| panic!("{dn}"));
        assert_eq!(place.path().unwrap(), names, "{dn}");
        if class.named_by.is_some() {
            let dn = container_dn(&names[..names.len() - 1], class);
            let place = place_of(&ldap::Dn::parse(&dn).unwrap()).unwrap();
            match place {
                Place::Container { class: held, .. } => assert_eq!(held.name, class.name),
                Place::Object(path) => assert_eq!((path[0].0.name, class.name), ("root-dn", "root-dn-user")),
            }
        }
        for variant in class.variants {
            let found = variant_of(class, &object_classes(class, variant)).unwrap();
            assert_eq!(found.type_name, variant.type_name);
            let mut seen = BTreeSet::new();
            for property in variant.properties {
                let attribute = attribute_of(class, variant, property);
                assert!(seen.insert(attribute.to_ascii_lowercase()), "{attribute} twice in {}", class.name);
                assert_eq!(property_of(class, variant, &attribute.to_uppercase()).unwrap().name, property.name);
            }
        }
    }
}

#[test]
fn names_are_those_of_opendj() {
    for (path, dn) in [
        (&[("global", "")][..], "cn=config"),
        (&[("backend", "userRoot")], "ds-cfg-backend-id=userRoot,cn=Backends,cn=config"),
        (
            &[("backend", "userRoot"), ("index", "cn")],
            "ds-cfg-attribute=cn,cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config",
        ),
        (
            &[("backend", "a"), ("vlv-index", "b")],
            "ds-cfg-name=b,cn=VLV Index,ds-cfg-backend-id=a,cn=Backends,cn=config",
        ),
        (&[("connection-handler", "LDAP")], "cn=LDAP,cn=Connection Handlers,cn=config"),
        (&[("log-publisher", "A")], "cn=A,cn=Loggers,cn=config"),
        (
            &[("log-publisher", "A"), ("access-log-filtering-criteria", "B")],
            "cn=B,cn=Filtering Criteria,cn=A,cn=Loggers,cn=config",
        ),
        (&[("log-rotation-policy", "A")], "cn=A,cn=Log Rotation Policies,cn=config"),
        (&[("sasl-mechanism-handler", "PLAIN")], "cn=PLAIN,cn=SASL Mechanisms,cn=config"),
        (&[("root-dn", "")], "cn=Root DNs,cn=config"),
        (&[("root-dn-user", "A")], "cn=A,cn=Root DNs,cn=config"),
        (&[("access-control-handler", "")], "cn=Access Control Handler,cn=config"),
        (&[("password-policy", "A")], "cn=A,cn=Password Policies,cn=config"),
    ] {
        assert_eq!(dn_of(path), dn);
    }
    for wrong in ["cn=config,cn=config", "cn=A,cn=config", "cn=A,cn=Backends,cn=config", "dc=a", "cn=a+cn=b,cn=config"]
    {
        assert!(place_of(&ldap::Dn::parse(wrong).unwrap()).is_none(), "{wrong}");
    }
}

/// Each value of a file shows in its entry, and the entry's values are the property's again; secrets do not show.
#[test]
fn every_value_shows_in_its_entry() {
    for variation in variations() {
        let config = crate::Config::parse(&variation.after, Path::new("pando.toml")).unwrap();
        let (class, variant, property) = (variation.class, variation.variant, variation.property);
        let title = format!("{} {} {}", class.name, variant.type_name, property.name);
        let last = object_classes(class, variant).pop().unwrap();
        let attribute = attribute_of(class, variant, property);
        let all = entries(&config);
        let has = |entry: &&ConfigEntry| entry.attributes[0].1.last() == Some(&last);
        let shown: Vec<&Vec<String>> = all
            .iter()
            .filter(has)
            .flat_map(|entry| &entry.attributes)
            .filter(|(name, _)| *name == attribute)
            .map(|(_, values)| values)
            .collect();
        assert_eq!(shown.is_empty(), is_secret(property), "{title}");
        for entry in &all {
            let place = place_of(&ldap::Dn::parse(&entry.dn).unwrap()).unwrap();
            let Some(path) = place.path() else { continue };
            let Some(values) = config.properties_of(&path) else { continue };
            let (class, variant) = (place_class(&place), config.variant_of(&path).unwrap());
            for (name, values) in values {
                let property = variant.property(name).unwrap();
                let attribute = attribute_of(class, variant, property);
                let Some((_, shown)) = entry.attributes.iter().find(|(own, _)| *own == attribute) else { continue };
                let back: Vec<String> = shown.iter().map(|value| written_value(property, value)).collect();
                assert_eq!(back, values, "{title}: {name} of {}", entry.dn);
            }
        }
    }
}

fn place_class(place: &Place) -> &'static crate::Class {
    match place {
        Place::Object(path) => path.last().unwrap().0,
        Place::Container { class, .. } => class,
    }
}
