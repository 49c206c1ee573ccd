//! Which certificates of other servers are believed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

/// Whose certificates are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those that this machine believes.
    System,
    /// Those signed by the certificates of a PEM file, and these themselves.
    File(PathBuf),
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
    /// The TLS library refuses the settings.
    #[error("TLS: {0}")]
    Library(String),
}

impl Trust {
    /// TLS for connections to servers that are trusted so.
    ///
    /// # Errors
    /// When there is no certificate to trust, or no protocol version to speak.
    pub fn client_config(
        &self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<Arc<ClientConfig>, TrustError> {
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
            Trust::File(path) => read_roots(path, &mut roots)?,
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(versions)
            .map_err(|error| TrustError::Library(error.to_string()))?;
        Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
    }
}

fn read_roots(path: &Path, roots: &mut RootCertStore) -> Result<(), TrustError> {
    let failed = |problem: String| TrustError::File { path: path.to_owned(), problem };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("the file has no certificate in PEM form".to_owned())),
        false => Ok(()),
    }
}
