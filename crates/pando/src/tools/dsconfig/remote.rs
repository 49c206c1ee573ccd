//! The connection to a server that `dsconfig` works on over the network: TLS, and who binds.
//!
//! Knows options and connections; what is asked on them is not its business.

use clap::Args;
use outbound::Security;
use zeroize::Zeroizing;

use crate::client::Client;
use crate::failure::Failure;
use crate::ldap_client::{Login, SaslLogin, Target, TlsFiles};
use crate::server_options::ServerOptions;

/// The administration connector of OpenDJ, and of an instance that says no other.
const ADMINISTRATION_PORT: u16 = 4444;
/// Who asks where nobody is named.
const ADMINISTRATOR: &str = "cn=Directory Manager";

/// How a server on the network is reached.
#[derive(Debug, Args)]
pub struct RemoteOptions {
    /// Begin TLS by StartTLS, on a port that has no TLS [default: TLS from the beginning]
    #[arg(short = 'q', long = "useStartTLS", global = true)]
    starttls: bool,
    /// TLS from the beginning, which is the default
    #[arg(short = 'Z', long = "useSSL", global = true, hide = true, conflicts_with = "starttls")]
    tls: bool,
    #[command(flatten)]
    files: TlsFiles,
    /// Which of several own certificates: a file has one only
    #[arg(short = 'N', long = "certNickname", value_name = "NAME", global = true, hide = true)]
    nickname: Option<String>,
    /// Bind by SASL: mech=PLAIN, SCRAM-SHA-256, EXTERNAL …; authid=NAME; authzid=NAME
    #[arg(short = 'o', long = "saslOption", value_name = "NAME=VALUE", global = true)]
    sasl_options: Vec<String>,
    /// Longest time to connect, in milliseconds; 0 is no limit
    #[arg(long = "connectTimeout", value_name = "MILLISECONDS", default_value_t = 30_000, global = true)]
    connect_timeout: u32,
    /// Read no file of default options: none is read that is not named
    #[arg(long = "noPropertiesFile", global = true, hide = true)]
    no_properties_file: bool,
}

impl RemoteOptions {
    /// The first option that only a connection over the network obeys.
    pub fn given(&self) -> Option<&'static str> {
        let own = [
            (self.starttls, "--useStartTLS"),
            (self.tls, "--useSSL"),
            (!self.sasl_options.is_empty(), "--saslOption"),
            (self.nickname.is_some(), "--certNickname"),
        ];
        self.files.given().or_else(|| own.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name))
    }

    /// A bound connection, and the name of the server.
    pub fn connect(&self, server: &ServerOptions, may_ask: bool) -> Result<(Client, String), Failure> {
        if self.nickname.is_some() {
            return Err(Failure::new(
                "--certNickname chooses among the certificates of a Java key store: the file of --keyStorePath has \
                 one, so leave the option out",
            ));
        }
        let (host, port) = server.place();
        let config = self.files.client_config(server.trusts_all())?;
        let security = if self.starttls { Security::StartTls(config) } else { Security::Tls(config) };
        let target = Target::new(
            host.unwrap_or("localhost"),
            port.unwrap_or(ADMINISTRATION_PORT),
            security,
            self.connect_timeout,
        );
        let login = self.login(server, may_ask)?;
        let name = target.server.to_string();
        // Its status would be a result code.
        let connection = target.connect(&login).map_err(|failure| failure.with_status(1))?;
        Ok((Client::over(connection), name))
    }

    fn login(&self, server: &ServerOptions, may_ask: bool) -> Result<Login, Failure> {
        let password = |name: &str| server.credentials_or(name, may_ask);
        if self.sasl_options.is_empty() {
            let (dn, password) = password(ADMINISTRATOR)?;
            return Ok(Login::Simple { dn, password: Zeroizing::new(password) });
        }
        if server.names_user() {
            return Err(Failure::new("--saslOption authid=… says who binds: leave --bindDN out"));
        }
        let mut sasl = SaslLogin::from_options(&self.sasl_options).map_err(Failure::new)?;
        if sasl.has_password() {
            sasl.password = Zeroizing::new(password(&sasl.authid)?.1);
        }
        Ok(Login::Sasl(sasl))
    }
}
