//! Authorization identities (RFC 4513 §5.2.1.8): whom a client that has proved who it is acts as.

use access::{Bound, Identity};
use ldap::controls::AuthorizationId;
use ldap::{Controls, LdapResult, ResultCode};
use query::backend::BackendIndex;
use store::EntryId;

use crate::bind::{BindDone, BindStep, Credential, Named};
use crate::directory::Directory;
use crate::search::RequestTime;
use crate::session::Session;

/// What belongs to a bind beside the account: done once the account is known to be good.
#[derive(Debug, Default)]
pub struct SaslTail {
    /// What the client is sent with a result that is no failure.
    pub(super) credentials: Option<Vec<u8>>,
    /// Why the bind fails, for the log.
    pub(super) failure: Option<String>,
    /// Whom the client wants to act as.
    pub(super) acting: Option<Box<Acting>>,
}

/// A wish to act as somebody.
#[derive(Debug)]
pub(super) struct Acting {
    pub(super) authzid: String,
    pub(super) session: Session,
    /// Of the request.
    pub(super) controls: Vec<u8>,
    pub(super) time: RequestTime,
}

/// How a SASL bind ended.
pub struct SaslDone {
    /// As any bind.
    pub done: BindDone,
    /// What the client is sent.
    pub credentials: Option<Vec<u8>>,
    /// Why it failed, for the log; none: the bind says so itself.
    pub failure: Option<String>,
    /// Whom the client acts as, if that is somebody else than who authenticated: the latter, for the log.
    pub authenticated_as: Option<String>,
}

impl SaslDone {
    /// The end of a simple bind.
    #[must_use]
    pub fn simple(done: BindDone) -> SaslDone {
        SaslDone { done, credentials: None, failure: None, authenticated_as: None }
    }
}

impl SaslTail {
    /// Gives what was authenticated its end: the identity that the client asked for, and the mechanism's last message.
    #[must_use]
    pub fn finish(self, directory: &Directory, done: BindDone) -> SaslDone {
        let SaslTail { credentials, failure, acting } = self;
        let is_failure = !done.result.is_success() && done.result.code != ResultCode::SASL_BIND_IN_PROGRESS;
        if is_failure {
            return SaslDone { done, credentials: None, failure, authenticated_as: None };
        }
        match acting {
            Some(acting) if done.result.is_success() => {
                let authenticated = done.bound.identity.dn().to_owned();
                match acting.act(directory, done) {
                    Ok(done) => {
                        let differs = done.bound.identity.dn() != authenticated;
                        let authenticated_as = differs.then_some(authenticated);
                        SaslDone { done, credentials, failure, authenticated_as }
                    }
                    Err(why) => {
                        let result = LdapResult::new(ResultCode::INVALID_CREDENTIALS, "");
                        let done = directory.ended(result);
                        SaslDone { done, credentials: None, failure: Some(why), authenticated_as: None }
                    }
                }
            }
            _ => SaslDone { done, credentials, failure, authenticated_as: None },
        }
    }
}

impl Acting {
    fn act(self, directory: &Directory, done: BindDone) -> Result<BindDone, String> {
        let Acting { authzid, session, controls, time } = self;
        let controls = Controls::decode(&controls).unwrap_or_default();
        let asked = match AuthorizationId::parse(authzid.as_bytes()) {
            Some(asked) => asked,
            None => AuthorizationId::User(authzid.as_bytes()),
        };
        let own = directory.parsed(done.bound.identity.dn())?;
        let wanted = match asked {
            AuthorizationId::Anonymous => None,
            AuthorizationId::Dn(dn) => Some(directory.parsed(&String::from_utf8_lossy(dn))?),
            AuthorizationId::User(user) => {
                let found = directory.user_named(user, time).map_err(|result| result.message)?;
                Some(directory.parsed(&found.ok_or("There is no user of the authorization identity")?)?)
            }
        };
        if wanted.as_ref() == Some(&own) {
            return Ok(done);
        }
        let mut session = session;
        let authentication = done.bound.authentication.clone();
        session.take(done.bound, time.started);
        let refused = |result: LdapResult| result.message;
        directory.check_acting(&session, asked, time).map_err(refused)?;
        let Some(wanted) = wanted else { return Ok(directory.ended(LdapResult::success())) };
        let of_other = (authentication, &controls, time.started);
        match directory.authenticate(&session, Named::Entry(&wanted), Credential::Trusted, of_other).map_err(refused)? {
            BindStep::Done(done) if done.result.is_success() => Ok(done),
            _ => Err("The account of the authorization identity is not in use".to_owned()),
        }
    }
}

impl Directory {
    /// A bind that ended with nobody bound.
    pub(super) fn ended(&self, result: LdapResult) -> BindDone {
        BindDone { result, controls: Vec::new(), bound: self.nobody(), failure: None }
    }

    /// A user of the system who has no entry: bound by a name that has no rights of its own.
    pub(super) fn bound_of_system(&self, dn: String) -> Bound {
        let identity = Identity::User { dn: dn.into(), backend: BackendIndex(0), entry: EntryId::ROOT };
        Bound { identity, authentication: access::Authentication::LocalSocket, ..self.nobody() }
    }
}
