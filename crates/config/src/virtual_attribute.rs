//! `[virtual-attribute.NAME]`: attributes that the server computes and that may be switched off, or on (OpenDJ:
//! virtual-attribute).
//!
//! The struct that the server reads; does not know how anything is computed.

use ldap::Scope;

use crate::error::{ConfigError, Places};
use crate::object::{Judge, Object};
use crate::plugin::is_filter;
use crate::syntax::Syntax;
use crate::template::Template;
use crate::value::Value;
use crate::views::ConflictBehavior;

/// The class of these objects.
const CLASS: &str = "virtual-attribute";

/// `[virtual-attribute.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualAttributeConfig {
    /// The table's name.
    pub name: String,
    /// Line of the table in the file, from 1.
    pub line: usize,
    /// Column of the table in the file, from 1.
    pub column: usize,
    /// `attribute-type`
    pub attribute: String,
    /// `enabled`
    pub enabled: bool,
    /// `type` and what belongs to it.
    pub kind: VirtualAttributeKind,
}

/// Where the values come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VirtualAttributeKind {
    /// `is-member-of`
    IsMemberOf,
    /// `member`
    Member {
        /// `allow-retrieving-membership`
        allow_retrieving_membership: bool,
    },
    /// `user-defined`
    UserDefined {
        /// `value`
        values: Vec<String>,
        /// Who gets them.
        given: Box<GivenTo>,
    },
    /// `user-template`
    UserTemplate {
        /// `template`
        template: Template,
        /// Who gets them.
        given: Box<GivenTo>,
    },
    /// `group-membership`
    GroupMembership {
        /// `group-class`
        class: String,
        /// `member-attribute`
        member: String,
        /// Who gets them.
        given: Box<GivenTo>,
    },
    /// `dynamic-list`
    DynamicList {
        /// `group-class`
        class: String,
        /// `url-attribute`
        url_attribute: String,
        /// `list-attribute`; empty: those that the URLs list.
        attributes: Vec<ListAttribute>,
        /// Who gets them.
        given: Box<GivenTo>,
    },
}

/// An attribute of a dynamic list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListAttribute {
    /// The name under which the values are shown.
    pub shown: String,
    /// The attribute of the entries that are found.
    pub listed: String,
}

/// Which entries get the values of a table, and what becomes of those that they have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenTo {
    /// `base-dn`; empty is everywhere.
    pub base_dns: Vec<String>,
    /// `scope`
    pub scope: Scope,
    /// `group-dn`; empty is everybody.
    pub group_dns: Vec<String>,
    /// `filter`
    pub filter: String,
    /// `conflict-behavior`
    pub conflict: ConflictBehavior,
}

pub(crate) fn read(object: &Object, places: &Places<'_>) -> VirtualAttributeConfig {
    let is = |name: &str| object.values(name).contains(&Value::Boolean(true));
    let texts = |name: &str| -> Vec<String> { object.values(name).iter().map(ToString::to_string).collect() };
    let text = |name: &str| texts(name).into_iter().next().unwrap_or_default();
    let given = || {
        Box::new(GivenTo {
            base_dns: texts("base-dn"),
            scope: Scope::from_word(&text("scope")).unwrap_or(Scope::WholeSubtree),
            group_dns: texts("group-dn"),
            filter: text("filter"),
            conflict: ConflictBehavior::from_word(&text("conflict-behavior"))
                .unwrap_or(ConflictBehavior::RealOverridesVirtual),
        })
    };
    let kind = match object.variant.type_name {
        "member" => VirtualAttributeKind::Member { allow_retrieving_membership: is("allow-retrieving-membership") },
        "user-defined" => VirtualAttributeKind::UserDefined { values: texts("value"), given: given() },
        // `faults` refuses what is no template.
        "user-template" => VirtualAttributeKind::UserTemplate {
            template: Template::parse(&text("template")).unwrap_or_default(),
            given: given(),
        },
        "group-membership" => VirtualAttributeKind::GroupMembership {
            class: text("group-class"),
            member: text("member-attribute"),
            given: given(),
        },
        "dynamic-list" => VirtualAttributeKind::DynamicList {
            class: text("group-class"),
            url_attribute: text("url-attribute"),
            attributes: texts("list-attribute").iter().filter_map(|text| list_attribute(text)).collect(),
            given: given(),
        },
        _ => VirtualAttributeKind::IsMemberOf,
    };
    let attribute =
        if object.variant.property("attribute-type").is_some() { text("attribute-type") } else { String::new() };
    let ConfigError { line, column, .. } = places.at(object.offset, String::new());
    VirtualAttributeConfig { name: object.name.clone(), line, column, attribute, enabled: is("enabled"), kind }
}

/// Faults that no syntax shows, each with its place in the text.
pub(crate) fn faults(objects: &[Object]) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for object in objects.iter().filter(|object| object.class.name == CLASS) {
        object.judge(&JUDGED, &mut faults);
    }
    faults
}

const JUDGED: [(&str, Judge); 3] =
    [("filter", is_filter), ("template", is_template), ("list-attribute", is_list_attribute)];

/// `NAME`, or `SHOWN:LISTED`.
fn list_attribute(text: &str) -> Option<ListAttribute> {
    let (shown, listed) = text.split_once(':').unwrap_or((text, text));
    let name = |name: &str| {
        let parsed = crate::value::parse(Syntax::AttributeType, name);
        parsed.map(|name| name.to_string())
    };
    Some(ListAttribute { shown: name(shown)?, listed: name(listed)? })
}

fn is_list_attribute(text: &str) -> Result<(), String> {
    let message = || "it must be the name of an attribute type, or two with a colon between (SHOWN:LISTED)".to_owned();
    list_attribute(text).map(drop).ok_or_else(message)
}

fn is_template(text: &str) -> Result<(), String> {
    Template::parse(text).map(drop).map_err(|fault| format!("it {fault}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Config;

    #[test]
    fn tables_are_read_with_their_place() {
        let text = "[virtual-attribute.a]\ntype = \"user-defined\"\nattribute-type = \"mail\"\nvalue = [\"x\", \
                    \"y\"]\nscope = \"single-level\"\nconflict-behavior = \"merge-real-and-virtual\"\n";
        let config = Config::parse(text, Path::new("pando.toml")).unwrap();
        let only = &config.virtual_attributes[0];
        assert_eq!((only.attribute.as_str(), only.line, only.enabled), ("mail", 1, true));
        let VirtualAttributeKind::UserDefined { values, given } = &only.kind else { panic!("another kind") };
        assert_eq!(values, &["x", "y"]);
        assert_eq!(given.scope, Scope::SingleLevel);
        assert_eq!(given.conflict, ConflictBehavior::MergeRealAndVirtual);
        assert_eq!((given.filter.as_str(), given.base_dns.len()), ("(objectClass=*)", 0));
    }

    #[test]
    fn templates_are_read_or_refused_with_their_place() {
        let table = |template: &str| {
            format!(
                "[virtual-attribute.a]\ntype = \"user-template\"\nattribute-type = \"mail\"\ntemplate = '{template}'\n"
            )
        };
        let config = Config::parse(&table("{uid}@x"), Path::new("pando.toml")).unwrap();
        let VirtualAttributeKind::UserTemplate { template, .. } = &config.virtual_attributes[0].kind else {
            panic!("another kind")
        };
        assert_eq!(template.parts().len(), 2);
        let errors = Config::parse(&table("{uid"), Path::new("pando.toml")).unwrap_err().to_string();
        assert!(errors.contains("4:12") && errors.contains("without its '}'"), "{errors}");
    }

    #[test]
    fn lists_are_read_or_refused_with_their_place() {
        let table = |names: &str| {
            format!("[virtual-attribute.a]\ntype = \"dynamic-list\"\nlist-attribute = [\"mail\", \"{names}\"]\n")
        };
        let config = Config::parse(&table("description:cn"), Path::new("pando.toml")).unwrap();
        let VirtualAttributeKind::DynamicList { class, url_attribute, attributes, given } =
            &config.virtual_attributes[0].kind
        else {
            panic!("another kind")
        };
        assert_eq!((class.as_str(), url_attribute.as_str()), ("groupOfURLs", "memberURL"));
        assert_eq!((attributes[0].listed.as_str(), attributes[1].shown.as_str()), ("mail", "description"));
        assert_eq!(given.conflict, ConflictBehavior::MergeRealAndVirtual);
        let errors = Config::parse(&table("a:b:c"), Path::new("pando.toml")).unwrap_err().to_string();
        assert!(errors.contains("3:27") && errors.contains("SHOWN:LISTED"), "{errors}");
    }

    #[test]
    fn a_bad_filter_is_refused_with_its_place() {
        let text = "[virtual-attribute.a]\ntype = \"user-defined\"\nattribute-type = \"mail\"\nvalue = \"x\"\nfilter \
                    = \"cn\"\n";
        let errors = Config::parse(text, Path::new("pando.toml")).unwrap_err().to_string();
        assert!(errors.contains("5:10") && errors.contains("must be a filter"), "{errors}");
    }
}
