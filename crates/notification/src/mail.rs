//! Mail over SMTP (RFC 5321), with TLS from the first byte, by STARTTLS, or without.

use std::path::PathBuf;
use std::time::Duration;

use lettre::message::{Mailbox, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{SmtpTransport, Transport};
use zeroize::Zeroizing;

use crate::message::Message;
use crate::outbox::{SendFault, Sender};
use crate::trusted::CERTIFICATES;

/// Longest time that a mail server may take for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How the way to the mail server is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protection {
    /// Not at all.
    #[default]
    Plain,
    /// By STARTTLS; a server without it gets no mail.
    StartTls,
    /// By TLS from the first byte.
    Tls,
}

/// Where mail goes.
#[derive(Clone, Debug)]
pub struct MailerSettings {
    /// The mail server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the way is protected.
    pub protection: Protection,
    /// PEM file with the certificates to trust; none: those of this machine.
    pub trusted: Option<PathBuf>,
    /// User and password for the mail server, if it wants them.
    pub login: Option<(String, Zeroizing<String>)>,
    /// Who the mail is from.
    pub sender: String,
}

/// Why mail cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum MailerError {
    /// The sender.
    #[error("{0}")]
    Sender(String),
    /// The file with certificates.
    #[error("{}: {problem}", path.display())]
    Trusted {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// TLS.
    #[error("TLS: {0}")]
    Tls(String),
    /// A password would go over the network as it is.
    #[error("a user and a password for the mail server need TLS or STARTTLS")]
    LoginInClear,
}

/// Sends mail.
pub struct Mailer {
    transport: SmtpTransport,
    sender: Mailbox,
}

impl Mailer {
    /// Connects to nobody yet.
    ///
    /// # Errors
    /// When the settings cannot work.
    pub fn new(settings: &MailerSettings) -> Result<Mailer, MailerError> {
        let sender: Mailbox = settings
            .sender
            .parse()
            .map_err(|error| MailerError::Sender(format!("\"{}\" is no mail address: {error}", settings.sender)))?;
        let tls = match settings.protection {
            Protection::Plain if settings.login.is_some() => return Err(MailerError::LoginInClear),
            Protection::Plain => Tls::None,
            Protection::StartTls => Tls::Required(parameters(settings)?),
            Protection::Tls => Tls::Wrapper(parameters(settings)?),
        };
        let mut builder =
            SmtpTransport::builder_dangerous(&settings.host).port(settings.port).timeout(Some(TIMEOUT)).tls(tls);
        if let Some((user, password)) = &settings.login {
            builder = builder.credentials(Credentials::new(user.clone(), password.to_string()));
        }
        Ok(Mailer { transport: builder.build(), sender })
    }
}

fn parameters(settings: &MailerSettings) -> Result<TlsParameters, MailerError> {
    let mut builder = TlsParameters::builder(settings.host.clone());
    if let Some(path) = &settings.trusted {
        let failed = |problem: String| MailerError::Trusted { path: path.clone(), problem };
        let pem = CERTIFICATES.read(path).map_err(|error| failed(error.to_string()))?;
        let certificate = Certificate::from_pem(&pem).map_err(|error| failed(error.to_string()))?;
        builder = builder.add_root_certificate(certificate);
    }
    builder.build_rustls().map_err(|error| MailerError::Tls(error.to_string()))
}

impl Sender for Mailer {
    fn send(&self, message: &Message) -> Result<(), SendFault> {
        let lasting = |problem: String| SendFault { problem, may_pass: false };
        let mut mail = lettre::Message::builder().from(self.sender.clone()).subject(message.subject.clone());
        for recipient in &message.recipients {
            let recipient: Mailbox =
                recipient.parse().map_err(|error| lasting(format!("\"{recipient}\" is no mail address: {error}")))?;
            mail = mail.to(recipient);
        }
        let part = match message.is_html {
            true => SinglePart::html(message.body.clone()),
            false => SinglePart::plain(message.body.clone()),
        };
        let mail = mail.singlepart(part).map_err(|error| lasting(error.to_string()))?;
        match self.transport.send(&mail) {
            Ok(_) => Ok(()),
            Err(error) => Err(SendFault { may_pass: !error.is_permanent(), problem: error.to_string() }),
        }
    }
}
