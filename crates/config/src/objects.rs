//! The declarations: every class, every property, once.
//!
//! Names, defaults and ranges are OpenDJ's where OpenDJ has the property. A property is declared when something reads it,
//! never before.

use ldap::Scope;

use crate::{
    declare::{Action, Class, Property, Syntax, Unit, Variant, property},
    plugin::PLUGIN,
    value::SEVERITIES,
    virtual_attribute::VIRTUAL_ATTRIBUTE,
};

/// The classes at the top of the file, in the order in which they are documented and written.
pub static CLASSES: [&Class; 14] = [
    &GLOBAL,
    &LIMITS,
    &ROOT_DN_USER,
    &BACKEND,
    &CHANGELOG,
    &CONNECTION_HANDLER,
    &KEY_MANAGER_PROVIDER,
    &PASSWORD_POLICY,
    &PLUGIN,
    &SCHEMA_PROVIDER,
    &VIRTUAL_ATTRIBUTE,
    &LOG_PUBLISHER,
    &LOG_ROTATION_POLICY,
    &LOG_RETENTION_POLICY,
];

/// The class at the top of the file of that name.
#[must_use]
pub fn class(name: &str) -> Option<&'static Class> {
    CLASSES.iter().copied().find(|class| class.name == name)
}

const ACCEPT_REJECT_WARN: Syntax = Syntax::Choice(&["accept", "reject", "warn"]);
const WRITABILITY: Syntax = Syntax::Choice(&["enabled", "disabled", "internal-only"]);
/// The schemes that `directory` knows; a test of `pando` compares.
const PASSWORD_SCHEMES: [&str; 19] = [
    "Clear",
    "Base64",
    "MD5",
    "Salted MD5",
    "SHA-1",
    "Salted SHA-1",
    "SHA-256",
    "SHA-384",
    "SHA-512",
    "Salted SHA-256",
    "Salted SHA-384",
    "Salted SHA-512",
    "PBKDF2",
    "PBKDF2-HMAC-SHA256",
    "PBKDF2-HMAC-SHA512",
    "PKCS5S2",
    "Bcrypt",
    "CRYPT",
    "Argon2",
];
/// A count that may be 0.
const COUNT: Syntax = Syntax::Integer { min: 0, max: i32::MAX as i64 };
/// A count of at least 1.
const POSITIVE: Syntax = Syntax::Integer { min: 1, max: i32::MAX as i64 };
const PORT: Syntax = Syntax::Integer { min: 1, max: 65_535 };
const SECONDS: Syntax = Syntax::Duration { unit: Unit::Seconds, min_ms: 0, max_ms: u64::MAX };
const MILLISECONDS: Syntax = Syntax::Duration { unit: Unit::Milliseconds, min_ms: 0, max_ms: u64::MAX };
const AT_LEAST_A_SECOND: Syntax = Syntax::Duration { unit: Unit::Milliseconds, min_ms: 1000, max_ms: u64::MAX };
/// What the decoder of filters takes is the most.
const FILTER_PARTS: Syntax = Syntax::Integer { min: 1, max: ldap::filter::FILTER_NODES_MAX as i64 };
const BYTES: Syntax = Syntax::Size { min: 1, max: u64::MAX };

const fn single(help: &'static str, properties: &'static [Property]) -> Variant {
    Variant { type_name: "", help, properties }
}

static GLOBAL: Class = Class {
    name: "global",
    named_by: None,
    variants: &[single("", GLOBAL_PROPERTIES)],
    children: &[],
    help: "What holds for the whole server.",
};

const GLOBAL_PROPERTIES: &[Property] = &[
    property("size-limit", COUNT, "Most entries that one search returns; 0 is no limit. The client's own limit applies too. Here and below: entries (ds-rlim-*) and rules (limits) may say otherwise, and root users have no limit.").default(&["1000"]).action(Action::Reload),
    property("time-limit", SECONDS, "Longest time that one search takes; 0 is no limit.").default(&["60 seconds"]).action(Action::Reload),
    property("lookthrough-limit", COUNT, "Most candidate entries that one search looks at; 0 is no limit.").default(&["5000"]).action(Action::Reload),
    property("filter-part-limit", FILTER_PARTS, "Most parts (assertions, ANDs, ORs, NOTs) that a filter may have; a larger one is refused with adminLimitExceeded. Root users may send 20000.").default(&["4096"]).action(Action::Reload),
    property("idle-time-limit", MILLISECONDS, "Connections that have asked nothing for this long are closed; 0 is never.").default(&["0 seconds"]).action(Action::Reload),
    property("max-allowed-client-connections", COUNT, "Most client connections at once; 0 is no limit.").default(&["0"]),
    property("max-outstanding-operations", POSITIVE, "Most requests of one connection that wait for their answer at once; the next ones are read when there is room.").default(&["256"]),
    property("max-psearches", Syntax::Integer { min: -1, max: i32::MAX as i64 }, "Most persistent searches at once, of all connections; -1 is no limit, 0 is none. More are refused with adminLimitExceeded.").default(&["5000"]),
    property("writability-mode", WRITABILITY, "Whether clients may change entries; internal-only refuses them as disabled does.").default(&["enabled"]),
    property("bind-with-dn-requires-password", Syntax::Boolean, "A simple bind with a DN and an empty password is refused, not taken for anonymous.").default(&["true"]),
    property("return-bind-error-messages", Syntax::Boolean, "A failed bind tells the client why; the access log has the reason in any case.").default(&["false"]),
    property("check-schema", Syntax::Boolean, "Entries are checked against the schema.").default(&["true"]),
    property("invalid-attribute-syntax-behavior", ACCEPT_REJECT_WARN, "What happens to values that break the syntax of their attribute.").default(&["reject"]),
    property("single-structural-objectclass-behavior", ACCEPT_REJECT_WARN, "What happens to entries without exactly one structural object class.").default(&["reject"]),
    property("allow-attribute-name-exceptions", Syntax::Boolean, "Names of attribute types may have underscores and begin with a digit.").default(&["false"]),
    property("notify-abandoned-operations", Syntax::Boolean, "An abandoned operation is answered with result 118 (cancelled) instead of not at all.").default(&["false"]),
    property("stall-threshold", MILLISECONDS, "Operations that wait inside the server for this long, or make others wait, are told in the error log with what they waited for; 0 is never.").default(&["100 ms"]).action(Action::Reload),
    property("etime-resolution", Syntax::Choice(&["milliseconds", "microseconds", "nanoseconds"]), "Unit of etime in the access log.").default(&["milliseconds"]),
];

/// What all rules may set. The lines that all have in common say what a lone value means.
macro_rules! limits_properties {
    ($($more:expr),* $(,)?) => {
        &[
            $($more,)*
            property("size-limit", COUNT, "Entries that one search returns when the client asks for no number; 0 is no limit.").absent("What [global] says, or size-limit-hard where that is less.").action(Action::Reload),
            property("size-limit-hard", COUNT, "Most entries that a client may ask for; 0 is no limit. More is cut down to it.").absent("The same as size-limit.").action(Action::Reload),
            property("time-limit", SECONDS, "Time that one search takes when the client asks for none; 0 is no limit.").absent("What [global] says, or time-limit-hard where that is less.").action(Action::Reload),
            property("time-limit-hard", SECONDS, "Longest time that a client may ask for; 0 is no limit. More is cut down to it.").absent("The same as time-limit.").action(Action::Reload),
            property("lookthrough-limit", COUNT, "Most candidate entries that one search looks at; 0 is no limit.").absent("What [global] says.").action(Action::Reload),
            property("filter-part-limit", FILTER_PARTS, "Most parts (assertions, ANDs, ORs, NOTs) that a filter may have.").absent("What [global] says.").action(Action::Reload),
            property("idle-time-limit", MILLISECONDS, "Connections that have asked nothing for this long are closed; 0 is never.").absent("What [global] says.").action(Action::Reload),
            property("page-size-limit", COUNT, "Most entries in one page of a paged search; 0 is no limit. A larger page is made smaller.").absent("No limit.").action(Action::Reload),
            property("paged-total-limit", COUNT, "Most entries in all pages of one paged search together; 0 is no limit.").absent("The hard size limit: paging does not get around it.").action(Action::Reload),
            property("allow-paged-results", Syntax::Boolean, "Whether searches may be paged.").default(&["true"]).action(Action::Reload),
            property("unindexed-search", Syntax::Boolean, "Whether searches may go without an index, as those of root users may.").default(&["false"]).action(Action::Reload),
        ]
    };
}

static LIMITS: Class = Class {
    name: "limits",
    named_by: Some("the rule's name"),
    variants: &[
        Variant {
            type_name: "anonymous",
            help: "For connections on which nobody has logged in.",
            properties: limits_properties![],
        },
        Variant {
            type_name: "authenticated",
            help: "For everybody who has logged in, but for root users.",
            properties: limits_properties![],
        },
        Variant { type_name: "everyone", help: "For everybody but root users.", properties: limits_properties![] },
        Variant {
            type_name: "dn",
            help: "For users by their DN, or by where their entry is. With scope base also for root users.",
            properties: limits_properties![
                property("user-dn", Syntax::Dn, "The users' DNs, or with another scope than base an entry above them.")
                    .multi()
                    .action(Action::Reload),
                property(
                    "scope",
                    Syntax::Choice(&["base", "one", "children", "subtree"]),
                    "base: these users; one: those right below; children: all below; subtree: these and all below."
                )
                .default(&["base"])
                .action(Action::Reload),
            ],
        },
        Variant {
            type_name: "dn-pattern",
            help: "For users whose DN matches a regular expression (OpenLDAP: dn.regex).",
            properties: limits_properties![property(
                "pattern",
                Syntax::Pattern,
                "The expression, matched anywhere in the DN as the server shows it, in any case; ^ and $ stand for its ends."
            )
            .action(Action::Reload),],
        },
        Variant {
            type_name: "group",
            help: "For the members (member, uniqueMember) of static groups.",
            properties: limits_properties![
                property("group-dn", Syntax::Dn, "DNs of the groups; groups within them do not count.")
                    .multi()
                    .action(Action::Reload),
            ],
        },
    ],
    children: &[],
    help: "What some clients may spend: the first rule in the file that speaks of a client decides, attributes of its own entry come before it.",
};

static ROOT_DN_USER: Class = Class {
    name: "root-dn-user",
    named_by: Some("the user's common name"),
    variants: &[single(
        "",
        &[
            property("alternate-bind-dn", Syntax::Dn, "The DN with which this user binds.").multi(),
            property("password", Syntax::Password, "The user's password, as `pando encode-password` prints it."),
        ],
    )],
    children: &[],
    help: "A user who may do everything and has no entry in a backend.",
};

static BACKEND: Class = Class {
    name: "backend",
    named_by: Some("the backend id"),
    variants: &[single("", &[
        property("enabled", Syntax::Boolean, "Whether the backend is served.").default(&["true"]),
        property("base-dn", Syntax::Dn, "Names at the top of the trees that the backend holds.").multi(),
        property("db-directory", Syntax::Path, "Where the backends' folders are; this backend's folder in it has its id as name.").default(&["db"]),
        property("writability-mode", WRITABILITY, "Whether clients may change entries of this backend; internal-only refuses them as disabled does.").default(&["enabled"]),
        property("index-entry-limit", COUNT, "Longest list of entries that an index keeps for one value, unless the index says otherwise; 0 is no limit.").default(&["4000"]).action(Action::Rebuild),
    ])],
    children: &[&BACKEND_INDEX, &BACKEND_VLV_INDEX],
    help: "A store of entries with its own indexes.",
};

static BACKEND_INDEX: Class = Class {
    name: "index",
    named_by: Some("the attribute type"),
    variants: &[single(
        "",
        &[
            property(
                "index-type",
                Syntax::Choice(&["equality", "presence", "substring", "ordering", "approximate", "extensible"]),
                "Which searches the index serves.",
            )
            .multi()
            .action(Action::Rebuild),
            property("index-entry-limit", COUNT, "Longest list of entries kept for one value; 0 is no limit.")
                .absent("The backend's index-entry-limit holds.")
                .action(Action::Rebuild),
            property(
                "substring-length",
                Syntax::Integer { min: 3, max: 64 },
                "Characters in one key of the substring index.",
            )
            .default(&["6"])
            .action(Action::Rebuild),
            property(
                "index-extensible-matching-rule",
                Syntax::Text,
                "Matching rules of the extensible index: names, OIDs, or languages such as \"fr\" and \"en-US.sub\".",
            )
            .absent("No rule is indexed.")
            .multi()
            .action(Action::Rebuild),
            property(
                "confidentiality-enabled",
                Syntax::Boolean,
                "Keys on disk are hashed with the secret in keys/index.secret: they show no value, and serve no ranges and no substrings shorter than substring-length. Entries and the log stay as they are.",
            )
            .default(&["false"])
            .action(Action::Rebuild),
        ],
    )],
    children: &[],
    help: "An index on one attribute type (OpenDJ: backend-index).",
};

static BACKEND_VLV_INDEX: Class = Class {
    name: "vlv-index",
    named_by: Some("the index's name; tools call it vlv.NAME"),
    variants: &[single(
        "",
        &[
            property("base-dn", Syntax::Dn, "Base of the searches that the index serves.").action(Action::Rebuild),
            property(
                "scope",
                Syntax::Choice(&Scope::WORDS),
                "Scope of the searches that the index serves.",
            )
            .action(Action::Rebuild),
            property(
                "filter",
                Syntax::Text,
                "Filter of the searches that the index serves. The index has the matching entries of the whole backend.",
            )
            .action(Action::Rebuild),
            property(
                "sort-order",
                Syntax::Text,
                "Attributes to sort by, the most important first, - before those that go from the largest to the smallest: \"+sn -givenName\".",
            )
            .action(Action::Rebuild),
        ],
    )],
    children: &[],
    help: "A list of entries kept in order, for virtual list views and sorted searches (OpenDJ: backend-vlv-index).",
};

/// What TCP handlers share with local sockets.
macro_rules! handler_properties {
    ($($more:expr),* $(,)?) => {
        &[
            property("enabled", Syntax::Boolean, "Whether the server listens here.").default(&["true"]),
            $($more,)*
            property("max-request-size", Syntax::Size { min: 1024, max: i32::MAX as u64 }, "Longest request that is read; a client that announces more is disconnected.").default(&["5 mib"]),
            property("max-blocked-write-time-limit", MILLISECONDS, "A client that reads nothing for this long while answers wait for it is disconnected.").default(&["2 minutes"]),
            property("accept-backlog", POSITIVE, "Connections that the system holds until the server accepts them.").default(&["4096"]),
        ]
    };
}

static CONNECTION_HANDLER: Class = Class {
    name: "connection-handler",
    named_by: Some("the handler's name"),
    variants: &[
        Variant {
            type_name: "ldap",
            help: "LDAP over TCP, with or without TLS.",
            properties: handler_properties![
                property("listen-address", Syntax::Address, "Addresses on which the server listens.").default(&["127.0.0.1"]).multi(),
                property("listen-port", PORT, "The port."),
                property("use-ssl", Syntax::Boolean, "Connections begin with TLS (ldaps).").default(&["false"]),
                property("allow-start-tls", Syntax::Boolean, "Clients may switch to TLS with StartTLS.").default(&["false"]),
                property("key-manager-provider", Syntax::Reference("key-manager-provider"), "Certificate and key for TLS.").absent("TLS is not available."),
                property("ssl-protocol", Syntax::Choice(&["TLSv1.2", "TLSv1.3"]), "TLS versions that are offered.").default(&["TLSv1.2", "TLSv1.3"]).multi(),
                property("allowed-client", Syntax::AddressMask, "Only these addresses may connect.").absent("All addresses may connect.").multi(),
                property("denied-client", Syntax::AddressMask, "These addresses may not connect, even if allowed-client has them.").absent("No address is denied.").multi(),
                property("proxy-protocol-enabled", Syntax::Boolean, "Connections from proxy-protocol-allowed-client begin with a PROXY protocol header (version 1 or 2).").default(&["false"]),
                property("proxy-protocol-allowed-client", Syntax::AddressMask, "Addresses of the proxies that are trusted to name the client.").absent("No proxy is trusted.").multi(),
                property("allow-ldap-v2", Syntax::Boolean, "Binds of LDAP version 2 are accepted.").default(&["true"]),
                property("use-tcp-keep-alive", Syntax::Boolean, "The system probes idle connections.").default(&["true"]),
                property("use-tcp-no-delay", Syntax::Boolean, "Short answers are sent at once.").default(&["true"]),
            ],
        },
        Variant {
            type_name: "ldapi",
            help: "LDAP over a socket in the file system, for programs on the same machine.",
            properties: handler_properties![
                property("listen-path", Syntax::Path, "Where the socket is made.").default(&["ldapi"]),
            ],
        },
    ],
    children: &[],
    help: "A place where the server listens for clients.",
};

static KEY_MANAGER_PROVIDER: Class = Class {
    name: "key-manager-provider",
    named_by: Some("the provider's name"),
    variants: &[Variant {
        type_name: "pem",
        help: "Certificate and key in PEM files; replaced files are picked up without a restart.",
        properties: &[
            property("pem-certificate-file", Syntax::Path, "The server's certificate, then those of the issuers.")
                .default(&["keys/server.crt"]),
            property(
                "pem-private-key-file",
                Syntax::Path,
                "The private key (PKCS #8, PKCS #1 or SEC1, not encrypted).",
            )
            .default(&["keys/server.key"]),
        ],
    }],
    children: &[],
    help: "Where a certificate and its key come from.",
};

static PASSWORD_POLICY: Class = Class {
    name: "password-policy",
    named_by: Some("the policy's name; the server uses \"Default Password Policy\""),
    variants: &[single(
        "",
        &[
            property(
                "default-password-storage-scheme",
                Syntax::Choice(&PASSWORD_SCHEMES),
                "How new passwords are stored.",
            )
            .default(&["Salted SHA-512"]),
            property(
                "allow-pre-encoded-passwords",
                Syntax::Boolean,
                "Clients may store a value that is already encoded; root users and import-ldif always may.",
            )
            .default(&["false"]),
            property("allow-user-password-changes", Syntax::Boolean, "Users may change their own password.")
                .default(&["true"]),
        ],
    )],
    children: &[],
    help: "Rules for passwords.",
};

static CHANGELOG: Class = Class {
    name: "changelog",
    named_by: None,
    variants: &[single("", &[
        property("enabled", Syntax::Boolean, "What changes is kept, before and after, to be read as cn=changelog, by persistent searches and by pando undo. Without it none of these has anything to tell.").default(&["true"]).action(Action::Reload),
        property("max-age", Syntax::Duration { unit: Unit::Seconds, min_ms: 1000, max_ms: u64::MAX }, "Changes older than this are let go, a log segment at a time.").default(&["3 days"]).action(Action::Reload),
        property("max-size", Syntax::Size { min: 1 << 20, max: u64::MAX }, "Most room that the logs of all backends take together; beyond, the oldest changes are let go, a segment of 16 MiB at a time. What recovery needs stays in any case.").default(&["1 gib"]).action(Action::Reload),
    ])],
    children: &[],
    help: "How long changes are remembered. They are kept in the logs of the backends, so that remembering them takes room and little else.",
};

static SCHEMA_PROVIDER: Class = Class {
    name: "schema-provider",
    named_by: Some("the provider's name"),
    variants: &[Variant {
        type_name: "core-schema",
        help: "How strictly the standard syntaxes are checked.",
        properties: &[
            property(
                "strict-format-country-string",
                Syntax::Boolean,
                "Country strings are two letters of ISO 3166, not any two characters.",
            )
            .default(&["true"]),
            property(
                "strict-format-certificates",
                Syntax::Boolean,
                "Certificates are well-formed X.509, not any bytes.",
            )
            .default(&["true"]),
            property("strict-format-jpeg-photos", Syntax::Boolean, "Photos begin as JPEG files do.")
                .default(&["false"]),
            property(
                "strict-format-booleans",
                Syntax::Boolean,
                "Booleans are TRUE or FALSE as RFC 4517 says. Otherwise yes, on and 1, no, off and 0 are taken too, in any case.",
            )
            .default(&["false"]),
            property(
                "strict-format-telephone-numbers",
                Syntax::Boolean,
                "Telephone numbers are written as E.123 says, not anyhow.",
            )
            .default(&["false"]),
            property("allow-zero-length-values-directory-string", Syntax::Boolean, "Directory strings may be empty.")
                .default(&["false"]),
            property("allow-attribute-types-with-no-sup-or-syntax", Syntax::Boolean, "An attribute type with neither superior nor syntax gets the octet string syntax; otherwise it is refused.").default(&["true"]),
            property("strip-syntax-min-upper-bound-attribute-type-description", Syntax::Boolean, "Attribute types in cn=schema are shown without the length behind the syntax.").default(&["false"]),
        ],
    }],
    children: &[],
    help: "Where the schema comes from and how strict it is.",
};

/// Not of an audit log, which is always continued.
const APPEND: Property =
    property("append", Syntax::Boolean, "A start of the server continues the file; otherwise it empties it.")
        .default(&["true"]);

/// What all kinds of log file share.
macro_rules! log_properties {
    ($file:literal, $enabled:literal, $($more:expr),* $(,)?) => {
        &[
            property("enabled", Syntax::Boolean, "Whether the log is written.").default(&[$enabled]),
            property("log-file", Syntax::Path, "The file.").default(&[$file]),
            property("log-file-permissions", Syntax::Mode, "Permission bits of the file.").default(&["640"]),
            property("time-interval", AT_LEAST_A_SECOND, "Pause between two looks at the rotation and retention policies.").default(&["5 seconds"]),
            property("rotation-policy", Syntax::Reference("log-rotation-policy"), "When the file is put aside and a new one begun; any that applies does it.").absent("The file grows without end.").multi(),
            property("retention-policy", Syntax::Reference("log-retention-policy"), "Which files that were put aside are deleted; all are enforced.").absent("Files that were put aside stay.").multi(),
            $($more,)*
        ]
    };
}

static LOG_PUBLISHER: Class = Class {
    name: "log-publisher",
    named_by: Some("the publisher's name"),
    variants: &[
        Variant {
            type_name: "file-based-access",
            help: "A line for each request and its result.",
            properties: log_properties![
                "logs/access",
                "true",
                APPEND,
                property(
                    "log-format",
                    Syntax::Choice(&["combined", "multi-line"]),
                    "One line an operation (combined), or one for the request and one for the result."
                )
                .default(&["multi-line"]),
                property(
                    "log-record-time-format",
                    Syntax::Text,
                    "Time at the start of a line, in the letters of Java's SimpleDateFormat."
                )
                .default(&["dd/MMM/yyyy:HH:mm:ss Z"]),
                property("log-control-oids", Syntax::Boolean, "Lines list the controls of requests and results.")
                    .default(&["false"]),
                property(
                    "queue-size",
                    POSITIVE,
                    "Lines that may wait for the disk; what comes on top is dropped, counted and reported in the log."
                )
                .default(&["5000"]),
            ],
        },
        Variant {
            type_name: "file-based-audit",
            help: "Every change of an entry as an LDIF change record, in order, none left out; a restart goes on where the file ends.",
            properties: log_properties![
                "logs/audit",
                "false",
                property(
                    "obscure-attribute",
                    Syntax::AttributeType,
                    "Attributes, with their subtypes, whose values are written as ********, in comments; [] hides none."
                )
                .default(&["userPassword", "authPassword"])
                .multi(),
            ],
        },
        Variant {
            type_name: "file-based-error",
            help: "What the server has to say about itself.",
            properties: log_properties![
                "logs/errors",
                "true",
                APPEND,
                property("default-severity", Syntax::Choice(&SEVERITIES), "Severities that are written.")
                    .default(&["error", "warning", "notice"])
                    .multi(),
                property("override-severity", Syntax::SeverityOverride, "Severities for single categories.")
                    .absent("default-severity holds for all categories.")
                    .multi(),
            ],
        },
    ],
    children: &[],
    help: "A log.",
};

static LOG_ROTATION_POLICY: Class = Class {
    name: "log-rotation-policy",
    named_by: Some("the policy's name"),
    variants: &[
        Variant {
            type_name: "time-limit",
            help: "By the age of the file.",
            properties: &[property("rotation-interval", AT_LEAST_A_SECOND, "Age at which the file is put aside.")],
        },
        Variant {
            type_name: "size-limit",
            help: "By the size of the file.",
            properties: &[property("file-size-limit", BYTES, "Size at which the file is put aside.")],
        },
        Variant {
            type_name: "fixed-time",
            help: "At times of the day.",
            properties: &[property(
                "time-of-day",
                Syntax::TimeOfDay,
                "Hours and minutes, in local time, at which the file is put aside.",
            )
            .multi()],
        },
    ],
    children: &[],
    help: "When a log file is put aside.",
};

static LOG_RETENTION_POLICY: Class = Class {
    name: "log-retention-policy",
    named_by: Some("the policy's name"),
    variants: &[
        Variant {
            type_name: "file-count",
            help: "By the number of files.",
            properties: &[property("number-of-files", POSITIVE, "Files that are kept, the current one not counted.")],
        },
        Variant {
            type_name: "size-limit",
            help: "By the space that the files take.",
            properties: &[property("disk-space-used", BYTES, "Space that the files that were put aside may take.")],
        },
        Variant {
            type_name: "free-disk-space",
            help: "By the space left on the disk.",
            properties: &[property(
                "free-disk-space",
                BYTES,
                "Space on the disk that stays free; the oldest files go first.",
            )],
        },
    ],
    children: &[],
    help: "Which old log files are deleted.",
};
