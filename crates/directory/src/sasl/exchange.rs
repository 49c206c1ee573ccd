//! What an exchange has come to between two requests of a connection.

use std::sync::{Arc, Mutex};

use password::ScramKeys;
use sasl::Mechanism;
use sasl::gssapi::Acceptor;
use schema::NormalizedDn;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) enum Exchange {
    /// The client was asked for a proof.
    Scram(Box<ScramExchange>),
    /// The client is asked for more of its ticket.
    Kerberos(KerberosExchange),
    /// The client was told that its token is not good, and has to acknowledge it.
    TokenRefused,
}

/// An exchange of SCRAM.
#[derive(Clone, Debug)]
pub(crate) struct ScramExchange {
    pub(crate) mechanism: Mechanism,
    pub(crate) exchange: sasl::scram::Exchange,
    /// Whose keys the client was asked to prove; none: nobody's.
    pub(crate) name: Option<NormalizedDn>,
    /// What the client called the user.
    pub(crate) user: String,
    /// The keys; none: decoys.
    pub(crate) keys: Option<ScramKeys>,
    pub(crate) authzid: Option<String>,
}

/// An exchange of GSSAPI or GSS-SPNEGO.
#[derive(Clone, Debug)]
pub(crate) struct KerberosExchange {
    pub(crate) mechanism: Mechanism,
    pub(crate) acceptor: Arc<Mutex<Acceptor>>,
}

impl Exchange {
    /// Whether a request with that mechanism continues the exchange.
    pub(crate) fn is_of(&self, mechanism: Mechanism) -> bool {
        match self {
            Exchange::Scram(scram) => scram.mechanism == mechanism,
            Exchange::Kerberos(kerberos) => kerberos.mechanism == mechanism,
            Exchange::TokenRefused => mechanism == Mechanism::OauthBearer,
        }
    }
}
