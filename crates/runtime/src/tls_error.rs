//! Why files with keys, certificates and revocation lists cannot be used, and how certificates are read.

use std::path::{Path, PathBuf};

use durable::ReadBound;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use thiserror::Error;

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
    /// No suite goes with a version.
    #[error(
        "TLS: none of the cipher suites of ssl-cipher-suite goes with a version of ssl-protocol: suites with _WITH_ in \
         their name are of TLSv1.2, the others of TLSv1.3"
    )]
    Suites,
    /// The TLS library refuses the settings.
    #[error("TLS: {0}")]
    Library(String),
}

/// Largest file with certificates.
const CERTIFICATES: ReadBound = ReadBound::file(16 << 20);

/// The certificates of a PEM file.
pub(crate) fn load_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bad = |reason: String| TlsError::File { path: path.to_owned(), reason };
    let bytes = CERTIFICATES.read(path).map_err(|error| bad(error.to_string()))?;
    let certificates = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| bad(error.to_string()))?;
    if certificates.is_empty() {
        return Err(bad("no certificate in the file".to_owned()));
    }
    Ok(certificates)
}
