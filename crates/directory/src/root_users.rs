//! The root users of the configuration.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use access::Revocation;
use access::guesses::Guessed;
use accounts::PasswordPolicy;
use config::Config;
use schema::{NormalizedDn, Schema};

use query::configured::ConfiguredError;

use crate::open_error::OpenError;

/// The root users of the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RootUsers {
    pub(crate) users: Vec<RootUser>,
    /// `return-bind-error-messages`
    pub(crate) verbose: bool,
    /// `bind-with-dn-requires-password`
    pub(crate) dn_requires_password: bool,
}

/// A name by which a root user binds.
#[derive(Clone)]
pub(crate) struct RootUser {
    pub(crate) name: NormalizedDn,
    pub(crate) dn: Arc<str>,
    /// The first of the user's names: all of them are one account.
    pub(crate) account: NormalizedDn,
    pub(crate) password: Vec<u8>,
    pub(crate) policy: Arc<PasswordPolicy>,
    /// What its sessions share.
    pub(crate) revocation: Revocation,
}

/// Whatever sessions they have.
impl PartialEq for RootUser {
    fn eq(&self, other: &Self) -> bool {
        self.is_still(other) && self.policy == other.policy
    }
}

impl RootUser {
    /// The same account with the same stored password.
    fn is_still(&self, before: &Self) -> bool {
        (&self.name, &self.account, &self.password) == (&before.name, &before.account, &before.password)
    }

    /// Whose password is guessed.
    pub(crate) fn guessed(&self) -> Guessed {
        let mut hasher = DefaultHasher::new();
        self.account.as_bytes().hash(&mut hasher);
        Guessed::Root(hasher.finish())
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
            let mut account = None;
            for dn in &user.bind_dns {
                let name = NormalizedDn::parse(schema, dn.as_bytes())
                    .map_err(|_| ConfiguredError::BadDn { what: "the root user's name", dn: dn.clone() })?;
                users.push(RootUser {
                    account: account.get_or_insert_with(|| name.clone()).clone(),
                    name,
                    dn: dn.as_str().into(),
                    policy: Arc::clone(&user.policy),
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
            match self.users.iter_mut().find(|new| new.is_still(old)) {
                Some(same) => same.revocation = old.revocation.clone(),
                None => old.revocation.revoke(),
            }
        }
    }

    /// The sessions of an account end; those that begin from now on do not.
    pub(crate) fn revoke(&mut self, account: &NormalizedDn) {
        for user in self.users.iter_mut().filter(|user| user.account == *account) {
            std::mem::take(&mut user.revocation).revoke();
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
