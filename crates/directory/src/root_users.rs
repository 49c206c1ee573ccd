//! The root users of the configuration.

use std::sync::Arc;

use access::Revocation;
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

pub(crate) struct RootUser {
    pub(crate) name: NormalizedDn,
    pub(crate) dn: Arc<str>,
    pub(crate) password: Vec<u8>,
    /// What its sessions share.
    pub(crate) revocation: Revocation,
}

/// The same name and the same stored password.
impl PartialEq for RootUser {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.password == other.password
    }
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
                    revocation: Revocation::default(),
                });
            }
        }
        Ok(Self {
            users,
            verbose: config.global.return_bind_error_messages,
            dn_requires_password: config.global.bind_with_dn_requires_password,
        })
    }

    /// Takes the place of `before`: users that stay keep their sessions, those that are gone or have another password
    /// lose them.
    pub(crate) fn succeed(&mut self, before: &Self) {
        for old in &before.users {
            match self.users.iter_mut().find(|new| **new == *old) {
                Some(same) => same.revocation = old.revocation.clone(),
                None => old.revocation.revoke(),
            }
        }
    }

    /// The password of the root user of that name.
    pub(crate) fn find(&self, name: &NormalizedDn) -> Option<&[u8]> {
        self.user(name).map(|user| user.password.as_slice())
    }

    pub(crate) fn user(&self, name: &NormalizedDn) -> Option<&RootUser> {
        self.users.iter().find(|user| user.name == *name)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn users_that_stay_keep_their_sessions() {
        let users = |passwords: &[(&str, &str)]| {
            let table = |(name, password): &(&str, &str)| {
                format!("[root-dn-user.{name}]\nalternate-bind-dn = \"cn={name}\"\npassword = \"{{SSHA}}{password}\"\n")
            };
            let text: String = passwords.iter().map(table).collect();
            RootUsers::new(&Config::parse(&text, Path::new("pando.toml")).unwrap(), &Schema::standard()).unwrap()
        };
        let before = users(&[("stays", "aaaaaaaa"), ("changes", "bbbbbbbb"), ("goes", "cccccccc")]);
        let mut after = users(&[("changes", "dddddddd"), ("stays", "aaaaaaaa"), ("comes", "eeeeeeee")]);
        after.succeed(&before);
        let revoked =
            |users: &RootUsers| users.users.iter().map(|user| user.revocation.is_revoked()).collect::<Vec<_>>();
        assert_eq!((revoked(&before), revoked(&after)), (vec![false, true, true], vec![false; 3]));
        // The session of the user that stays ends when the user goes after all.
        let mut last = users(&[]);
        last.succeed(&after);
        assert_eq!(revoked(&before), [true; 3]);
    }
}
