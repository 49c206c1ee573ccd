//! JSON by a POST to a web server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use ureq::Agent;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use zeroize::Zeroizing;

use crate::message::Message;
use crate::outbox::{SendFault, Sender};
use crate::trusted::CERTIFICATES;

/// Longest time that a web server may take for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Where messages go.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// `https://…` or `http://…`.
    pub url: String,
    /// What the header `Authorization` says; none: it is not sent.
    pub authorization: Option<Zeroizing<String>>,
    /// PEM file with the certificates to trust; none: those of this machine.
    pub trusted: Option<PathBuf>,
}

/// Why messages cannot be sent there.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL.
    #[error("\"{0}\" is no URL of a web server: write https://HOST/PATH")]
    Url(String),
    /// A password would go over the network as it is.
    #[error("an authorization needs a URL that begins with https://")]
    AuthorizationInClear,
    /// The file with certificates.
    #[error("{}: {problem}", path.display())]
    Trusted {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// Sends to a web server.
pub struct Webhook {
    agent: Agent,
    url: String,
    authorization: Option<Zeroizing<String>>,
}

impl Webhook {
    /// Connects to nobody yet.
    ///
    /// # Errors
    /// When the settings cannot work.
    pub fn new(settings: &WebhookSettings) -> Result<Webhook, WebhookError> {
        let url = &settings.url;
        let uri: ureq::http::Uri = url.parse().map_err(|_| WebhookError::Url(url.clone()))?;
        let is_encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(WebhookError::Url(url.clone())),
        };
        if settings.authorization.is_some() && !is_encrypted {
            return Err(WebhookError::AuthorizationInClear);
        }
        let roots = match &settings.trusted {
            Some(path) => read_roots(path)?,
            None => RootCerts::PlatformVerifier,
        };
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
            .root_certs(roots)
            .build();
        // A redirect would carry the message, and its authorization, to who was not asked for.
        let config = Agent::config_builder().tls_config(tls).timeout_global(Some(TIMEOUT)).max_redirects(0).build();
        Ok(Webhook { agent: config.into(), url: url.clone(), authorization: settings.authorization.clone() })
    }
}

fn read_roots(path: &Path) -> Result<RootCerts, WebhookError> {
    let failed = |problem: String| WebhookError::Trusted { path: path.to_owned(), problem };
    let pem = CERTIFICATES.read(path).map_err(|error| failed(error.to_string()))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| failed(error.to_string()))? {
            certificates.push(certificate);
        }
    }
    match certificates.is_empty() {
        true => Err(failed("the file has no certificate in PEM form".to_owned())),
        false => Ok(RootCerts::from(certificates)),
    }
}

impl Sender for Webhook {
    fn send(&self, message: &Message) -> Result<(), SendFault> {
        let mut request = self.agent.post(&self.url).header("Content-Type", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization.as_str());
        }
        match request.send(message.json.to_string()) {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => {
                let problem =
                    format!("the web server answers {}: give the URL where messages are taken", answer.status());
                Err(SendFault { problem, may_pass: false })
            }
            // What the client did wrong is no better the next time; 408 and 429 say that it is.
            Err(ureq::Error::StatusCode(code)) => {
                let may_pass = code >= 500 || code == 408 || code == 429;
                Err(SendFault { problem: format!("the web server answers {code}"), may_pass })
            }
            Err(error) => Err(SendFault { problem: error.to_string(), may_pass: true }),
        }
    }
}
