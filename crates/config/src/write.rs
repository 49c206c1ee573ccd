//! The `pando.toml` of a new instance: every object that `setup` decides on, with comments that say what can be
//! changed.
//!
//! Knows the declarations and what `setup` was asked for. Writes no file: gives the text.

use std::fmt::Write;
use std::net::IpAddr;

use password::{Argon2Parameters, Scheme};

use crate::declarations::class;
use crate::declare::{Class, Default, Variant};
use crate::object::quoted;
use crate::password_policy::{DEFAULT_PASSWORD_POLICY, ROOT_PASSWORD_POLICY};
use crate::reference::setting_line;
use crate::storage_scheme::IMPORT_TYPE;
use crate::views::{IndexConfig, IndexKind};

/// An access control instruction and why it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommentedAci {
    /// A sentence for whoever reads the file.
    pub comment: &'static str,
    /// The instruction.
    pub text: &'static str,
}

/// How `import-ldif` stores clear passwords where the default scheme is slow: a million would take hours.
pub const IMPORTED_SCHEME: Scheme = Scheme::SaltedSha512;

/// What a new instance is made with.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Id of the first backend.
    pub backend_id: String,
    /// Its base DNs.
    pub base_dns: Vec<String>,
    /// Its indexes.
    pub indexes: Vec<IndexConfig>,
    /// The root user's DN.
    pub root_dn: String,
    /// The root user's password, encoded.
    pub root_password: String,
    /// What everybody may do.
    pub global_acis: Vec<CommentedAci>,
    /// Where to listen.
    pub listen_addresses: Vec<IpAddr>,
    /// Port of LDAP, with StartTLS if asked for below.
    pub ldap_port: Option<u16>,
    /// Port of LDAP over TLS.
    pub ldaps_port: Option<u16>,
    /// Port of HTTP, for metrics and health.
    pub http_port: Option<u16>,
    /// Clients may use StartTLS.
    pub start_tls: bool,
    /// A local socket too.
    pub local_socket: bool,
    /// Scheme of new passwords.
    pub password_scheme: Scheme,
    /// What one costs if that is Argon2.
    pub argon2: Option<Argon2Parameters>,
    /// Port of the administration connector, whose certificate is `keys/admin.crt`.
    pub administration_port: Option<u16>,
    /// The certificate's file and the key's, relative to the instance or absolute; `None` without TLS.
    pub key_pair: Option<(String, String)>,
}

/// The indexes of a new backend: those that OpenDJ makes.
#[must_use]
pub fn default_indexes() -> Vec<IndexConfig> {
    use IndexKind::{Equality, Ordering, Presence, Substring};
    let table: [(&str, &[IndexKind]); 13] = [
        ("aci", &[Presence]),
        ("cn", &[Equality, Substring]),
        ("ds-sync-conflict", &[Equality]),
        ("ds-sync-hist", &[Ordering]),
        ("entryUUID", &[Equality]),
        ("givenName", &[Equality, Substring]),
        ("mail", &[Equality, Substring]),
        ("member", &[Equality]),
        ("objectClass", &[Equality]),
        ("sn", &[Equality, Substring]),
        ("telephoneNumber", &[Equality, Substring]),
        ("uid", &[Equality]),
        ("uniqueMember", &[Equality]),
    ];
    table.into_iter().map(|(attribute, kinds)| IndexConfig::new(attribute, kinds)).collect()
}

const HEAD: &str = "\
# Configuration of this Pando instance.
#
# A table is an object, a key in it is a property. A property that is left out or commented out has its default, which
# is the value shown. docs/reference/configuration.md describes all objects and properties. Relative paths start at the
# directory that holds this file. The server reads the file when it starts and at `pando reload`.
";

impl Setup {
    /// The text of the file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = HEAD.to_owned();
        self.global(&mut out);
        self.access_control(&mut out);
        self.root_user(&mut out);
        self.backend(&mut out);
        self.handlers(&mut out);
        self.passwords(&mut out);
        logs(&mut out);
        out
    }

    fn global(&self, out: &mut String) {
        object(out, "global", "", "", &[]);
    }

    /// One line for each instruction, below its comment.
    fn access_control(&self, out: &mut String) {
        object(out, "access-control-handler", "", "", &[]);
        let _ = writeln!(out, "# docs/access-control.md describes the instructions.\nglobal-aci = [");
        for aci in &self.global_acis {
            for line in wrapped(aci.comment) {
                let _ = writeln!(out, "    # {line}");
            }
            // In single quotes: an instruction is full of double ones.
            let quoted = match aci.text.contains('\'') {
                false => format!("'{}'", aci.text),
                true => toml_edit::Value::from(aci.text).to_string(),
            };
            let _ = writeln!(out, "    {quoted},");
        }
        out.push_str("]\n");
    }

    fn root_user(&self, out: &mut String) {
        let name = self
            .root_dn
            .split_once('=')
            .map_or("root", |(_, value)| value.split(',').next().unwrap_or(value))
            .trim()
            .to_owned();
        let settings =
            [("alternate-bind-dn", vec![self.root_dn.clone()]), ("password", vec![self.root_password.clone()])];
        object(out, "root-dn-user", "", &name, &settings);
    }

    fn backend(&self, out: &mut String) {
        object(out, "backend", "", &self.backend_id, &[("base-dn", self.base_dns.clone())]);
        let _ = writeln!(
            out,
            "\n# Indexes, by attribute type; a running server takes changes at `pando reload`. See `pando dsconfig \
             --help`."
        );
        let _ = writeln!(out, "[backend.{}.index]", quoted(&self.backend_id));
        let width = self.indexes.iter().map(|index| quoted(&index.attribute).len()).max().unwrap_or(0);
        for index in &self.indexes {
            let kinds: Vec<String> = index.kinds.iter().map(|kind| format!("\"{}\"", kind.word())).collect();
            let mut settings = format!("index-type = [{}]", kinds.join(", "));
            if index.entry_limit != 4000 {
                let _ = write!(settings, ", index-entry-limit = {}", index.entry_limit);
            }
            if index.substring_length != 6 {
                let _ = write!(settings, ", substring-length = {}", index.substring_length);
            }
            if !index.extensible_rules.is_empty() {
                let rules: Vec<String> =
                    index.extensible_rules.iter().map(|rule| toml_edit::Value::from(rule).to_string()).collect();
                let _ = write!(settings, ", index-extensible-matching-rule = [{}]", rules.join(", "));
            }
            if index.is_confidential {
                let _ = write!(settings, ", confidentiality-enabled = true");
            }
            let _ = writeln!(out, "{:width$} = {{ {settings} }}", quoted(&index.attribute));
        }
    }

    fn handlers(&self, out: &mut String) {
        const PROVIDER: &str = "Server Certificate";
        let addresses: Vec<String> = self.listen_addresses.iter().map(ToString::to_string).collect();
        let provider = self.key_pair.as_ref().map(|_| ("key-manager-provider", vec![PROVIDER.to_owned()]));
        let text = |yes: bool| vec![yes.to_string()];
        if let Some(port) = self.ldap_port {
            let mut settings = vec![("listen-address", addresses.clone()), ("listen-port", vec![port.to_string()])];
            if self.start_tls && self.key_pair.is_some() {
                settings.push(("allow-start-tls", text(true)));
                settings.extend(provider.clone());
            }
            object(out, "connection-handler", "ldap", "LDAP", &settings);
        }
        if let (Some(port), Some(_)) = (self.ldaps_port, &self.key_pair) {
            let mut settings = vec![
                ("listen-address", addresses.clone()),
                ("listen-port", vec![port.to_string()]),
                ("use-ssl", text(true)),
            ];
            settings.extend(provider);
            object(out, "connection-handler", "ldap", "LDAPS", &settings);
        }
        if let Some(port) = self.http_port {
            let settings = [("listen-address", addresses), ("listen-port", vec![port.to_string()])];
            object(out, "connection-handler", "http", "HTTP", &settings);
        }
        if self.local_socket {
            object(out, "connection-handler", "ldapi", "LDAPI", &[("listen-path", vec!["ldapi".to_owned()])]);
        }
        if let Some((certificate, key)) = &self.key_pair {
            let settings =
                [("pem-certificate-file", vec![certificate.clone()]), ("pem-private-key-file", vec![key.clone()])];
            object(out, "key-manager-provider", "pem", PROVIDER, &settings);
        }
        if let Some(port) = self.administration_port {
            const PROVIDER: &str = "Administration";
            let one = |value: &str| vec![value.to_owned()];
            let files =
                [("pem-certificate-file", one("keys/admin.crt")), ("pem-private-key-file", one("keys/admin.key"))];
            object(out, "key-manager-provider", "pem", PROVIDER, &files);
            let addresses = self.listen_addresses.iter().map(ToString::to_string).collect();
            let settings = [
                ("listen-address", addresses),
                ("listen-port", vec![port.to_string()]),
                ("key-manager-provider", one(PROVIDER)),
            ];
            object(out, "administration-connector", "", "", &settings);
        }
    }

    fn passwords(&self, out: &mut String) {
        let one = |value: &str| vec![value.to_owned()];
        let scheme = [("default-password-storage-scheme", one(self.password_scheme.config_name()))];
        object(out, "password-policy", "password-policy", DEFAULT_PASSWORD_POLICY, &scheme);
        let of_root_users = [
            ("password-change-requires-current-password", one("true")),
            ("state-update-failure-policy", one("ignore")),
        ];
        object(out, "password-policy", "password-policy", ROOT_PASSWORD_POLICY, &of_root_users);
        if let Some(argon2) = self.argon2 {
            let settings = [
                ("argon2-memory", vec![argon2.memory_kib().to_string()]),
                ("argon2-iterations", vec![argon2.iterations().to_string()]),
            ];
            object(out, "password-storage-scheme", "argon2", "Argon2", &settings);
        }
        // Without a scheme of its own an import goes by the default policy; the plugin is there to be given one.
        let imported = [("default-user-password-storage-scheme", one(IMPORTED_SCHEME.config_name()))];
        let settings = if self.password_scheme.is_slow() { &imported[..] } else { &[] };
        object(out, "plugin", IMPORT_TYPE, "Password Policy Import", settings);
    }
}

/// The words of a comment, in lines.
fn wrapped(text: &str) -> Vec<String> {
    const COLUMNS: usize = 110;
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn logs(out: &mut String) {
    const DAILY: &str = "24 Hours Time Limit Rotation Policy";
    const BIG: &str = "Size Limit Rotation Policy";
    const WEEKLY: &str = "7 Days Time Limit Rotation Policy";
    const TEN: &str = "File Count Retention Policy";
    let one = |value: &str| vec![value.to_owned()];
    let access = [("rotation-policy", vec![DAILY.to_owned(), BIG.to_owned()]), ("retention-policy", one(TEN))];
    object(out, "log-publisher", "file-based-access", "File-Based Access Logger", &access);
    let audit = [
        ("enabled", one("false")),
        ("rotation-policy", vec![WEEKLY.to_owned(), BIG.to_owned()]),
        ("retention-policy", one(TEN)),
    ];
    object(out, "log-publisher", "file-based-audit", "File-Based Audit Logger", &audit);
    let errors = [("rotation-policy", vec![WEEKLY.to_owned(), BIG.to_owned()]), ("retention-policy", one(TEN))];
    object(out, "log-publisher", "file-based-error", "File-Based Error Logger", &errors);
    object(out, "log-rotation-policy", "time-limit", DAILY, &[("rotation-interval", one("24 hours"))]);
    object(out, "log-rotation-policy", "time-limit", WEEKLY, &[("rotation-interval", one("7 days"))]);
    object(out, "log-rotation-policy", "size-limit", BIG, &[("file-size-limit", one("100 mb"))]);
    object(out, "log-retention-policy", "file-count", TEN, &[("number-of-files", one("10"))]);
}

/// Classes whose unset properties are listed too, commented out: short objects, or ones that people look into first.
fn lists_defaults(class: &Class) -> bool {
    matches!(class.name, "global" | "backend" | "password-policy")
}

/// Writes one object: its table, what is set, and for some classes what could be.
fn object(out: &mut String, class_name: &str, type_name: &str, name: &str, settings: &[(&str, Vec<String>)]) {
    let Some((class, variant)) = class(class_name).and_then(|class| Some((class, class.variant(type_name)?))) else {
        debug_assert!(false, "{class_name} {type_name} is not declared");
        return;
    };
    let _ = writeln!(out, "\n# {}", if variant.help.is_empty() { class.help } else { variant.help });
    let _ = match class.named_by {
        Some(_) => writeln!(out, "[{class_name}.{}]", quoted(name)),
        None => writeln!(out, "[{class_name}]"),
    };
    if !type_name.is_empty() && type_name != class_name {
        let _ = writeln!(out, "type = \"{type_name}\"");
    }
    properties(out, class, variant, settings);
}

fn properties(out: &mut String, class: &Class, variant: &Variant, settings: &[(&str, Vec<String>)]) {
    debug_assert!(settings.iter().all(|(name, _)| variant.property(name).is_some()), "{settings:?}");
    for property in variant.properties {
        let set = settings.iter().find(|(name, _)| *name == property.name);
        match (set, &property.default) {
            (Some((_, values)), _) => {
                let _ = writeln!(out, "# {}\n{}", property.help, setting_line(property, values));
            }
            (None, Default::Values(values)) if lists_defaults(class) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                let _ = writeln!(out, "# {}\n#{}", property.help, setting_line(property, &values));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::path::Path;

    use super::*;
    use crate::{Config, ListenAddress};

    const READ: CommentedAci = CommentedAci {
        comment: "Users may read.",
        text: "(targetattr=\"*\")(version 3.0; acl \"read\"; allow (read) userdn=\"ldap:///all\";)",
    };

    fn setup() -> Setup {
        Setup {
            password_scheme: Scheme::Argon2,
            argon2: Some(Argon2Parameters::OWASP),
            backend_id: "userRoot".into(),
            base_dns: vec!["dc=example,dc=com".into()],
            indexes: default_indexes(),
            root_dn: "cn=Directory Manager".into(),
            root_password: "{SSHA512}c2VjcmV0\"quote".into(),
            global_acis: vec![
                READ,
                CommentedAci {
                    text: "(targetattr=\"cn\")(version 3.0; acl \"it's\"; allow (read) userdn=\"ldap:///all\";)",
                    ..READ
                },
            ],
            listen_addresses: vec!["127.0.0.1".parse().unwrap()],
            ldap_port: Some(1389),
            ldaps_port: Some(1636),
            http_port: Some(8080),
            administration_port: None,
            start_tls: true,
            local_socket: true,
            key_pair: Some(("keys/server.crt".into(), "keys/server.key".into())),
        }
    }

    #[test]
    fn the_written_file_is_read_as_it_was_meant() {
        let config = Config::parse(&setup().to_toml(), Path::new("/srv/pando/pando.toml")).unwrap();
        assert_eq!(config.backends[0].indexes, default_indexes());
        assert_eq!(config.backends[0].directory, Path::new("/srv/pando/db/userRoot"));
        assert_eq!(config.root_users[0].name, "Directory Manager");
        let acis: Vec<&str> = setup().global_acis.iter().map(|aci| aci.text).collect();
        assert_eq!(config.access_control.global_acis, acis);
        assert!(setup().to_toml().contains("    # Users may read.\n    '(targetattr="));
        assert_eq!(config.root_users[0].password.expose(), "{SSHA512}c2VjcmV0\"quote");
        let listen: Vec<_> = config.handlers.iter().flat_map(|handler| handler.listen.clone()).collect();
        let tcp = |port| ListenAddress::Tcp(SocketAddr::new("127.0.0.1".parse().unwrap(), port));
        assert_eq!(listen, [tcp(1389), tcp(1636), ListenAddress::Local("/srv/pando/ldapi".into())]);
        assert!(config.handlers[0].allow_start_tls && config.handlers[1].use_ssl);
        assert_eq!(config.handlers[1].tls.as_ref().unwrap().private_key, Path::new("/srv/pando/keys/server.key"));
        assert_eq!(config.access_logs[0].destination.file().unwrap().rotation.len(), 2);
    }

    #[test]
    fn without_a_certificate_nothing_mentions_tls() {
        let text = Setup { key_pair: None, ..setup() }.to_toml();
        let config = Config::parse(&text, Path::new("pando.toml")).unwrap();
        assert!(
            config.handlers.iter().all(|handler| handler.tls.is_none() && !handler.use_ssl && !handler.allow_start_tls)
        );
        assert!(!text.contains("key-manager-provider"));
    }

    #[test]
    fn commented_defaults_may_be_uncommented() {
        let text: String = setup()
            .to_toml()
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') && rest.contains(" = ") => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        assert!(text.lines().any(|line| line == "size-limit = 1000"));
        Config::parse(&text, Path::new("pando.toml")).unwrap();
    }
}
