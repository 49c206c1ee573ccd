//! From objects to the structs that the server reads: defaults filled in, paths absolute, references resolved.
//!
//! Knows the names of the properties. Does not know TOML.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use accounts::PasswordPolicy;
use ldap::Scope;

use crate::instance::Instance;
use crate::mask::AddressMask;
use crate::object::Object;
use crate::secret::Secret;
use crate::value::Value;
use crate::views::{
    AccessControlConfig, BackendConfig, Behavior, ChangelogConfig, ClientTrust, DnScope, EtimeResolution, GlobalConfig,
    HttpHandler, IndexConfig, IndexKind, LdapHandler, LimitsRule, LimitsSubject, ListenAddress, ProposalMode,
    RootDefaults, RootDn, SchemaConfig, TlsConfig, VlvIndexConfig, Writability,
};

/// Reads the values of one object; a property that is not set has its declared default.
pub(crate) struct Get<'a> {
    pub(crate) object: &'a Object,
    pub(crate) instance: &'a Path,
}

impl Get<'_> {
    pub(crate) fn one(&self, name: &str) -> Option<Value> {
        self.object.values(name).into_iter().next()
    }

    pub(crate) fn times_of_day(&self, name: &str) -> Vec<(u8, u8)> {
        let times = self.object.values(name).into_iter();
        times.filter_map(|v| if let Value::TimeOfDay(h, m) = v { Some((h, m)) } else { None }).collect()
    }

    pub(crate) fn boolean(&self, name: &str) -> bool {
        matches!(self.one(name), Some(Value::Boolean(true)))
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        match self.one(name) {
            Some(Value::Integer(number)) => u64::try_from(number).unwrap_or(0),
            Some(Value::Size(bytes)) => bytes,
            _ => 0,
        }
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        usize::try_from(self.number(name)).unwrap_or(usize::MAX)
    }

    fn strength(&self) -> u32 {
        u32::try_from(self.number("minimum-security-strength-factor")).unwrap_or(u32::MAX)
    }

    /// A number of which 0 means "no limit".
    fn limit(&self, name: &str) -> Option<u64> {
        Some(self.number(name)).filter(|limit| *limit > 0)
    }

    /// A number of which -1 means "no limit", as in OpenDJ.
    fn limit_from_minus_one(&self, name: &str) -> Option<u64> {
        match self.one(name) {
            Some(Value::Integer(number)) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    pub(crate) fn duration(&self, name: &str) -> Duration {
        match self.one(name) {
            Some(Value::Duration(ms)) => Duration::from_millis(ms),
            _ => Duration::ZERO,
        }
    }

    fn time_limit(&self, name: &str) -> Option<Duration> {
        Some(self.duration(name)).filter(|limit| !limit.is_zero())
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.one(name).map(|value| value.to_string()).unwrap_or_default()
    }

    pub(crate) fn secret(&self, name: &str) -> Secret {
        match self.one(name) {
            Some(Value::Secret(secret)) => secret,
            _ => Secret::default(),
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        self.object.values(name).iter().map(ToString::to_string).collect()
    }

    fn word<T>(&self, name: &str, from_word: fn(&str) -> Option<T>, otherwise: T) -> T {
        from_word(&self.text(name)).unwrap_or(otherwise)
    }

    pub(crate) fn mode(&self, name: &str) -> u32 {
        match self.one(name) {
            Some(Value::Mode(bits)) => bits,
            _ => 0o640,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.instance.join(self.text(name))
    }

    pub(crate) fn optional_path(&self, name: &str) -> Option<PathBuf> {
        self.one(name).map(|path| self.instance.join(path.to_string()))
    }

    pub(crate) fn masks(&self, name: &str) -> Vec<AddressMask> {
        let values = self.object.values(name);
        values.into_iter().filter_map(|value| if let Value::Mask(mask) = value { Some(mask) } else { None }).collect()
    }

    pub(crate) fn addresses(&self, name: &str) -> Vec<IpAddr> {
        let values = self.object.values(name);
        values.into_iter().filter_map(|value| if let Value::Address(a) = value { Some(a) } else { None }).collect()
    }
}

pub(crate) fn global(object: &Object, instance: &Path) -> GlobalConfig {
    let get = Get { object, instance };
    GlobalConfig {
        size_limit: get.limit("size-limit"),
        time_limit: get.time_limit("time-limit"),
        lookthrough_limit: get.limit("lookthrough-limit"),
        filter_part_limit: get.count("filter-part-limit"),
        idle_time_limit: get.time_limit("idle-time-limit"),
        allowed_clients: get.masks("allowed-client"),
        denied_clients: get.masks("denied-client"),
        minimum_strength_bits: get.strength(),
        connections_max: get.limit("max-allowed-client-connections"),
        outstanding_operations_max: get.count("max-outstanding-operations"),
        persistent_searches_max: get.limit_from_minus_one("max-psearches"),
        writability: get.word("writability-mode", Writability::from_word, Writability::Enabled),
        bind_with_dn_requires_password: get.boolean("bind-with-dn-requires-password"),
        return_bind_error_messages: get.boolean("return-bind-error-messages"),
        wrong_passwords_per_address: u32::try_from(get.count("wrong-passwords-per-address")).unwrap_or(u32::MAX),
        wrong_passwords_per_name: u32::try_from(get.count("wrong-passwords-per-name")).unwrap_or(u32::MAX),
        refuse_password_attacks: get.boolean("refuse-password-attacks"),
        identity_mapper: get.one("proxied-authorization-identity-mapper").map(|name| name.to_string()),
        disabled_privileges: get.texts("disabled-privilege"),
        check_schema: get.boolean("check-schema"),
        invalid_attribute_syntax_behavior: get.word(
            "invalid-attribute-syntax-behavior",
            Behavior::from_word,
            Behavior::Reject,
        ),
        single_structural_objectclass_behavior: get.word(
            "single-structural-objectclass-behavior",
            Behavior::from_word,
            Behavior::Reject,
        ),
        allow_attribute_name_exceptions: get.boolean("allow-attribute-name-exceptions"),
        notify_abandoned_operations: get.boolean("notify-abandoned-operations"),
        default_referrals: get.texts("default-referral"),
        expiry_warning_time: get.times_of_day("password-expiration-warning-time").first().copied(),
        stall_threshold: get.time_limit("stall-threshold"),
        etime_resolution: get.word("etime-resolution", EtimeResolution::from_word, EtimeResolution::Milliseconds),
    }
}

pub(crate) fn limits_rule(object: &Object, instance: &Path) -> LimitsRule {
    let get = Get { object, instance };
    let is_set = |name: &str| get.one(name).is_some();
    let count = |name: &str| is_set(name).then(|| get.number(name));
    let time = |name: &str| is_set(name).then(|| get.duration(name));
    let subject = match object.variant.type_name {
        "anonymous" => LimitsSubject::Anonymous,
        "authenticated" => LimitsSubject::Authenticated,
        "dn" => {
            LimitsSubject::Dn { dns: get.texts("user-dn"), scope: get.word("scope", DnScope::from_word, DnScope::Base) }
        }
        "dn-pattern" => LimitsSubject::Pattern(get.text("pattern")),
        "group" => LimitsSubject::Group { dns: get.texts("group-dn") },
        _ => LimitsSubject::Everyone,
    };
    LimitsRule {
        name: object.name.clone(),
        subject,
        size_limit: count("size-limit"),
        size_limit_hard: count("size-limit-hard"),
        time_limit: time("time-limit"),
        time_limit_hard: time("time-limit-hard"),
        lookthrough_limit: count("lookthrough-limit"),
        filter_part_limit: is_set("filter-part-limit").then(|| get.count("filter-part-limit")),
        idle_time_limit: time("idle-time-limit"),
        page_size_limit: count("page-size-limit"),
        paged_total_limit: count("paged-total-limit"),
        allow_paged_results: get.boolean("allow-paged-results"),
        unindexed_search: get.boolean("unindexed-search"),
    }
}

pub(crate) fn root_dn(object: &Object, instance: &Path, policy: Arc<PasswordPolicy>) -> RootDn {
    let get = Get { object, instance };
    RootDn {
        name: object.name.clone(),
        bind_dns: get.texts("alternate-bind-dn"),
        privileges: get.texts("privilege-name"),
        password: get.secret("password"),
        policy,
    }
}

pub(crate) fn access_control(object: &Object, instance: &Path) -> AccessControlConfig {
    let get = Get { object, instance };
    AccessControlConfig {
        enabled: get.boolean("enabled"),
        global_acis: get.texts("global-aci"),
        proposed_global_acis: get.texts("proposed-global-aci"),
        proposal_mode: get.word("proposed-global-aci-mode", ProposalMode::from_word, ProposalMode::Add),
        proposed_aci_file: get.one("proposed-aci-file").map(|_| get.path("proposed-aci-file")),
    }
}

pub(crate) fn root_defaults(object: &Object, instance: &Path) -> RootDefaults {
    RootDefaults { default_privileges: Get { object, instance }.texts("default-root-privilege-name") }
}

pub(crate) fn backend(object: &Object, instance: &Path) -> BackendConfig {
    let get = Get { object, instance };
    let index_entry_limit = get.number("index-entry-limit");
    BackendConfig {
        id: object.name.clone(),
        enabled: get.boolean("enabled"),
        base_dns: get.texts("base-dn"),
        directory: get.path("db-directory").join(&object.name),
        writability: get.word("writability-mode", Writability::from_word, Writability::Enabled),
        index_entry_limit,
        indexes: object.children_of("index").map(|child| index(child, instance, index_entry_limit)).collect(),
        vlv_indexes: object.children_of("vlv-index").map(|child| vlv_index(child, instance)).collect(),
        index_secret: Instance::new(instance).index_secret(),
    }
}

fn vlv_index(object: &Object, instance: &Path) -> VlvIndexConfig {
    let get = Get { object, instance };
    VlvIndexConfig {
        name: object.name.clone(),
        base_dn: get.text("base-dn"),
        scope: get.word("scope", Scope::from_word, Scope::WholeSubtree),
        filter: get.text("filter"),
        sort_order: get.text("sort-order"),
    }
}

fn index(object: &Object, instance: &Path, backend_limit: u64) -> IndexConfig {
    let get = Get { object, instance };
    let kinds: BTreeSet<IndexKind> =
        get.texts("index-type").iter().filter_map(|word| IndexKind::from_word(word)).collect();
    IndexConfig {
        attribute: object.name.clone(),
        kinds: kinds.into_iter().collect(),
        entry_limit: get.one("index-entry-limit").map_or(backend_limit, |_| get.number("index-entry-limit")),
        substring_length: get.count("substring-length"),
        extensible_rules: get.texts("index-extensible-matching-rule"),
        is_confidential: get.boolean("confidentiality-enabled"),
    }
}

pub(crate) fn handler(object: &Object, instance: &Path, all: &[Object]) -> LdapHandler {
    let get = Get { object, instance };
    let local = object.variant.type_name == "ldapi";
    let tcp = |name: &str| !local && get.boolean(name);
    let listen = if local {
        vec![ListenAddress::Local(get.path("listen-path"))]
    } else {
        sockets(&get).map(ListenAddress::Tcp).collect()
    };
    LdapHandler {
        name: object.name.clone(),
        enabled: get.boolean("enabled"),
        listen,
        use_ssl: tcp("use-ssl"),
        allow_start_tls: tcp("allow-start-tls"),
        tls: if local { None } else { tls(&get, all) },
        allowed_clients: if local { Vec::new() } else { get.masks("allowed-client") },
        denied_clients: if local { Vec::new() } else { get.masks("denied-client") },
        minimum_strength_bits: if local { 0 } else { get.strength() },
        proxies: if tcp("proxy-protocol-enabled") { get.masks("proxy-protocol-allowed-client") } else { Vec::new() },
        allow_ldap_v2: local || get.boolean("allow-ldap-v2"),
        use_tcp_keep_alive: tcp("use-tcp-keep-alive"),
        use_tcp_no_delay: tcp("use-tcp-no-delay"),
        request_bytes_max: get.count("max-request-size"),
        blocked_write_time_limit: get.time_limit("max-blocked-write-time-limit"),
        accept_backlog: i32::try_from(get.number("accept-backlog")).unwrap_or(i32::MAX),
    }
}

/// What `cn=monitor`, `status` and the messages call the administration connector.
const CONNECTOR_NAME: &str = "Administration Connector";

/// The administration connector as a handler of LDAP over TLS; none without a certificate.
pub(crate) fn administration_connector(object: &Object, instance: &Path, all: &[Object]) -> Option<LdapHandler> {
    let get = Get { object, instance };
    let tls = tls(&get, all)?;
    Some(LdapHandler {
        name: CONNECTOR_NAME.to_owned(),
        enabled: true,
        listen: sockets(&get).map(ListenAddress::Tcp).collect(),
        use_ssl: true,
        allow_start_tls: false,
        tls: Some(tls),
        allowed_clients: Vec::new(),
        denied_clients: Vec::new(),
        minimum_strength_bits: 0,
        proxies: Vec::new(),
        allow_ldap_v2: false,
        use_tcp_keep_alive: true,
        use_tcp_no_delay: true,
        request_bytes_max: CONNECTOR_REQUEST_BYTES_MAX,
        blocked_write_time_limit: Some(CONNECTOR_BLOCKED_WRITE_MAX),
        accept_backlog: CONNECTOR_BACKLOG,
    })
}

/// As connection handlers have it unless told otherwise.
const CONNECTOR_REQUEST_BYTES_MAX: usize = 5 * 1024 * 1024;
const CONNECTOR_BLOCKED_WRITE_MAX: Duration = Duration::from_secs(120);
const CONNECTOR_BACKLOG: i32 = 4096;

pub(crate) fn http_handler(object: &Object, instance: &Path, all: &[Object]) -> HttpHandler {
    let get = Get { object, instance };
    HttpHandler {
        name: object.name.clone(),
        enabled: get.boolean("enabled"),
        listen: sockets(&get).collect(),
        use_ssl: get.boolean("use-ssl"),
        tls: tls(&get, all),
        allowed_clients: get.masks("allowed-client"),
        denied_clients: get.masks("denied-client"),
        token_file: get.optional_path("metrics-bearer-token-file"),
    }
}

fn sockets(get: &Get<'_>) -> impl Iterator<Item = SocketAddr> {
    let port = u16::try_from(get.number("listen-port")).unwrap_or(0);
    get.addresses("listen-address").into_iter().map(move |ip| SocketAddr::new(ip, port))
}

fn tls(get: &Get<'_>, all: &[Object]) -> Option<TlsConfig> {
    let name = get.text("key-manager-provider");
    let provider = all.iter().find(|object| object.class.name == "key-manager-provider" && object.name == name)?;
    let versions = get.texts("ssl-protocol");
    let provider = Get { object: provider, instance: get.instance };
    Some(TlsConfig {
        certificate: provider.path("pem-certificate-file"),
        private_key: provider.path("pem-private-key-file"),
        key_store: provider.one("key-store-file").map(|_| provider.path("key-store-file")),
        pin_file: provider.one("key-store-pin-file").map(|_| provider.path("key-store-pin-file")),
        pin_variable: provider.one("key-store-pin-environment-variable").map(|name| name.to_string()),
        tls12: versions.iter().any(|version| version == "TLSv1.2"),
        tls13: versions.iter().any(|version| version == "TLSv1.3"),
        cipher_suites: get.texts("ssl-cipher-suite"),
        clients: client_trust(get, all),
    })
}

fn client_trust(get: &Get<'_>, all: &[Object]) -> Option<ClientTrust> {
    // Clients of HTTP are not asked for certificates.
    get.object.variant.property("trust-manager-provider")?;
    let (name, policy) = (get.text("trust-manager-provider"), get.text("ssl-client-auth-policy"));
    let is_it = |object: &&Object| object.class.name == "trust-manager-provider" && object.name == name;
    let provider = all.iter().find(is_it).filter(|_| policy != "disabled")?;
    let paths = |name: &str| provider.values(name).iter().map(|path| get.instance.join(path.to_string())).collect();
    let (trusted, revoked) = (paths("trust-store-file"), paths("revocation-list-file"));
    Some(ClientTrust { required: policy == "required", trusted, revoked })
}

pub(crate) fn changelog(object: &Object, instance: &Path) -> ChangelogConfig {
    let get = Get { object, instance };
    ChangelogConfig {
        enabled: get.boolean("enabled"),
        max_age: get.duration("max-age"),
        max_bytes: get.number("max-size"),
        account_state: get.boolean("account-state"),
    }
}

pub(crate) fn schema(object: &Object, instance: &Path) -> SchemaConfig {
    let get = Get { object, instance };
    SchemaConfig {
        strict_country_string: get.boolean("strict-format-country-string"),
        strict_certificates: get.boolean("strict-format-certificates"),
        strict_jpeg_photos: get.boolean("strict-format-jpeg-photos"),
        strict_booleans: get.boolean("strict-format-booleans"),
        strict_telephone_numbers: get.boolean("strict-format-telephone-numbers"),
        allow_zero_length_directory_strings: get.boolean("allow-zero-length-values-directory-string"),
        allow_types_without_syntax: get.boolean("allow-attribute-types-with-no-sup-or-syntax"),
        strip_syntax_length: get.boolean("strip-syntax-min-upper-bound-attribute-type-description"),
    }
}
