//! Certificates of clients: which are trusted, which are revoked, and what becomes of a connection with one that is not
//! good.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use durable::ReadBound;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use x509_parser::x509::X509Version;

use crate::tls_error::{TlsError, load_certificates};

/// Largest file with revocation lists.
const REVOCATION_LISTS: ReadBound = ReadBound::file(64 << 20);

/// What is asked of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificates {
    /// Whether a client without a good certificate is turned away. Otherwise it is served like one without.
    pub required: bool,
    /// PEM files with the certificates of issuers.
    pub trusted: Vec<PathBuf>,
    /// Files with revocation lists, in PEM or DER.
    pub revoked: Vec<PathBuf>,
}

/// Judges certificates of clients.
#[derive(Debug)]
pub struct ClientVerifier {
    judge: Arc<dyn ClientCertVerifier>,
    required: bool,
}

impl ClientVerifier {
    pub(crate) fn new(asked: &ClientCertificates, provider: &Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for path in &asked.trusted {
            for certificate in load_certificates(path)? {
                let bad = |error: Error| TlsError::File { path: path.clone(), reason: error.to_string() };
                roots.add(certificate).map_err(bad)?;
            }
        }
        let mut lists = Vec::new();
        for path in &asked.revoked {
            lists.extend(revocation_lists(path)?);
        }
        // A list speaks of the certificates of one issuer; those of others are not revoked by its silence.
        let judge = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .with_crls(lists)
            .allow_unknown_revocation_status()
            .build()
            .map_err(|error| TlsError::Library(error.to_string()))?;
        Ok(ClientVerifier { judge, required: asked.required })
    }

    /// Whether a certificate is good now: the handshake may have let a bad one pass, and a session that is resumed is
    /// not verified again.
    pub(crate) fn is_good(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some((own, others)) = chain.split_first() else { return false };
        self.judge.verify_client_cert(own, others, UnixTime::now()).is_ok()
    }

    /// Whether a certificate is not looked at further: it is of a kind that is never good (version 1, say), and its
    /// client is served all the same.
    fn is_let_pass(&self, certificate: &CertificateDer<'_>) -> bool {
        !self.required && ParsedCertificate::try_from(certificate).is_err()
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.judge.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match self.required {
            true => self.judge.verify_client_cert(own, others, now),
            // `is_good` decides after the handshake.
            false => Ok(ClientCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.is_let_pass(certificate) {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => self.judge.verify_tls12_signature(message, certificate, signature),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.is_let_pass(certificate) {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => self.judge.verify_tls13_signature(message, certificate, signature),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.supported_verify_schemes()
    }
}

/// The revocation lists of a file: PEM, else one in DER.
///
/// # Errors
/// When the file cannot be read, or has none.
pub fn revocation_lists(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let bad = |reason: String| TlsError::File { path: path.to_owned(), reason };
    let bytes = REVOCATION_LISTS.read(path).map_err(|error| bad(error.to_string()))?;
    let lists = match bytes.windows(5).any(|window| window == b"-----") {
        true => CertificateRevocationListDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, pem::Error>>(),
        false => Ok(vec![CertificateRevocationListDer::from(bytes)]),
    };
    let lists = lists.map_err(|error| bad(error.to_string()))?;
    if lists.is_empty() {
        return Err(bad("no certificate revocation list in the file".to_owned()));
    }
    for list in &lists {
        let read = x509_parser::parse_x509_crl(list);
        let (_, read) = read.map_err(|error| bad(format!("it is not a certificate revocation list: {error}")))?;
        if read.version() != Some(X509Version::V2) {
            let remedy = "make one of version 2 (openssl ca: crl_extensions)";
            return Err(bad(format!(
                "the certificate revocation list has version 1, which is not supported: {remedy}"
            )));
        }
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose, SerialNumber};

    use super::*;

    fn issuer(name: &str) -> CertifiedIssuer<'static, KeyPair> {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
    }

    fn client(issuer: &CertifiedIssuer<'_, KeyPair>, serial: u64, last_year: i32) -> CertificateDer<'static> {
        let mut parameters = CertificateParams::new(["client.example".to_owned()]).unwrap();
        parameters.serial_number = Some(SerialNumber::from(serial));
        parameters.not_after = rcgen::date_time_ymd(last_year, 1, 1);
        parameters.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap().der().clone()
    }

    fn list(issuer: &CertifiedIssuer<'_, KeyPair>, serial: u64) -> rcgen::CertificateRevocationList {
        let revoked = rcgen::RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time: rcgen::date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let parameters = rcgen::CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2020, 1, 1),
            next_update: rcgen::date_time_ymd(2090, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        parameters.signed_by(issuer).unwrap()
    }

    fn verifier(folder: &Path, revoked: &[&str]) -> Result<ClientVerifier, TlsError> {
        let files = |names: &[&str]| names.iter().map(|name| folder.join(name)).collect();
        let asked = ClientCertificates { required: false, trusted: files(&["ca.pem"]), revoked: files(revoked) };
        ClientVerifier::new(&asked, &Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
    }

    #[test]
    fn only_certificates_of_trusted_issuers_that_are_in_force_are_good() {
        let folder = tempfile::tempdir().unwrap();
        let (trusted, stranger) = (issuer("trusted"), issuer("stranger"));
        std::fs::write(folder.path().join("ca.pem"), trusted.pem()).unwrap();
        std::fs::write(folder.path().join("list.pem"), list(&trusted, 7).pem().unwrap()).unwrap();
        std::fs::write(folder.path().join("list.der"), list(&trusted, 7).der()).unwrap();
        std::fs::write(folder.path().join("other.pem"), list(&stranger, 8).pem().unwrap()).unwrap();
        let (seven, eight) = (client(&trusted, 7, 2090), client(&trusted, 8, 2090));
        let (expired, foreign) = (client(&trusted, 9, 2021), client(&stranger, 8, 2090));
        let rubbish = CertificateDer::from(b"rubbish".to_vec());
        let good = |revoked: &[&str]| {
            let verifier = verifier(folder.path(), revoked).unwrap();
            [&seven, &eight, &expired, &foreign, &rubbish].map(|one| verifier.is_good(std::slice::from_ref(one)))
        };
        assert_eq!(good(&[]), [true, true, false, false, false]);
        assert_eq!(good(&["list.pem"]), [false, true, false, false, false]);
        assert_eq!(good(&["list.der"]), [false, true, false, false, false]);
        assert_eq!(good(&["other.pem"]), [true, true, false, false, false]);
        assert!(!verifier(folder.path(), &[]).unwrap().is_good(&[]));
    }

    #[test]
    fn files_without_what_they_should_have_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(verifier(folder.path(), &[]), Err(TlsError::File { .. })));
        std::fs::write(folder.path().join("ca.pem"), issuer("trusted").pem()).unwrap();
        for rubbish in ["rubbish", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            std::fs::write(folder.path().join("list"), rubbish).unwrap();
            assert!(matches!(verifier(folder.path(), &["list"]), Err(TlsError::File { .. })), "{rubbish}");
        }
    }
}
