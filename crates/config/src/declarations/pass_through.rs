//! `[password-policy.NAME]` of type `ldap-pass-through`: another directory checks the passwords.

use super::connection::CIPHER_SUITES;
use super::second_factor::{REQUIRE_SECOND_FACTOR, SECOND_FACTOR_LOOK_AHEAD, SECOND_FACTOR_WINDOW};
use super::shared::PASSWORD_SCHEMES;
use crate::declare::{Applier, Property, Variant, property};
use crate::syntax::Syntax;
use crate::units::Unit;

/// Of what the directory decides by.
const fn policy(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::PasswordPolicies)
}

/// Of the connections.
const fn server(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::PasswordServers)
}

pub(super) const LDAP_PASS_THROUGH: Variant = Variant {
    type_name: "ldap-pass-through",
    help: "Another LDAP directory checks the passwords, by a bind there.",
    properties: &[
        server(
            "primary-remote-ldap-server",
            "PassThroughServers.primary",
            Syntax::Text,
            "Servers that are asked, in turns: HOST:PORT.",
        )
        .multi(),
        server(
            "secondary-remote-ldap-server",
            "PassThroughServers.secondary",
            Syntax::Text,
            "Servers that are asked when no primary one answers: HOST:PORT.",
        )
        .absent("Only the primary ones are asked.")
        .multi(),
        server("source-address", "PassThroughServers.source", Syntax::Address, "The own address of the connections.")
            .absent("The system chooses it."),
        server(
            "connection-timeout",
            "PassThroughServers.timeout",
            Syntax::Duration { unit: Unit::Milliseconds, min_ms: 1, max_ms: 3_600_000 },
            "Longest time to connect, with TLS, and longest time that a bind or a search may take; a server that takes \
             longer is left alone until it answers again.",
        )
        .default(&["3 s"]),
        server("use-ssl", "PassThroughServers.tls", Syntax::Boolean, "Connections begin with TLS.").default(&["false"]),
        server(
            "use-start-tls",
            "RemoteTls.begins",
            Syntax::Boolean,
            "Connections switch to TLS with StartTLS before anything else is sent; not together with use-ssl.",
        )
        .default(&["false"]),
        server(
            "trust-manager-provider",
            "RemoteTls.trusted",
            Syntax::Reference("trust-manager-provider"),
            "By whom the certificates of the servers have to be signed.",
        )
        .absent("By those whom this machine trusts."),
        server("ssl-protocol", "RemoteTls.tls12", Syntax::Choice(&["TLSv1.2", "TLSv1.3"]), "TLS versions to speak.")
            .default(&["TLSv1.2", "TLSv1.3"])
            .multi(),
        server(
            "ssl-cipher-suite",
            "RemoteTls.cipher_suites",
            Syntax::Choice(&CIPHER_SUITES),
            "TLS cipher suites to offer, those of TLS 1.3 and of TLS 1.2 together.",
        )
        .absent("All that the TLS library has.")
        .multi(),
        server(
            "use-tcp-keep-alive",
            "PassThroughServers.keep_alive",
            Syntax::Boolean,
            "The system probes idle connections.",
        )
        .default(&["true"]),
        server("use-tcp-no-delay", "PassThroughServers.no_delay", Syntax::Boolean, "Requests are sent at once.")
            .default(&["true"]),
        policy(
            "mapping-policy",
            "PassThrough.mapping",
            Syntax::Choice(&["unmapped", "mapped-bind", "mapped-search"]),
            "How an account is found there: by the same name (unmapped), by the name that an attribute has \
             (mapped-bind), or by a search for values of attributes that finds one entry (mapped-search).",
        )
        .default(&["unmapped"]),
        policy(
            "mapped-attribute",
            "MappedBind.attributes",
            Syntax::AttributeType,
            "Attributes of the account. mapped-bind: the first that the entry has holds the name. mapped-search: their \
             values are looked for.",
        )
        .absent("None; mapped-bind and mapped-search need one.")
        .multi(),
        policy(
            "mapped-search-base-dn",
            "MappedSearch.bases",
            Syntax::Dn,
            "Below which entries there mapped-search looks.",
        )
        .absent("None; mapped-search needs one.")
        .multi(),
        policy(
            "mapped-search-filter-template",
            "MappedSearch.template",
            Syntax::Text,
            "The filter of mapped-search, with %s for a value of mapped-attribute, such as \
             (&(objectClass=user)(sAMAccountName=%s)).",
        )
        .absent("The attribute has the same value there."),
        server(
            "mapped-search-bind-dn",
            "SearchBind.dn",
            Syntax::Dn,
            "As whom mapped-search looks; its password has one of the three properties that follow.",
        )
        .absent("As anonymous."),
        server("mapped-search-bind-password", "SearchBind.password", Syntax::Password, "The password.")
            .absent("Another property has it."),
        server(
            "mapped-search-bind-password-environment-variable",
            "SearchBind.password",
            Syntax::Text,
            "The variable of the server's environment that has the password.",
        )
        .absent("Another property has it."),
        server(
            "mapped-search-bind-password-file",
            "SearchBind.password",
            Syntax::Path,
            "A file whose first line is the password.",
        )
        .absent("Another property has it."),
        REQUIRE_SECOND_FACTOR,
        SECOND_FACTOR_WINDOW,
        SECOND_FACTOR_LOOK_AHEAD,
        policy(
            "use-password-caching",
            "PassThrough.cached",
            Syntax::Boolean,
            "A password that was found right is kept with the entry, hashed, and not asked about again for a time.",
        )
        .default(&["false"]),
        policy(
            "cached-password-storage-scheme",
            "CacheRule.scheme",
            Syntax::Choice(&PASSWORD_SCHEMES),
            "How it is hashed.",
        )
        .default(&["Salted SHA-512"]),
        policy(
            "cached-password-ttl",
            "CacheRule.time_to_live",
            Syntax::Duration { unit: Unit::Seconds, min_ms: 1_000, max_ms: 2_147_483_647_000 },
            "For how long.",
        )
        .default(&["8 h"]),
    ],
};
