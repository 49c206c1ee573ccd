//! The bind request: what it asks for, and whether it can be had.

use std::time::Instant;

use access::{Authentication, Identity};
use ldap::oids::control;
use ldap::{BindRequest, ControlBuf, Controls, LdapResult};
use query::error::{invalid_dn, shown};
use schema::NormalizedDn;

use super::context::BindContext;
use super::done::{BindDone, BindFailure, authorization_identity};
use super::step::{BindStep, Credential, Via};
use crate::refusal::Refusal;
use crate::session::Session;

/// Controls of the response to a successful bind: the authorization identity if it was asked for (RFC 3829).
pub(crate) fn bind_controls(controls: &Controls<'_>, identity: &Identity) -> Vec<ControlBuf> {
    match controls.find(control::AUTHORIZATION_IDENTITY_REQUEST) {
        Some(_) => vec![authorization_identity(identity)],
        None => Vec::new(),
    }
}

impl Via {
    /// How a client came whose bind request has these controls.
    ///
    /// # Errors
    /// A critical control that binds do not take, or one that is not valid.
    pub(crate) fn of(
        session: &Session,
        controls: &Controls<'_>,
        authentication: Authentication,
        begun: Instant,
    ) -> Result<Via, LdapResult> {
        let mut via = Via {
            authentication,
            begun,
            is_secure: session.security_strength_bits > 0,
            wants_policy: false,
            wants_identity: false,
            address: session.address,
        };
        for item in controls.iter() {
            if item.oid == control::AUTHORIZATION_IDENTITY_REQUEST.as_bytes() {
                via.wants_identity = true;
            } else if item.oid == control::PASSWORD_POLICY.as_bytes() {
                if item.value.is_some() {
                    return Err(Refusal::PolicyControlValue.into());
                }
                via.wants_policy = true;
            } else if item.critical {
                return Err(Refusal::critical_control(item.oid).into());
            }
        }
        Ok(via)
    }
}

impl BindContext<'_> {
    /// Checks a bind request that came at that time.
    pub(crate) fn bind(
        &self,
        session: &Session,
        request: &BindRequest<'_>,
        controls: &Controls<'_>,
        begun: Instant,
    ) -> BindStep {
        let via = Via::of(session, controls, Authentication::Simple, begun);
        via.and_then(|via| self.try_bind(via, request)).unwrap_or_else(|result| {
            BindStep::Done(BindDone { result, controls: Vec::new(), bound: self.nobody(), failure: None })
        })
    }

    fn try_bind(&self, via: Via, request: &BindRequest<'_>) -> Result<BindStep, LdapResult> {
        if !(2..=3).contains(&request.version) {
            return Err(Refusal::ProtocolVersion { version: request.version }.into());
        }
        let clear = match request.authentication {
            ldap::Authentication::Simple(clear) => clear,
            ldap::Authentication::Unknown { tag } => {
                return Err(Refusal::AuthenticationChoice { tag: tag.into() }.into());
            }
            ldap::Authentication::Sasl { mechanism, .. } => {
                return Err(Refusal::SaslMechanism { mechanism: shown(mechanism) }.into());
            }
        };
        let claimed = match (request.name, clear) {
            ([], []) => return Ok(self.anonymous(&via)),
            ([], _) => self.claim_nobody(b"", BindFailure::NoName),
            (_, []) if self.roots.load().dn_requires_password => {
                // RFC 4513 §5.1.2: many a client takes an unauthenticated bind for a login.
                return Err(Refusal::NameWithoutPassword.into());
            }
            (_, []) => return Ok(self.anonymous(&via)),
            (dn, _) => {
                let name = NormalizedDn::parse(&self.in_force.schema(), dn).map_err(|error| invalid_dn(dn, error))?;
                self.claim(&name)?
            }
        };
        Ok(self.authenticate(claimed, Credential::Password(clear), via))
    }

    fn anonymous(&self, via: &Via) -> BindStep {
        let mut done = BindDone::succeeded(self.nobody());
        if via.wants_identity {
            done.controls.push(authorization_identity(&done.bound.identity));
        }
        BindStep::Done(done)
    }
}
