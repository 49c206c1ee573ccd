//! `[identity-mapper.NAME]`: how the entry of a user is found by what the user is called.

use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;

const fn live(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::IdentityMappers)
}

/// What all mappers share.
macro_rules! mapper_properties {
    ($($more:expr),* $(,)?) => {
        &[
            live(
                "enabled",
                "IdentityMapper.enabled",
                Syntax::Boolean,
                "Whether the mapper finds anybody. What uses a mapper that is not enabled does not work.",
            )
            .default(&["true"]),
            $($more,)*
            live(
                "match-attribute",
                "IdentityMapper.attributes",
                Syntax::AttributeType,
                "The user is the entry that has the name in one of these attributes. Each needs an equality index in \
                 every backend, and its values should be unique (plugin unique-attribute): a name that several entries \
                 have is nobody's.",
            )
            .default(&["uid"])
            .multi(),
            live(
                "match-base-dn",
                "IdentityMapper.base_dns",
                Syntax::Dn,
                "Users are entries at and below these DNs.",
            )
            .absent("Users are entries of all backends.")
            .multi(),
        ]
    };
}

pub(super) static IDENTITY_MAPPER: Class = Class {
    name: "identity-mapper",
    named_by: Some("the mapper's name"),
    variants: &[
        Variant {
            type_name: "exact-match",
            help: "The attributes have the name as the user gives it.",
            properties: mapper_properties![],
        },
        Variant {
            type_name: "regular-expression",
            help: "The attributes have what a regular expression makes of the name.",
            properties: mapper_properties![
                live(
                    "match-pattern",
                    "Rewriting.pattern",
                    Syntax::Pattern,
                    "Regular expression that the name has to match, such as \"^([^@]+)@example\\\\.com$\". A name that \
                     it does not match is nobody's.",
                ),
                live(
                    "replace-pattern",
                    "Rewriting.replacement",
                    Syntax::Text,
                    "What takes the place of the matched text; $1 is the text of the first group.",
                )
                .absent("The matched text is removed."),
            ],
        },
    ],
    children: &[],
    help: "How the entry of a user is found by what the user is called: of \"u:NAME\" in authorization identities, and \
           of the names that SASL mechanisms send.",
};
