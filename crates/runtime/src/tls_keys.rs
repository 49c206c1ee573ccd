//! The server's certificate and its key from files: PEM, PEM with an encrypted key (PKCS #8), or both in one PKCS #12
//! file. The password of an encrypted key stands in a file or in a variable of the environment.

use std::fmt;
use std::path::{Path, PathBuf};

use durable::ReadBound;
use p12_keystore::{KeyStore, KeyStoreEntry, Pkcs12ImportPolicy};
use pkcs8::EncryptedPrivateKeyInfoRef;
use pkcs8::der::pem::PemLabel;
use pkcs8::der::{Decode, SecretDocument};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use crate::secret_file::{CONFIGURED, first_line};
use crate::tls_error::{TlsError, load_certificates};

/// What the first line of an encrypted key says.
const ENCRYPTED: &str = "BEGIN ENCRYPTED PRIVATE KEY";
/// What the second line of a key says that is encrypted in the older way.
const ENCRYPTED_BEFORE: &str = "Proc-Type: 4,ENCRYPTED";

/// Largest file with a key.
const KEY: ReadBound = ReadBound::file(1 << 20);

/// Where a listener's certificate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The file with the certificate and its chain.
    pub certificate: PathBuf,
    /// The file with the private key; may be the same file.
    pub private_key: PathBuf,
    /// Whether it is one PKCS #12 file. Otherwise both are PEM.
    pub is_pkcs12: bool,
    /// Where the password of the key is, if it has one.
    pub pin: Option<Pin>,
}

/// Where a password is.
#[derive(Clone, PartialEq, Eq)]
pub enum Pin {
    /// The first line of a file.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
    /// The password itself.
    Given(Zeroizing<String>),
}

/// Without the password itself.
impl fmt::Debug for Pin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pin::File(path) => write!(out, "File({})", path.display()),
            Pin::Environment(name) => write!(out, "Environment({name})"),
            Pin::Given(_) => out.write_str("Given(..)"),
        }
    }
}

impl CertificateFiles {
    /// PEM files whose key is not encrypted.
    #[must_use]
    pub fn pem(certificate: PathBuf, private_key: PathBuf) -> Self {
        Self { certificate, private_key, is_pkcs12: false, pin: None }
    }

    /// Every file that the key is made of.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let pin = self.pin.as_ref().and_then(|pin| if let Pin::File(path) = pin { Some(path) } else { None });
        [&self.certificate, &self.private_key].into_iter().chain(pin)
    }

    /// Reads the files.
    ///
    /// # Errors
    /// When a file cannot be read, the password is wrong, or key and certificate are no pair.
    pub fn load(&self) -> Result<CertifiedKey, TlsError> {
        let (chain, key) = match self.is_pkcs12 {
            true => self.key_store()?,
            false => (load_certificates(&self.certificate)?, self.private_key()?),
        };
        CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|error| TlsError::Pair {
            certificate: self.certificate.clone(),
            private_key: self.private_key.clone(),
            reason: error.to_string(),
        })
    }

    fn pin(&self) -> Result<Zeroizing<String>, TlsError> {
        match &self.pin {
            None => Err(bad(
                &self.private_key,
                "the key is encrypted: set key-store-pin-file or key-store-pin-environment-variable",
            )),
            Some(Pin::Given(pin)) => Ok(pin.clone()),
            Some(Pin::File(path)) => {
                first_line(path, CONFIGURED).map(Option::unwrap_or_default).map_err(|error| bad(path, error))
            }
            Some(Pin::Environment(name)) => {
                let reason = format_args!("the variable {name}, which has the password of the key, is not set");
                std::env::var(name).map(Zeroizing::new).map_err(|_| bad(&self.private_key, reason))
            }
        }
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let path = &self.private_key;
        let text = KEY.text(path).map_err(|error| bad(path, error)).map(Zeroizing::new)?;
        if text.contains(ENCRYPTED_BEFORE) {
            return Err(bad(path, "the key is encrypted in an old way: write it anew with \"openssl pkcs8 -topk8\""));
        }
        let Some(begin) = text.find(ENCRYPTED).and_then(|at| text[..at].rfind("-----")) else {
            return PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| bad(path, error));
        };
        let end = text[begin..].find("-----END ").map_or(text.len(), |at| begin + at);
        let end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
        let (label, document) = SecretDocument::from_pem(&text[begin..end]).map_err(|error| bad(path, error))?;
        EncryptedPrivateKeyInfoRef::validate_pem_label(label).map_err(|error| bad(path, error))?;
        let encrypted = EncryptedPrivateKeyInfoRef::from_der(document.as_bytes()).map_err(|error| bad(path, error))?;
        let pin = self.pin()?;
        let reason =
            |_| bad(path, "the password of the key is wrong, or it is encrypted in a way that is not supported");
        let key = encrypted.decrypt(pin.as_bytes()).map_err(reason)?;
        Ok(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()).into())
    }

    fn key_store(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let path = &self.certificate;
        let bytes = Zeroizing::new(KEY.read(path).map_err(|error| bad(path, error))?);
        let pin = self.pin()?;
        let store =
            KeyStore::from_pkcs12(&bytes, &pin, Pkcs12ImportPolicy::Strict).map_err(|error| bad_store(path, &error))?;
        let (_, chain) =
            store.private_key_chain().ok_or_else(|| bad(path, "no key with its certificate in the file"))?;
        let certificates = chain.certs().iter().map(|one| CertificateDer::from(one.as_der().to_vec())).collect();
        Ok((certificates, PrivatePkcs8KeyDer::from(chain.key().as_der().to_vec()).into()))
    }
}

/// The certificates that a PKCS #12 file trusts.
///
/// # Errors
/// When the file cannot be read, the password is wrong, or there is none.
pub fn trusted_certificates(path: &Path, pin: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = Zeroizing::new(KEY.read(path).map_err(|error| bad(path, error))?);
    let store = KeyStore::from_pkcs12(&bytes, pin, Pkcs12ImportPolicy::Raw).map_err(|error| bad_store(path, &error))?;
    let mut found = Vec::new();
    for (_, entry) in store.entries() {
        match entry {
            KeyStoreEntry::Certificate(one) => found.push(CertificateDer::from(one.as_der().to_vec())),
            KeyStoreEntry::PrivateKeyChain(chain) => {
                found.extend(chain.certs().iter().map(|one| CertificateDer::from(one.as_der().to_vec())));
            }
            _ => {}
        }
    }
    if found.is_empty() { Err(bad(path, "the file has no certificate")) } else { Ok(found) }
}

fn bad_store(path: &Path, error: &p12_keystore::error::Error) -> TlsError {
    use p12_keystore::error::Error;
    match error {
        Error::MacError(_) => bad(path, "the password is wrong, or the file is damaged"),
        Error::DerError(_) | Error::InvalidVersion => {
            bad(path, "it is not a PKCS #12 file: make one with \"openssl pkcs12 -export\"")
        }
        other => bad(path, format_args!("the PKCS #12 file cannot be read: {other}")),
    }
}

fn bad(path: &Path, reason: impl fmt::Display) -> TlsError {
    TlsError::File { path: path.to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn openssl(folder: &Path, arguments: &str) {
        let done = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// A pair, and the same encrypted by OpenSSL in several ways.
    fn made() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let pair = rcgen::generate_simple_self_signed(["one.example".to_owned()]).unwrap();
        std::fs::write(dir.path().join("cert.pem"), pair.cert.pem()).unwrap();
        std::fs::write(dir.path().join("key.pem"), pair.signing_key.serialize_pem()).unwrap();
        std::fs::write(dir.path().join("pin"), "s e cret\nanother line\n").unwrap();
        std::fs::write(dir.path().join("wrong"), "secret").unwrap();
        openssl(dir.path(), "pkcs8 -topk8 -in key.pem -passout file:pin -out sha256.pem");
        openssl(dir.path(), "pkcs8 -topk8 -in key.pem -passout file:pin -scrypt -out scrypt.pem");
        openssl(dir.path(), "ec -in key.pem -aes256 -passout file:pin -out old.pem");
        openssl(dir.path(), "pkcs12 -export -inkey key.pem -in cert.pem -passout file:pin -out store.p12");
        dir
    }

    fn files(dir: &Path, key: &str, pin: Option<&str>) -> CertificateFiles {
        let pin = pin.map(|pin| Pin::File(dir.join(pin)));
        let is_pkcs12 = key.ends_with("p12");
        let certificate = dir.join(if is_pkcs12 { key } else { "cert.pem" });
        CertificateFiles { certificate, private_key: dir.join(key), is_pkcs12, pin }
    }

    #[test]
    fn keys_that_openssl_encrypted_are_read() {
        let dir = made();
        let served = |key: &str, pin| files(dir.path(), key, pin).load().map(|key| key.cert[0].to_vec());
        let plain = served("key.pem", None).unwrap();
        for key in ["sha256.pem", "scrypt.pem", "store.p12"] {
            assert_eq!(served(key, Some("pin")).unwrap(), plain, "{key}");
        }
        // Certificate and key in one file.
        let both = ["cert.pem", "sha256.pem"].map(|name| std::fs::read_to_string(dir.path().join(name)).unwrap());
        std::fs::write(dir.path().join("both.pem"), both.concat()).unwrap();
        assert_eq!(served("both.pem", Some("pin")).unwrap(), plain);
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        let dir = made();
        let reason = |key: &str, pin| match files(dir.path(), key, pin).load() {
            Err(TlsError::File { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        let missing = "the key is encrypted: set key-store-pin-file or key-store-pin-environment-variable";
        assert_eq!(reason("sha256.pem", None), missing);
        assert_eq!(reason("store.p12", None), missing);
        assert!(reason("sha256.pem", Some("wrong")).starts_with("the password of the key is wrong"));
        assert!(reason("old.pem", Some("pin")).contains("openssl pkcs8 -topk8"));
        assert!(!reason("store.p12", Some("wrong")).is_empty());
        let unset = CertificateFiles {
            pin: Some(Pin::Environment("NO_SUCH_VARIABLE_OF_PANDO".to_owned())),
            ..files(dir.path(), "sha256.pem", None)
        };
        assert!(matches!(unset.load(), Err(TlsError::File { reason, .. }) if reason.contains("is not set")));
    }
}
