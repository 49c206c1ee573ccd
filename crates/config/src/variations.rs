//! For tests: for every declared property two configurations that differ in it alone.
//!
//! Made from the declarations, so that a property that is declared tomorrow is tested tomorrow. Knows what a valid
//! value of each syntax is, and what else an object needs for a value to count.

use crate::declarations::CLASSES;
use crate::declare::{Class, Default, Property, Variant};
use crate::object::quoted;
use crate::syntax::Syntax;
use crate::units::{duration_text, size_text};

/// Two files that differ in one property.
#[derive(Debug)]
pub struct Variation {
    /// The class of the object that has the property.
    pub class: &'static Class,
    /// The object's kind.
    pub variant: &'static Variant,
    /// The property.
    pub property: &'static Property,
    /// A configuration.
    pub before: String,
    /// The same with another value.
    pub after: String,
}

/// What other objects refer to by name, and what no server starts without.
const SURROUNDINGS: &str = r#"
[connection-handler.socket]
type = "ldapi"
listen-path = "a-socket"
[certificate-mapper.one]
type = "subject-equals-dn"
[certificate-mapper.two]
type = "subject-equals-dn"
[identity-mapper.one]
type = "exact-match"
[identity-mapper.two]
type = "exact-match"
[password-validator.one]
type = "length-based"
min-password-length = 1
[password-validator.two]
type = "length-based"
min-password-length = 2
[password-generator.one]
type = "random"
[password-generator.two]
type = "random"
password-format = "alpha:9"
[password-policy.one]
[password-policy.two]
[key-manager-provider.one]
[key-manager-provider.two]
pem-certificate-file = "keys/two.crt"
[trust-manager-provider.one]
trust-store-file = "keys/one.crt"
[trust-manager-provider.two]
trust-store-file = "keys/two.crt"
[account-status-notification-handler.one]
type = "error-log"
[account-status-notification-handler.two]
type = "error-log"
[mail-server.one]
smtp-server = "mail.example.com:25"
[mail-server.two]
smtp-server = "mail.example.org:25"
[log-rotation-policy.one]
type = "size-limit"
file-size-limit = "1 mb"
[log-rotation-policy.two]
type = "size-limit"
file-size-limit = "2 mb"
[log-retention-policy.one]
type = "file-count"
number-of-files = 1
[log-retention-policy.two]
type = "file-count"
number-of-files = 2
"#;
const BACKEND: &str = "[backend.userRoot]\nbase-dn = \"dc=example,dc=com\"\n";
/// The indexes that plugins need.
const INDEXES: &str = r#"
[backend.userRoot.index]
cn = { index-type = "equality" }
entryExpireTimestamp = { index-type = "equality" }
mail = { index-type = "equality" }
member = { index-type = "equality" }
objectClass = { index-type = "equality" }
owner = { index-type = "equality" }
uid = { index-type = "equality" }
uniqueMember = { index-type = "equality" }
"#;

/// Every property of every kind of object.
#[must_use]
pub fn variations() -> Vec<Variation> {
    let mut all = Vec::new();
    for class in CLASSES {
        add(class, &[], &mut all);
    }
    all
}

fn add(class: &'static Class, above: &[&'static Class], all: &mut Vec<Variation>) {
    for variant in class.variants {
        for property in variant.properties {
            let text = |value: &str| file(class, above, variant, property, value);
            let [first, second] = values(property, variant);
            all.push(Variation { class, variant, property, before: text(&first), after: text(&second) });
        }
    }
    for child in class.children {
        add(child, &[above, &[class]].concat(), all);
    }
}

/// A file with one object of that kind, its property set to the value.
fn file(class: &Class, above: &[&Class], variant: &Variant, property: &Property, value: &str) -> String {
    let mut settings: Vec<(&str, String)> = vec![(property.name, value.to_owned())];
    settings.extend(companions(variant, property).iter().map(|(name, value)| (*name, (*value).to_owned())));
    for own in variant.properties.iter().filter(|own| matches!(own.default, Default::Mandatory)) {
        if !settings.iter().any(|(name, _)| *name == own.name) {
            let [first, _] = values(own, variant);
            settings.push((own.name, first));
        }
    }
    let mut text = String::new();
    let path: Vec<String> = [above, &[class]].concat().iter().map(|class| step(class, variant)).collect();
    match above {
        [] => {}
        [top] if top.name == "log-publisher" => {
            text.push_str("[log-publisher.subject]\ntype = \"file-based-access\"\nlog-file = \"one\"\n");
        }
        _ => text.push_str(BACKEND),
    }
    text.push_str(&format!("[{}]\n", path.join(".")));
    if !variant.type_name.is_empty() {
        text.push_str(&format!("type = \"{}\"\n", variant.type_name));
    }
    for (name, value) in settings {
        text.push_str(&format!("{name} = {}\n", toml_edit::Value::from(value)));
    }
    if path.first().is_none_or(|first| !first.starts_with("backend.")) {
        text.push_str(BACKEND);
    }
    text.push_str(INDEXES);
    text.push_str(SURROUNDINGS);
    text.push_str(match class.name {
        "log-rotation-policy" => "[log-publisher.reader]\ntype = \"file-based-error\"\nrotation-policy = \"subject\"\n",
        "log-retention-policy" => {
            "[log-publisher.reader]\ntype = \"file-based-error\"\nretention-policy = \"subject\"\n"
        }
        "password-validator" => "[password-policy.reader]\npassword-validator = \"subject\"\n",
        "password-generator" => "[password-policy.reader]\npassword-generator = \"subject\"\n",
        "key-manager-provider" => {
            "[connection-handler.reader]\ntype = \"ldap\"\nlisten-port = 9\nkey-manager-provider = \"subject\"\n"
        }
        "trust-manager-provider" => {
            "[connection-handler.reader]\ntype = \"ldap\"\nlisten-port = 9\nkey-manager-provider = \"one\"\n\
             trust-manager-provider = \"subject\"\n"
        }
        _ => "",
    });
    text
}

fn step(class: &Class, variant: &Variant) -> String {
    let name = match class.name {
        "password-policy" if variant.type_name == class.name => "Default Password Policy",
        "backend" => "userRoot",
        "index" => "title",
        _ => "subject",
    };
    match class.named_by {
        Some(_) => format!("{}.{}", class.name, quoted(name)),
        None => class.name.to_owned(),
    }
}

const A_GLOBAL_ACI: &str =
    r#"(targetattr="title")(version 3.0; acl "titles"; allow (read,search,compare) userdn="ldap:///all";)"#;

const MAPPED_SEARCH: &[(&str, &str)] =
    &[("mapping-policy", "mapped-search"), ("mapped-attribute", "uid"), ("mapped-search-base-dn", "dc=a")];
const SEARCH_PASSWORD: &[(&str, &str)] = &[
    ("mapping-policy", "mapped-search"),
    ("mapped-attribute", "uid"),
    ("mapped-search-base-dn", "dc=a"),
    ("mapped-search-bind-password", "secret"),
];
const SEARCH_DN: &[(&str, &str)] = &[
    ("mapping-policy", "mapped-search"),
    ("mapped-attribute", "uid"),
    ("mapped-search-base-dn", "dc=a"),
    ("mapped-search-bind-dn", "cn=search"),
];

/// What else has to be set for a value to count, or to be allowed.
fn companions(variant: &Variant, property: &Property) -> &'static [(&'static str, &'static str)] {
    match (variant.type_name, property.name) {
        ("ldap-pass-through", "ssl-protocol" | "ssl-cipher-suite" | "trust-manager-provider") => &[("use-ssl", "true")],
        ("ldap-pass-through", "use-ssl" | "use-start-tls") => &[],
        ("ldap-pass-through", "mapped-attribute") => &[("mapping-policy", "mapped-bind")],
        ("ldap-pass-through", "mapping-policy") => &[("mapped-attribute", "uid"), ("mapped-search-base-dn", "dc=a")],
        ("ldap-pass-through", "mapped-search-base-dn") => {
            &[("mapping-policy", "mapped-search"), ("mapped-attribute", "uid")]
        }
        ("ldap-pass-through", "mapped-search-filter-template") => MAPPED_SEARCH,
        ("ldap-pass-through", "mapped-search-bind-dn") => SEARCH_PASSWORD,
        ("ldap-pass-through", name) if name.starts_with("mapped-search-bind-password") => SEARCH_DN,
        ("ldap-pass-through", "cached-password-storage-scheme" | "cached-password-ttl") => {
            &[("use-password-caching", "true")]
        }
        ("file-based-audit", "enabled") => &[],
        ("file-based-audit", _) => &[("enabled", "true")],
        ("", "saslauthd-timeout") => &[("saslauthd-socket", "mux")],
        // Of the administration connector, which is there when it has a certificate.
        ("", "listen-address" | "listen-port" | "ssl-protocol" | "ssl-cipher-suite") => {
            &[("key-manager-provider", "one")]
        }
        (_, "ssl-client-auth-policy") => &[("key-manager-provider", "one"), ("trust-manager-provider", "one")],
        ("smtp", "recipient-address") => &[],
        ("smtp", _) => &[("recipient-address", "helpdesk@example.com")],
        ("", "smtp-user") => &[("smtp-security", "tls"), ("smtp-password-file", "one.secret")],
        ("", "smtp-password-file") => &[("smtp-security", "tls"), ("smtp-user", "directory")],
        (_, "ssl-protocol" | "ssl-cipher-suite") => &[("key-manager-provider", "one"), ("use-ssl", "true")],
        (_, "use-ssl" | "allow-start-tls" | "trust-manager-provider") => &[("key-manager-provider", "one")],
        (_, "failure-delay-max") => &[("failure-delay", "1 ms")],
        (_, "grace-login-interval") => &[("grace-login-count", "1")],
        (_, "min-character-sets") => &[("character-set", "1:abc"), ("character-set-ranges", "1:0-9")],
        (_, "max-password-length") => &[("min-password-length", "0")],
        (_, "max-password-age") => &[("password-expiration-warning-interval", "1 s")],
        (_, "idle-lockout-interval" | "last-login-time-format" | "last-login-time-precision") => {
            &[("last-login-time-attribute", "pwdLastSuccess")]
        }
        (_, "previous-last-login-time-format") => &[("last-login-time-attribute", "pwdLastSuccess")],
        (_, "password-character-set") => &[("password-format", "alpha:3")],
        (_, "proxy-protocol-enabled") => &[("proxy-protocol-allowed-client", "10.0.0.9")],
        (_, "proxy-protocol-allowed-client") => &[("proxy-protocol-enabled", "true")],
        (_, "proposed-global-aci-mode") => &[("global-aci", A_GLOBAL_ACI), ("proposed-global-aci", A_GLOBAL_ACI)],
        (_, "index-extensible-matching-rule") => &[("index-type", "extensible")],
        ("constraint", "size") | ("attribute-cleanup", "remove-inbound-attributes") => &[],
        ("constraint", _) => &[("size", "9 kb")],
        ("attribute-cleanup", _) => &[("remove-inbound-attributes", "title")],
        _ => &[],
    }
}

/// Two values that are allowed.
fn values(property: &Property, variant: &Variant) -> [String; 2] {
    let pair = |one: &str, two: &str| [one.to_owned(), two.to_owned()];
    match (property.syntax, property.name) {
        (Syntax::Text, "last-login-time-format" | "previous-last-login-time-format") => pair("yyyyMMdd", "yyyyMM"),
        (Syntax::Text, "require-change-by-time") => pair("20270101000000Z", "2028010100Z"),
        (Syntax::Text, "character-set") => pair("1:abc", "2:abc"),
        (Syntax::Text, "character-set-ranges") => pair("1:a-z", "0:a-zA-Z"),
        (Syntax::Text, "password-character-set") => pair("alpha:abc", "alpha:abcd"),
        (Syntax::Text, "password-format") => pair("alpha:3", "alpha:4"),
        (Syntax::Dn, "ldapi-map-root-to-dn") => pair("uid=root,dc=example,dc=com", "uid=admin,dc=example,dc=com"),
        (Syntax::Path, "dictionary-file" | "breach-list-file") => pair(
            concat!(env!("CARGO_MANIFEST_DIR"), "/data/one.sha1"),
            concat!(env!("CARGO_MANIFEST_DIR"), "/data/two.sha1"),
        ),
        (Syntax::Text, "primary-remote-ldap-server" | "secondary-remote-ldap-server") => pair("one:389", "two:389"),
        (Syntax::Text, "mapped-search-filter-template") => pair("(uid=%s)", "(cn=%s)"),
        (Syntax::Text, "mapped-search-bind-password-environment-variable") => pair("PATH", "HOME"),
        (Syntax::Path, "mapped-search-bind-password-file") => pair("one.secret", "two.secret"),
        (Syntax::Choice(_), "mapping-policy") => pair("mapped-bind", "mapped-search"),
        (Syntax::Choice(_), "cached-password-storage-scheme") => pair("Salted SHA-512", "Salted SHA-256"),
        (Syntax::Text, "filter") => pair("(cn=one)", "(cn=two)"),
        (Syntax::Text, "subject-attribute-mapping") => pair("cn:cn", "emailAddress:mail"),
        (Syntax::Text, "sort-order") => pair("+sn", "+cn"),
        (Syntax::Text, "template") => pair("{uid} one", "{uid} two"),
        (Syntax::Text, "check-references-filter-criteria") => pair("member:(cn=one)", "member:(cn=two)"),
        (Syntax::Text, "rename-inbound-attributes") => pair("title:description", "title:street"),
        (Syntax::Text, "value-uri") => pair("ldap:///dc=example,dc=com?cn?one", "ldap:///dc=example,dc=com?uid?one"),
        (Syntax::Text, "sender-address" | "recipient-address") => pair("one@example.com", "two@example.com"),
        (Syntax::Text, "smtp-server") => pair("mail.example.com:25", "mail.example.org:25"),
        (Syntax::Text, "message-subject") => pair("password-expired:One", "password-expired:Two"),
        (Syntax::Text, "message-template-file") => pair("password-expired:one", "password-expired:two"),
        (Syntax::Text, "url") => pair("https://one.example.com/", "https://two.example.com/"),
        (Syntax::Text, "list-attribute") => pair("mail", "member:entryDN"),
        (Syntax::Text, "set" | "forbidden-set") => pair("this/cn", "this/sn"),
        (Syntax::Text, "index-extensible-matching-rule") => pair("fr", "de"),
        (Syntax::Text, "csv-quote-char") => pair("'", "|"),
        (Syntax::Text, "csv-delimiter-char") => pair(";", ":"),
        (Syntax::Text, "log-record-time-format") => pair("yyyy", "yyyyMM"),
        (Syntax::Text, name) if name.ends_with("dn-equal-to") || name.ends_with("dn-not-equal-to") => {
            pair("uid=one,**", "uid=two,**")
        }
        (Syntax::AttributeType, _) if variant.type_name == "referential-integrity" => pair("member", "owner"),
        (Syntax::ObjectClass, _) => pair("groupOfURLs", "groupOfNames"),
        (Syntax::AttributeType, _) if variant.type_name == "group-membership" => pair("seeAlso", "owner"),
        (Syntax::AttributeType, _) if variant.type_name.starts_with("user-") => pair("description", "title"),
        (Syntax::AttributeType, "last-login-time-attribute") => pair("pwdLastSuccess", "ds-pwp-last-login-time"),
        (Syntax::AttributeType, _) => pair("uid", "mail"),
        (Syntax::Text | Syntax::Reference(_), _) => pair("one", "two"),
        (Syntax::Pattern, _) => pair("^one", "^two"),
        (Syntax::Dn | Syntax::BaseDn, _) => pair("dc=example,dc=com", "dc=example,dc=org"),
        (Syntax::Integer { min, .. }, _) => [min.max(1).to_string(), (min.max(1) + 1).to_string()],
        (Syntax::Size { min, .. }, _) => [size_text(min.max(4096)), size_text(min.max(4096) * 2)],
        (Syntax::Duration { min_ms, .. }, _) => [duration_text(min_ms.max(5000)), duration_text(min_ms.max(5000) * 2)],
        (Syntax::Boolean, _) => pair("true", "false"),
        (Syntax::Choice(words), _) => {
            [words.first(), words.get(1)].map(|word| word.copied().unwrap_or_default().to_owned())
        }
        (Syntax::ServerUrl, _) => pair("ldap://one.example.com", "ldaps://two.example.com:1636"),
        (Syntax::Address, _) => pair("127.0.0.1", "127.0.0.2"),
        (Syntax::AddressMask, _) => pair("10.0.0.0/8", "192.168.0.0/16"),
        (Syntax::Path, "trusted-certificate-file") => pair("one.pem", "two.pem"),
        (Syntax::Path, "log-directory") => pair("logs-one", "logs-two"),
        (Syntax::Path, "key-set-file") => pair("one.jwks", "two.jwks"),
        (Syntax::Path, _) => pair("one", "two"),
        (Syntax::Mode, _) => pair("640", "600"),
        (Syntax::TimeOfDay, _) => pair("0100", "0200"),
        (Syntax::Aci, _) => ["one", "two"]
            .map(|name| format!(r#"(targetattr="*")(version 3.0; acl "{name}"; allow (read) userdn="ldap:///all";)"#)),
        (Syntax::PrivilegeChange, _) => pair("proxied-auth", "-bypass-acl"),
        (Syntax::SeverityOverride, _) => pair("SYNC=error", "SYNC=debug"),
        (Syntax::Password, _) => pair("{SSHA512}b25l", "{SSHA512}dHdv"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::{Config, SecretSource};

    /// The fields of a value, from its debug output: each line with the fields that it is in, as
    /// `GlobalConfig.size_limit`.
    fn fields(debug: &str) -> BTreeMap<(Vec<String>, String), usize> {
        let mut found = BTreeMap::new();
        // For each depth, the struct there and the field that it is the value of.
        let mut stack: Vec<(String, Option<String>)> = Vec::new();
        for line in debug.lines() {
            let depth = (line.len() - line.trim_start().len()) / 4;
            stack.truncate(depth);
            let content = line.trim().trim_end_matches(',');
            let owner = stack.last().map(|(owner, _)| owner.clone()).unwrap_or_default();
            let (field, value) = match content.split_once(": ") {
                Some((name, value)) if !name.contains(['"', ' ']) => (Some(format!("{owner}.{name}")), value),
                _ => (None, content),
            };
            let labels = stack.iter().filter_map(|(_, field)| field.clone()).chain(field.clone()).collect();
            *found.entry((labels, value.to_owned())).or_insert(0) += 1;
            let inner = value.strip_suffix(" {").map(str::to_owned);
            stack.push((inner.unwrap_or(owner), field));
        }
        found
    }

    fn changed_fields(before: &Config, after: &Config) -> BTreeSet<String> {
        let (before, after) = (fields(&format!("{before:#?}")), fields(&format!("{after:#?}")));
        let differs = |(key, count): &(&(Vec<String>, String), &usize), other: &BTreeMap<_, usize>| {
            other.get(*key) != Some(*count)
        };
        let changed =
            before.iter().filter(|it| differs(it, &after)).chain(after.iter().filter(|it| differs(it, &before)));
        changed.flat_map(|((labels, _), _)| labels.clone()).collect()
    }

    /// A property that no code reads must not be declared.
    #[test]
    fn every_property_shows_in_the_field_that_its_row_names() {
        let parse = |text: &str| {
            let config = Config::parse(text, Path::new("pando.toml"));
            config.unwrap_or_else(|faults| panic!("{faults}\n{text}"))
        };
        let all = variations();
        assert!(all.len() > 150, "{}", all.len());
        for Variation { class, variant, property, before, after } in all {
            let (before, after) = (parse(&before), parse(&after));
            let title = format!("[{}] {} {}", class.name, variant.type_name, property.name);
            if matches!(property.syntax, Syntax::Password) {
                let password = |config: &Config| match config.pass_through_servers.first() {
                    Some(servers) => match servers.search_bind.clone().unwrap().password {
                        SecretSource::Written(secret) => secret,
                        other => panic!("{title}: {other:?}"),
                    },
                    None => config.root_users[0].password.clone(),
                };
                assert_ne!(password(&before).expose(), password(&after).expose(), "{title}");
                continue;
            }
            let changed = changed_fields(&before, &after);
            assert!(changed.contains(property.field), "{title}: not {}, but {changed:?}", property.field);
            assert_eq!(before.changes_to(&after).live.is_empty(), !property.is_live(), "{title}");
            assert_eq!(before.changes_to(&after).at_restart.is_empty(), property.is_live(), "{title}");
        }
    }

    fn sources(folder: &Path, found: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            match path.is_dir() {
                true if !is_test => sources(&path, found),
                false if !is_test && path.extension().is_some_and(|it| it == "rs") => {
                    let text = fs::read_to_string(&path).unwrap();
                    found.push_str(text.split("\nmod tests {").next().unwrap_or_default());
                }
                _ => {}
            }
        }
    }

    /// A field that no other crate reads has no effect.
    #[test]
    fn every_field_is_read_by_another_crate() {
        let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut text = String::new();
        for entry in fs::read_dir(&crates).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name != "config") && path.join("src").is_dir() {
                sources(&path.join("src"), &mut text);
            }
        }
        for Variation { class, property, .. } in variations() {
            let name = property.field.rsplit('.').next().unwrap_or_default();
            // Read by its name, or taken out of its struct.
            let read = regex::Regex::new(&format!(r"\.\s*{name}\b|\b{name}\s*[,}}]")).unwrap();
            assert!(read.is_match(&text), "[{}] {}: nobody reads {}", class.name, property.name, property.field);
        }
    }
}
