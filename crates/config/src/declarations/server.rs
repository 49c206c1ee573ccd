//! What holds for the server as a whole: `[global]`, the limits, the root users, the changelog, the schema.

use super::shared::{COUNT, MILLISECONDS, POSITIVE, SECONDS, STRENGTH, WRITABILITY, single};
use crate::declare::{Applier, Class, Property, Variant, property};
use crate::privileges::PRIVILEGES;
use crate::syntax::Syntax;
use crate::units::Unit;

/// What the decoder of filters takes is the most.
const FILTER_PARTS: Syntax = Syntax::Integer { min: 1, max: ldap::filter::FILTER_NODES_MAX as i64 };
const ACCEPT_REJECT_WARN: Syntax = Syntax::Choice(&["accept", "reject", "warn"]);

pub(super) static GLOBAL: Class = Class {
    name: "global",
    named_by: None,
    variants: &[single("", GLOBAL_PROPERTIES)],
    children: &[],
    help: "What holds for the whole server.",
};

const GLOBAL_PROPERTIES: &[Property] = &[
    property(
        "size-limit",
        "GlobalConfig.size_limit",
        COUNT,
        "Most entries that one search returns; 0 is no limit. The client's own limit applies too. Here and below: \
         entries (ds-rlim-*) and rules (limits) may say otherwise, and root users have no limit.",
    )
    .default(&["1000"])
    .live(Applier::Limits),
    property("time-limit", "GlobalConfig.time_limit", SECONDS, "Longest time that one search takes; 0 is no limit.")
        .default(&["60 seconds"])
        .live(Applier::Limits),
    property(
        "lookthrough-limit",
        "GlobalConfig.lookthrough_limit",
        COUNT,
        "Most candidate entries that one search looks at; 0 is no limit.",
    )
    .default(&["5000"])
    .live(Applier::Limits),
    property(
        "filter-part-limit",
        "GlobalConfig.filter_part_limit",
        FILTER_PARTS,
        "Most parts (assertions, ANDs, ORs, NOTs) that a filter may have; a larger one is refused with \
         adminLimitExceeded. Root users may send 20000.",
    )
    .default(&["4096"])
    .live(Applier::Limits),
    property(
        "idle-time-limit",
        "GlobalConfig.idle_time_limit",
        MILLISECONDS,
        "Connections that have sent no request for this long are closed; 0 is never.",
    )
    .default(&["0 seconds"])
    .live(Applier::Limits),
    property(
        "allowed-client",
        "GlobalConfig.allowed_clients",
        Syntax::AddressMask,
        "Only these addresses may connect, whatever a connection handler allows. With the PROXY protocol the client's \
         address counts, not the proxy's.",
    )
    .absent("Connection handlers alone decide.")
    .multi()
    .live(Applier::Connections),
    property(
        "denied-client",
        "GlobalConfig.denied_clients",
        Syntax::AddressMask,
        "These addresses may not connect, whatever a connection handler allows.",
    )
    .absent("No address is denied.")
    .multi()
    .live(Applier::Connections),
    property(
        "minimum-security-strength-factor",
        "GlobalConfig.minimum_strength_bits",
        STRENGTH,
        "Least strength of encryption, in bits, for requests over TCP. On a weaker connection everything but StartTLS \
         is refused with confidentialityRequired. A connection without TLS has 0 bits.",
    )
    .default(&["0"])
    .live(Applier::Connections),
    property(
        "max-allowed-client-connections",
        "GlobalConfig.connections_max",
        COUNT,
        "Most client connections at once; 0 is no limit.",
    )
    .default(&["0"]),
    property(
        "max-outstanding-operations",
        "GlobalConfig.outstanding_operations_max",
        POSITIVE,
        "Most requests of one connection that wait for their answer at once; the next ones are read when there is \
         room.",
    )
    .default(&["256"]),
    property(
        "max-psearches",
        "GlobalConfig.persistent_searches_max",
        Syntax::Integer { min: -1, max: i32::MAX as i64 },
        "Most persistent searches at once, of all connections; -1 is no limit, 0 is none. More are refused with \
         adminLimitExceeded.",
    )
    .default(&["5000"]),
    property(
        "writability-mode",
        "GlobalConfig.writability",
        WRITABILITY,
        "Whether clients may change entries; internal-only refuses them as disabled does.",
    )
    .default(&["enabled"]),
    property(
        "bind-with-dn-requires-password",
        "GlobalConfig.bind_with_dn_requires_password",
        Syntax::Boolean,
        "A simple bind with a DN and an empty password is refused, not taken for anonymous.",
    )
    .default(&["true"])
    .live(Applier::Binds),
    property(
        "return-bind-error-messages",
        "GlobalConfig.return_bind_error_messages",
        Syntax::Boolean,
        "A failed bind tells the client why; the access log has the reason in any case.",
    )
    .default(&["false"])
    .live(Applier::Binds),
    property(
        "wrong-passwords-per-address",
        "GlobalConfig.wrong_passwords_per_address",
        Syntax::Integer { min: 0, max: 1_000_000 },
        "Wrong passwords within a minute that may come from one client address (of IPv6: one network of 64 bits). More \
         are an attack: it is one line of the error log when it begins and one when it has ended, and is counted in \
         the monitor. 0 is any number.",
    )
    .default(&["300"])
    .live(Applier::Binds),
    property(
        "wrong-passwords-per-name",
        "GlobalConfig.wrong_passwords_per_name",
        Syntax::Integer { min: 0, max: 1_000_000 },
        "The same for one name, whether there is such an entry or not, from all addresses together.",
    )
    .default(&["60"])
    .live(Applier::Binds),
    property(
        "refuse-password-attacks",
        "GlobalConfig.refuse_password_attacks",
        Syntax::Boolean,
        "Guesses beyond these limits are refused with busy, right or wrong, before any password is compared, until \
         there are fewer. So whoever attacks an account can keep its user out, and others behind the same address: \
         raise the limit of addresses where many users share one. Local sockets are never refused.",
    )
    .default(&["false"])
    .live(Applier::Binds),
    property(
        "proxied-authorization-identity-mapper",
        "GlobalConfig.identity_mapper",
        Syntax::Reference("identity-mapper"),
        "Finds the entry of the user whom \"u:NAME\" in a request names: in the control proxied authorization.",
    )
    .absent("Users are found by uid in all backends.")
    .live(Applier::IdentityMappers),
    property(
        "default-password-policy",
        "Config.default_policy",
        Syntax::Reference("password-policy"),
        "The policy of users for whom nothing says another: neither their entry (ds-pwp-password-policy-dn) nor a \
         subentry of the class pwdPolicy.",
    )
    .absent("The policy \"Default Password Policy\".")
    .live(Applier::PasswordPolicies),
    property(
        "saslauthd-socket",
        "SaslauthdConfig.socket",
        Syntax::Path,
        "The socket of saslauthd, which checks the passwords of values of userPassword that are {SASL}USER@REALM; \
         mostly /run/saslauthd/mux.",
    )
    .absent("No password matches such a value.")
    .live(Applier::PasswordServers),
    property(
        "saslauthd-timeout",
        "SaslauthdConfig.timeout",
        Syntax::Duration { unit: Unit::Milliseconds, min_ms: 1, max_ms: 3_600_000 },
        "How long a bind waits for saslauthd.",
    )
    .default(&["10 s"])
    .live(Applier::PasswordServers),
    property(
        "disabled-privilege",
        "GlobalConfig.disabled_privileges",
        Syntax::Choice(&PRIVILEGES),
        "Privileges that nobody is asked for: everybody, bound or not, has them.",
    )
    .absent("Every privilege is asked for.")
    .multi()
    .live(Applier::AccessControl),
    property("check-schema", "GlobalConfig.check_schema", Syntax::Boolean, "Entries are checked against the schema.")
        .default(&["true"]),
    property(
        "invalid-attribute-syntax-behavior",
        "GlobalConfig.invalid_attribute_syntax_behavior",
        ACCEPT_REJECT_WARN,
        "What happens to values that break the syntax of their attribute.",
    )
    .default(&["reject"]),
    property(
        "single-structural-objectclass-behavior",
        "GlobalConfig.single_structural_objectclass_behavior",
        ACCEPT_REJECT_WARN,
        "What happens to entries without exactly one structural object class.",
    )
    .default(&["reject"]),
    property(
        "allow-attribute-name-exceptions",
        "GlobalConfig.allow_attribute_name_exceptions",
        Syntax::Boolean,
        "Names of attribute types may contain underscores and begin with a digit.",
    )
    .default(&["false"]),
    property(
        "notify-abandoned-operations",
        "GlobalConfig.notify_abandoned_operations",
        Syntax::Boolean,
        "An abandoned operation is answered with result 118 (cancelled) instead of not at all.",
    )
    .default(&["false"]),
    property(
        "default-referral",
        "GlobalConfig.default_referrals",
        Syntax::ServerUrl,
        "Servers to ask for names that no suffix of this one holds. Such a search, compare or update is answered with \
         a referral (10) to the same name there.",
    )
    .absent("Names that no suffix holds do not exist (32).")
    .multi()
    .live(Applier::Referrals),
    property(
        "password-expiration-warning-time",
        "GlobalConfig.expiry_warning_time",
        Syntax::TimeOfDay,
        "Time of day (local time) from which users are looked for whose password will expire soon and who do not log \
         in; they are told as after a login, once. The walk over all entries takes a tenth of a processor at most.",
    )
    .absent("Users are told of it when they log in, and never otherwise.")
    .live(Applier::Notifications),
    property(
        "stall-threshold",
        "GlobalConfig.stall_threshold",
        MILLISECONDS,
        "Operations that wait inside the server for this long, or make others wait, are reported in the error log \
         with what they waited for; 0 is never.",
    )
    .default(&["100 ms"])
    .live(Applier::StallReports),
    property(
        "etime-resolution",
        "GlobalConfig.etime_resolution",
        Syntax::Choice(&["milliseconds", "microseconds", "nanoseconds"]),
        "Unit of etime in the access log.",
    )
    .default(&["milliseconds"]),
];

/// What all rules may set. The lines that all have in common say what a lone value means.
macro_rules! limits_properties {
    ($($more:expr),* $(,)?) => {
        &[
            $($more,)*
            property(
                "size-limit",
                "LimitsRule.size_limit",
                COUNT,
                "Entries that one search returns when the client sets no limit; 0 is no limit.",
            )
            .absent("What [global] says, or size-limit-hard where that is less.")
            .live(Applier::Limits),
            property(
                "size-limit-hard",
                "LimitsRule.size_limit_hard",
                COUNT,
                "Largest size limit that a client may set; 0 is no limit. A larger one is reduced to it.",
            )
            .absent("The same as size-limit.")
            .live(Applier::Limits),
            property(
                "time-limit",
                "LimitsRule.time_limit",
                SECONDS,
                "Time that one search takes when the client sets no limit; 0 is no limit.",
            )
            .absent("What [global] says, or time-limit-hard where that is less.")
            .live(Applier::Limits),
            property(
                "time-limit-hard",
                "LimitsRule.time_limit_hard",
                SECONDS,
                "Longest time limit that a client may set; 0 is no limit. A longer one is reduced to it.",
            )
            .absent("The same as time-limit.")
            .live(Applier::Limits),
            property(
                "lookthrough-limit",
                "LimitsRule.lookthrough_limit",
                COUNT,
                "Most candidate entries that one search looks at; 0 is no limit.",
            )
            .absent("What [global] says.")
            .live(Applier::Limits),
            property(
                "filter-part-limit",
                "LimitsRule.filter_part_limit",
                FILTER_PARTS,
                "Most parts (assertions, ANDs, ORs, NOTs) that a filter may have.",
            )
            .absent("What [global] says.")
            .live(Applier::Limits),
            property(
                "idle-time-limit",
                "LimitsRule.idle_time_limit",
                MILLISECONDS,
                "Connections that have sent no request for this long are closed; 0 is never.",
            )
            .absent("What [global] says.")
            .live(Applier::Limits),
            property(
                "page-size-limit",
                "LimitsRule.page_size_limit",
                COUNT,
                "Most entries in one page of a paged search; 0 is no limit. A larger page is reduced to it.",
            )
            .absent("No limit.")
            .live(Applier::Limits),
            property(
                "paged-total-limit",
                "LimitsRule.paged_total_limit",
                COUNT,
                "Most entries in all pages of one paged search together; 0 is no limit.",
            )
            .absent("The hard size limit: paging does not get around it.")
            .live(Applier::Limits),
            property(
                "allow-paged-results",
                "LimitsRule.allow_paged_results",
                Syntax::Boolean,
                "Whether searches may be paged.",
            )
            .default(&["true"])
            .live(Applier::Limits),
            property(
                "unindexed-search",
                "LimitsRule.unindexed_search",
                Syntax::Boolean,
                "Whether searches may go without an index, as those of root users may.",
            )
            .default(&["false"])
            .live(Applier::Limits),
        ]
    };
}

pub(super) static LIMITS: Class = Class {
    name: "limits",
    named_by: Some("the rule's name"),
    variants: &[
        Variant {
            type_name: "anonymous",
            help: "For connections that are not bound.",
            properties: limits_properties![],
        },
        Variant {
            type_name: "authenticated",
            help: "For all bound users except root users.",
            properties: limits_properties![],
        },
        Variant {
            type_name: "everyone",
            help: "For all users except root users, bound or not.",
            properties: limits_properties![],
        },
        Variant {
            type_name: "dn",
            help: "For users by their DN, or by where their entry is. With scope base also for root users.",
            properties: limits_properties![
                property(
                    "user-dn",
                    "LimitsRule.subject",
                    Syntax::Dn,
                    "The users' DNs, or with another scope than base an entry above them.",
                )
                .multi()
                .live(Applier::Limits),
                property(
                    "scope",
                    "LimitsRule.subject",
                    Syntax::Choice(&["base", "one", "children", "subtree"]),
                    "base: these users; one: those right below; children: all below; subtree: these and all below."
                )
                .default(&["base"])
                .live(Applier::Limits),
            ],
        },
        Variant {
            type_name: "dn-pattern",
            help: "For users whose DN matches a regular expression (OpenLDAP: dn.regex).",
            properties: limits_properties![
                property(
                    "pattern",
                    "LimitsRule.subject",
                    Syntax::Pattern,
                    "The expression, matched anywhere in the DN as the server shows it, in any case; ^ and $ stand \
                     for its ends."
                )
                .live(Applier::Limits),
            ],
        },
        Variant {
            type_name: "group",
            help: "For the members (member, uniqueMember) of static groups.",
            properties: limits_properties![
                property(
                    "group-dn",
                    "LimitsRule.subject",
                    Syntax::Dn,
                    "DNs of the groups; groups within them do not count.",
                )
                .multi()
                .live(Applier::Limits),
            ],
        },
    ],
    children: &[],
    help: "Limits of some clients: the first rule in the file that applies to a client holds; attributes of its own \
           entry override the rule.",
};

pub(super) static ROOT_DN_USER: Class = Class {
    name: "root-dn-user",
    named_by: Some("the user's common name"),
    variants: &[single(
        "",
        &[
            property("alternate-bind-dn", "RootDn.bind_dns", Syntax::Dn, "The DN with which this user binds.")
                .multi()
                .live(Applier::Binds),
            property(
                "privilege-name",
                "RootDn.privileges",
                Syntax::PrivilegeChange,
                "Privileges that this user has beside those of [root-dn]; one with \"-\" before it is taken away.",
            )
            .absent("The user has the privileges of [root-dn].")
            .multi()
            .live(Applier::AccessControl),
            property(
                "password",
                "RootDn.password",
                Syntax::Password,
                "The user's password, as `pando encode-password` prints it. One in the clear is hashed at a start and \
                 a reload.",
            )
            .live(Applier::Binds),
            property(
                "password-policy",
                "RootDn.policy",
                Syntax::Reference("password-policy"),
                "The password policy of this user. It cannot be one of type ldap-pass-through.",
            )
            .absent("The policy \"Root Password Policy\".")
            .live(Applier::Binds),
        ],
    )],
    children: &[],
    help: "A user who has no entry in a backend, and the privileges of [root-dn]: one who may do everything.",
};

pub(super) static CHANGELOG: Class = Class {
    name: "changelog",
    named_by: None,
    variants: &[single("", &[
        property(
            "enabled",
            "ChangelogConfig.enabled",
            Syntax::Boolean,
            "What changes is kept, before and after, to be read as cn=changelog, by persistent searches and by pando \
             undo. Without it none of these has anything to tell.",
        )
        .default(&["true"])
        .live(Applier::Changelog),
        property(
            "max-age",
            "ChangelogConfig.max_age",
            Syntax::Duration { unit: Unit::Seconds, min_ms: 1000, max_ms: u64::MAX },
            "Changes older than this are let go, a log segment at a time.",
        )
        .default(&["3 days"])
        .live(Applier::Changelog),
        property(
            "max-size",
            "ChangelogConfig.max_bytes",
            Syntax::Size { min: 1 << 20, max: u64::MAX },
            "Most room that the logs of all backends take together; beyond, the oldest changes are let go, a segment \
             of 16 MiB at a time. What recovery needs stays in any case.",
        )
        .default(&["1 gib"])
        .live(Applier::Changelog),
        property(
            "account-state",
            "ChangelogConfig.account_state",
            Syntax::Boolean,
            "cn=changelog and persistent searches also show what binds change in accounts: failed logins, locks, grace \
             logins, last logins. The audit log has them in any case.",
        )
        .default(&["false"])
        .live(Applier::Changelog),
    ])],
    children: &[],
    help: "How long changes are remembered. They are kept in the logs of the backends, so that remembering them takes \
           room and little else.",
};

pub(super) static SCHEMA_PROVIDER: Class = Class {
    name: "schema-provider",
    named_by: Some("the provider's name"),
    variants: &[Variant {
        type_name: "core-schema",
        help: "How strictly the standard syntaxes are checked.",
        properties: &[
            property(
                "strict-format-country-string",
                "SchemaConfig.strict_country_string",
                Syntax::Boolean,
                "Country strings are two letters of ISO 3166, not any two characters.",
            )
            .default(&["true"]),
            property(
                "strict-format-certificates",
                "SchemaConfig.strict_certificates",
                Syntax::Boolean,
                "Certificates are well-formed X.509, not any bytes.",
            )
            .default(&["true"]),
            property(
                "strict-format-jpeg-photos",
                "SchemaConfig.strict_jpeg_photos",
                Syntax::Boolean,
                "Photos begin as JPEG files do.",
            )
            .default(&["false"]),
            property(
                "strict-format-booleans",
                "SchemaConfig.strict_booleans",
                Syntax::Boolean,
                "Booleans are TRUE or FALSE as RFC 4517 says. Otherwise yes, on and 1, no, off and 0 are taken too, \
                 in any case.",
            )
            .default(&["false"]),
            property(
                "strict-format-telephone-numbers",
                "SchemaConfig.strict_telephone_numbers",
                Syntax::Boolean,
                "Telephone numbers are written as E.123 says, not anyhow.",
            )
            .default(&["false"]),
            property(
                "allow-zero-length-values-directory-string",
                "SchemaConfig.allow_zero_length_directory_strings",
                Syntax::Boolean,
                "Directory strings may be empty.",
            )
            .default(&["false"]),
            property(
                "allow-attribute-types-with-no-sup-or-syntax",
                "SchemaConfig.allow_types_without_syntax",
                Syntax::Boolean,
                "An attribute type with neither superior nor syntax gets the octet string syntax; otherwise it is \
                 refused.",
            )
            .default(&["true"]),
            property(
                "strip-syntax-min-upper-bound-attribute-type-description",
                "SchemaConfig.strip_syntax_length",
                Syntax::Boolean,
                "Attribute types in cn=schema are shown without the length behind the syntax.",
            )
            .default(&["false"]),
        ],
    }],
    children: &[],
    help: "Where the schema comes from and how strict it is.",
};
