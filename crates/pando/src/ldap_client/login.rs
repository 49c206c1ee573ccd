//! Binds of a client: simple, and by SASL with PLAIN, SCRAM, EXTERNAL and ANONYMOUS. Knows bytes, not connections.

use std::fmt;

use ldap::client::{self, Response};
use ldap::{ControlBuf, LdapResult, ResultCode};
use password::ScramHash;
use sasl::scram::{ScramClient, ScramClientFault, ScramProven};
use zeroize::Zeroizing;

use super::status;
use crate::failure::Failure;

/// How a connection is bound.
#[derive(Clone)]
pub enum Login {
    /// Not at all.
    Anonymous,
    /// By a name and its password.
    Simple {
        /// The name.
        dn: String,
        /// Its password.
        password: Zeroizing<String>,
    },
    /// By SASL.
    Sasl(SaslLogin),
}

/// A bind by SASL.
#[derive(Clone)]
pub struct SaslLogin {
    mechanism: Mechanism,
    /// Who proves that it is it.
    pub authid: String,
    /// Who it wants to act as.
    pub authzid: Option<String>,
    /// What proves it.
    pub password: Zeroizing<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mechanism {
    Anonymous,
    External,
    Plain,
    Scram(ScramHash),
}

/// Options of SASL that no login can be made of.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// Not `name=value`.
    #[error("--saslOption {0}: write NAME=VALUE, for example mech=PLAIN")]
    Form(String),
    /// A name that no mechanism here has.
    #[error("--saslOption {0}: the options are mech, authid and authzid")]
    Unknown(String),
    /// No mechanism.
    #[error("--saslOption mech=… is missing: it says which mechanism binds")]
    NoMechanism,
    /// A mechanism that is not spoken.
    #[error(
        "--saslOption mech={0}: the mechanisms are ANONYMOUS, EXTERNAL, PLAIN, SCRAM-SHA-1, SCRAM-SHA-256 and \
         SCRAM-SHA-512"
    )]
    Mechanism(String),
    /// A mechanism needs a name.
    #[error("--saslOption authid=… is missing: the mechanism {0} needs the name of the user")]
    NoUser(&'static str),
    /// A mechanism without a use for an option.
    #[error("--saslOption {option}=…: the mechanism {mechanism} has no such option")]
    Unused {
        /// The option.
        option: &'static str,
        /// The mechanism.
        mechanism: &'static str,
    },
}

impl Mechanism {
    const ALL: [Mechanism; 6] = [
        Mechanism::Anonymous,
        Mechanism::External,
        Mechanism::Plain,
        Mechanism::Scram(ScramHash::Sha1),
        Mechanism::Scram(ScramHash::Sha256),
        Mechanism::Scram(ScramHash::Sha512),
    ];

    fn name(self) -> &'static str {
        match self {
            Mechanism::Anonymous => "ANONYMOUS",
            Mechanism::External => "EXTERNAL",
            Mechanism::Plain => "PLAIN",
            Mechanism::Scram(hash) => hash.mechanism(),
        }
    }

    fn has_password(self) -> bool {
        matches!(self, Mechanism::Plain | Mechanism::Scram(_))
    }
}

impl SaslLogin {
    /// From `--saslOption`s; without the password.
    pub fn from_options(options: &[String]) -> Result<SaslLogin, LoginError> {
        let (mut mechanism, mut authid, mut authzid) = (None, None, None);
        for option in options {
            let (name, value) = option.split_once('=').ok_or_else(|| LoginError::Form(option.clone()))?;
            let place = match name.to_ascii_lowercase().as_str() {
                "mech" => &mut mechanism,
                "authid" => &mut authid,
                "authzid" => &mut authzid,
                _ => return Err(LoginError::Unknown(name.to_owned())),
            };
            *place = Some(value.to_owned());
        }
        let name = mechanism.ok_or(LoginError::NoMechanism)?;
        let mechanism = Mechanism::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(&name));
        let mechanism = mechanism.ok_or(LoginError::Mechanism(name))?;
        let unused = |option| LoginError::Unused { option, mechanism: mechanism.name() };
        match (mechanism, &authid, &authzid) {
            (Mechanism::Anonymous, _, Some(_)) => return Err(unused("authzid")),
            (Mechanism::External, Some(_), _) => return Err(unused("authid")),
            (Mechanism::Plain | Mechanism::Scram(_), None, _) => return Err(LoginError::NoUser(mechanism.name())),
            _ => {}
        }
        Ok(SaslLogin { mechanism, authid: authid.unwrap_or_default(), authzid, password: Zeroizing::default() })
    }

    /// Whether a password is part of it.
    pub fn has_password(&self) -> bool {
        self.mechanism.has_password()
    }

    /// The same for another user.
    pub fn of_user(&self, authid: String, authzid: Option<String>, password: Zeroizing<String>) -> SaslLogin {
        SaslLogin { mechanism: self.mechanism, authid, authzid, password }
    }
}

/// A bind on its way.
#[derive(Debug, Default)]
pub struct Exchange {
    state: State,
    /// What each request of it has.
    controls: Vec<ControlBuf>,
}

#[derive(Debug, Default)]
enum State {
    /// The next answer is the last.
    #[default]
    Last,
    Challenged(ScramClient),
    Proven(ScramProven),
}

/// What comes after an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// The connection is bound.
    Bound,
    /// Another request was written.
    Asked,
}

/// Why a bind failed.
#[derive(Debug)]
pub enum Refusal {
    /// The server says so.
    Server(Box<LdapResult>),
    /// The server is not believed.
    Scram(ScramClientFault),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Server(result) => write!(out, "{result}"),
            Refusal::Scram(fault) => write!(out, "{fault}"),
        }
    }
}

impl Refusal {
    /// For the person at the terminal; the exit status is the result code.
    pub fn failure(&self, what: &str) -> Failure {
        let status = match self {
            Refusal::Server(result) => status::of(result.code),
            Refusal::Scram(_) => 1,
        };
        Failure::new(format_args!("{what}: {self}")).with_status(status)
    }
}

impl Login {
    /// Whether there is anything to ask.
    pub fn is_anonymous(&self) -> bool {
        matches!(self, Login::Anonymous)
    }

    /// Appends the first request.
    pub fn begin(&self, id: i32, out: &mut Vec<u8>) -> Exchange {
        self.begin_with(Vec::new(), id, out)
    }

    /// The same with controls on each request.
    pub fn begin_with(&self, controls: Vec<ControlBuf>, id: i32, out: &mut Vec<u8>) -> Exchange {
        let state = match self {
            Login::Anonymous => {
                client::bind(out, id, "", &[], &controls);
                State::Last
            }
            Login::Simple { dn, password } => {
                client::bind(out, id, dn, password.as_bytes(), &controls);
                State::Last
            }
            Login::Sasl(sasl) => sasl.begin(&controls, id, out),
        };
        Exchange { state, controls }
    }

    fn password(&self) -> &str {
        match self {
            Login::Anonymous => "",
            Login::Simple { password, .. } => password,
            Login::Sasl(sasl) => &sasl.password,
        }
    }
}

impl SaslLogin {
    fn begin(&self, controls: &[ControlBuf], id: i32, out: &mut Vec<u8>) -> State {
        let (credentials, state) = match self.mechanism {
            Mechanism::Anonymous => (self.authid.as_bytes().to_vec(), State::Last),
            Mechanism::External => (self.authzid.clone().unwrap_or_default().into_bytes(), State::Last),
            Mechanism::Plain => {
                let authzid = self.authzid.as_deref().unwrap_or_default();
                let parts = [authzid.as_bytes(), b"\0", self.authid.as_bytes(), b"\0", self.password.as_bytes()];
                (parts.concat(), State::Last)
            }
            Mechanism::Scram(hash) => {
                let nonce = nonce();
                let (client, first) = ScramClient::begin(hash, &self.authid, self.authzid.as_deref(), &nonce);
                (first, State::Challenged(client))
            }
        };
        let credentials = Zeroizing::new(credentials);
        client::sasl_bind(out, id, "", self.mechanism.name(), Some(&credentials), controls);
        state
    }
}

impl Exchange {
    /// Takes an answer; appends the next request if there is one.
    pub fn go_on(
        &mut self,
        login: &Login,
        answer: &Response<'_>,
        id: i32,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Refusal> {
        let Response::Bind { result, credentials } = answer else {
            return Err(Refusal::Server(Box::new(answer.result().cloned().unwrap_or_else(LdapResult::success))));
        };
        let said = credentials.unwrap_or_default();
        match (std::mem::take(&mut self.state), result.code) {
            (State::Challenged(client), ResultCode::SASL_BIND_IN_PROGRESS) => {
                let (proven, last) = client.prove(said, login.password()).map_err(Refusal::Scram)?;
                let Login::Sasl(sasl) = login else { return Ok(Progress::Bound) };
                client::sasl_bind(out, id, "", sasl.mechanism.name(), Some(&last), &self.controls);
                self.state = State::Proven(proven);
                Ok(Progress::Asked)
            }
            (State::Proven(proven), ResultCode::SUCCESS) => {
                proven.check(said).map(|()| Progress::Bound).map_err(Refusal::Scram)
            }
            (State::Last, ResultCode::SUCCESS) => Ok(Progress::Bound),
            // A server that skips the exchange has proven nothing.
            (State::Challenged(_), ResultCode::SUCCESS) => Err(Refusal::Scram(ScramClientFault::Challenge)),
            _ => Err(Refusal::Server(Box::new(result.clone()))),
        }
    }
}

/// Visible characters that were never used before.
fn nonce() -> String {
    let mut bytes = [0; 18];
    // The system's random numbers do not fail after they have once been there; a nonce that repeats harms only the
    // client itself.
    _ = getrandom::fill(&mut bytes);
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
