//! `[plugin.NAME]`: rules that every update is judged by, and what they do on their own (OpenDJ: plugins; OpenLDAP:
//! overlays).

use super::shared::{COUNT, PASSWORD_SCHEMES};
use crate::declare::{Applier, Class, Property, Variant, property};
use crate::dynamic_entries::{self, CHECK_INTERVAL, LIFETIME, MAX_LIFETIME, TOLERANCE};
use crate::storage_scheme::IMPORT_TYPE;
use crate::syntax::Syntax;
use crate::units::Unit;

/// Longest `update-interval`: a week.
const INTERVAL_MS_MAX: u64 = 7 * 86_400_000;

const fn live(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::Plugins)
}

/// What most plugins share.
macro_rules! plugin_properties {
    ($($more:expr),* $(,)?) => {
        &[
            live("enabled", "Config.plugins", Syntax::Boolean, "Whether the rule is in force.").default(&["true"]),
            $($more,)*
            live(
                "base-dn",
                "PluginConfig.base_dns",
                Syntax::Dn,
                "Only entries at and below these DNs.",
            )
            .absent("Entries everywhere.")
            .multi(),
        ]
    };
}

const ENTRY_FILTER: Property =
    live("filter", "PluginConfig.kind", Syntax::Text, "Only entries that match this filter once they are changed.")
        .absent("All entries.");

pub(super) static PLUGIN: Class = Class {
    name: "plugin",
    named_by: Some("the plugin's name"),
    variants: &[
        Variant {
            type_name: "referential-integrity",
            help: "Keeps references to entries valid: those to a deleted entry are removed, those to a renamed or \
                   moved entry are rewritten. One such plugin at most.",
            properties: plugin_properties![
                live(
                    "attribute-type",
                    "PluginConfig.kind",
                    Syntax::AttributeType,
                    "Attributes whose values are references; each needs an equality index that is not confidential in \
                     every backend.",
                )
                .default(&["member", "uniqueMember"])
                .multi(),
                live(
                    "update-interval",
                    "PluginConfig.kind",
                    Syntax::Duration { unit: Unit::Seconds, min_ms: 0, max_ms: INTERVAL_MS_MAX },
                    "References are cleaned this long after the change that broke them, all that wait together; 0 is \
                     at once.",
                )
                .default(&["0 seconds"]),
                live(
                    "check-references",
                    "PluginConfig.kind",
                    Syntax::Boolean,
                    "References to entries that do not exist are refused.",
                )
                .default(&["false"]),
                live(
                    "check-references-filter-criteria",
                    "PluginConfig.kind",
                    Syntax::Text,
                    "attribute:filter pairs such as \"member:(objectClass=person)\": the entry that the attribute \
                     refers to must match.",
                )
                .absent("Any entry may be referred to.")
                .multi(),
                live(
                    "check-references-scope-criteria",
                    "PluginConfig.kind",
                    Syntax::Choice(&["global", "naming-context"]),
                    "Whether references may lead out of the entry's own naming context.",
                )
                .default(&["global"]),
            ],
        },
        Variant {
            type_name: "unique-attribute",
            help: "No two entries of a backend have the same value in these attributes.",
            properties: plugin_properties![
                live(
                    "attribute-type",
                    "PluginConfig.kind",
                    Syntax::AttributeType,
                    "Attributes (OpenDJ: type); a value of one must not be a value of another either. Each needs an \
                     equality index.",
                )
                .multi(),
                ENTRY_FILTER,
            ],
        },
        Variant {
            type_name: "constraint",
            help: "Restricts the values of an attribute, and their number. New values are checked; a root user may \
                   lift the restriction with the relax control.",
            properties: plugin_properties![
                live("attribute-type", "PluginConfig.kind", Syntax::AttributeType, "Attributes that are judged.",)
                    .multi(),
                live("count", "PluginConfig.kind", COUNT, "Most values of each of the attributes.",)
                    .absent("Any number."),
                live("size", "PluginConfig.kind", Syntax::Size { min: 0, max: u64::MAX }, "Most bytes of one value.",)
                    .absent("Any size."),
                live(
                    "pattern",
                    "PluginConfig.kind",
                    Syntax::Pattern,
                    "Regular expression that every value matches, anywhere in it and with regard to case.",
                )
                .absent("Any value."),
                live(
                    "forbidden-pattern",
                    "PluginConfig.kind",
                    Syntax::Pattern,
                    "Regular expression that no value matches.",
                )
                .absent("Nothing is forbidden."),
                live("value", "PluginConfig.kind", Syntax::Text, "The values that are allowed.",)
                    .absent("Any value.")
                    .multi(),
                live(
                    "set",
                    "PluginConfig.kind",
                    Syntax::Text,
                    "Set expression, such as \"(this/givenName + [ ] + this/sn) & this/cn\": it gives something for \
                     the entry once it is changed.",
                )
                .absent("Nothing is asked."),
                live(
                    "forbidden-set",
                    "PluginConfig.kind",
                    Syntax::Text,
                    "Set expression that gives nothing for the entry once it is changed.",
                )
                .absent("Nothing is asked."),
                live(
                    "value-uri",
                    "PluginConfig.kind",
                    Syntax::Text,
                    "LDAP URL such as \"ldap:///ou=Words,dc=example,dc=com?cn?one\": a value must be one of these \
                     attributes' values in an entry that it finds.",
                )
                .absent("Any value.")
                .multi(),
                ENTRY_FILTER,
            ],
        },
        Variant {
            type_name: dynamic_entries::TYPE_NAME,
            help: "Entries of the class dynamicObject live for a time that clients extend, and are removed when it is \
                   over (RFC 2589). One such plugin at most; it needs an equality index of entryExpireTimestamp in \
                   every backend.",
            properties: plugin_properties![
                live(
                    "max-ttl",
                    "PluginConfig.kind",
                    MAX_LIFETIME,
                    "Longest time to live; a refresh that asks for more is refused.",
                )
                .default(&["1 days"]),
                live(
                    "min-ttl",
                    "PluginConfig.kind",
                    LIFETIME,
                    "Shortest time to live that a refresh gives, to clients that ask for less too; 0 is no such limit.",
                )
                .default(&["0 seconds"]),
                live("default-ttl", "PluginConfig.kind", LIFETIME, "Time to live of a new entry; 0 is max-ttl.",)
                    .default(&["0 seconds"]),
                live(
                    "tolerance",
                    "PluginConfig.kind",
                    TOLERANCE,
                    "Entries stay for this long after their time to live is over.",
                )
                .default(&["0 seconds"]),
                live(
                    "check-interval",
                    "PluginConfig.kind",
                    CHECK_INTERVAL,
                    "Pause between two looks for entries whose time is over.",
                )
                .default(&["10 seconds"]),
                live(
                    "max-dynamic-objects",
                    "PluginConfig.kind",
                    COUNT,
                    "Most dynamic entries of one backend; needs an equality index of objectClass.",
                )
                .absent("Any number."),
            ],
        },
        Variant {
            type_name: "seven-bit-clean",
            help: "Values have ASCII characters only.",
            properties: plugin_properties![
                live("attribute-type", "PluginConfig.kind", Syntax::AttributeType, "Attributes that are judged.",)
                    .default(&["uid", "mail", "userPassword"])
                    .multi(),
            ],
        },
        Variant {
            type_name: "attribute-cleanup",
            help: "Drops or renames attributes of add and modify requests before anything else processes them.",
            properties: &[
                live("enabled", "Config.plugins", Syntax::Boolean, "Whether the rule is in force.").default(&["true"]),
                live(
                    "remove-inbound-attributes",
                    "PluginConfig.kind",
                    Syntax::AttributeType,
                    "Attributes that are dropped.",
                )
                .absent("None.")
                .multi(),
                live(
                    "rename-inbound-attributes",
                    "PluginConfig.kind",
                    Syntax::Text,
                    "FROM:TO pairs of attribute names.",
                )
                .absent("None.")
                .multi(),
            ],
        },
        Variant {
            type_name: IMPORT_TYPE,
            help: "How import-ldif stores clear passwords. It judges no update.",
            properties: &[
                property("enabled", "ImportedPasswords.enabled", Syntax::Boolean, "Whether imports go by it.")
                    .default(&["true"]),
                property(
                    "default-user-password-storage-scheme",
                    "ImportedPasswords.scheme",
                    Syntax::Choice(&PASSWORD_SCHEMES),
                    "Scheme of clear passwords that are imported. A slow one makes an import of a million take hours \
                     (docs/passwords.md).",
                )
                .absent("That of the default password policy."),
            ],
        },
    ],
    children: &[],
    help: "A rule that updates are judged by, or that follows them.",
};
