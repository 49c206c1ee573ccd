//! What the rest of the server reads: plain structs, defaults filled in, paths absolute, references resolved.
//!
//! Knows no declarations and no TOML; `crate::read` fills it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use accounts::PasswordPolicy;
use ldap::Scope;

use crate::mask::AddressMask;
use crate::secret::Secret;

/// `[global]`
#[derive(Debug, Clone)]
pub struct GlobalConfig {
    /// `size-limit`; `None` is no limit.
    pub size_limit: Option<u64>,
    /// `time-limit`; `None` is no limit.
    pub time_limit: Option<Duration>,
    /// `lookthrough-limit`; `None` is no limit.
    pub lookthrough_limit: Option<u64>,
    /// `filter-part-limit`
    pub filter_part_limit: usize,
    /// `idle-time-limit`; `None` is never.
    pub idle_time_limit: Option<Duration>,
    /// `allowed-client`; empty is everyone.
    pub allowed_clients: Vec<AddressMask>,
    /// `denied-client`
    pub denied_clients: Vec<AddressMask>,
    /// `minimum-security-strength-factor`
    pub minimum_strength_bits: u32,
    /// `max-allowed-client-connections`; `None` is no limit.
    pub connections_max: Option<u64>,
    /// `max-outstanding-operations`, of one connection.
    pub outstanding_operations_max: usize,
    /// `max-psearches`; `None` is no limit.
    pub persistent_searches_max: Option<u64>,
    /// `writability-mode`
    pub writability: Writability,
    /// `bind-with-dn-requires-password`
    pub bind_with_dn_requires_password: bool,
    /// `return-bind-error-messages`
    pub return_bind_error_messages: bool,
    /// `wrong-passwords-per-address`, a minute; 0 is any number.
    pub wrong_passwords_per_address: u32,
    /// `wrong-passwords-per-name`, a minute; 0 is any number.
    pub wrong_passwords_per_name: u32,
    /// `refuse-password-attacks`
    pub refuse_password_attacks: bool,
    /// `proxied-authorization-identity-mapper`
    pub identity_mapper: Option<String>,
    /// `disabled-privilege`: those that nobody is asked for.
    pub disabled_privileges: Vec<String>,
    /// `check-schema`
    pub check_schema: bool,
    /// `invalid-attribute-syntax-behavior`
    pub invalid_attribute_syntax_behavior: Behavior,
    /// `single-structural-objectclass-behavior`
    pub single_structural_objectclass_behavior: Behavior,
    /// `allow-attribute-name-exceptions`
    pub allow_attribute_name_exceptions: bool,
    /// `notify-abandoned-operations`
    pub notify_abandoned_operations: bool,
    /// `default-referral`
    pub default_referrals: Vec<String>,
    /// `password-expiration-warning-time`: hour and minute of local time.
    pub expiry_warning_time: Option<(u8, u8)>,
    /// `stall-threshold`; `None` is never.
    pub stall_threshold: Option<Duration>,
    /// `etime-resolution`
    pub etime_resolution: EtimeResolution,
}

/// `[limits.NAME]`: of the limits, `None` is not set and 0 is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsRule {
    /// The table's name.
    pub name: String,
    /// Whom it speaks of.
    pub subject: LimitsSubject,
    /// `size-limit`
    pub size_limit: Option<u64>,
    /// `size-limit-hard`
    pub size_limit_hard: Option<u64>,
    /// `time-limit`
    pub time_limit: Option<Duration>,
    /// `time-limit-hard`
    pub time_limit_hard: Option<Duration>,
    /// `lookthrough-limit`
    pub lookthrough_limit: Option<u64>,
    /// `filter-part-limit`
    pub filter_part_limit: Option<usize>,
    /// `idle-time-limit`
    pub idle_time_limit: Option<Duration>,
    /// `page-size-limit`
    pub page_size_limit: Option<u64>,
    /// `paged-total-limit`
    pub paged_total_limit: Option<u64>,
    /// `allow-paged-results`
    pub allow_paged_results: bool,
    /// `unindexed-search`
    pub unindexed_search: bool,
}

/// Whom a rule speaks of: `type` and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitsSubject {
    /// `anonymous`
    Anonymous,
    /// `authenticated`
    Authenticated,
    /// `everyone`
    Everyone,
    /// `dn`
    Dn {
        /// `user-dn`
        dns: Vec<String>,
        /// `scope`
        scope: DnScope,
    },
    /// `dn-pattern`: `pattern`, a regular expression that was found to be one.
    Pattern(String),
    /// `group`
    Group {
        /// `group-dn`
        dns: Vec<String>,
    },
}

/// `[access-control-handler]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessControlConfig {
    /// `enabled`; otherwise everybody has the privilege `bypass-acl`.
    pub enabled: bool,
    /// `global-aci`
    pub global_acis: Vec<String>,
    /// `proposed-global-aci`
    pub proposed_global_acis: Vec<String>,
    /// `proposed-global-aci-mode`
    pub proposal_mode: ProposalMode,
    /// `proposed-aci-file`
    pub proposed_aci_file: Option<PathBuf>,
}

/// `[root-dn]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootDefaults {
    /// `default-root-privilege-name`
    pub default_privileges: Vec<String>,
}

/// `[root-dn-user.NAME]`
#[derive(Debug, Clone)]
pub struct RootDn {
    /// The table's name.
    pub name: String,
    /// `alternate-bind-dn`
    pub bind_dns: Vec<String>,
    /// `privilege-name`: beside those of all root users, or with `-` taken away from them.
    pub privileges: Vec<String>,
    /// `password`, as the file has it.
    pub password: Secret,
    /// `password-policy`, or that of root users.
    pub policy: Arc<PasswordPolicy>,
}

/// `[backend.ID]`
#[derive(Debug, Clone)]
pub struct BackendConfig {
    /// The table's name.
    pub id: String,
    /// `enabled`
    pub enabled: bool,
    /// `base-dn`
    pub base_dns: Vec<String>,
    /// The backend's own folder: `db-directory` and its id.
    pub directory: PathBuf,
    /// `writability-mode`
    pub writability: Writability,
    /// `index-entry-limit`; 0 is no limit.
    pub index_entry_limit: u64,
    /// `[backend.ID.index.ATTRIBUTE]`
    pub indexes: Vec<IndexConfig>,
    /// `[backend.ID.vlv-index.NAME]`
    pub vlv_indexes: Vec<VlvIndexConfig>,
    /// Where the secret of confidential indexes is.
    pub index_secret: PathBuf,
}

/// `[backend.ID.index.ATTRIBUTE]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexConfig {
    /// The table's name.
    pub attribute: String,
    /// `index-type`, each once.
    pub kinds: Vec<IndexKind>,
    /// `index-entry-limit`, the backend's if not set here; 0 is no limit.
    pub entry_limit: u64,
    /// `substring-length`
    pub substring_length: usize,
    /// `index-extensible-matching-rule`
    pub extensible_rules: Vec<String>,
    /// `confidentiality-enabled`
    pub is_confidential: bool,
}

impl IndexConfig {
    /// The indexes `kinds` of `attribute`, everything else as declared.
    #[must_use]
    pub fn new(attribute: &str, kinds: &[IndexKind]) -> Self {
        Self {
            attribute: attribute.to_owned(),
            kinds: kinds.to_vec(),
            entry_limit: 4000,
            substring_length: 6,
            extensible_rules: Vec::new(),
            is_confidential: false,
        }
    }
}

/// `[backend.ID.vlv-index.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlvIndexConfig {
    /// The table's name.
    pub name: String,
    /// `base-dn`
    pub base_dn: String,
    /// `scope`
    pub scope: Scope,
    /// `filter`
    pub filter: String,
    /// `sort-order`
    pub sort_order: String,
}

/// `[connection-handler.NAME]`
#[derive(Debug, Clone)]
pub struct LdapHandler {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// `listen-address` with `listen-port`, or `listen-path`.
    pub listen: Vec<ListenAddress>,
    /// `use-ssl`
    pub use_ssl: bool,
    /// `allow-start-tls`
    pub allow_start_tls: bool,
    /// `key-manager-provider`, `ssl-protocol` and the like; there whenever one of the two above is set.
    pub tls: Option<TlsConfig>,
    /// `allowed-client`; empty is everyone.
    pub allowed_clients: Vec<AddressMask>,
    /// `denied-client`
    pub denied_clients: Vec<AddressMask>,
    /// `minimum-security-strength-factor`
    pub minimum_strength_bits: u32,
    /// `proxy-protocol-allowed-client` if `proxy-protocol-enabled`, else empty.
    pub proxies: Vec<AddressMask>,
    /// `allow-ldap-v2`
    pub allow_ldap_v2: bool,
    /// `use-tcp-keep-alive`
    pub use_tcp_keep_alive: bool,
    /// `use-tcp-no-delay`
    pub use_tcp_no_delay: bool,
    /// `max-request-size`
    pub request_bytes_max: usize,
    /// `max-blocked-write-time-limit`; `None` is no limit.
    pub blocked_write_time_limit: Option<Duration>,
    /// `accept-backlog`
    pub accept_backlog: i32,
}

/// `[connection-handler.NAME]` of type `http`
#[derive(Debug, Clone)]
pub struct HttpHandler {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// `listen-address` with `listen-port`.
    pub listen: Vec<SocketAddr>,
    /// `use-ssl`
    pub use_ssl: bool,
    /// `key-manager-provider`, `ssl-protocol` and the like; there whenever `use_ssl` is set.
    pub tls: Option<TlsConfig>,
    /// `allowed-client`; empty is everyone.
    pub allowed_clients: Vec<AddressMask>,
    /// `denied-client`
    pub denied_clients: Vec<AddressMask>,
    /// `metrics-bearer-token-file`
    pub token_file: Option<PathBuf>,
}

/// Where a handler listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// TCP
    Tcp(SocketAddr),
    /// A socket in the file system (ldapi).
    Local(PathBuf),
}

/// Certificate, key and versions for TLS.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// `pem-certificate-file`
    pub certificate: PathBuf,
    /// `pem-private-key-file`
    pub private_key: PathBuf,
    /// `key-store-file`, instead of the two.
    pub key_store: Option<PathBuf>,
    /// `key-store-pin-file`
    pub pin_file: Option<PathBuf>,
    /// `key-store-pin-environment-variable`
    pub pin_variable: Option<String>,
    /// TLS 1.2 is in `ssl-protocol`.
    pub tls12: bool,
    /// TLS 1.3 is in `ssl-protocol`.
    pub tls13: bool,
    /// `ssl-cipher-suite`; empty is all.
    pub cipher_suites: Vec<String>,
    /// `trust-manager-provider`, unless `ssl-client-auth-policy` is `disabled`.
    pub clients: Option<ClientTrust>,
}

/// `[trust-manager-provider.NAME]`, and what a connection handler makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTrust {
    /// `ssl-client-auth-policy` is `required`.
    pub required: bool,
    /// `trust-store-file`
    pub trusted: Vec<PathBuf>,
    /// `revocation-list-file`
    pub revoked: Vec<PathBuf>,
}

/// `[changelog]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangelogConfig {
    /// `enabled`
    pub enabled: bool,
    /// `max-age`
    pub max_age: Duration,
    /// `max-size` in bytes.
    pub max_bytes: u64,
    /// `account-state`
    pub account_state: bool,
}

/// `[schema-provider.NAME]`
#[derive(Debug, Clone)]
pub struct SchemaConfig {
    /// `strict-format-country-string`
    pub strict_country_string: bool,
    /// `strict-format-certificates`
    pub strict_certificates: bool,
    /// `strict-format-jpeg-photos`
    pub strict_jpeg_photos: bool,
    /// `strict-format-booleans`
    pub strict_booleans: bool,
    /// `strict-format-telephone-numbers`
    pub strict_telephone_numbers: bool,
    /// `allow-zero-length-values-directory-string`
    pub allow_zero_length_directory_strings: bool,
    /// `allow-attribute-types-with-no-sup-or-syntax`
    pub allow_types_without_syntax: bool,
    /// `strip-syntax-min-upper-bound-attribute-type-description`
    pub strip_syntax_length: bool,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            /// The value that the configuration file spells so.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                $(if word.eq_ignore_ascii_case($word) { return Some(Self::$variant); })*
                None
            }

            /// How the configuration file spells it.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// What happens to something that the schema does not allow.
    Behavior {
        /// Accepted silently.
        Accept = "accept",
        /// Refused.
        Reject = "reject",
        /// Accepted, with a line in the error log.
        Warn = "warn",
    }
}
words! {
    /// How proposed global instructions go with those in force.
    ProposalMode {
        /// Both are tried together.
        Add = "add",
        /// The proposed ones are tried alone.
        Replace = "replace",
    }
}
words! {
    /// Who may write.
    Writability {
        /// Clients may.
        Enabled = "enabled",
        /// No client may.
        Disabled = "disabled",
        /// The server itself may.
        InternalOnly = "internal-only",
    }
}
words! {
    /// Which names belong to a DN.
    DnScope {
        /// That name.
        Base = "base",
        /// The names right below.
        One = "one",
        /// All names below.
        Children = "children",
        /// That name and all below.
        Subtree = "subtree",
    }
}
words! {
    /// Unit of etime: OpenDJ's two, and one between.
    EtimeResolution {
        /// ms
        Milliseconds = "milliseconds",
        /// µs
        Microseconds = "microseconds",
        /// ns
        Nanoseconds = "nanoseconds",
    }
}
words! {
    /// Which searches an index serves.
    IndexKind {
        /// `(a=v)`
        Equality = "equality",
        /// `(a=*)`
        Presence = "presence",
        /// `(a=*v*)`
        Substring = "substring",
        /// `(a>=v)`, `(a<=v)`
        Ordering = "ordering",
        /// `(a~=v)`
        Approximate = "approximate",
        /// `(a:rule:=v)`
        Extensible = "extensible",
    }
}
words! {
    /// What an entry shows that has stored values of an attribute that is computed for it.
    ConflictBehavior {
        /// What is stored.
        RealOverridesVirtual = "real-overrides-virtual",
        /// What is computed.
        VirtualOverridesReal = "virtual-overrides-real",
        /// Both.
        MergeRealAndVirtual = "merge-real-and-virtual",
    }
}
words! {
    /// How much a line of the error log matters.
    Severity {
        /// For the developers.
        Debug = "debug",
        /// Good to know.
        Info = "info",
        /// Of note: starts, stops, rebuilds.
        Notice = "notice",
        /// Something to look after.
        Warning = "warning",
        /// Something failed.
        Error = "error",
    }
}

impl Severity {
    /// All of them, least first.
    pub const ALL: [Severity; 5] =
        [Severity::Debug, Severity::Info, Severity::Notice, Severity::Warning, Severity::Error];

    pub(crate) fn set<'a>(words: impl Iterator<Item = &'a str>) -> BTreeSet<Severity> {
        let mut set = BTreeSet::new();
        for word in words {
            match word.trim() {
                word if word.eq_ignore_ascii_case("all") => set.extend(Self::ALL),
                word => set.extend(Self::from_word(word)),
            }
        }
        set
    }
}
