//! Where the server listens, and with which certificate: `[connection-handler.NAME]`, `[key-manager-provider.NAME]`.

use super::shared::{MILLISECONDS, POSITIVE, STRENGTH, single};
use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;

const PORT: Syntax = Syntax::Integer { min: 1, max: 65_535 };

// What handlers of LDAP and HTTP share.

const fn listen_address(field: &'static str) -> Property {
    property("listen-address", field, Syntax::Address, "Addresses on which the server listens.")
        .default(&["127.0.0.1"])
        .multi()
}

const fn listen_port(field: &'static str) -> Property {
    property("listen-port", field, PORT, "The port.")
}

const fn key_manager(field: &'static str) -> Property {
    property("key-manager-provider", field, Syntax::Reference("key-manager-provider"), "Certificate and key for TLS.")
        .absent("TLS is not available.")
}

const fn ssl_protocol(field: &'static str) -> Property {
    property("ssl-protocol", field, Syntax::Choice(&["TLSv1.2", "TLSv1.3"]), "TLS versions that are offered.")
        .default(&["TLSv1.2", "TLSv1.3"])
        .multi()
}

const SSL_CIPHER_SUITE: Property = property(
    "ssl-cipher-suite",
    "TlsConfig.cipher_suites",
    Syntax::Choice(&CIPHER_SUITES),
    "TLS cipher suites that are offered, those of TLS 1.3 and of TLS 1.2 together.",
)
.absent("All that the TLS library has.")
.multi();

const fn allowed_client(field: &'static str) -> Property {
    property(
        "allowed-client",
        field,
        Syntax::AddressMask,
        "Only these addresses may connect. With the PROXY protocol the client's address counts, not the \
         proxy's.",
    )
    .absent("All addresses may connect.")
    .multi()
    .live(Applier::Connections)
}

const fn denied_client(field: &'static str) -> Property {
    property(
        "denied-client",
        field,
        Syntax::AddressMask,
        "These addresses may not connect, even if allowed-client has them.",
    )
    .absent("No address is denied.")
    .multi()
    .live(Applier::Connections)
}

/// What TCP handlers share with local sockets.
macro_rules! handler_properties {
    ($($more:expr),* $(,)?) => {
        &[
            property(
                "enabled",
                "LdapHandler.enabled",
                Syntax::Boolean,
                "Whether the server listens here.",
            )
            .default(&["true"]),
            $($more,)*
            property(
                "max-request-size",
                "LdapHandler.request_bytes_max",
                Syntax::Size { min: 1024, max: i32::MAX as u64 },
                "Longest request that is read; a client that announces more is disconnected.",
            )
            .default(&["5 mib"]),
            property(
                "max-blocked-write-time-limit",
                "LdapHandler.blocked_write_time_limit",
                MILLISECONDS,
                "A client that reads nothing for this long while answers wait for it is disconnected.",
            )
            .default(&["2 minutes"]),
            property(
                "accept-backlog",
                "LdapHandler.accept_backlog",
                POSITIVE,
                "Connections that the system holds until the server accepts them.",
            )
            .default(&["4096"]),
        ]
    };
}

/// The suites of the TLS library; a test of `server` compares.
pub(super) const CIPHER_SUITES: [&str; 9] = [
    "TLS_AES_256_GCM_SHA384",
    "TLS_AES_128_GCM_SHA256",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/// The port of OpenDJ's.
pub(super) static ADMINISTRATION_CONNECTOR: Class = Class {
    name: "administration-connector",
    named_by: None,
    variants: &[single("", ADMINISTRATION_CONNECTOR_PROPERTIES)],
    children: &[],
    help: "Where administrators connect: LDAP over TLS on a port of its own, with a certificate of its own. It is \
           there when it has a key-manager-provider.",
};

const ADMINISTRATION_CONNECTOR_PROPERTIES: &[Property] = &[
    listen_address("LdapHandler.listen"),
    listen_port("LdapHandler.listen").default(&["4444"]),
    property(
        "key-manager-provider",
        "LdapHandler.tls",
        Syntax::Reference("key-manager-provider"),
        "Certificate and key for TLS.",
    )
    .absent("There is no administration connector."),
    ssl_protocol("LdapHandler.tls"),
    SSL_CIPHER_SUITE,
];

pub(super) static CONNECTION_HANDLER: Class = Class {
    name: "connection-handler",
    named_by: Some("the handler's name"),
    variants: &[
        Variant {
            type_name: "ldap",
            help: "LDAP over TCP, with or without TLS.",
            properties: handler_properties![
                listen_address("LdapHandler.listen"),
                listen_port("LdapHandler.listen"),
                property("use-ssl", "LdapHandler.use_ssl", Syntax::Boolean, "Connections begin with TLS (ldaps).",)
                    .default(&["false"]),
                property(
                    "allow-start-tls",
                    "LdapHandler.allow_start_tls",
                    Syntax::Boolean,
                    "Clients may switch to TLS with StartTLS.",
                )
                .default(&["false"]),
                key_manager("LdapHandler.tls"),
                ssl_protocol("LdapHandler.tls"),
                SSL_CIPHER_SUITE,
                property(
                    "ssl-client-auth-policy",
                    "ClientTrust.required",
                    Syntax::Choice(&["disabled", "optional", "required"]),
                    "Whether clients are asked for a certificate, if there is a trust-manager-provider. optional: a \
                     client without one that is good is served, and cannot bind with EXTERNAL. required: it is turned \
                     away during the handshake.",
                )
                .default(&["optional"]),
                property(
                    "trust-manager-provider",
                    "TlsConfig.clients",
                    Syntax::Reference("trust-manager-provider"),
                    "Whose certificates are good.",
                )
                .absent("Clients are not asked for certificates."),
                allowed_client("LdapHandler.allowed_clients"),
                denied_client("LdapHandler.denied_clients"),
                property(
                    "minimum-security-strength-factor",
                    "LdapHandler.minimum_strength_bits",
                    STRENGTH,
                    "Least strength of encryption, in bits, for requests over this handler; what [global] asks for \
                     holds too.",
                )
                .default(&["0"])
                .live(Applier::Connections),
                property(
                    "proxy-protocol-enabled",
                    "LdapHandler.proxies",
                    Syntax::Boolean,
                    "Connections from proxy-protocol-allowed-client begin with a PROXY protocol header (version 1 or \
                     2).",
                )
                .default(&["false"]),
                property(
                    "proxy-protocol-allowed-client",
                    "LdapHandler.proxies",
                    Syntax::AddressMask,
                    "Addresses of the proxies that are trusted to name the client.",
                )
                .absent("No proxy is trusted.")
                .multi(),
                property(
                    "allow-ldap-v2",
                    "LdapHandler.allow_ldap_v2",
                    Syntax::Boolean,
                    "Binds of LDAP version 2 are accepted.",
                )
                .default(&["true"]),
                property(
                    "use-tcp-keep-alive",
                    "LdapHandler.use_tcp_keep_alive",
                    Syntax::Boolean,
                    "The system probes idle connections.",
                )
                .default(&["true"]),
                property(
                    "use-tcp-no-delay",
                    "LdapHandler.use_tcp_no_delay",
                    Syntax::Boolean,
                    "Short answers are sent at once.",
                )
                .default(&["true"]),
            ],
        },
        Variant {
            type_name: "ldapi",
            help: "LDAP over a socket in the file system, for programs on the same machine.",
            properties: handler_properties![
                property("listen-path", "LdapHandler.listen", Syntax::Path, "Where the socket is made.",)
                    .default(&["ldapi"]),
            ],
        },
        Variant {
            type_name: "http",
            help: "HTTP for monitoring systems and load balancers: /metrics (Prometheus and OpenMetrics), /alive, \
                   /healthy.",
            properties: &[
                property("enabled", "HttpHandler.enabled", Syntax::Boolean, "Whether the server listens here.")
                    .default(&["true"]),
                listen_address("HttpHandler.listen"),
                listen_port("HttpHandler.listen"),
                property("use-ssl", "HttpHandler.use_ssl", Syntax::Boolean, "Connections begin with TLS (https).")
                    .default(&["false"]),
                key_manager("HttpHandler.tls"),
                ssl_protocol("HttpHandler.tls"),
                SSL_CIPHER_SUITE,
                allowed_client("HttpHandler.allowed_clients"),
                denied_client("HttpHandler.denied_clients"),
                property(
                    "metrics-bearer-token-file",
                    "HttpHandler.token_file",
                    Syntax::Path,
                    "A file whose first line is the bearer token that /metrics asks for. It is read for each \
                     request, so a new token holds at once; while the file cannot be read or is empty, nobody gets \
                     metrics.",
                )
                .absent("Every client that may connect gets metrics."),
            ],
        },
    ],
    children: &[],
    help: "A place where the server listens for clients.",
};

pub(super) static KEY_MANAGER_PROVIDER: Class = Class {
    name: "key-manager-provider",
    named_by: Some("the provider's name"),
    variants: &[Variant {
        type_name: "pem",
        help: "Certificate and key in PEM files, or in one PKCS #12 file; replaced files are picked up without a \
               restart.",
        properties: &[
            property(
                "pem-certificate-file",
                "TlsConfig.certificate",
                Syntax::Path,
                "The server's certificate, then those of the issuers.",
            )
            .default(&["keys/server.crt"]),
            property(
                "pem-private-key-file",
                "TlsConfig.private_key",
                Syntax::Path,
                "The private key (PKCS #8, PKCS #1 or SEC1). One in PKCS #8 may be encrypted.",
            )
            .default(&["keys/server.key"]),
            property(
                "key-store-file",
                "TlsConfig.key_store",
                Syntax::Path,
                "A PKCS #12 file with the certificate, those of the issuers and the key, instead of the PEM files.",
            )
            .absent("The PEM files are read."),
            property(
                "key-store-pin-file",
                "TlsConfig.pin_file",
                Syntax::Path,
                "A file whose first line is the password of the key.",
            )
            .absent("The variable has it, if the key is encrypted."),
            property(
                "key-store-pin-environment-variable",
                "TlsConfig.pin_variable",
                Syntax::Text,
                "The variable of the server's environment that has the password of the key, if no file has it.",
            )
            .absent("The key is not encrypted, or the file has its password."),
        ],
    }],
    children: &[],
    help: "Where a certificate and its key come from.",
};

pub(super) static TRUST_MANAGER_PROVIDER: Class = Class {
    name: "trust-manager-provider",
    named_by: Some("the provider's name"),
    variants: &[Variant {
        type_name: "pem",
        help: "Issuers and their revocation lists in files; replaced files are picked up without a restart.",
        properties: &[
            property(
                "trust-store-file",
                "ClientTrust.trusted",
                Syntax::Path,
                "PEM files with the certificates of the issuers whose clients are trusted.",
            )
            .multi(),
            property(
                "revocation-list-file",
                "ClientTrust.revoked",
                Syntax::Path,
                "Certificate revocation lists, in PEM or DER. Issuers without a list have revoked nothing.",
            )
            .absent("No certificate is taken for revoked.")
            .multi(),
        ],
    }],
    children: &[],
    help: "Which certificates of clients are good.",
};
