//! `[virtual-attribute.NAME]`: attributes that the server computes and that may be switched off, or on (OpenDJ:
//! virtual-attribute).

use ldap::Scope;

use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;

const fn live(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::VirtualAttributes)
}

/// What all attributes have that are given to entries by a table.
macro_rules! given_properties {
    (conflict $conflict:literal; $($own:expr),* $(,)?) => {
        &[
            live(
                "enabled",
                "VirtualAttributeConfig.enabled",
                Syntax::Boolean,
                "Whether entries get the values.",
            )
            .default(&["true"]),
            $($own,)*
            live(
                "base-dn",
                "VirtualAttributeConfig.kind",
                Syntax::Dn,
                "Only entries at and below these DNs.",
            )
            .absent("Entries everywhere.")
            .multi(),
            live("scope", "VirtualAttributeConfig.kind",
                Syntax::Choice(&Scope::WORDS),
                "Which entries below base-dn.",
            )
            .default(&["whole-subtree"]),
            live(
                "group-dn",
                "VirtualAttributeConfig.kind",
                Syntax::Dn,
                "Only members of one of these groups.",
            )
            .absent("Entries in any group or none.")
            .multi(),
            live(
                "filter",
                "VirtualAttributeConfig.kind",
                Syntax::Text,
                "Only entries that match this filter with what they have stored.",
            )
            .default(&["(objectClass=*)"]),
            live("conflict-behavior", "VirtualAttributeConfig.kind",
                Syntax::Choice(&["real-overrides-virtual", "virtual-overrides-real", "merge-real-and-virtual"]),
                "What an entry shows that has stored values of the attribute: these, those of the table, or both.",
            )
            .default(&[$conflict]),
        ]
    };
    ($($own:expr),* $(,)?) => {
        given_properties![
            conflict "real-overrides-virtual";
            live("attribute-type", "VirtualAttributeConfig.attribute", Syntax::AttributeType, "The attribute."),
            $($own,)*
        ]
    };
}

pub(super) static VIRTUAL_ATTRIBUTE: Class = Class {
    name: "virtual-attribute",
    named_by: Some("the virtual attribute's name"),
    variants: &[
        Variant {
            type_name: "is-member-of",
            help: "The groups of an entry. Both names are computed unless a table says otherwise.",
            properties: &[
                property(
                    "enabled",
                    "VirtualAttributeConfig.enabled",
                    Syntax::Boolean,
                    "Whether entries have the attribute.",
                )
                .default(&["true"]),
                property(
                    "attribute-type",
                    "VirtualAttributeConfig.attribute",
                    Syntax::Choice(&["isMemberOf", "memberOf"]),
                    "The name: OpenDJ's, or OpenLDAP's and Microsoft's.",
                ),
            ],
        },
        Variant {
            type_name: "member",
            help: "The members of dynamic and virtual static groups. Whether a user is a member, virtual static \
                   groups always answer, dynamic groups only with such a table.",
            properties: &[
                property("enabled", "VirtualAttributeConfig.enabled", Syntax::Boolean, "Whether the table counts.")
                    .default(&["true"]),
                property(
                    "attribute-type",
                    "VirtualAttributeConfig.attribute",
                    Syntax::Choice(&["member", "uniqueMember"]),
                    "The attribute by whose name members are asked for.",
                ),
                property(
                    "allow-retrieving-membership",
                    "VirtualAttributeConfig.kind",
                    Syntax::Boolean,
                    "Whether searches that name the attribute get all members. Each is looked up, so it takes time; \
                     the lookthrough limit holds.",
                )
                .default(&["false"]),
            ],
        },
        Variant {
            type_name: "user-defined",
            help: "The same values for every entry in scope.",
            properties: given_properties![
                live("value", "VirtualAttributeConfig.kind", Syntax::Text, "The values.").multi()
            ],
        },
        Variant {
            type_name: "user-template",
            help: "Values that are made of other attributes of the same entry, one for each combination of their \
                   values.",
            properties: given_properties![live(
                "template",
                "VirtualAttributeConfig.kind",
                Syntax::Text,
                "Text with names of attributes in braces, such as \"{uid}@{domain|example.com}\": what follows | \
                 stands for an attribute that the entry lacks; without it there is no value. \\{ is the character \
                 itself.",
            )],
        },
        Variant {
            type_name: "dynamic-list",
            help: "Entries of a class show attributes of the entries that their LDAP URLs find (OpenLDAP: \
                   dynlist-attrset).",
            properties: given_properties![
                conflict "merge-real-and-virtual";
                live(
                    "group-class",
                    "VirtualAttributeConfig.kind",
                    Syntax::ObjectClass,
                    "The object class of the entries.",
                )
                .default(&["groupOfURLs"]),
                live(
                    "url-attribute",
                    "VirtualAttributeConfig.kind",
                    Syntax::AttributeType,
                    "Their attribute with the URLs, such as \
                     \"ldap:///ou=People,dc=example,dc=com?mail?sub?(l=Grove)\".",
                )
                .default(&["memberURL"]),
                live(
                    "list-attribute",
                    "VirtualAttributeConfig.kind",
                    Syntax::Text,
                    "The attributes that are shown, also by URLs that list no attributes; or SHOWN:LISTED for values \
                     under another name. LISTED is entryDN for the names of the entries.",
                )
                .absent("Those that the URLs list.")
                .multi(),
            ],
        },
        Variant {
            type_name: "group-membership",
            help: "Entries show the names of the groups of a class that list them (OpenLDAP: memberof-memberof-ad), \
                   beside memberOf.",
            properties: given_properties![
                live(
                    "group-class",
                    "VirtualAttributeConfig.kind",
                    Syntax::ObjectClass,
                    "The object class of the groups (memberof-group-oc).",
                )
                .default(&["groupOfNames"]),
                live(
                    "member-attribute",
                    "VirtualAttributeConfig.kind",
                    Syntax::AttributeType,
                    "Their attribute with the names of members (memberof-member-ad); it needs an equality index in \
                     every backend.",
                )
                .default(&["member"]),
            ],
        },
    ],
    children: &[],
    help: "Attributes whose values the server computes.",
};
