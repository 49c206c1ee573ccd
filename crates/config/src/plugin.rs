//! `[plugin.NAME]`: rules that every update is judged by, and what they do on their own (OpenDJ: plugins; OpenLDAP:
//! overlays).
//!
//! The struct that the server reads, and the text in which a backend keeps the rules that are in force. Knows what a
//! filter and a URL look like; does not know any schema.

use std::time::Duration;

use crate::dynamic_entries::{self, DynamicEntries};
use crate::error::{ConfigError, Places};
use crate::object::{Judge, Object, quoted};
use crate::set_expression::SetExpression;
use crate::storage_scheme::IMPORT_TYPE;
use crate::syntax::Syntax;
use crate::value::Value;

/// The class of these objects.
const CLASS: &str = "plugin";

/// `[plugin.NAME]`, enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginConfig {
    /// The table's name.
    pub name: String,
    /// Line of the table in the file, from 1.
    pub line: usize,
    /// Column of the table in the file, from 1.
    pub column: usize,
    /// `base-dn`; empty is everywhere.
    pub base_dns: Vec<String>,
    /// What it does.
    pub kind: PluginKind,
}

/// `type` and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginKind {
    /// `referential-integrity`
    ReferentialIntegrity(ReferentialIntegrity),
    /// `unique-attribute`
    UniqueAttribute {
        /// `attribute-type`
        attributes: Vec<String>,
        /// `filter`
        filter: Option<String>,
    },
    /// `constraint`
    Constraint(Box<Constraint>),
    /// `dynamic-entries`
    DynamicEntries(DynamicEntries),
    /// `seven-bit-clean`
    SevenBitClean {
        /// `attribute-type`
        attributes: Vec<String>,
    },
    /// `attribute-cleanup`
    AttributeCleanup {
        /// `remove-inbound-attributes`
        remove: Vec<String>,
        /// `rename-inbound-attributes`: from, to.
        rename: Vec<(String, String)>,
    },
}

/// What a plugin of type `referential-integrity` is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferentialIntegrity {
    /// `attribute-type`
    pub attributes: Vec<String>,
    /// `update-interval`; zero is at once.
    pub update_interval: Duration,
    /// `check-references`
    pub check_references: bool,
    /// `check-references-filter-criteria`: attribute, filter.
    pub check_filters: Vec<(String, String)>,
    /// `check-references-scope-criteria` is `naming-context`.
    pub check_within_context: bool,
}

/// What a plugin of type `constraint` is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    /// `attribute-type`
    pub attributes: Vec<String>,
    /// `count`
    pub count: Option<u64>,
    /// `size`, in bytes.
    pub size: Option<u64>,
    /// `pattern`
    pub pattern: Option<String>,
    /// `forbidden-pattern`
    pub forbidden_pattern: Option<String>,
    /// `value`
    pub values: Vec<String>,
    /// `value-uri`
    pub value_uris: Vec<String>,
    /// `set`
    pub set: Option<String>,
    /// `forbidden-set`
    pub forbidden_set: Option<String>,
    /// `filter`
    pub filter: Option<String>,
}

/// The enabled plugins, in the order of the file.
pub(crate) fn plugins(objects: &[Object], text: &str) -> Vec<PluginConfig> {
    enabled(objects).map(|object| plugin(object, &Places(text))).collect()
}

/// The enabled plugins as text that [`Config::parse`](crate::Config::parse) reads, with every default written out: what
/// it says does not depend on what a later program takes for granted. The same rules always make the same text.
pub(crate) fn plugins_text(objects: &[Object]) -> String {
    let mut out = String::new();
    for object in enabled(objects) {
        out.push_str(&format!("{}\ntype = \"{}\"\n", object.title(), object.variant.type_name));
        for property in object.variant.properties {
            let values: Vec<String> = object
                .values(property.name)
                .iter()
                .map(|value| toml_edit::Value::from(value.to_string()).to_string())
                .collect();
            match values.as_slice() {
                [] => {}
                [only] if !property.multi_valued => out.push_str(&format!("{} = {only}\n", property.name)),
                _ => out.push_str(&format!("{} = [{}]\n", property.name, values.join(", "))),
            }
        }
    }
    out
}

fn enabled(objects: &[Object]) -> impl Iterator<Item = &Object> {
    let plugins = objects.iter().filter(|object| object.class.name == CLASS);
    plugins
        .filter(|object| object.variant.type_name != IMPORT_TYPE)
        .filter(|object| object.values("enabled") == [Value::Boolean(true)])
}

fn plugin(object: &Object, places: &Places<'_>) -> PluginConfig {
    let texts = |name: &str| -> Vec<String> {
        let is_declared = object.variant.property(name).is_some();
        if is_declared { object.values(name).iter().map(ToString::to_string).collect() } else { Vec::new() }
    };
    let text = |name: &str| texts(name).into_iter().next();
    let number = |name: &str| match object.values(name).first() {
        Some(Value::Integer(count)) => u64::try_from(*count).ok(),
        Some(Value::Size(bytes)) => Some(*bytes),
        _ => None,
    };
    let pairs = |name: &str| texts(name).iter().filter_map(|text| pair(text)).collect();
    let attributes = texts("attribute-type");
    let kind = match object.variant.type_name {
        "referential-integrity" => PluginKind::ReferentialIntegrity(ReferentialIntegrity {
            attributes,
            update_interval: match object.values("update-interval").first() {
                Some(Value::Duration(ms)) => Duration::from_millis(*ms),
                _ => Duration::ZERO,
            },
            check_references: object.values("check-references") == [Value::Boolean(true)],
            check_filters: pairs("check-references-filter-criteria"),
            check_within_context: text("check-references-scope-criteria").as_deref() == Some("naming-context"),
        }),
        "unique-attribute" => PluginKind::UniqueAttribute { attributes, filter: text("filter") },
        "constraint" => PluginKind::Constraint(Box::new(Constraint {
            attributes,
            count: number("count"),
            size: number("size"),
            pattern: text("pattern"),
            forbidden_pattern: text("forbidden-pattern"),
            values: texts("value"),
            value_uris: texts("value-uri"),
            set: text("set"),
            forbidden_set: text("forbidden-set"),
            filter: text("filter"),
        })),
        dynamic_entries::TYPE_NAME => PluginKind::DynamicEntries(DynamicEntries::of(object)),
        "attribute-cleanup" => PluginKind::AttributeCleanup {
            remove: texts("remove-inbound-attributes"),
            rename: pairs("rename-inbound-attributes"),
        },
        _ => PluginKind::SevenBitClean { attributes },
    };
    let ConfigError { line, column, .. } = places.at(object.offset, String::new());
    PluginConfig { name: object.name.clone(), line, column, base_dns: texts("base-dn"), kind }
}

fn pair(text: &str) -> Option<(String, String)> {
    let (left, right) = text.split_once(':')?;
    let (left, right) = (left.trim(), right.trim());
    (!left.is_empty() && !right.is_empty()).then(|| (left.to_owned(), right.to_owned()))
}

/// Faults of plugins that no syntax shows, each with its place in the text.
pub(crate) fn faults(objects: &[Object]) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let plugins = || objects.iter().filter(|object| object.class.name == CLASS);
    for object in plugins() {
        object.judge(&JUDGED, &mut faults);
        let is_set = |name: &str| object.settings.get(name).is_some_and(|setting| !setting.values.is_empty());
        let limits = ["count", "size", "pattern", "forbidden-pattern", "value", "value-uri", "set", "forbidden-set"];
        if object.variant.type_name == "constraint" && !limits.into_iter().any(is_set) {
            let title = object.title();
            faults.push((object.offset, format!("{title} constrains nothing: set one of {}", limits.join(", "))));
        }
    }
    plugins().for_each(|object| dynamic_entries::judge(object, &mut faults));
    for (type_name, remedy) in [
        ("referential-integrity", "put all attributes into one"),
        (dynamic_entries::TYPE_NAME, "put all base DNs into one"),
    ] {
        let is_of_type = |object: &&Object| object.variant.type_name == type_name;
        for object in enabled(objects).filter(is_of_type).skip(1) {
            let title = object.title();
            faults.push((object.offset, format!("{title} is a second plugin of type {type_name}: {remedy}")));
        }
    }
    faults
}

const JUDGED: [(&str, Judge); 6] = [
    ("set", is_set),
    ("forbidden-set", is_set),
    ("filter", is_filter),
    ("value-uri", is_value_url),
    ("check-references-filter-criteria", is_filter_pair),
    ("rename-inbound-attributes", is_name_pair),
];

pub(crate) fn is_filter(text: &str) -> Result<(), String> {
    ldap::filter::parse(text).map(drop).map_err(|error| format!("it must be a filter: {error}"))
}

fn is_set(text: &str) -> Result<(), String> {
    let parsed: Result<SetExpression, _> = text.parse();
    parsed.map(drop).map_err(|error| format!("it must be a set expression: {error}"))
}

fn is_value_url(text: &str) -> Result<(), String> {
    let url = ldap::LdapUrl::parse(text).map_err(|error| format!("it must be an LDAP URL: {error}"))?;
    if url.host.is_some() {
        return Err("values come from this server, so the URL names no host: write ldap:///".to_owned());
    }
    if url.attributes.is_empty() {
        return Err("it does not say which attribute has the values: write ldap:///BASE?ATTRIBUTE?SCOPE".to_owned());
    }
    ldap::Dn::parse(&url.dn).map(drop).map_err(|error| format!("its DN is none: {error}"))
}

fn is_filter_pair(text: &str) -> Result<(), String> {
    let (attribute, filter) = pair(text).ok_or_else(|| "it must be attribute:filter".to_owned())?;
    is_attribute(&attribute)?;
    is_filter(&filter)
}

fn is_name_pair(text: &str) -> Result<(), String> {
    let (from, to) = pair(text).ok_or_else(|| "it must be FROM:TO, two attribute names".to_owned())?;
    is_attribute(&from)?;
    is_attribute(&to)
}

fn is_attribute(name: &str) -> Result<(), String> {
    let known = crate::value::parse(Syntax::AttributeType, name).is_some();
    known.then_some(()).ok_or_else(|| format!("{} is not the name of an attribute type", quoted(name)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::Config;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("pando.toml")).map_err(|errors| errors.to_string())
    }

    const ALL: &str = r#"
        [plugin."Referential Integrity"]
        type = "referential-integrity"
        attribute-type = ["member", "owner"]
        update-interval = "3 m"
        check-references = true
        check-references-filter-criteria = "member:(objectClass=person)"
        check-references-scope-criteria = "naming-context"
        [plugin.mails]
        type = "unique-attribute"
        attribute-type = "mail"
        base-dn = "ou=People,dc=example,dc=com"
        filter = "(objectClass=person)"
        [plugin.photos]
        type = "constraint"
        attribute-type = "jpegPhoto"
        size = "128 kib"
        count = 1
        pattern = "^a\\.\"b"
        [plugin.ascii]
        type = "seven-bit-clean"
        [plugin.off]
        type = "attribute-cleanup"
        enabled = false
        [plugin.clean]
        type = "attribute-cleanup"
        rename-inbound-attributes = ["colour:description"]
    "#;

    #[test]
    fn plugins_are_read_and_their_text_says_the_same() {
        let config = parse(ALL).unwrap();
        let names: Vec<&str> = config.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        assert_eq!(names, ["Referential Integrity", "mails", "photos", "ascii", "clean"]);
        assert_eq!((config.plugins[1].line, config.plugins[1].column), (9, 17));
        let again = parse(&config.plugins_text).unwrap();
        let kinds = |config: &Config| -> Vec<_> {
            config
                .plugins
                .iter()
                .map(|plugin| (plugin.name.clone(), plugin.base_dns.clone(), plugin.kind.clone()))
                .collect()
        };
        assert_eq!(kinds(&again), kinds(&config));
        assert_eq!(again.plugins_text, config.plugins_text);
        let PluginKind::ReferentialIntegrity(first) = &config.plugins[0].kind else { panic!("another kind") };
        assert_eq!(first.update_interval, Duration::from_secs(180));
        assert!(first.check_references && first.check_within_context);
        assert_eq!(first.check_filters, [("member".to_owned(), "(objectClass=person)".to_owned())]);
    }

    /// S2-13: whatever is wrong is said with its place, before a server starts.
    #[test]
    fn bad_rules_are_refused_with_line_and_column() {
        let head = "[plugin.a]\ntype = \"constraint\"\nattribute-type = \"mail\"\n";
        for (text, place, why) in [
            (format!("{head}pattern = \"(\""), "4:11", "regular expression"),
            (format!("{head}pattern = \"(a{{999}}){{999}}\""), "4:11", "regular expression"),
            (format!("{head}value-uri = \"http://x\""), "4:13", "LDAP URL"),
            (format!("{head}value-uri = \"ldap:///dc=example\""), "4:13", "which attribute"),
            (format!("{head}value-uri = \"ldap://there/dc=example?cn\""), "4:13", "names no host"),
            (format!("{head}value-uri = \"ldap:///dc=example?cn?sub?(cn=\""), "4:13", "LDAP URL"),
            (format!("{head}count = -1"), "4:9", "whole number"),
            (format!("{head}count = 1\nfilter = \"cn\""), "5:10", "must be a filter"),
            (format!("{head}set = \"this/cn &\""), "4:7", "it must be a set expression: this, user"),
            (head.to_owned(), "1:9", "constrains nothing"),
            (
                "[plugin.a]\ntype = \"attribute-cleanup\"\nrename-inbound-attributes = \"a\"".to_owned(),
                "3:29",
                "FROM:TO",
            ),
            (
                "[plugin.a]\ntype = \"referential-integrity\"\ncheck-references-filter-criteria = \"member:x\""
                    .to_owned(),
                "3:36",
                "must be a filter",
            ),
            (
                "[plugin.a]\ntype = \"referential-integrity\"\n[plugin.b]\ntype = \"referential-integrity\"".to_owned(),
                "3:9",
                "second plugin",
            ),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.starts_with(&format!("pando.toml:{place}: ")) && error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn the_example_of_the_documentation_is_read() {
        let page = include_str!("../../../docs/plugins.md");
        let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        assert_eq!(parse(example).unwrap().plugins.len(), 6);
    }

    proptest! {
        /// S2-13: no constraint, however odd, ends the program.
        #[test]
        fn no_constraint_panics(
            value in "[ -~]{0,40}",
            name in prop::sample::select(vec!["pattern", "value-uri", "filter", "value", "count", "size"]),
        ) {
            let value = toml_edit::Value::from(value.as_str());
            let _ = parse(&format!("[plugin.a]\ntype = \"constraint\"\nattribute-type = \"mail\"\n{name} = {value}\n"));
        }
    }
}
