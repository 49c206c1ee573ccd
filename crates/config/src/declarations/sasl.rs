//! `[sasl-mechanism-handler.NAME]`, `[certificate-mapper.NAME]`: which SASL mechanisms clients may bind with, and how
//! their users are found.

use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;
use crate::units::Unit;

/// Most that two clocks may differ by: an hour.
const CLOCK_SKEW: Syntax = Syntax::Duration { unit: Unit::Seconds, min_ms: 0, max_ms: 3_600_000 };

const fn live(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::Sasl)
}

const fn enabled(help: &'static str) -> Property {
    live("enabled", "SaslHandler.enabled", Syntax::Boolean, help).default(&["true"])
}

const IDENTITY_MAPPER: Property = live(
    "identity-mapper",
    "SaslHandler.kind",
    Syntax::Reference("identity-mapper"),
    "Finds the entry of the user by the name that the client sends.",
)
.absent("Users are found by uid in all backends.");

const SCRAM: &[Property] = &[enabled("Whether clients may use the mechanism."), IDENTITY_MAPPER];

const SCRAM_HELP: &str = "The client proves that it knows the password without sending it. It works for users whose \
    password is stored by the scheme of the same name. Over TLS the mechanism that ends in -PLUS is offered too: the \
    proof then covers the connection.";

const GSSAPI: &[Property] = &[
    enabled("Whether clients may use the mechanism."),
    live(
        "identity-mapper",
        "SaslHandler.kind",
        Syntax::Reference("identity-mapper"),
        "Finds the entry of the user by the whole principal: \"ann@EXAMPLE.COM\".",
    )
    .absent("Users are found by uid in all backends: the principal without its realm."),
    live("keytab", "SaslHandler.kind", Syntax::Path, "The file with the keys of the server's principals.")
        .absent("The file that the system's Kerberos library goes by: /etc/krb5.keytab or $KRB5_KTNAME."),
    live(
        "principal-name",
        "SaslHandler.kind",
        Syntax::Text,
        "The server's principal that tickets have to be for: \"ldap/ldap.example.com@EXAMPLE.COM\".",
    )
    .absent("Tickets may be for any principal whose keys are in the file."),
    live("realm", "SaslHandler.kind", Syntax::Text, "The realm of users: those of other realms are nobody.")
        .absent("The realm of the server's principal."),
    live(
        "offer-gss-spnego",
        "SaslHandler.kind",
        Syntax::Boolean,
        "Whether the mechanism GSS-SPNEGO is offered too: tickets with a negotiation around them.",
    )
    .default(&["false"]),
];

pub(super) static SASL_MECHANISM_HANDLER: Class = Class {
    name: "sasl-mechanism-handler",
    named_by: Some("the handler's name"),
    variants: &[
        Variant {
            type_name: "plain",
            help: "PLAIN: a name and a password. Without a table of this type the mechanism is offered with the \
                   defaults.",
            properties: &[
                enabled("Whether clients may use the mechanism."),
                IDENTITY_MAPPER,
                live(
                    "require-encryption",
                    "SaslHandler.kind",
                    Syntax::Boolean,
                    "Whether the mechanism is offered over TLS and local sockets only.",
                )
                .default(&["true"]),
            ],
        },
        Variant {
            type_name: "external",
            help: "EXTERNAL: the client is who its TLS certificate says, or, on a local socket, the system. Without a \
                   table of this type the mechanism is offered with the defaults.",
            properties: &[
                enabled("Whether clients may use the mechanism."),
                live(
                    "certificate-mapper",
                    "SaslHandler.kind",
                    Syntax::Reference("certificate-mapper"),
                    "Finds the entry of the user by the certificate.",
                )
                .absent("The subject of the certificate is the name of the entry."),
                live(
                    "certificate-validation-policy",
                    "SaslHandler.kind",
                    Syntax::Choice(&["always", "ifpresent", "never"]),
                    "Whether the entry has to hold the certificate: always, if it holds any, or never.",
                )
                .default(&["ifpresent"]),
                live(
                    "certificate-attribute",
                    "SaslHandler.kind",
                    Syntax::AttributeType,
                    "Where entries hold their certificates.",
                )
                .default(&["userCertificate"]),
                live(
                    "ldapi-map-root-to-dn",
                    "SaslHandler.kind",
                    Syntax::Dn,
                    "The root user that the system's root, and the user whom the server runs as, are on local sockets.",
                )
                .absent("They are nobody in particular."),
                live(
                    "ldapi-map-to-entries",
                    "SaslHandler.kind",
                    Syntax::Boolean,
                    "Whether a user of the system is, on local sockets, the one entry that has its numbers in \
                     uidNumber and gidNumber.",
                )
                .default(&["false"]),
            ],
        },
        Variant { type_name: "scram-sha-1", help: SCRAM_HELP, properties: SCRAM },
        Variant { type_name: "scram-sha-256", help: SCRAM_HELP, properties: SCRAM },
        Variant { type_name: "scram-sha-512", help: SCRAM_HELP, properties: SCRAM },
        Variant {
            type_name: "oauthbearer",
            help: "OAUTHBEARER: a token (JWT) that an issuer has signed. Offered over TLS and local sockets only.",
            properties: &[
                enabled("Whether clients may use the mechanism."),
                IDENTITY_MAPPER,
                live("token-issuer", "SaslHandler.kind", Syntax::Text, "What tokens have to say in iss."),
                live(
                    "token-audience",
                    "SaslHandler.kind",
                    Syntax::Text,
                    "One of these has to be in the aud of a token.",
                )
                .multi(),
                live(
                    "key-set-file",
                    "SaslHandler.kind",
                    Syntax::Path,
                    "The issuer's public keys (JSON Web Key Set); a replaced file is picked up without a restart.",
                ),
                live("user-name-claim", "SaslHandler.kind", Syntax::Text, "Which part of a token names the user.")
                    .default(&["sub"]),
                live("required-scope", "SaslHandler.kind", Syntax::Text, "What has to be in the scope of a token.")
                    .absent("No scope is asked for."),
                live(
                    "clock-skew",
                    "SaslHandler.kind",
                    CLOCK_SKEW,
                    "By how much the clocks of the issuer and of this server may differ.",
                )
                .default(&["30 seconds"]),
                live(
                    "openid-configuration-url",
                    "SaslHandler.kind",
                    Syntax::Text,
                    "What a client whose token is refused is told of where to get another one.",
                )
                .absent("It is told nothing."),
            ],
        },
        Variant {
            type_name: "gssapi",
            help: "GSSAPI: a ticket of Kerberos. Takes a pando that is built with the feature gssapi. The mechanism \
                   has no encryption of its own here: that is for TLS.",
            properties: GSSAPI,
        },
    ],
    children: &[],
    help: "A SASL mechanism that clients may bind with. DIGEST-MD5 and CRAM-MD5 are not among them: they need \
           passwords that are stored in the clear.",
};

const USER_BASE_DN: Property =
    live("user-base-dn", "CertificateMapper.base_dns", Syntax::Dn, "Users are entries at and below these DNs.")
        .absent("Users are entries of all backends.")
        .multi();

pub(super) static CERTIFICATE_MAPPER: Class = Class {
    name: "certificate-mapper",
    named_by: Some("the mapper's name"),
    variants: &[
        Variant {
            type_name: "subject-equals-dn",
            help: "The subject of the certificate is the name of the entry.",
            properties: &[ENABLED_MAPPER],
        },
        Variant {
            type_name: "subject-dn-to-user-attribute",
            help: "An attribute of the entry has the subject of the certificate.",
            properties: &[
                ENABLED_MAPPER,
                live(
                    "subject-attribute",
                    "CertificateMapper.kind",
                    Syntax::AttributeType,
                    "The attribute; it needs an equality index in every backend.",
                )
                .default(&["ds-certificate-subject-dn"]),
                USER_BASE_DN,
            ],
        },
        Variant {
            type_name: "subject-attribute-to-user-attribute",
            help: "Attributes of the entry have the values that the subject of the certificate has.",
            properties: &[
                ENABLED_MAPPER,
                live(
                    "subject-attribute-mapping",
                    "CertificateMapper.kind",
                    Syntax::Text,
                    "subject:entry pairs such as \"emailAddress:mail\". The subject must have all of them, and the \
                     entry their values; one at least needs an equality index in every backend.",
                )
                .multi(),
                USER_BASE_DN,
            ],
        },
        Variant {
            type_name: "fingerprint",
            help: "An attribute of the entry has the fingerprint of the certificate: \"aa:bb:…\".",
            properties: &[
                ENABLED_MAPPER,
                live(
                    "fingerprint-attribute",
                    "CertificateMapper.kind",
                    Syntax::AttributeType,
                    "The attribute; it needs an equality index in every backend.",
                )
                .default(&["ds-certificate-fingerprint"]),
                live(
                    "fingerprint-algorithm",
                    "CertificateMapper.kind",
                    Syntax::Choice(&["md5", "sha1", "sha256"]),
                    "The hash function. For md5 and sha1 somebody may make a second certificate with the same \
                     fingerprint.",
                )
                .default(&["sha256"]),
                USER_BASE_DN,
            ],
        },
    ],
    children: &[],
    help: "How the entry of a user is found by a client's certificate.",
};

const ENABLED_MAPPER: Property = live(
    "enabled",
    "CertificateMapper.enabled",
    Syntax::Boolean,
    "Whether the mapper finds anybody. What uses a mapper that is not enabled does not work.",
)
.default(&["true"]);
