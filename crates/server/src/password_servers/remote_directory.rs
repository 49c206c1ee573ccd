//! Asks another LDAP directory whether a password is right: the account is found there as the policy says, and a bind
//! is tried with its name and the password.
//!
//! Blocks for as long as the servers take, at most for the timeouts. Knows nothing of sessions and accounts here.

use std::sync::atomic::{AtomicBool, Ordering};

use accounts::pass_through::{Mapping, RemoteAnswer, remote_answer};
use directory::{RemoteAccount, RemotePasswords, RemoteQuestion, RemoteVerdict};
use ldap::client::{Response, Search};
use ldap::{FilterBuf, ResultCode, Scope};
use outbound::{Attempt, Change, Connection, Credentials, Member, OutboundError, Pool, PoolSettings, Unavailable};

/// The other directory of one policy.
pub(super) struct RemoteDirectory {
    pool: Pool,
    /// Its servers that are down are being tried.
    is_checking: AtomicBool,
}

/// Why a password is not right, for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum WrongThere {
    #[error("The remote directory refuses the bind as {dn}: {result}")]
    Refused { dn: String, result: String },
    #[error("The entry has no value of {0}, by which the account is found in the remote directory")]
    NoValue(String),
    #[error("The remote directory has no entry that matches {0}")]
    Nobody(String),
    #[error("The remote directory has several entries that match {0}")]
    Several(String),
    /// Binds without a name or a password succeed everywhere and prove nothing.
    #[error("There is no password, or no name in the remote directory")]
    Empty,
}

impl RemoteDirectory {
    /// Connects to nobody yet. `tell` is called when a server is not asked from now on, and when it is asked again.
    pub(super) fn new(settings: PoolSettings, tell: impl Fn(&Change) + Send + Sync + 'static) -> RemoteDirectory {
        // Who searches anonymously binds so: that ends whatever the connection was before.
        let anonymous = Credentials { dn: String::new(), password: Vec::new().into() };
        let credentials = Some(settings.credentials.clone().unwrap_or(anonymous));
        let pool = Pool::telling(PoolSettings { credentials, ..settings }, tell);
        RemoteDirectory { pool, is_checking: AtomicBool::new(false) }
    }

    /// The account's name there.
    fn name_there(
        &self,
        mapping: &Mapping,
        dn: &str,
        values: &[(&str, Vec<u8>)],
    ) -> Result<Result<String, WrongThere>, Unavailable> {
        let no_value = || WrongThere::NoValue(mapping.attributes().join(", "));
        match mapping {
            Mapping::Unmapped => Ok(Ok(dn.to_owned())),
            Mapping::MappedBind { .. } => {
                let name = values.first().map(|(_, value)| String::from_utf8_lossy(value).into_owned());
                Ok(name.ok_or_else(no_value))
            }
            Mapping::MappedSearch { bases, .. } => {
                let values: Vec<(&str, &[u8])> = values.iter().map(|(name, value)| (*name, value.as_slice())).collect();
                match mapping.filter(&values) {
                    Some(filter) => self.pool.with(|connection| find(connection, bases, &filter)),
                    None => Ok(Err(no_value())),
                }
            }
        }
    }

    fn bind(&self, dn: &str, password: &[u8]) -> Result<Result<(), WrongThere>, Unavailable> {
        self.pool.with_unbound(|connection| {
            let result = connection.bind(dn, password)?;
            Ok(match remote_answer(result.code) {
                RemoteAnswer::Right => Attempt::Done(Ok(())),
                RemoteAnswer::Wrong => {
                    Attempt::Done(Err(WrongThere::Refused { dn: dn.to_owned(), result: result.to_string() }))
                }
                RemoteAnswer::CannotSay => Attempt::TryNext(result.to_string()),
            })
        })
    }

    /// Whether a server is down and nobody tries it yet; who is told so has to call [`RemoteDirectory::check_servers`].
    pub(super) fn needs_check(&self) -> bool {
        self.pool.members().iter().any(|member| member.problem.is_some())
            && !self.is_checking.swap(true, Ordering::AcqRel)
    }

    /// Tries the servers that are down.
    pub(super) fn check_servers(&self) {
        self.pool.check();
        self.is_checking.store(false, Ordering::Release);
    }

    /// The servers.
    pub(super) fn servers(&self) -> Vec<Member> {
        self.pool.members()
    }
}

impl RemotePasswords for RemoteDirectory {
    fn check(&self, question: &RemoteQuestion<'_>) -> RemoteVerdict {
        let RemoteAccount::Directory { mapping, dn, values, .. } = question.account else {
            return RemoteVerdict::Unavailable("The question is not for a directory".to_owned());
        };
        let checked = self.name_there(mapping, dn, values).and_then(|name| match name {
            Ok(name) if name.is_empty() || question.password.is_empty() => Ok(Err(WrongThere::Empty)),
            Ok(name) => self.bind(&name, question.password),
            Err(wrong) => Ok(Err(wrong)),
        });
        match checked {
            Ok(Ok(())) => RemoteVerdict::Right,
            Ok(Err(wrong)) => RemoteVerdict::Wrong(wrong.to_string()),
            Err(unavailable) => RemoteVerdict::Unavailable(format!("No server can be asked: {unavailable}")),
        }
    }
}

/// The one entry that the filter finds below the bases.
fn find(
    connection: &mut Connection,
    bases: &[String],
    filter: &FilterBuf,
) -> Result<Attempt<Result<String, WrongThere>>, OutboundError> {
    let mut found: Vec<String> = Vec::new();
    for base in bases {
        // One more than there may be: a directory that returns all would be read to its end.
        let search = Search { size_limit: 2, ..Search::new(base, Scope::WholeSubtree, filter, &["1.1"]) };
        let result = connection.search(&search, &mut |response| {
            if let Response::SearchEntry(entry) = response
                && found.len() < 2
            {
                let dn = String::from_utf8_lossy(entry.dn).into_owned();
                // The same entry may lie below two bases.
                if !found.contains(&dn) {
                    found.push(dn);
                }
            }
        })?;
        match result.code {
            ResultCode::SUCCESS | ResultCode::NO_SUCH_OBJECT | ResultCode::SIZE_LIMIT_EXCEEDED => {}
            _ => return Ok(Attempt::TryNext(format!("the search below {base} for {filter}: {result}"))),
        }
    }
    Ok(Attempt::Done(match (found.pop(), found.is_empty()) {
        (Some(dn), true) => Ok(dn),
        (Some(_), false) => Err(WrongThere::Several(filter.to_string())),
        (None, _) => Err(WrongThere::Nobody(filter.to_string())),
    }))
}
