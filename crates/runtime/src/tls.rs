//! TLS configuration and certificates that are replaced while the server runs.
//!
//! The files are looked at every few seconds; changed ones are loaded and serve new handshakes at once. Files that
//! cannot be used are reported and the old ones stay. This module makes `rustls` configurations; driving a connection
//! is done by `transport`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use durable::FileStamp;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs;
use rustls::server::ProducesTickets;
use rustls::sign::SingleCertAndKey;

use crate::channel_binding::end_point;
use crate::client_certificates::{ClientCertificates, ClientVerifier};
use crate::tls_error::TlsError;
use crate::tls_keys::CertificateFiles;

/// What TLS is configured with.
#[derive(Debug, Clone)]
pub struct TlsSettings {
    /// The server's certificate.
    pub files: CertificateFiles,
    /// Whether TLS 1.2 is offered.
    pub tls12: bool,
    /// Whether TLS 1.3 is offered.
    pub tls13: bool,
    /// Names of the cipher suites that are offered; empty is all.
    pub cipher_suites: Vec<String>,
    /// What is asked of clients; none: no certificate.
    pub clients: Option<ClientCertificates>,
}

impl TlsSettings {
    /// All that is offered, with that certificate.
    #[must_use]
    pub fn new(files: CertificateFiles) -> Self {
        Self { files, tls12: true, tls13: true, cipher_suites: Vec::new(), clients: None }
    }

    /// Every file that the configuration is made of.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        let clients = self.clients.iter().flat_map(|clients| clients.trusted.iter().chain(&clients.revoked));
        self.files.paths().chain(clients).map(PathBuf::as_path)
    }
}

/// A TLS configuration whose files can be replaced.
#[derive(Debug)]
pub struct TlsAcceptor {
    settings: TlsSettings,
    serving: ArcSwap<Serving>,
    ticketer: Arc<dyn ProducesTickets>,
    seen: std::sync::Mutex<Vec<Option<FileStamp>>>,
}

/// What connections are made with from now on.
#[derive(Debug)]
pub struct Serving {
    /// For the TLS library.
    pub config: Arc<ServerConfig>,
    /// Hash of the certificate (RFC 5929 §4.1).
    pub end_point: Arc<[u8]>,
    /// Judges certificates of clients.
    pub clients: Option<Arc<ClientVerifier>>,
    expires_at: Option<SystemTime>,
}

/// What a look at the files found.
#[derive(Debug)]
pub enum Reload {
    /// Nothing new.
    Unchanged,
    /// The new files serve from now on.
    Replaced,
    /// The new files are no good; the old ones stay.
    Refused(TlsError),
}

impl TlsAcceptor {
    /// Loads the files.
    pub fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        let stamps = stamps(settings);
        let ticketer = aws_lc_rs::Ticketer::new().map_err(|error| TlsError::Library(error.to_string()))?;
        Ok(Self {
            serving: ArcSwap::from_pointee(Serving::new(settings, &ticketer)?),
            ticketer,
            settings: settings.clone(),
            seen: std::sync::Mutex::new(stamps),
        })
    }

    /// What connections are made with.
    pub fn serving(&self) -> Arc<Serving> {
        self.serving.load_full()
    }

    /// The files of the certificate.
    pub fn files(&self) -> &CertificateFiles {
        &self.settings.files
    }

    /// When the certificate that is served ends, if it says so in a way that can be read.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.serving.load().expires_at
    }

    /// Looks whether the files changed and, if they did, serves the new ones.
    pub fn reload_if_changed(&self) -> Reload {
        let stamps = stamps(&self.settings);
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if stamps == *seen {
            return Reload::Unchanged;
        }
        // Refused files are remembered too, so that they are reported once and not each few seconds.
        *seen = stamps;
        match Serving::new(&self.settings, &self.ticketer) {
            Ok(serving) => {
                self.serving.store(Arc::new(serving));
                Reload::Replaced
            }
            Err(error) => Reload::Refused(error),
        }
    }
}

impl Serving {
    fn new(settings: &TlsSettings, ticketer: &Arc<dyn ProducesTickets>) -> Result<Self, TlsError> {
        let key = settings.files.load()?;
        let certificate = key.cert.first().map(|certificate| certificate.to_vec()).unwrap_or_default();
        let provider = Arc::new(provider(&settings.cipher_suites));
        let mut versions = Vec::new();
        versions.extend(settings.tls13.then_some(&rustls::version::TLS13));
        versions.extend(settings.tls12.then_some(&rustls::version::TLS12));
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|_| TlsError::Suites)?;
        let clients = settings.clients.as_ref().map(|asked| ClientVerifier::new(asked, &provider)).transpose()?;
        let clients = clients.map(Arc::new);
        let builder = match &clients {
            Some(verifier) => builder.with_client_cert_verifier(Arc::<ClientVerifier>::clone(verifier)),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
        config.ticketer = Arc::clone(ticketer);
        let (config, end_point) = (Arc::new(config), end_point(&certificate).into());
        Ok(Serving { config, end_point, clients, expires_at: expires_at(&certificate) })
    }
}

/// The suites of that name, as RFCs write them.
fn provider(names: &[String]) -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    if !names.is_empty() {
        provider.cipher_suites.retain(|suite| names.contains(&suite_name(suite.suite())));
    }
    provider
}

/// The registered name of a suite: the library tells those of TLS 1.3 by a prefix of their own.
#[must_use]
pub fn suite_name(suite: rustls::CipherSuite) -> String {
    format!("{suite:?}").replace("TLS13_", "TLS_")
}

fn expires_at(certificate: &[u8]) -> Option<SystemTime> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn stamps(settings: &TlsSettings) -> Vec<Option<FileStamp>> {
    settings.paths().map(FileStamp::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_pair(dir: &Path, name: &str) -> CertificateFiles {
        let pair = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let files = CertificateFiles::pem(dir.join("cert.pem"), dir.join("key.pem"));
        std::fs::write(&files.certificate, pair.cert.pem()).unwrap();
        std::fs::write(&files.private_key, pair.signing_key.serialize_pem()).unwrap();
        files
    }

    fn settings(files: CertificateFiles) -> TlsSettings {
        TlsSettings::new(files)
    }

    #[test]
    fn replaced_files_are_taken_and_bad_ones_refused_once() {
        let dir = tempfile::tempdir().unwrap();
        let acceptor = TlsAcceptor::new(&settings(write_pair(dir.path(), "one.example"))).unwrap();
        let served = || acceptor.serving().end_point.to_vec();
        let first = served();
        assert!(matches!(acceptor.reload_if_changed(), Reload::Unchanged));
        std::fs::write(dir.path().join("cert.pem"), "not a certificate, and of another size").unwrap();
        assert!(matches!(acceptor.reload_if_changed(), Reload::Refused(TlsError::File { .. })));
        assert!(matches!(acceptor.reload_if_changed(), Reload::Unchanged));
        assert_eq!(served(), first);
        write_pair(dir.path(), "a-much-longer-name.example");
        assert!(matches!(acceptor.reload_if_changed(), Reload::Replaced));
        assert_ne!(served(), first);
    }

    #[test]
    fn key_of_another_certificate_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let files = write_pair(dir.path(), "one.example");
        let stranger = write_pair(other.path(), "two.example");
        let mixed = CertificateFiles { private_key: stranger.private_key, ..files };
        assert!(matches!(TlsAcceptor::new(&settings(mixed)), Err(TlsError::Pair { .. })));
    }

    #[test]
    fn the_configuration_knows_all_cipher_suites() {
        let known = aws_lc_rs::ALL_CIPHER_SUITES.iter().map(|suite| suite_name(suite.suite())).collect::<Vec<_>>();
        let handler = config::class("connection-handler").and_then(|class| class.variant("ldap")).unwrap();
        let config::Syntax::Choice(names) = handler.property("ssl-cipher-suite").unwrap().syntax else { panic!() };
        assert_eq!(names, known);
    }

    #[test]
    fn suites_that_go_with_no_version_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let suites = |names: &[&str]| {
            let cipher_suites = names.iter().map(|&name| name.to_owned()).collect();
            let settings = TlsSettings { tls12: false, cipher_suites, ..settings(write_pair(dir.path(), "a.example")) };
            TlsAcceptor::new(&settings).map(|acceptor| acceptor.serving().config.crypto_provider().cipher_suites.len())
        };
        assert_eq!(suites(&["TLS_AES_256_GCM_SHA384"]).unwrap(), 1);
        assert_eq!(suites(&[]).unwrap(), aws_lc_rs::ALL_CIPHER_SUITES.len());
        let only_old = suites(&["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"]);
        assert!(matches!(only_old, Err(TlsError::Suites)), "{only_old:?}");
    }

    #[test]
    fn at_least_one_version_is_needed() {
        let dir = tempfile::tempdir().unwrap();
        let settings = TlsSettings { tls12: false, tls13: false, ..settings(write_pair(dir.path(), "one.example")) };
        assert!(matches!(TlsAcceptor::new(&settings), Err(TlsError::Suites)));
    }
}
