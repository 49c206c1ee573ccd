//! Names of attribute types and of entries that parts of the configuration go by, judged under the schema: one that is
//! not there would be without effect.
//!
//! Opens nothing, and looks for no entry.

use accounts::ValidatorRule;
use config::{Config, NotificationWay, SaslKind};
use ldap::Scope;
use schema::{NormalizedDn, Schema};

use crate::configured::ConfiguredError;
use crate::plan::covers;

/// Looks at the attribute types of password validators, pass-through policies, notification handlers and EXTERNAL, and
/// at whom EXTERNAL takes the system's root for.
///
/// # Errors
/// The first that is not there, with what to do.
pub fn check_names(config: &Config, schema: &Schema) -> Result<(), ConfiguredError> {
    for validator in &config.password_validators {
        if let Some(ValidatorRule::AttributeValue(rule)) = &validator.rule {
            check_types(schema, &validator.dn, "match-attribute", &rule.attributes)?;
        }
    }
    for policy in &config.other_policies {
        if let Some(other) = &policy.pass_through {
            check_types(schema, &policy.dn, "mapped-attribute", other.mapping.attributes())?;
        }
    }
    for handler in &config.notification_handlers {
        if let NotificationWay::Mail(mail) = &handler.way {
            let of = format!("account-status-notification-handler \"{}\"", handler.name);
            check_types(schema, &of, "email-address-attribute-type", &mail.address_attributes)?;
        }
    }
    for handler in &config.sasl_handlers {
        if let SaslKind::External(settings) = &handler.kind {
            let of = format!("sasl-mechanism-handler \"{}\"", handler.name);
            let attribute = std::slice::from_ref(&settings.certificate_attribute);
            check_types(schema, &of, "certificate-attribute", attribute)?;
            if let Some(dn) = settings.local_root.as_ref().filter(|dn| !may_be_bound(config, schema, dn)) {
                return Err(ConfiguredError::LocalRoot { of, dn: dn.clone() });
            }
        }
    }
    Ok(())
}

fn check_types(
    schema: &Schema,
    of: &str,
    property: &'static str,
    attributes: &[String],
) -> Result<(), ConfiguredError> {
    match attributes.iter().find(|attribute| schema.attribute_type(attribute.as_bytes()).is_none()) {
        None => Ok(()),
        Some(unknown) => {
            Err(ConfiguredError::UnknownAttribute { of: of.to_owned(), property, attribute: unknown.clone() })
        }
    }
}

/// Whether it is a root user, or could be an entry.
fn may_be_bound(config: &Config, schema: &Schema, dn: &str) -> bool {
    let parsed = |dn: &str| NormalizedDn::parse(schema, dn.as_bytes()).ok();
    let Some(name) = parsed(dn) else { return false };
    let mut root_users = config.root_users.iter().flat_map(|user| &user.bind_dns);
    let mut base_dns = config.backends.iter().filter(|backend| backend.enabled).flat_map(|backend| &backend.base_dns);
    root_users.any(|own| parsed(own).is_some_and(|own| own == name))
        || base_dns.any(|base| parsed(base).is_some_and(|base| covers(&base, Scope::WholeSubtree, &name)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn judged(text: &str) -> String {
        let config = Config::parse(text, Path::new("pando.toml")).unwrap();
        check_names(&config, &Schema::standard()).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn attribute_types_have_to_be_in_the_schema() {
        const MAIL: &str = "[mail-server.m]\nsmtp-server = \"mail.example.com:25\"\n\
                            [account-status-notification-handler.h]\ntype = \"smtp\"\nmail-server = \"m\"\n\
                            sender-address = \"a@example.com\"\n";
        const REMOTE: &str = "[password-policy.p]\ntype = \"ldap-pass-through\"\nmapping-policy = \"mapped-bind\"\n\
                              primary-remote-ldap-server = \"ldap.example.com:389\"\n";
        for (text, property) in [
            ("[password-validator.v]\ntype = \"attribute-value\"\n", "match-attribute"),
            (MAIL, "email-address-attribute-type"),
            (REMOTE, "mapped-attribute"),
            ("[sasl-mechanism-handler.e]\ntype = \"external\"\n", "certificate-attribute"),
        ] {
            assert_eq!(judged(&format!("{text}{property} = \"mail\"\n")), "", "{property}");
            let told = judged(&format!("{text}{property} = \"noSuchType\"\n"));
            assert!(told.contains(&format!("{property} is \"noSuchType\", which the schema does not have")), "{told}");
        }
    }

    #[test]
    fn the_root_of_the_system_is_somebody() {
        const ALL: &str = "[root-dn-user.a]\nalternate-bind-dn = \"cn=Admin\"\npassword = \"secret12\"\n\
                           [backend.userRoot]\nbase-dn = \"dc=example,dc=com\"\n\
                           [sasl-mechanism-handler.e]\ntype = \"external\"\n";
        let told = |dn: &str| judged(&format!("{ALL}ldapi-map-root-to-dn = \"{dn}\"\n"));
        for dn in ["CN=admin", "uid=root, dc=Example,dc=com", "dc=example,dc=com"] {
            assert_eq!(told(dn), "", "{dn}");
        }
        for dn in ["cn=Nobody", "dc=com", "noSuchType=root,dc=elsewhere"] {
            assert!(told(dn).contains("neither a root user"), "{dn}: {}", told(dn));
        }
    }
}
