//! The exchange, by the Kerberos library of the system. Where its keys are is set for the whole process.

use std::fmt;

use libgssapi::context::{CtxFlags, SecurityContext, ServerCtx};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::error::Error;
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_MECH_SPNEGO, GSS_NT_KRB5_PRINCIPAL, OidSet};

use super::exchange::{Accepted, GssFault, Next};
use super::layer::{OFFER, chosen};
use crate::MESSAGE_BYTES_MAX;

/// Whether this program has Kerberos.
pub const IS_BUILT: bool = true;

/// Messages of a client in one exchange; Kerberos needs three.
const MESSAGES_MAX: u8 = 10;

/// An exchange.
pub struct Acceptor {
    context: ServerCtx,
    /// GSS-SPNEGO instead of GSSAPI.
    negotiates: bool,
    stage: Stage,
    messages: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Tickets are being sent.
    Tickets,
    /// The client has what it needs, and says so with an empty message.
    Acknowledgement,
    /// The client chooses a layer.
    Choice,
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").field("negotiates", &self.negotiates).finish_non_exhaustive()
    }
}

impl From<Error> for GssFault {
    fn from(error: Error) -> GssFault {
        GssFault::Library(error.to_string().trim().to_owned())
    }
}

impl Acceptor {
    /// Begins an exchange: for that principal of the server, or for any that there are keys of.
    ///
    /// # Errors
    /// When there are no such keys.
    pub fn new(principal: Option<&str>, negotiates: bool) -> Result<Acceptor, GssFault> {
        let name = principal.map(|name| Name::new(name.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL))).transpose()?;
        let mechanism = if negotiates { GSS_MECH_SPNEGO } else { GSS_MECH_KRB5 };
        let credential = Cred::acquire(name.as_ref(), None, CredUsage::Accept, Some(&OidSet::singleton(mechanism)?))?;
        Ok(Acceptor { context: ServerCtx::new(Some(credential)), negotiates, stage: Stage::Tickets, messages: 0 })
    }

    /// Takes the client's next message. `binding` is what the client may have bound its ticket to; a ticket that is
    /// bound to something else is refused.
    ///
    /// # Errors
    /// When the exchange comes to nothing.
    pub fn step(&mut self, message: &[u8], binding: Option<&[u8]>) -> Result<Next, GssFault> {
        self.messages += 1;
        if message.len() > MESSAGE_BYTES_MAX || self.messages > MESSAGES_MAX {
            return Err(GssFault::TooMuch);
        }
        match self.stage {
            Stage::Tickets => self.ticket(message, binding),
            Stage::Acknowledgement if !message.is_empty() => Err(GssFault::NotEmpty),
            Stage::Acknowledgement => self.offer(),
            Stage::Choice => {
                let answer = self.context.unwrap(message)?;
                let authzid = chosen(&answer)?.map(str::to_owned);
                Ok(Next::Accepted(Accepted { authzid, ..self.accepted()? }))
            }
        }
    }

    fn ticket(&mut self, message: &[u8], binding: Option<&[u8]>) -> Result<Next, GssFault> {
        let answer = self.context.step(message, binding)?.map(|answer| answer.to_vec());
        match (self.context.is_complete(), answer) {
            (false, answer) => Ok(Next::Challenge(answer.unwrap_or_default())),
            (true, last) if self.negotiates => {
                // Flags say whether what follows is signed or encrypted.
                let flags = self.context.flags()?;
                if flags.intersects(CtxFlags::GSS_C_INTEG_FLAG | CtxFlags::GSS_C_CONF_FLAG) {
                    return Err(GssFault::WantsLayer);
                }
                Ok(Next::Accepted(Accepted { last, ..self.accepted()? }))
            }
            (true, Some(answer)) => {
                self.stage = Stage::Acknowledgement;
                Ok(Next::Challenge(answer))
            }
            (true, None) => self.offer(),
        }
    }

    fn offer(&mut self) -> Result<Next, GssFault> {
        self.stage = Stage::Choice;
        Ok(Next::Challenge(self.context.wrap(false, &OFFER)?.to_vec()))
    }

    fn accepted(&self) -> Result<Accepted, GssFault> {
        if self.context.flags()?.contains(CtxFlags::GSS_C_ANON_FLAG) {
            return Err(GssFault::Anonymous);
        }
        if self.context.mechanism()? != GSS_MECH_KRB5 {
            return Err(GssFault::NotKerberos);
        }
        let text = |name: Name| -> Result<String, GssFault> {
            let name = name.display_name()?;
            String::from_utf8(name.to_vec()).map_err(|_| GssFault::Library("a name is not UTF-8".to_owned()))
        };
        let (client, server) = (text(self.context.source_name()?)?, text(self.context.target_name()?)?);
        Ok(Accepted { client, server, authzid: None, last: None })
    }
}
