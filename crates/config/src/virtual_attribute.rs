//! `[virtual-attribute.NAME]`: attributes that the server computes and that may be switched off, or on (OpenDJ: virtual-attribute).
//!
//! Declarations and the struct that the server reads; does not know how anything is computed.

use crate::{
    declare::{Class, Syntax, Variant, property},
    load::Object,
    value::Value,
};

pub(crate) static VIRTUAL_ATTRIBUTE: Class = Class {
    name: "virtual-attribute",
    named_by: Some("the virtual attribute's name"),
    variants: &[
        Variant {
            type_name: "is-member-of",
            help: "The groups of an entry. Both names are computed unless a table says otherwise.",
            properties: &[
                property("enabled", Syntax::Boolean, "Whether entries have the attribute.").default(&["true"]),
                property(
                    "attribute-type",
                    Syntax::Choice(&["isMemberOf", "memberOf"]),
                    "The name: OpenDJ's, or OpenLDAP's and Microsoft's.",
                ),
            ],
        },
        Variant {
            type_name: "member",
            help: "The members of dynamic and virtual static groups. Virtual static groups always answer whether somebody is one, dynamic groups where there is such a table.",
            properties: &[
                property("enabled", Syntax::Boolean, "Whether the table counts.").default(&["true"]),
                property(
                    "attribute-type",
                    Syntax::Choice(&["member", "uniqueMember"]),
                    "The attribute by whose name members are asked for.",
                ),
                property(
                    "allow-retrieving-membership",
                    Syntax::Boolean,
                    "Whether searches that name the attribute get all members. Each is looked up, so it takes time; the lookthrough limit holds.",
                )
                .default(&["false"]),
            ],
        },
    ],
    children: &[],
    help: "Attributes of groups and their members that the server computes.",
};

/// `[virtual-attribute.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualAttributeConfig {
    /// The table's name.
    pub name: String,
    /// `attribute-type`
    pub attribute: String,
    /// `enabled`
    pub enabled: bool,
    /// `allow-retrieving-membership`; of `type = "member"` only.
    pub allow_retrieving_membership: bool,
}

pub(crate) fn read(object: &Object) -> VirtualAttributeConfig {
    let is = |name: &str| object.values(name).contains(&Value::Boolean(true));
    VirtualAttributeConfig {
        name: object.name.clone(),
        attribute: object.values("attribute-type").first().map(ToString::to_string).unwrap_or_default(),
        enabled: is("enabled"),
        allow_retrieving_membership: is("allow-retrieving-membership"),
    }
}
