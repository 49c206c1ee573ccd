//! Faults that no single property shows: names that nothing bears, two owners of one thing, TLS without a certificate.

use std::collections::HashMap;

use nearest::nearest;

use crate::error::{ConfigError, Places};
use crate::object::Object;
use crate::syntax::Syntax;
use crate::value::Value;
use crate::{
    log_reading, notification, pass_through, password_policy, plugin, sasl_handler, storage_scheme, virtual_attribute,
};

/// All faults between objects.
pub(crate) fn check(objects: &[Object], text: &str) -> Vec<ConfigError> {
    let mut check = Check { objects, places: Places(text), errors: Vec::new() };
    check.references();
    check.handlers();
    check.keys();
    check.soft_and_hard();
    check.single_owner("backend", "base-dn", "base DN");
    check.empty_base_dn();
    check.single_owner("root-dn-user", "alternate-bind-dn", "bind DN");
    check.only_known_names();
    check.global_acis();
    let of_classes = [
        plugin::faults(objects),
        virtual_attribute::faults(objects),
        storage_scheme::faults(objects),
        sasl_handler::faults(objects),
        pass_through::faults(objects),
        notification::faults(objects),
        log_reading::faults(objects),
        password_policy::fault_of_default(objects).into_iter().collect(),
        password_policy::faults_of_root_users(objects),
    ];
    for (offset, message) in of_classes.into_iter().flatten() {
        check.fault(offset, message);
    }
    check.errors
}

struct Check<'a> {
    objects: &'a [Object],
    places: Places<'a>,
    errors: Vec<ConfigError>,
}

impl Check<'_> {
    fn of<'o>(objects: &'o [Object], class: &str) -> impl Iterator<Item = &'o Object> {
        objects.iter().filter(move |object| object.class.name == class)
    }

    fn fault(&mut self, offset: usize, message: String) {
        self.errors.push(self.places.at(offset, message));
    }

    fn references(&mut self) {
        for object in self.objects {
            for (name, setting) in &object.settings {
                let Some(Syntax::Reference(class)) = object.variant.property(name).map(|property| property.syntax)
                else {
                    continue;
                };
                for (value, offset) in &setting.values {
                    let wanted = value.to_string();
                    let known: Vec<&str> = Self::of(self.objects, class).map(|object| object.name.as_str()).collect();
                    if !known.contains(&wanted.as_str()) {
                        let close = nearest(&wanted, known.iter().copied());
                        let hint = match (close.first(), known.is_empty()) {
                            (Some(close), _) => format!("did you mean \"{close}\"?"),
                            (None, true) => format!("write a table [{class}.{}]", crate::object::quoted(&wanted)),
                            (None, false) => format!("known are {}", known.join(", ")),
                        };
                        self.fault(*offset, format!("there is no {class} \"{wanted}\": {hint}"));
                    }
                }
            }
        }
    }

    fn handlers(&mut self) {
        let truth = |object: &Object, name: &str| {
            object.variant.property(name).is_some() && object.values(name) == [Value::Boolean(true)]
        };
        for object in Self::of(self.objects, "connection-handler").filter(|object| object.variant.type_name != "ldapi")
        {
            let title = object.title();
            let (ssl, start_tls) = (truth(object, "use-ssl"), truth(object, "allow-start-tls"));
            if ssl && start_tls {
                let message = format!(
                    "{title} has both use-ssl and allow-start-tls: a connection that begins with TLS cannot switch to \
                     it"
                );
                self.fault(object.offset_of("allow-start-tls"), message);
            }
            if (ssl || start_tls) && object.values("key-manager-provider").is_empty() {
                let cause = if ssl { "use-ssl" } else { "allow-start-tls" };
                self.fault(
                    object.offset_of(cause),
                    format!("{title} has {cause} and therefore needs \"key-manager-provider\""),
                );
            }
            for name in ["ssl-protocol", "ssl-cipher-suite"] {
                if object.settings.contains_key(name) && !ssl && !start_tls {
                    let text = format!("{title} has {name}, but no TLS: set use-ssl or allow-start-tls, or remove it");
                    self.fault(object.offset_of(name), text);
                }
            }
            if object.variant.type_name == "http" {
                continue;
            }
            let is_required = object.values("ssl-client-auth-policy").first().map(ToString::to_string);
            if is_required.as_deref() == Some("required") && object.values("trust-manager-provider").is_empty() {
                let message =
                    format!("{title} requires certificates of clients and therefore needs \"trust-manager-provider\"");
                self.fault(object.offset_of("ssl-client-auth-policy"), message);
            }
            if truth(object, "proxy-protocol-enabled") && object.values("proxy-protocol-allowed-client").is_empty() {
                let message = format!(
                    "{title} has proxy-protocol-enabled and trusts no proxy: set \"proxy-protocol-allowed-client\""
                );
                self.fault(object.offset_of("proxy-protocol-enabled"), message);
            }
        }
        self.listeners();
    }

    /// Instructions that cannot be read, each with the place of the mistake where the file shows it.
    fn global_acis(&mut self) {
        for object in Self::of(self.objects, "access-control-handler") {
            let given = |name| object.settings.get(name).into_iter().flat_map(|setting| &setting.values);
            let names = ["global-aci", "proposed-global-aci"];
            for (name, (value, offset)) in names.into_iter().flat_map(|name| given(name).map(move |it| (name, it))) {
                let text = value.to_string();
                let Err(error) = aci::parse(&text) else { continue };
                let source = self.places.0.get(*offset..).unwrap_or_default();
                // A literal string has no escapes: what stands in the file is the instruction.
                let is_literal = source.strip_prefix('\'').is_some_and(|source| source.starts_with(&text));
                let place = if is_literal { offset + 1 + error.position } else { *offset };
                self.fault(place, format!("\"{name}\" is not a valid instruction: {error}"));
            }
        }
    }

    /// A client that asks for nothing must not get more than one that asks.
    fn soft_and_hard(&mut self) {
        for object in Self::of(self.objects, "limits") {
            for (soft_name, hard_name) in [("size-limit", "size-limit-hard"), ("time-limit", "time-limit-hard")] {
                let number = |name: &str| match object.values(name).first() {
                    // 0 is no limit, which is more than every limit.
                    Some(Value::Integer(0) | Value::Duration(0)) => Some(u64::MAX),
                    Some(Value::Integer(count)) => u64::try_from(*count).ok(),
                    Some(Value::Duration(ms)) => Some(*ms),
                    _ => None,
                };
                if let (Some(soft), Some(hard)) = (number(soft_name), number(hard_name))
                    && soft > hard
                {
                    let message = format!(
                        "{} gives more to clients that ask for nothing ({soft_name}) than clients may ask for \
                         ({hard_name}): raise {hard_name} or lower {soft_name}",
                        object.title()
                    );
                    self.fault(object.offset_of(soft_name), message);
                }
            }
        }
    }

    /// Of two places for one key, or for its password, only one would be read.
    fn keys(&mut self) {
        const PEM: [&str; 2] = ["pem-certificate-file", "pem-private-key-file"];
        const PINS: [&str; 2] = ["key-store-pin-file", "key-store-pin-environment-variable"];
        for object in Self::of(self.objects, "key-manager-provider") {
            let is_set = |name: &&str| object.settings.contains_key(*name);
            if let Some(name) = PEM.iter().find(|name| is_set(name) && is_set(&"key-store-file")) {
                let text = format!("{} has key-store-file and {name}: remove one of them", object.title());
                self.fault(object.offset_of(name), text);
            }
            if PINS.iter().all(is_set) {
                let text = format!("{} has {}: remove one of them", object.title(), PINS.join(" and "));
                self.fault(object.offset_of(PINS[1]), text);
            }
        }
    }

    /// Two enabled handlers must not listen at one address and port.
    fn listeners(&mut self) {
        let mut owners: HashMap<String, String> = HashMap::new();
        let connector = Self::of(self.objects, "administration-connector")
            .filter(|object| !object.values("key-manager-provider").is_empty());
        let handlers = Self::of(self.objects, "connection-handler")
            .filter(|object| object.values("enabled") == [Value::Boolean(true)]);
        for object in handlers.chain(connector) {
            let places: Vec<String> = if object.variant.type_name == "ldapi" {
                object.values("listen-path").iter().map(ToString::to_string).collect()
            } else {
                let port = object.values("listen-port").first().map(ToString::to_string).unwrap_or_default();
                object.values("listen-address").iter().map(|address| format!("{address} port {port}")).collect()
            };
            for place in places {
                if let Some(owner) = owners.insert(place.clone(), object.title()) {
                    let property = if object.variant.type_name == "ldapi" { "listen-path" } else { "listen-port" };
                    self.fault(
                        object.offset_of(property),
                        format!("{} listens at {place}, as {owner} does", object.title()),
                    );
                }
            }
        }
    }

    fn single_owner(&mut self, class: &'static str, property: &'static str, what: &str) {
        let mut owners: HashMap<String, String> = HashMap::new();
        for object in Self::of(self.objects, class) {
            for value in object.values(property) {
                let key: String = value.to_string().to_lowercase().chars().filter(|c| *c != ' ').collect();
                if let Some(owner) = owners.insert(key, object.title()) {
                    self.fault(
                        object.offset_of(property),
                        format!("{} has the {what} \"{value}\", as {owner} does", object.title()),
                    );
                }
            }
        }
    }

    /// The empty base DN holds every name that no other backend holds, so there is nothing left for another one.
    fn empty_base_dn(&mut self) {
        for object in Self::of(self.objects, "backend") {
            let base_dns = object.values("base-dn");
            if base_dns.len() > 1 && base_dns.iter().any(|base_dn| base_dn.to_string().is_empty()) {
                let message = format!(
                    "{} has the base DN \"\", which holds every name that no other backend holds: remove the other \
                     base DNs of this backend",
                    object.title()
                );
                self.fault(object.offset_of("base-dn"), message);
            }
        }
    }

    /// Classes of which the server reads a certain object only: another name would be without effect.
    fn only_known_names(&mut self) {
        for object in Self::of(self.objects, "schema-provider").skip(1) {
            self.fault(object.offset, format!("{} is a second schema provider of type core-schema", object.title()));
        }
        for object in Self::of(self.objects, "backend").filter(|object| !is_folder_name(&object.name)) {
            let message = format!(
                "the backend id \"{}\" names a folder: letters, digits, '-', '_' and '.' are allowed",
                object.name
            );
            self.fault(object.offset, message);
        }
        for object in Self::of(self.objects, "backend") {
            for index in object.children_of("index") {
                if crate::value::parse(Syntax::AttributeType, &index.name).is_none() {
                    self.fault(index.offset, format!("\"{}\" is not the name or OID of an attribute type", index.name));
                }
                self.extensible_rules(index);
            }
            for index in object.children_of("vlv-index").filter(|index| !is_folder_name(&index.name)) {
                let message = format!(
                    "the VLV index name \"{}\" stands in tables of tools: letters, digits, '-', '_' and '.' are \
                     allowed",
                    index.name
                );
                self.fault(index.offset, message);
            }
        }
    }
}

impl Check<'_> {
    /// Rules without the kind of index that they are for, or the other way round.
    fn extensible_rules(&mut self, index: &Object) {
        const KIND: &str = "index-type";
        const RULES: &str = "index-extensible-matching-rule";
        let is_extensible = index.values(KIND).iter().any(|kind| kind.to_string() == "extensible");
        let has_rules = !index.values(RULES).is_empty();
        if is_extensible && !has_rules {
            let message = format!("an extensible index needs \"{RULES}\": a matching rule or language such as \"fr\"");
            self.fault(index.offset_of(KIND), message);
        }
        if has_rules && !is_extensible {
            self.fault(index.offset_of(RULES), format!("\"{RULES}\" needs \"extensible\" among \"{KIND}\""));
        }
    }
}

fn is_folder_name(id: &str) -> bool {
    !id.is_empty()
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Config;

    fn told(text: &str) -> String {
        Config::parse(text, Path::new("pando.toml")).map_or_else(|faults| faults.to_string(), |_| String::new())
    }

    /// What is accepted is obeyed: a property that could have no effect is refused.
    #[test]
    fn what_contradicts_itself_is_refused() {
        const HANDLER: &str = "[connection-handler.a]\ntype = \"ldap\"\nlisten-port = 1\n\
                               ssl-cipher-suite = \"TLS_AES_256_GCM_SHA384\"\n";
        const KEYS: &str = "[key-manager-provider.k]\n";
        const SETS: &str = "[password-validator.v]\ntype = \"character-set\"\ncharacter-set = [\"1:abc\", \"1:123\"]\n";
        let policy = |text: &str| format!("[password-policy.p]\n{text}\n");
        let tls = format!("{HANDLER}use-ssl = true\nkey-manager-provider = \"k\"\n{KEYS}");
        for (good, bad, word) in [
            (tls, HANDLER.to_owned(), "has ssl-cipher-suite, but no TLS"),
            (
                format!("{KEYS}key-store-file = \"a\"\nkey-store-pin-file = \"b\""),
                format!("{KEYS}key-store-file = \"a\"\npem-certificate-file = \"b\""),
                "has key-store-file and pem-certificate-file: remove one",
            ),
            (
                format!("{KEYS}key-store-pin-environment-variable = \"P\""),
                format!("{KEYS}key-store-pin-environment-variable = \"P\"\nkey-store-pin-file = \"b\""),
                "has key-store-pin-file and key-store-pin-environment-variable: remove one",
            ),
            (
                format!("{SETS}min-character-sets = 2"),
                format!("{SETS}min-character-sets = 3"),
                "number of its sets is 2",
            ),
            (
                policy("grace-login-interval = \"1 d\"\ngrace-login-count = 1"),
                policy("grace-login-interval = \"1 d\""),
                "allows no grace login",
            ),
            (
                policy("failure-delay-max = \"2 s\"\nfailure-delay = \"1 s\""),
                policy("failure-delay-max = \"2 s\""),
                "no failure-delay that could grow",
            ),
            (
                "[mail-server.m]\nsmtp-server = \"mail.example.com:25\"".to_owned(),
                "[mail-server.m]\nsmtp-server = \"mail.example.com:smtp\"".to_owned(),
                "\"smtp-server\" is \"mail.example.com:smtp\"",
            ),
        ] {
            assert_eq!(told(&good), "", "{good}");
            assert!(told(&bad).contains(word), "{bad}: {}", told(&bad));
        }
    }

    #[test]
    fn names_of_objects_are_seen_and_can_be_written() {
        for (name, word) in [
            ("", "must not be empty"),
            (" ", "must not be empty"),
            (" p", "must not begin or end with a blank"),
            ("p ", "must not begin or end with a blank"),
            ("p\\u0000", "must not have control characters"),
            ("p\\nq", "must not have control characters"),
        ] {
            let told = told(&format!("[password-policy.\"{name}\"]\n"));
            assert!(told.contains(word), "{name:?}: {told}");
        }
        assert_eq!(told("[password-policy.\"A policy of Zoë\"]\n"), "");
    }

    #[test]
    fn a_wrong_number_is_told_both_its_bounds() {
        let told = told("[password-policy.p]\nlockout-failure-count = 99999999999\n");
        assert!(told.contains("a whole number from 0 to 2147483647"), "{told}");
        let told = self::told("[sasl-mechanism-handler.o]\ntype = \"oauthbearer\"\ntoken-issuer = \"\"\n");
        assert!(told.contains("it must be a text that is not empty"), "{told}");
    }
}
