//! The root users of the configuration.

use std::sync::Arc;

use config::Config;
use schema::{NormalizedDn, Schema};

use query::configured::ConfiguredError;

use crate::open_error::OpenError;

/// The root users of the configuration.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RootUsers {
    pub(crate) users: Vec<RootUser>,
    /// `return-bind-error-messages`
    pub(crate) verbose: bool,
    /// `bind-with-dn-requires-password`
    pub(crate) dn_requires_password: bool,
}

#[derive(PartialEq)]
pub(crate) struct RootUser {
    pub(crate) name: NormalizedDn,
    pub(crate) dn: Arc<str>,
    pub(crate) password: Vec<u8>,
}

impl std::fmt::Debug for RootUser {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RootUser").field("dn", &self.dn).finish_non_exhaustive()
    }
}

impl RootUsers {
    /// From the configuration.
    pub(crate) fn new(config: &Config, schema: &Schema) -> Result<Self, OpenError> {
        let mut users = Vec::new();
        for user in &config.root_users {
            for dn in &user.bind_dns {
                let name = NormalizedDn::parse(schema, dn.as_bytes())
                    .map_err(|_| ConfiguredError::BadDn { what: "the root user's name", dn: dn.clone() })?;
                users.push(RootUser {
                    name,
                    dn: dn.as_str().into(),
                    password: user.password.expose().as_bytes().to_vec(),
                });
            }
        }
        Ok(Self {
            users,
            verbose: config.global.return_bind_error_messages,
            dn_requires_password: config.global.bind_with_dn_requires_password,
        })
    }

    /// The password of the root user of that name.
    pub(crate) fn find(&self, name: &NormalizedDn) -> Option<&[u8]> {
        self.user(name).map(|user| user.password.as_slice())
    }

    pub(crate) fn user(&self, name: &NormalizedDn) -> Option<&RootUser> {
        self.users.iter().find(|user| user.name == *name)
    }
}
