//! What a TLS connection can be bound to: the hash of the server's certificate (RFC 5929 §4.1), and keying material of
//! the connection (RFC 9266).

use rustls::{ProtocolVersion, ServerConnection};
use sha2::{Digest, Sha256, Sha384, Sha512};
use x509_parser::signature_algorithm::SignatureAlgorithm;

/// Label of the exporter.
const EXPORTER: &[u8] = b"EXPORTER-Channel-Binding";

/// The hash of a certificate in DER by the hash function of its signature; by SHA-256 where that is MD5 or SHA-1, and
/// where the signature has none of its own (Ed25519), for which RFC 5929 gives no rule.
pub(crate) fn end_point(certificate: &[u8]) -> Vec<u8> {
    match signature_hash_bits(certificate) {
        Some(384) => Sha384::digest(certificate).to_vec(),
        Some(512) => Sha512::digest(certificate).to_vec(),
        _ => Sha256::digest(certificate).to_vec(),
    }
}

fn signature_hash_bits(certificate: &[u8]) -> Option<u32> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let oid = match SignatureAlgorithm::try_from(&certificate.signature_algorithm).ok()? {
        SignatureAlgorithm::RSASSA_PSS(parameters) => parameters.hash_algorithm_oid().to_id_string(),
        _ => certificate.signature_algorithm.algorithm.to_id_string(),
    };
    match oid.as_str() {
        // RSA, ECDSA and the hash function itself.
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" | "2.16.840.1.101.3.4.2.2" => Some(384),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" | "2.16.840.1.101.3.4.2.3" => Some(512),
        _ => None,
    }
}

/// Keying material that only the two ends know. Not with TLS 1.2, where it is bound to one connection only if both ends
/// use the extended master secret, which the TLS library does not tell.
pub(crate) fn exporter(connection: &ServerConnection) -> Option<[u8; 32]> {
    if connection.protocol_version() != Some(ProtocolVersion::TLSv1_3) {
        return None;
    }
    connection.export_keying_material([0; 32], EXPORTER, Some(&[])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5929 §4.1: the hash function of the signature, but SHA-256 for weak ones and for those without.
    #[test]
    fn the_hash_is_that_of_the_signature() {
        let hash = |algorithm: &'static rcgen::SignatureAlgorithm| {
            let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
            let parameters = rcgen::CertificateParams::new(["one.example".to_owned()]).unwrap();
            let der = parameters.self_signed(&key).unwrap().der().to_vec();
            (end_point(&der), der)
        };
        let (hashed, der) = hash(&rcgen::PKCS_ECDSA_P256_SHA256);
        assert_eq!(hashed, Sha256::digest(der).to_vec());
        let (hashed, der) = hash(&rcgen::PKCS_ECDSA_P384_SHA384);
        assert_eq!(hashed, Sha384::digest(der).to_vec());
        let (hashed, der) = hash(&rcgen::PKCS_ED25519);
        assert_eq!(hashed, Sha256::digest(der).to_vec());
        assert_eq!(end_point(b"rubbish"), Sha256::digest(b"rubbish").to_vec());
    }
}
