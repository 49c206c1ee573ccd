//! Steps of GSSAPI and GSS-SPNEGO, and whose principal it is.

use std::sync::{Arc, Mutex, PoisonError};

use config::GssapiSettings;
use sasl::Mechanism;
use sasl::gssapi::{Accepted, Acceptor, Next, Principal};
use schema::NormalizedDn;

use super::acting::SaslTail;
use super::exchange::{Exchange, KerberosExchange};
use super::steps::{Asked, SaslBind, StepResult, failed};
use crate::bind::{Credential, Named};
use crate::directory::Directory;

/// What RFC 5929's binding is called in tickets that are bound to the server's certificate.
const END_POINT: &[u8] = b"tls-server-end-point:";

impl Directory {
    pub(super) fn kerberos_first(&self, asked: &Asked<'_>, settings: &GssapiSettings) -> StepResult {
        let negotiates = asked.mechanism == Mechanism::GssSpnego;
        let acceptor = Acceptor::new(settings.principal.as_deref(), negotiates).map_err(failed)?;
        let acceptor = Arc::new(Mutex::new(acceptor));
        self.kerberos(asked, settings, KerberosExchange { mechanism: asked.mechanism, acceptor })
    }

    /// Takes the next message. An exchange that goes on is kept with the session.
    pub(super) fn kerberos(
        &self,
        asked: &Asked<'_>,
        settings: &GssapiSettings,
        exchange: KerberosExchange,
    ) -> StepResult {
        let end_point = asked.session.tls.as_ref().and_then(|tls| tls.bindings.tls_server_end_point.as_deref());
        let binding = end_point.map(|hash| [END_POINT, hash].concat());
        let message = asked.credentials.unwrap_or_default();
        let next = {
            let mut acceptor = exchange.acceptor.lock().unwrap_or_else(PoisonError::into_inner);
            acceptor.step(message, binding.as_deref()).map_err(failed)?
        };
        let accepted = match next {
            Next::Challenge(challenge) => {
                asked.session.exchange.replace(Some(Exchange::Kerberos(exchange)));
                return Ok(self.challenge(challenge));
            }
            Next::Accepted(accepted) => accepted,
        };
        let name = self.owner_of_principal(&accepted, settings, asked);
        let whom = name.as_ref().map_or(Named::Nobody(accepted.client.as_bytes()), Named::Entry);
        let step = self.authenticate(asked.session, whom, Credential::Trusted, asked.came(asked.by()))?;
        let tail = asked.tail(accepted.last, accepted.authzid.as_deref());
        Ok(SaslBind { step, tail: SaslTail { failure: name.err(), ..tail } })
    }

    /// The entry of the user of a ticket. Users of other realms are nobody, whatever the mapper says.
    fn owner_of_principal(
        &self,
        accepted: &Accepted,
        settings: &GssapiSettings,
        asked: &Asked<'_>,
    ) -> Result<NormalizedDn, String> {
        let client = Principal::parse(&accepted.client);
        let client = client.ok_or_else(|| format!("\"{}\" is no name of a user", accepted.client))?;
        let own = settings.realm.as_deref().or_else(|| Some(Principal::parse(&accepted.server)?.realm));
        if own != Some(client.realm) {
            return Err(format!("{} is of another realm", accepted.client));
        }
        let mapper = self.identity_mappers.load().find(settings.identity_mapper.as_deref());
        let name = if settings.identity_mapper.is_some() { &accepted.client } else { client.name };
        // A ticket names a user and never an entry.
        self.claimed_name(&mapper, &format!("u:{name}"), asked.time)
    }
}
