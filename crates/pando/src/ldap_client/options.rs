//! The options that OpenDJ's LDAP clients share: where the server is, TLS, and who binds.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use durable::ReadBound;
use ldap::ControlBuf;
use ldap::client::ServerMessage;
use outbound::{Connection, Security, Server, Settings, TlsRules, Trust};
use runtime::tls_keys::{CertificateFiles, Pin, trusted_certificates};
use rustls::ClientConfig;
use zeroize::Zeroizing;

use super::login::{Login, Progress, Refusal, SaslLogin};
use super::status;
use crate::failure::{Context, Failure};
use crate::password_file::given_or_first_line;
use crate::terminal;

/// An answer that does not come for so long is given up: a persistent search has none for years.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// What stands for no limit of time.
const NO_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Longest file with certificates or keys that is read.
const STORE_BYTES_MAX: u64 = 4 << 20;
/// What a PEM file has somewhere.
const PEM_MARK: &[u8] = b"-----BEGIN ";

/// See the module.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionOptions {
    /// Host of the server
    #[arg(short = 'h', long = "hostname", value_name = "HOST", default_value = "localhost")]
    host: String,
    /// Port of the server
    #[arg(short = 'p', long = "port", value_name = "PORT", default_value_t = 389)]
    port: u16,
    /// User to bind as [default: nobody]
    #[arg(short = 'D', long = "bindDN", alias = "bindDn", value_name = "DN")]
    pub bind_dn: Option<String>,
    /// Password of the user; "-" asks for it
    #[arg(short = 'w', long = "bindPassword", value_name = "PASSWORD")]
    pub password: Option<String>,
    /// File whose first line is the password
    #[arg(short = 'j', long = "bindPasswordFile", value_name = "FILE", conflicts_with = "password")]
    password_file: Option<PathBuf>,
    /// Bind by SASL: mech=PLAIN, SCRAM-SHA-256, EXTERNAL …; authid=NAME; authzid=NAME
    #[arg(short = 'o', long = "saslOption", value_name = "NAME=VALUE", conflicts_with = "bind_dn")]
    sasl_options: Vec<String>,
    /// Use TLS from the beginning (LDAPS)
    #[arg(short = 'Z', long = "useSSL", conflicts_with = "starttls")]
    tls: bool,
    /// Begin TLS by StartTLS
    #[arg(short = 'q', long = "useStartTLS")]
    starttls: bool,
    /// Trust any certificate of the server
    #[arg(short = 'X', long = "trustAll", conflicts_with = "trust_store")]
    trust_all: bool,
    #[command(flatten)]
    files: TlsFiles,
    /// Longest time to connect, in milliseconds; 0 is no limit
    #[arg(long = "connectTimeout", value_name = "MILLISECONDS", default_value_t = 30_000)]
    connect_timeout: u32,
    /// Read no file of default options: none is ever read
    #[arg(long = "noPropertiesFile", hide = true)]
    no_properties_file: bool,
}

/// Files with certificates: those that are trusted, and the own.
#[derive(Debug, Args)]
pub struct TlsFiles {
    /// File with the certificates that are trusted: PEM, or PKCS #12 [default: those that this machine trusts]
    #[arg(short = 'P', long = "trustStorePath", value_name = "FILE", global = true)]
    trust_store: Option<PathBuf>,
    /// Password of the PKCS #12 file with trusted certificates
    #[arg(short = 'T', long = "trustStorePassword", value_name = "PASSWORD", requires = "trust_store", global = true)]
    trust_store_password: Option<String>,
    /// File whose first line is that password
    #[arg(
        short = 'U',
        long = "trustStorePasswordFile",
        value_name = "FILE",
        requires = "trust_store",
        conflicts_with = "trust_store_password",
        global = true
    )]
    trust_store_password_file: Option<PathBuf>,
    /// File with the own certificate and its key: PEM, or PKCS #12
    #[arg(short = 'K', long = "keyStorePath", value_name = "FILE", global = true)]
    key_store: Option<PathBuf>,
    /// Password of the own key
    #[arg(short = 'W', long = "keyStorePassword", value_name = "PASSWORD", requires = "key_store", global = true)]
    key_store_password: Option<String>,
    /// File whose first line is that password
    #[arg(
        short = 'u',
        long = "keyStorePasswordFile",
        value_name = "FILE",
        requires = "key_store",
        conflicts_with = "key_store_password",
        global = true
    )]
    key_store_password_file: Option<PathBuf>,
}

/// A server, and how connections to it are made.
#[derive(Clone)]
pub struct Target {
    /// The host and port.
    pub server: Server,
    /// How connections are made.
    pub settings: Settings,
}

impl ConnectionOptions {
    /// Where the server is, and how it is spoken to.
    pub fn target(&self) -> Result<Target, Failure> {
        let security = match (self.tls, self.starttls) {
            (true, _) => Security::Tls(self.files.client_config(self.trust_all)?),
            (false, true) => Security::StartTls(self.files.client_config(self.trust_all)?),
            (false, false) => {
                self.refuse_tls_options()?;
                Security::Plain
            }
        };
        Ok(Target::new(&self.host, self.port, security, self.connect_timeout))
    }

    fn refuse_tls_options(&self) -> Result<(), Failure> {
        let given = [
            (self.trust_all, "--trustAll"),
            (self.files.trust_store.is_some(), "--trustStorePath"),
            (self.files.key_store.is_some(), "--keyStorePath"),
        ];
        match given.iter().find(|(is_given, _)| *is_given) {
            // Scripts give --trustAll whether or not there is TLS, and nothing is trusted then.
            Some((_, name)) if *name != "--trustAll" => {
                Err(Failure::new(format_args!("{name} is for TLS: give --useSSL or --useStartTLS, too")))
            }
            _ => Ok(()),
        }
    }

    /// Who binds.
    pub fn login(&self) -> Result<Login, Failure> {
        if !self.sasl_options.is_empty() {
            let mut sasl = SaslLogin::from_options(&self.sasl_options).map_err(Failure::new)?;
            if sasl.has_password() {
                sasl.password = self.password_of(&sasl.authid)?;
            }
            return Ok(Login::Sasl(sasl));
        }
        match &self.bind_dn {
            None if self.password.is_some() || self.password_file.is_some() => {
                Err(Failure::new("a password is given, but not whose it is: give the name with --bindDN"))
            }
            None => Ok(Login::Anonymous),
            Some(dn) => Ok(Login::Simple { dn: dn.clone(), password: self.password_of(dn)? }),
        }
    }

    fn password_of(&self, user: &str) -> Result<Zeroizing<String>, Failure> {
        match given_or_first_line(self.password.as_deref().filter(|word| *word != "-"), self.password_file.as_deref())?
        {
            Some(password) => Ok(password),
            None if terminal::is_interactive() => {
                terminal::ask_password(&format!("Password for user '{user}'")).map(Zeroizing::new)
            }
            None => Err(Failure::new(format_args!(
                "the password of {user} is missing: give it with --bindPasswordFile or --bindPassword"
            ))),
        }
    }
}

impl TlsFiles {
    /// How TLS is spoken with these files; without trusted certificates, with those that this machine trusts or any.
    pub fn client_config(&self, trust_all: bool) -> Result<Arc<ClientConfig>, Failure> {
        let trust = match &self.trust_store {
            None if trust_all => Trust::Anyone,
            None => Trust::System,
            Some(path) if is_pem(path)? => {
                let pin = [self.trust_store_password.is_some(), self.trust_store_password_file.is_some()];
                if pin.contains(&true) {
                    return Err(Failure::new(format_args!("{} is a PEM file, which has no password", path.display())));
                }
                Trust::Issuers(vec![path.clone()])
            }
            Some(path) => {
                let pin = given_or_first_line(
                    self.trust_store_password.as_deref(),
                    self.trust_store_password_file.as_deref(),
                )?;
                Trust::Certificates(trusted_certificates(path, &pin.unwrap_or_default()).map_err(Failure::new)?)
            }
        };
        let identity = match &self.key_store {
            None => None,
            Some(path) => {
                let pin =
                    given_or_first_line(self.key_store_password.as_deref(), self.key_store_password_file.as_deref())?;
                let files = CertificateFiles {
                    certificate: path.clone(),
                    private_key: path.clone(),
                    is_pkcs12: !is_pem(path)?,
                    pin: Some(Pin::Given(pin.unwrap_or_default())),
                };
                Some(files.load().map_err(Failure::new)?)
            }
        };
        trust.client_config(TlsRules { identity, ..TlsRules::all() }).map_err(Failure::new)
    }

    /// The first of the options that was given.
    pub fn given(&self) -> Option<&'static str> {
        match (&self.trust_store, &self.key_store) {
            (Some(_), _) => Some("--trustStorePath"),
            (None, Some(_)) => Some("--keyStorePath"),
            (None, None) => None,
        }
    }
}

impl Target {
    /// A server, and so many milliseconds to connect to it; 0 is no limit.
    pub fn new(host: &str, port: u16, security: Security, connect_timeout: u32) -> Self {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let connect_timeout = match connect_timeout {
            0 => NO_LIMIT,
            milliseconds => Duration::from_millis(u64::from(milliseconds)),
        };
        let settings = Settings {
            security,
            source: None,
            connect_timeout,
            answer_timeout: ANSWER_TIME_MAX,
            keep_alive: true,
            no_delay: true,
        };
        Self { server: Server { host, port }, settings }
    }

    /// A connection that is bound; its refusal ends the tool with the result code as its status.
    pub fn connect(&self, login: &Login) -> Result<Connection, Failure> {
        let mut connection = self.open()?;
        if !login.is_anonymous() {
            bind(&mut connection, login, Vec::new(), &mut |_| {})?;
        }
        Ok(connection)
    }

    /// A connection that nobody has bound.
    pub fn open(&self) -> Result<Connection, Failure> {
        Connection::open(&self.server, &self.settings)
            .map_err(|error| Failure::new(format_args!("{}: {error}", self.server)).with_status(status::CONNECT_ERROR))
    }

    /// The address at which the server answers.
    pub fn address(&self) -> Result<SocketAddr, Failure> {
        let (host, port) = (self.server.host.as_str(), self.server.port);
        let mut failure = Failure::new(format_args!("{host} has no address"));
        for address in (host, port).to_socket_addrs().context(host)? {
            match TcpStream::connect_timeout(&address, self.settings.connect_timeout) {
                Ok(_) => return Ok(address),
                Err(error) => failure = Failure::new(format_args!("{address}: {error}")),
            }
        }
        Err(failure.with_status(status::CONNECT_ERROR))
    }
}

/// Binds; `each` gets the answers, and their controls with them.
pub fn bind(
    connection: &mut Connection,
    login: &Login,
    controls: Vec<ControlBuf>,
    each: &mut dyn FnMut(&ServerMessage<'_>),
) -> Result<(), Failure> {
    let mut request = Zeroizing::new(Vec::new());
    let mut exchange = login.begin_with(controls, connection.next_id(), &mut request);
    loop {
        let mut next = Zeroizing::new(Vec::new());
        let id = connection.next_id().checked_add(1).unwrap_or(1);
        let mut progress = None;
        let mut take = |message: &ServerMessage<'_>| {
            if message.op.result().is_some() {
                each(message);
                progress = Some(exchange.go_on(login, &message.op, id, &mut next));
            }
            ControlFlow::Continue(())
        };
        connection.ask_messages(&request, &mut take).map_err(status::lost)?;
        match progress {
            Some(Ok(Progress::Asked)) => request = next,
            Some(Ok(Progress::Bound)) | None => return Ok(()),
            Some(Err(refusal)) => return Err(Refusal::failure(&refusal, "the bind is refused")),
        }
    }
}

fn is_pem(path: &Path) -> Result<bool, Failure> {
    let bytes = Zeroizing::new(ReadBound::stream(STORE_BYTES_MAX).read(path).context(path.display())?);
    Ok(bytes.windows(PEM_MARK.len()).any(|part| part == PEM_MARK))
}
