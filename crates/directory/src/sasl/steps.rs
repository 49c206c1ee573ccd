//! One step of each mechanism: what a client sent, and what follows from it.

use std::time::Instant;

use access::Authentication;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use config::{ExternalSettings, SaslKind};
use ldap::{BindRequest, Controls, LdapResult, ResultCode};
use password::Scheme;
use query::error::shown;
use sasl::plain::Plain;
use sasl::scram::{ChannelBindings, ClientFirst, Offer};
use sasl::{Mechanism, ScramHash, external, oauthbearer};
use schema::NormalizedDn;

use super::acting::{Acting, SaslTail};
use super::exchange::{Exchange, ScramExchange};
use super::offer::NotOffered;
use super::settings::Tokens;
use crate::bind::{BindDone, BindStep, Credential, Named, Via, Wait, WaitingBind};
use crate::directory::Directory;
use crate::identity_mappers::Mapper;
use crate::refusal::Refusal;
use crate::search::RequestTime;
use crate::session::Session;

/// Octets of the server's nonce.
const NONCE_BYTES: usize = 24;

/// A SASL bind on its way.
pub struct SaslBind {
    /// Where it is.
    pub step: BindStep,
    /// What belongs to it when it is done: give it the outcome.
    pub tail: SaslTail,
}

/// What a step is asked for with.
pub(super) struct Asked<'r> {
    pub(super) session: &'r Session,
    pub(super) mechanism: Mechanism,
    pub(super) credentials: Option<&'r [u8]>,
    pub(super) controls: &'r Controls<'r>,
    pub(super) time: RequestTime,
}

/// How a step ends that does not get as far as an account.
pub(super) enum Ending {
    /// With that result.
    Refused(LdapResult),
    /// As a wrong password does; why is for the log.
    Failed(String),
}

pub(super) type StepResult = Result<SaslBind, Ending>;

impl<R: Into<LdapResult>> From<R> for Ending {
    fn from(result: R) -> Ending {
        Ending::Refused(result.into())
    }
}

/// What a client sent is not good.
pub(super) fn failed(why: impl std::fmt::Display) -> Ending {
    Ending::Failed(why.to_string())
}

impl Asked<'_> {
    /// What follows once the account is known to be good.
    pub(super) fn tail(&self, credentials: Option<Vec<u8>>, authzid: Option<&str>) -> SaslTail {
        let acting = authzid.map(|authzid| {
            let (controls, session) = (self.controls.encoded().to_vec(), self.session.apart());
            Box::new(Acting { authzid: authzid.to_owned(), session, controls, time: self.time })
        });
        SaslTail { credentials, failure: None, acting }
    }

    pub(super) fn by(&self) -> Authentication {
        Authentication::Sasl(self.mechanism.name().into())
    }

    /// How the client came.
    pub(super) fn came(&self, by: Authentication) -> (Authentication, &Controls<'_>, Instant) {
        (by, self.controls, self.time.started)
    }
}

impl Directory {
    /// Takes one step of a SASL bind.
    pub fn sasl_bind(
        &self,
        session: &Session,
        request: &BindRequest<'_>,
        (mechanism, credentials): (&[u8], Option<&[u8]>),
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> SaslBind {
        let pending = session.exchange.take();
        let step = || {
            if request.version != 3 {
                return Err(Refusal::ProtocolVersion { version: request.version }.into());
            }
            if mechanism.is_empty() {
                return Err(Refusal::SaslAborted.into());
            }
            let unknown = || Refusal::SaslMechanism { mechanism: shown(mechanism) };
            let mechanism = Mechanism::named(mechanism).ok_or_else(unknown)?;
            let settings = self.sasl.load();
            let offer = settings.check_offer(&self.identity_mappers.load(), session, mechanism);
            let kind = match offer {
                Ok(kind) => kind,
                Err(NotOffered::NotInUse) => return Err(unknown().into()),
                Err(NotOffered::NeedsEncryption) => {
                    return Err(Refusal::SaslNeedsEncryption { mechanism: mechanism.name().to_owned() }.into());
                }
            };
            let asked = Asked { session, mechanism, credentials, controls, time };
            match pending.filter(|pending| pending.is_of(mechanism)) {
                Some(Exchange::Scram(scram)) => self.scram_last(&asked, *scram),
                Some(Exchange::Kerberos(exchange)) => match kind {
                    SaslKind::Gssapi(settings) => self.kerberos(&asked, settings, exchange),
                    _ => Err(unknown().into()),
                },
                Some(Exchange::TokenRefused) => Err(failed("The token is not good")),
                None => self.first_step(&asked, kind),
            }
        };
        step().unwrap_or_else(|ending| {
            let is_verbose = self.roots.load().verbose;
            let (result, failure) = match ending {
                Ending::Refused(result) => (result, None),
                Ending::Failed(why) => {
                    let told = if is_verbose { why.clone() } else { String::new() };
                    (LdapResult::new(ResultCode::INVALID_CREDENTIALS, told), Some(why))
                }
            };
            SaslBind { step: BindStep::Done(self.ended(result)), tail: SaslTail { failure, ..SaslTail::default() } }
        })
    }

    fn first_step(&self, asked: &Asked<'_>, kind: &SaslKind) -> StepResult {
        let mapper = |name: &Option<String>| self.identity_mappers.load().find(name.as_deref());
        match kind {
            SaslKind::Plain { identity_mapper, .. } => self.plain(asked, &mapper(identity_mapper)),
            SaslKind::External(settings) => self.external(asked, settings),
            SaslKind::Scram { identity_mapper, .. } => self.scram_first(asked, &mapper(identity_mapper)),
            SaslKind::Gssapi(settings) => self.kerberos_first(asked, settings),
            SaslKind::OauthBearer(settings) => {
                let sasl = self.sasl.load();
                let tokens = sasl.tokens().ok_or_else(|| failed("There are no keys of an issuer"))?;
                self.oauthbearer(asked, &mapper(&settings.identity_mapper), tokens)
            }
        }
    }

    fn plain(&self, asked: &Asked<'_>, mapper: &Mapper) -> StepResult {
        let plain = Plain::parse(asked.credentials.unwrap_or_default()).map_err(failed)?;
        let name = self.claimed_name(mapper, plain.authcid, asked.time);
        let whom = name.as_ref().map_or(Named::Nobody(plain.authcid.as_bytes()), Named::Entry);
        let step =
            self.authenticate(asked.session, whom, Credential::Password(plain.password), asked.came(asked.by()))?;
        let tail = SaslTail { failure: name.err(), ..asked.tail(None, plain.authzid) };
        Ok(SaslBind { step, tail })
    }

    fn scram_first(&self, asked: &Asked<'_>, mapper: &Mapper) -> StepResult {
        let Mechanism::Scram { hash, plus } = asked.mechanism else {
            return Err(failed("It is no mechanism of SCRAM"));
        };
        let none = ChannelBindings::default();
        let bindings = asked.session.tls.as_ref().map_or(&none, |tls| &tls.bindings);
        let offer = Offer { hash, plus, plus_is_announced: !bindings.is_empty(), bindings };
        let first = ClientFirst::parse(asked.credentials.unwrap_or_default(), &offer).map_err(failed)?;
        let name = self.claimed_name(mapper, first.user(), asked.time).ok();
        let keys = match &name {
            Some(name) => self.binding().claim(name)?.scram_keys(hash),
            None => None,
        };
        let scheme = match hash {
            ScramHash::Sha1 => Scheme::ScramSha1,
            ScramHash::Sha256 => Scheme::ScramSha256,
            ScramHash::Sha512 => Scheme::ScramSha512,
        };
        let iterations = self.updates.password_parameters.load().iterations(scheme);
        let decoys = self.sasl.load().decoys(iterations).keys(hash, &first.prepared_user);
        let (user, authzid) = (first.prepared_user.clone(), first.authzid().map(str::to_owned));
        let (exchange, challenge) = first.challenge(keys.clone().unwrap_or(decoys), &nonce()?);
        let mechanism = asked.mechanism;
        let pending = ScramExchange { mechanism, exchange, name, user, keys, authzid };
        asked.session.exchange.replace(Some(Exchange::Scram(Box::new(pending))));
        // Looking up a name that is there takes longer: neither is answered sooner than a refusal.
        let (by, controls, begun) = asked.came(asked.by());
        let via = Via::of(asked.session, controls, by, begun)?;
        let SaslBind { step, tail } = self.challenge(challenge);
        let step = match step {
            BindStep::Done(done) => {
                let wait = Wait::of_refusal(&via, None);
                BindStep::Waits(Box::new(WaitingBind { wait, done, failed: None }))
            }
            other => other,
        };
        Ok(SaslBind { step, tail })
    }

    fn scram_last(&self, asked: &Asked<'_>, pending: ScramExchange) -> StepResult {
        let ScramExchange { exchange, name, user, keys, authzid, mechanism } = pending;
        let finished = exchange.finish(asked.credentials.unwrap_or_default());
        // The password may have been changed since the challenge.
        let current = match (&name, mechanism) {
            (Some(name), Mechanism::Scram { hash, .. }) => self.binding().claim(name)?.scram_keys(hash),
            _ => None,
        };
        let is_right = finished.is_ok() && keys.is_some() && keys == current;
        let failure = match &finished {
            Err(fault) => Some(fault.to_string()),
            Ok(_) if !is_right => Some("The password was changed during the exchange".to_owned()),
            Ok(_) => None,
        };
        let proof = Credential::Judged { is_right };
        let whom = name.as_ref().map_or(Named::Nobody(user.as_bytes()), Named::Entry);
        let step = self.authenticate(asked.session, whom, proof, asked.came(asked.by()))?;
        let tail = asked.tail(finished.ok().map(|last| last.0), authzid.as_deref());
        Ok(SaslBind { step, tail: SaslTail { failure, ..tail } })
    }

    fn external(&self, asked: &Asked<'_>, settings: &ExternalSettings) -> StepResult {
        let authzid = external::authorization_id(asked.credentials).map_err(failed)?;
        let tail = asked.tail(None, authzid);
        if let Some(certificate) = asked.session.certificate() {
            let name = self.owner_of(certificate, settings, asked.time).map_err(failed)?;
            let by = asked.came(Authentication::ClientCertificate);
            let step = self.authenticate(asked.session, Named::Entry(&name), Credential::Trusted, by)?;
            if let BindStep::Done(BindDone { bound, result, .. }) = &step
                && result.is_success()
                && !self.holds_certificate(bound.identity.dn(), certificate, settings)
            {
                return Err(failed("The entry does not hold the certificate"));
            }
            return Ok(SaslBind { step, tail });
        }
        let Some(peer) = asked.session.local_peer else {
            return Err(failed("The client has no certificate that is good, and no local socket"));
        };
        let mut name = None;
        if let Some(root) = settings.local_root.as_ref().filter(|_| peer.is_trusted) {
            name = Some(self.parsed(root).map_err(failed)?);
        } else if settings.maps_local_users {
            name = self.user_of_system(peer.uid, peer.gid, asked.time).ok();
        }
        let step = match name {
            Some(name) => {
                let by = asked.came(Authentication::LocalSocket);
                self.authenticate(asked.session, Named::Entry(&name), Credential::Trusted, by)?
            }
            None => {
                let dn = format!("gidNumber={}+uidNumber={},cn=peercred,cn=external,cn=auth", peer.gid, peer.uid);
                let done = BindDone { bound: self.bound_of_system(dn), ..self.ended(LdapResult::success()) };
                let controls = self.bind_controls(asked.controls, &done.bound.identity);
                BindStep::Done(BindDone { controls, ..done })
            }
        };
        Ok(SaslBind { step, tail })
    }

    fn oauthbearer(&self, asked: &Asked<'_>, mapper: &Mapper, tokens: &Tokens) -> StepResult {
        let request = oauthbearer::Request::parse(asked.credentials.unwrap_or_default()).map_err(failed)?;
        let now = u64::try_from(asked.time.unix_seconds).unwrap_or(0);
        let user = match tokens.keys.keys(self.notices()).subject(request.token, &tokens.rules, now) {
            Ok(user) => user,
            Err(fault) => {
                asked.session.exchange.replace(Some(Exchange::TokenRefused));
                let (scope, url) = (tokens.rules.scope.as_deref(), tokens.settings.openid_configuration.as_deref());
                let told = self.challenge(oauthbearer::refusal("invalid_token", scope, url));
                let tail = SaslTail { failure: Some(fault.to_string()), ..told.tail };
                return Ok(SaslBind { tail, ..told });
            }
        };
        // A token names a user and never an entry.
        let name = self.claimed_name(mapper, &format!("u:{user}"), asked.time);
        let name: NormalizedDn = name.map_err(failed)?;
        let by = asked.came(asked.by());
        let step = self.authenticate(asked.session, Named::Entry(&name), Credential::Trusted, by)?;
        Ok(SaslBind { step, tail: asked.tail(None, request.authzid.as_deref()) })
    }

    /// The client has to go on.
    pub(super) fn challenge(&self, credentials: Vec<u8>) -> SaslBind {
        let step = BindStep::Done(self.ended(LdapResult::new(ResultCode::SASL_BIND_IN_PROGRESS, "")));
        SaslBind { step, tail: SaslTail { credentials: Some(credentials), ..SaslTail::default() } }
    }
}

/// Text that was never sent before.
fn nonce() -> Result<String, Ending> {
    let mut bytes = [0; NONCE_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| failed(format_args!("The system gives no random numbers: {error}")))?;
    Ok(STANDARD.encode(bytes))
}
