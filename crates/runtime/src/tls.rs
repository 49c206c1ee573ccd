//! TLS configuration and certificates that are replaced while the server runs.
//!
//! The files are looked at every few seconds; a changed pair is loaded and serves new handshakes at once. A pair that
//! cannot be used is reported and the old one stays. This module makes `rustls` configurations; driving a connection is
//! done by `transport`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use thiserror::Error;

/// Where a listener's certificate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// PEM file with the certificate and its chain.
    pub certificate: PathBuf,
    /// PEM file with the private key; may be the same file.
    pub private_key: PathBuf,
}

/// What TLS is configured with.
#[derive(Debug, Clone)]
pub struct TlsSettings {
    /// The server's certificate.
    pub files: CertificateFiles,
    /// Whether TLS 1.2 is offered.
    pub tls12: bool,
    /// Whether TLS 1.3 is offered.
    pub tls13: bool,
}

/// Why certificate files cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file that cannot be read or has no PEM section of the right kind.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Files that do not go together, or a key of an unknown kind.
    #[error("{} and {} do not work together: {reason}", certificate.display(), private_key.display())]
    Pair {
        /// The certificate file.
        certificate: PathBuf,
        /// The key file.
        private_key: PathBuf,
        /// What the TLS library says.
        reason: String,
    },
    /// The TLS library refuses the settings.
    #[error("TLS: {0}")]
    Library(String),
}

/// A TLS configuration whose certificate can be replaced.
#[derive(Debug)]
pub struct TlsAcceptor {
    config: Arc<ServerConfig>,
    current: Arc<CurrentCertificate>,
    files: CertificateFiles,
    seen: std::sync::Mutex<Option<FileStamps>>,
}

/// What a look at the files found.
#[derive(Debug)]
pub enum Reload {
    /// Nothing new.
    Unchanged,
    /// A new certificate serves from now on.
    Replaced,
    /// The new files are no good; the old certificate stays.
    Refused(TlsError),
}

impl TlsAcceptor {
    /// Loads the files.
    pub fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        let stamps = FileStamps::of(&settings.files);
        let current = Arc::new(CurrentCertificate { key: ArcSwap::from_pointee(load_pair(&settings.files)?) });
        let mut versions = Vec::new();
        versions.extend(settings.tls13.then_some(&rustls::version::TLS13));
        versions.extend(settings.tls12.then_some(&rustls::version::TLS12));
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&versions)
            .map_err(|error| TlsError::Library(error.to_string()))?
            .with_no_client_auth();
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<CurrentCertificate>::clone(&current);
        let mut config = builder.with_cert_resolver(resolver);
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(|error| TlsError::Library(error.to_string()))?;
        Ok(Self {
            config: Arc::new(config),
            current,
            files: settings.files.clone(),
            seen: std::sync::Mutex::new(stamps),
        })
    }

    /// What connections are made with.
    pub fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    /// The files that are watched.
    pub fn files(&self) -> &CertificateFiles {
        &self.files
    }

    /// When the certificate that is served ends, if it says so in a way that can be read.
    pub fn expires_at(&self) -> Option<SystemTime> {
        let key = self.current.key.load();
        let (_, certificate) = x509_parser::parse_x509_certificate(key.cert.first()?).ok()?;
        let seconds = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
    }

    /// Looks whether the files changed and, if they did, serves the new certificate.
    pub fn reload_if_changed(&self) -> Reload {
        let stamps = FileStamps::of(&self.files);
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if stamps == *seen {
            return Reload::Unchanged;
        }
        // A refused pair is remembered too, so that it is reported once and not each few seconds.
        *seen = stamps;
        match load_pair(&self.files) {
            Ok(key) => {
                self.current.key.store(Arc::new(key));
                Reload::Replaced
            }
            Err(error) => Reload::Refused(error),
        }
    }
}

#[derive(Debug)]
struct CurrentCertificate {
    key: ArcSwap<CertifiedKey>,
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.key.load_full())
    }
}

/// What tells two versions of the files apart. Size is included because clocks of file systems are coarse.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamps([(SystemTime, u64, u64); 2]);

impl FileStamps {
    fn of(files: &CertificateFiles) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let stamp = |path: &Path| {
            let meta = std::fs::metadata(path).ok()?;
            Some((meta.modified().ok()?, meta.len(), meta.ino()))
        };
        Some(Self([stamp(&files.certificate)?, stamp(&files.private_key)?]))
    }
}

fn load_pair(files: &CertificateFiles) -> Result<CertifiedKey, TlsError> {
    let chain = load_certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.private_key)
        .map_err(|error| TlsError::File { path: files.private_key.clone(), reason: error.to_string() })?;
    CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|error| TlsError::Pair {
        certificate: files.certificate.clone(),
        private_key: files.private_key.clone(),
        reason: error.to_string(),
    })
}

fn load_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bad = |reason: String| TlsError::File { path: path.to_owned(), reason };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(|error| bad(error.to_string()))?
        .collect::<Result<_, _>>()
        .map_err(|error| bad(error.to_string()))?;
    if certificates.is_empty() {
        return Err(bad("no certificate in the file".to_owned()));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_pair(dir: &Path, name: &str) -> CertificateFiles {
        let pair = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let files = CertificateFiles { certificate: dir.join("cert.pem"), private_key: dir.join("key.pem") };
        std::fs::write(&files.certificate, pair.cert.pem()).unwrap();
        std::fs::write(&files.private_key, pair.signing_key.serialize_pem()).unwrap();
        files
    }

    fn settings(files: CertificateFiles) -> TlsSettings {
        TlsSettings { files, tls12: true, tls13: true }
    }

    #[test]
    fn replaced_files_are_taken_and_bad_ones_refused_once() {
        let dir = tempfile::tempdir().unwrap();
        let acceptor = TlsAcceptor::new(&settings(write_pair(dir.path(), "one.example"))).unwrap();
        let served = || acceptor.current.key.load().cert[0].to_vec();
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
    fn at_least_one_version_is_needed() {
        let dir = tempfile::tempdir().unwrap();
        let settings = TlsSettings { tls12: false, tls13: false, ..settings(write_pair(dir.path(), "one.example")) };
        assert!(matches!(TlsAcceptor::new(&settings), Err(TlsError::Library(_))));
    }
}
