//! `[password-policy.NAME]` of type `ldap-pass-through`: the structs that the directory and the server read.
//!
//! Opens no connection and no file.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use accounts::pass_through::{CacheRule, FilterTemplate, Mapping, PassThrough};
use outbound::Server;
use password::Scheme;

use crate::object::{Judge, Object};
use crate::read::Get;
use crate::secret::Secret;

/// The type of policies whose passwords another directory checks.
pub(crate) const TYPE: &str = "ldap-pass-through";

/// The servers that check the passwords of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassThroughServers {
    /// The table's name.
    pub name: String,
    /// The name of the policy's entry.
    pub policy: String,
    /// `primary-remote-ldap-server`
    pub primary: Vec<Server>,
    /// `secondary-remote-ldap-server`
    pub secondary: Vec<Server>,
    /// `source-address`
    pub source: Option<IpAddr>,
    /// `connection-timeout`
    pub timeout: Duration,
    /// `use-ssl` or `use-start-tls`, and what belongs to them.
    pub tls: Option<RemoteTls>,
    /// `mapped-search-bind-…`; none: searches are anonymous.
    pub search_bind: Option<SearchBind>,
    /// `use-tcp-keep-alive`
    pub keep_alive: bool,
    /// `use-tcp-no-delay`
    pub no_delay: bool,
}

/// TLS on connections to other servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteTls {
    /// `use-ssl` or `use-start-tls`
    pub begins: TlsBegins,
    /// Certificates of the issuers that are trusted; none: those of the machine.
    pub trusted: Option<Vec<PathBuf>>,
    /// Certificate revocation lists.
    pub revoked: Vec<PathBuf>,
    /// `ssl-protocol`
    pub tls12: bool,
    /// `ssl-protocol`
    pub tls13: bool,
    /// `ssl-cipher-suite`; empty is all.
    pub cipher_suites: Vec<String>,
}

/// When a connection becomes one with TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsBegins {
    /// With its first octet.
    AtOnce,
    /// After the StartTLS operation.
    AfterStartTls,
}

/// As whom accounts are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchBind {
    /// `mapped-search-bind-dn`
    pub dn: String,
    /// Where the password is.
    pub password: SecretSource,
}

/// Where a password is that the server needs itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// In the configuration.
    Written(Secret),
    /// In the first line of a file.
    File(PathBuf),
    /// In a variable of the environment.
    Variable(String),
}

/// saslauthd, which checks the passwords of `{SASL}` values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaslauthdConfig {
    /// `saslauthd-socket`
    pub socket: PathBuf,
    /// `saslauthd-timeout`
    pub timeout: Duration,
}

/// Where the password of the searches may be.
const PASSWORDS: [&str; 3] = [
    "mapped-search-bind-password",
    "mapped-search-bind-password-environment-variable",
    "mapped-search-bind-password-file",
];

/// What says something of TLS only.
const TLS_ONLY: [&str; 3] = ["trust-manager-provider", "ssl-protocol", "ssl-cipher-suite"];

const JUDGED: [(&str, Judge); 3] = [
    ("primary-remote-ldap-server", is_server),
    ("secondary-remote-ldap-server", is_server),
    ("mapped-search-filter-template", is_template),
];

pub(crate) fn is_server(text: &str) -> Result<(), String> {
    text.parse::<Server>().map(drop).map_err(|error| error.to_string())
}

fn is_template(text: &str) -> Result<(), String> {
    FilterTemplate::parse(text).map(drop).map_err(|error| error.to_string())
}

fn policies(objects: &[Object]) -> impl Iterator<Item = &Object> {
    objects.iter().filter(|object| object.class.name == "password-policy" && object.variant.type_name == TYPE)
}

/// Faults that no single property shows, each with its place in the text.
pub(crate) fn faults(objects: &[Object]) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for object in policies(objects) {
        object.judge(&JUDGED, &mut faults);
        let mut fault = |at: usize, text: &str| faults.push((at, format!("{} {text}", object.title())));
        let says = |name: &str| object.values(name).first().map(ToString::to_string).unwrap_or_default();
        let (mapping, is_set) = (says("mapping-policy"), |name: &str| object.settings.contains_key(name));
        if mapping != "unmapped" && !is_set("mapped-attribute") {
            fault(object.offset_of("mapping-policy"), &format!("is {mapping} and needs \"mapped-attribute\""));
        }
        if mapping == "mapped-search" && !is_set("mapped-search-base-dn") {
            fault(object.offset_of("mapping-policy"), "is mapped-search and needs \"mapped-search-base-dn\"");
        }
        let passwords: Vec<&str> = PASSWORDS.into_iter().filter(|name| is_set(name)).collect();
        match (is_set("mapped-search-bind-dn"), passwords.as_slice()) {
            (true, []) => {
                let text = format!("binds to search and needs the password: set one of {}", PASSWORDS.join(", "));
                fault(object.offset_of("mapped-search-bind-dn"), &text);
            }
            (false, [first, ..]) => {
                fault(object.offset_of(first), &format!("has {first}, but no mapped-search-bind-dn"));
            }
            (_, [_, second, ..]) => {
                fault(object.offset_of(second), &format!("has {} at the same time: set one", passwords.join(" and ")));
            }
            _ => {}
        }
        match (says("use-ssl") == "true", says("use-start-tls") == "true") {
            (true, true) => fault(object.offset_of("use-start-tls"), "has use-ssl and use-start-tls: set one of them"),
            (false, false) => {
                for name in TLS_ONLY.into_iter().filter(|name| is_set(name)) {
                    let text = format!("has {name}, but no TLS: set use-ssl or use-start-tls to true, or remove it");
                    fault(object.offset_of(name), &text);
                }
            }
            _ => {}
        }
        if matches!(Scheme::from_name(&says("cached-password-storage-scheme")), Some(Scheme::Clear | Scheme::Base64)) {
            let text = "would keep passwords of another directory as they are: choose a scheme that hashes";
            fault(object.offset_of("cached-password-storage-scheme"), text);
        }
    }
    faults
}

/// What the directory decides by.
pub(crate) fn pass_through(get: &Get<'_>) -> PassThrough {
    let attributes = get.texts("mapped-attribute");
    let mapping = match get.text("mapping-policy").as_str() {
        "mapped-bind" => Mapping::MappedBind { attributes },
        "mapped-search" => Mapping::MappedSearch {
            attributes,
            bases: get.texts("mapped-search-base-dn"),
            template: get
                .one("mapped-search-filter-template")
                .and_then(|it| FilterTemplate::parse(&it.to_string()).ok()),
        },
        _ => Mapping::Unmapped,
    };
    let cached = get.boolean("use-password-caching").then(|| CacheRule {
        scheme: Scheme::from_name(&get.text("cached-password-storage-scheme")).unwrap_or(Scheme::SaltedSha512),
        time_to_live: get.duration("cached-password-ttl"),
    });
    PassThrough { mapping, cached }
}

/// The servers of all such policies, each with the name of the policy's entry that `dn_of` makes.
pub(crate) fn servers(objects: &[Object], instance: &Path, dn_of: fn(&str) -> String) -> Vec<PassThroughServers> {
    let servers = |get: &Get<'_>, name: &str| get.texts(name).iter().filter_map(|text| text.parse().ok()).collect();
    let one = |object: &Object| {
        let get = Get { object, instance };
        PassThroughServers {
            name: object.name.clone(),
            policy: dn_of(&object.name),
            primary: servers(&get, "primary-remote-ldap-server"),
            secondary: servers(&get, "secondary-remote-ldap-server"),
            source: get.addresses("source-address").pop(),
            timeout: get.duration("connection-timeout"),
            tls: tls_begins(&get).map(|begins| tls(&get, objects, begins)),
            search_bind: search_bind(&get),
            keep_alive: get.boolean("use-tcp-keep-alive"),
            no_delay: get.boolean("use-tcp-no-delay"),
        }
    };
    policies(objects).map(one).collect()
}

fn tls_begins(get: &Get<'_>) -> Option<TlsBegins> {
    match (get.boolean("use-ssl"), get.boolean("use-start-tls")) {
        (true, _) => Some(TlsBegins::AtOnce),
        (false, true) => Some(TlsBegins::AfterStartTls),
        (false, false) => None,
    }
}

fn tls(get: &Get<'_>, objects: &[Object], begins: TlsBegins) -> RemoteTls {
    let name = get.text("trust-manager-provider");
    let provider = objects.iter().find(|it| it.class.name == "trust-manager-provider" && it.name == name);
    let paths = |name: &str| -> Option<Vec<PathBuf>> {
        Some(provider?.values(name).iter().map(|path| get.instance.join(path.to_string())).collect())
    };
    let versions = get.texts("ssl-protocol");
    RemoteTls {
        begins,
        trusted: paths("trust-store-file"),
        revoked: paths("revocation-list-file").unwrap_or_default(),
        tls12: versions.iter().any(|version| version == "TLSv1.2"),
        tls13: versions.iter().any(|version| version == "TLSv1.3"),
        cipher_suites: get.texts("ssl-cipher-suite"),
    }
}

fn search_bind(get: &Get<'_>) -> Option<SearchBind> {
    let dn = get.one("mapped-search-bind-dn")?.to_string();
    let [written, variable, file] = PASSWORDS;
    let password = match (get.one(variable), get.optional_path(file)) {
        (Some(variable), _) => SecretSource::Variable(variable.to_string()),
        (None, Some(file)) => SecretSource::File(file),
        (None, None) => SecretSource::Written(get.secret(written)),
    };
    Some(SearchBind { dn, password })
}

/// saslauthd, if the configuration names it.
pub(crate) fn saslauthd(global: &Get<'_>) -> Option<SaslauthdConfig> {
    let socket = global.optional_path("saslauthd-socket")?;
    Some(SaslauthdConfig { socket, timeout: global.duration("saslauthd-timeout") })
}
