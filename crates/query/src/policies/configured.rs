//! The password policies of the configuration.

use std::sync::Arc;

use accounts::{PasswordPolicy, ValidatorRule};
use config::{Config, PasswordValidator};
use schema::{NormalizedDn, Schema};

use crate::configured::ConfiguredError;

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfiguredPolicies {
    default: Arc<PasswordPolicy>,
    all: Vec<(NormalizedDn, Arc<PasswordPolicy>)>,
    validators: Vec<(NormalizedDn, Option<ValidatorRule>)>,
    count_failures: bool,
}

impl ConfiguredPolicies {
    /// Those of a configuration.
    ///
    /// # Errors
    /// When the name of a policy or a validator makes no distinguished name; [`ConfiguredError::LastLoginAttribute`].
    pub fn new(config: &Config, schema: &Schema) -> Result<ConfiguredPolicies, ConfiguredError> {
        let named = |policy: &Arc<PasswordPolicy>| {
            let bad = |_| ConfiguredError::BadDn { what: "the password policy's name", dn: policy.dn.clone() };
            let name = NormalizedDn::parse(schema, policy.dn.as_bytes()).map_err(bad)?;
            check_last_login(schema, policy)?;
            Ok((name, Arc::clone(policy)))
        };
        let all = [&config.default_policy]
            .into_iter()
            .chain(&config.other_policies)
            .map(named)
            .collect::<Result<Vec<_>, ConfiguredError>>()?;
        let validator = |validator: &PasswordValidator| {
            let bad = |_| ConfiguredError::BadDn { what: "the password validator's name", dn: validator.dn.clone() };
            let name = NormalizedDn::parse(schema, validator.dn.as_bytes()).map_err(bad)?;
            Ok((name, validator.rule.clone()))
        };
        let validators =
            config.password_validators.iter().map(validator).collect::<Result<Vec<_>, ConfiguredError>>()?;
        let count_failures = all.iter().any(|(_, policy)| policy.lock_rules().count_failures());
        Ok(ConfiguredPolicies { default: Arc::clone(&config.default_policy), all, validators, count_failures })
    }

    /// The policy of entries for which nothing says another.
    #[inline]
    #[must_use]
    pub fn default_policy(&self) -> &Arc<PasswordPolicy> {
        &self.default
    }

    /// Whether one of them counts wrong passwords.
    pub(super) fn count_failures(&self) -> bool {
        self.count_failures
    }

    /// The policy whose name is written exactly so.
    pub(super) fn spelled(&self, dn: &[u8]) -> Option<&Arc<PasswordPolicy>> {
        self.all.iter().map(|(_, policy)| policy).find(|policy| policy.dn.as_bytes() == dn)
    }

    /// The policy of that name.
    #[must_use]
    pub fn named(&self, name: &NormalizedDn) -> Option<&Arc<PasswordPolicy>> {
        self.all.iter().find(|(known, _)| known == name).map(|(_, policy)| policy)
    }

    /// The validator of that name; its rule, unless it is switched off.
    #[must_use]
    pub fn validator(&self, name: &NormalizedDn) -> Option<&Option<ValidatorRule>> {
        self.validators.iter().find(|(known, _)| known == name).map(|(_, rule)| rule)
    }
}

fn check_last_login(schema: &Schema, policy: &PasswordPolicy) -> Result<(), ConfiguredError> {
    let Some(login) = &policy.last_login else { return Ok(()) };
    match schema.attribute_type(login.attribute.as_bytes()) {
        Some(found) if found.is_operational() => Ok(()),
        _ => Err(ConfiguredError::LastLoginAttribute { policy: policy.dn.clone(), attribute: login.attribute.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use config::Config;

    use super::*;

    #[test]
    fn binds_write_their_time_to_operational_attributes_only() {
        let policies = |attribute: &str| {
            let text = format!("[password-policy.Other]\nlast-login-time-attribute = \"{attribute}\"\n");
            ConfiguredPolicies::new(&Config::parse(&text, Path::new("pando.toml")).unwrap(), &Schema::standard())
        };
        assert!(policies("ds-pwp-last-login-time").is_ok());
        for attribute in ["cn", "userPassword", "noSuchType"] {
            let refused = policies(attribute).unwrap_err().to_string();
            assert!(refused.contains(&format!("is \"{attribute}\"; it must be an operational attribute")), "{refused}");
        }
    }
}
