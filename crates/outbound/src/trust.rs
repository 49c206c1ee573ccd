//! Which certificates of other servers are believed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use durable::ReadBound;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Largest file with certificates.
const CERTIFICATES: ReadBound = ReadBound::file(16 << 20);

/// Whose certificates are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those that this machine believes.
    System,
    /// Those signed by the certificates of PEM files, and these themselves.
    Issuers(Vec<PathBuf>),
    /// Those signed by these certificates, and these themselves.
    Certificates(Vec<CertificateDer<'static>>),
    /// Any: whoever answers is believed to be the server.
    Anyone,
}

/// What TLS may be like, beside the trust.
pub struct TlsRules<'r> {
    /// TLS 1.2 may be spoken.
    pub tls12: bool,
    /// TLS 1.3 may be spoken.
    pub tls13: bool,
    /// Which cipher suites are offered.
    pub offers: &'r dyn Fn(CipherSuite) -> bool,
    /// Revocation lists; issuers without a list have revoked nothing.
    pub revoked: Vec<CertificateRevocationListDer<'static>>,
    /// The own certificate, for servers that ask for one.
    pub identity: Option<CertifiedKey>,
}

/// Why trust cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file that cannot be read, or has no certificate.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The machine has no certificates.
    #[error("this machine has no list of trusted certificates ({0}): install ca-certificates, or name a file")]
    System(String),
    /// No suite goes with a version.
    #[error(
        "TLS: none of the cipher suites goes with a protocol version: suites with _WITH_ in their name are of TLSv1.2, \
         the others of TLSv1.3"
    )]
    Suites,
    /// The TLS library refuses the settings.
    #[error("TLS: {0}")]
    Library(String),
}

impl Trust {
    /// TLS for connections to servers that are trusted so.
    ///
    /// # Errors
    /// When there is no certificate to trust, or no protocol version or cipher suite to speak.
    pub fn client_config(&self, rules: TlsRules<'_>) -> Result<Arc<ClientConfig>, TrustError> {
        let library = |problem: String| TrustError::Library(problem);
        let mut roots = RootCertStore::empty();
        match self {
            Trust::System => {
                let found = rustls_native_certs::load_native_certs();
                let (added, _) = roots.add_parsable_certificates(found.certs);
                if added == 0 {
                    let problems: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
                    return Err(TrustError::System(problems.join("; ")));
                }
            }
            Trust::Issuers(paths) => paths.iter().try_for_each(|path| read_roots(path, &mut roots))?,
            Trust::Certificates(certificates) => {
                for certificate in certificates {
                    roots.add(certificate.clone()).map_err(|error| library(error.to_string()))?;
                }
            }
            Trust::Anyone => {}
        }
        let mut provider = aws_lc_rs::default_provider();
        provider.cipher_suites.retain(|suite| (rules.offers)(suite.suite()));
        let provider = Arc::new(provider);
        let verifier: Arc<dyn ServerCertVerifier> = match self {
            Trust::Anyone => Arc::new(AnyCertificate(provider.signature_verification_algorithms)),
            _ => WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .with_crls(rules.revoked)
                .allow_unknown_revocation_status()
                .build()
                .map_err(|error| library(error.to_string()))?,
        };
        let versions: Vec<_> = [(rules.tls12, &TLS12), (rules.tls13, &TLS13)]
            .into_iter()
            .filter_map(|(is_spoken, version)| is_spoken.then_some(version))
            .collect();
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|_| TrustError::Suites)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        Ok(Arc::new(match rules.identity {
            Some(identity) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity))),
            None => builder.with_no_client_auth(),
        }))
    }
}

impl TlsRules<'_> {
    /// All versions and suites of the library, no revocation lists.
    #[must_use]
    pub fn all() -> TlsRules<'static> {
        TlsRules { tls12: true, tls13: true, offers: &|_| true, revoked: Vec::new(), identity: None }
    }
}

/// Believes any certificate. That the other side has its key is still checked.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

fn read_roots(path: &Path, roots: &mut RootCertStore) -> Result<(), TrustError> {
    let failed = |problem: String| TrustError::File { path: path.to_owned(), problem };
    let bytes = CERTIFICATES.read(path).map_err(|error| failed(error.to_string()))?;
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("the file has no certificate in PEM form".to_owned())),
        false => Ok(()),
    }
}
