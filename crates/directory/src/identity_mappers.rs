//! The identity mappers of the configuration: what the attribute of a user has when somebody calls the user by a name.
//!
//! Knows no entries; [`user_name`](crate::user_name) looks for them.

use std::borrow::Cow;
use std::sync::Arc;

use config::{Config, IdentityMapper};
use ldap::FilterBuf;
use regex::Regex;
use schema::Schema;

use crate::open_error::OpenError;

/// All mappers.
#[derive(Debug)]
pub(crate) struct IdentityMappers {
    configured: Vec<IdentityMapper>,
    mappers: Vec<Arc<Mapper>>,
    /// What is used where none is named.
    by_uid: Arc<Mapper>,
    /// `proxied-authorization-identity-mapper`
    authorization: Option<String>,
}

/// A mapper.
#[derive(Debug)]
pub(crate) struct Mapper {
    pub(crate) settings: IdentityMapper,
    pattern: Option<Regex>,
}

/// The same configuration makes the same mappers.
impl PartialEq for IdentityMappers {
    fn eq(&self, other: &Self) -> bool {
        (&self.configured, &self.authorization) == (&other.configured, &other.authorization)
    }
}

impl IdentityMappers {
    /// From the configuration.
    ///
    /// # Errors
    /// When a mapper goes by an attribute that values cannot be found by.
    pub(crate) fn new(config: &Config, schema: &Schema) -> Result<Self, OpenError> {
        let mapper = |settings: &IdentityMapper| Mapper::new(settings, schema).map(Arc::new);
        Ok(IdentityMappers {
            configured: config.identity_mappers.clone(),
            mappers: config.identity_mappers.iter().map(mapper).collect::<Result<_, _>>()?,
            by_uid: mapper(&IdentityMapper::by_uid())?,
            authorization: config.global.identity_mapper.clone(),
        })
    }

    /// The mapper of that name, or that for whoever names none.
    pub(crate) fn find(&self, name: Option<&str>) -> Arc<Mapper> {
        let named = name.and_then(|name| self.mappers.iter().find(|mapper| mapper.settings.name == name));
        Arc::clone(named.unwrap_or(&self.by_uid))
    }

    /// The mapper for `u:NAME` in requests.
    pub(crate) fn for_authorization(&self) -> Arc<Mapper> {
        self.find(self.authorization.as_deref())
    }
}

impl Mapper {
    fn new(settings: &IdentityMapper, schema: &Schema) -> Result<Self, OpenError> {
        let fault = |reason| OpenError::IdentityMapper { name: settings.name.clone(), reason };
        for attribute in &settings.attributes {
            let Some(known) = schema.attribute_type(attribute.as_bytes()) else {
                return Err(fault(format!("the schema has no attribute type {attribute}")));
            };
            if known.equality.is_none() {
                return Err(fault(format!("the attribute type {attribute} has no equality matching rule")));
            }
        }
        let pattern = settings.rewriting.as_ref().map(|rewriting| Regex::new(&rewriting.pattern));
        let pattern = pattern.transpose().map_err(|error| fault(error.to_string()))?;
        Ok(Mapper { settings: settings.clone(), pattern })
    }

    /// What the attributes of the user have; none: the name is nobody's.
    pub(crate) fn value<'n>(&self, name: &'n str) -> Option<Cow<'n, str>> {
        match (&self.pattern, &self.settings.rewriting) {
            (Some(pattern), Some(rewriting)) if pattern.is_match(name) => {
                Some(pattern.replace_all(name, rewriting.replacement.as_str())).filter(|value| !value.is_empty())
            }
            (Some(_), _) => None,
            (None, _) => Some(Cow::Borrowed(name)).filter(|value| !value.is_empty()),
        }
    }

    /// The filter that finds the user.
    pub(crate) fn filter(&self, value: &str) -> FilterBuf {
        FilterBuf::one_of(self.settings.attributes.iter().map(|attribute| (attribute.as_str(), value.as_bytes())))
    }
}
