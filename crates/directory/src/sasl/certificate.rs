//! What a client's certificate says of its owner. Knows no entries.

use std::fmt::Write;

use config::FingerprintAlgorithm;
use md5::Md5;
use schema::Schema;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::AttributeTypeAndValue;

/// The subject as the name of an entry (RFC 4514): the certificate has it in the opposite order, and types by their
/// OIDs, which the schema knows as well as names.
pub(super) fn subject(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let rdns: Vec<_> = certificate.subject().iter_rdn().collect();
    let mut name = String::new();
    for rdn in rdns.into_iter().rev() {
        for (at, part) in rdn.iter().enumerate() {
            if !name.is_empty() {
                name.push(if at == 0 { ',' } else { '+' });
            }
            name.push_str(&part.attr_type().to_id_string());
            name.push('=');
            push_value(part, &mut name)?;
        }
    }
    (!name.is_empty()).then_some(name)
}

fn push_value(part: &AttributeTypeAndValue<'_>, name: &mut String) -> Option<()> {
    // Every character that may have a meaning is written as its octets.
    for byte in part.as_str().ok()?.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => name.push(byte.into()),
            byte => write!(name, "\\{byte:02x}").ok()?,
        }
    }
    Some(())
}

/// The values that the subject has of an attribute, which the schema knows by that name.
pub(super) fn subject_values(certificate: &[u8], schema: &Schema, attribute: &str) -> Option<Vec<String>> {
    let oid = schema.attribute_type(attribute.as_bytes())?.oid().to_owned();
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let all = certificate.subject().iter_attributes().filter(|part| part.attr_type().to_id_string() == oid);
    all.map(|part| part.as_str().ok().map(str::to_owned)).collect()
}

/// The fingerprint, as `aa:bb:…`.
pub(super) fn fingerprint(certificate: &[u8], algorithm: FingerprintAlgorithm) -> String {
    let hash = match algorithm {
        FingerprintAlgorithm::Md5 => Md5::digest(certificate).to_vec(),
        FingerprintAlgorithm::Sha1 => Sha1::digest(certificate).to_vec(),
        FingerprintAlgorithm::Sha256 => Sha256::digest(certificate).to_vec(),
    };
    hash.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use ::schema::NormalizedDn;

    use super::*;

    fn certificate() -> Vec<u8> {
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        let mut name = rcgen::DistinguishedName::new();
        name.push(rcgen::DnType::CountryName, "CH");
        name.push(rcgen::DnType::OrganizationName, "Example, Inc. \u{e9}");
        name.push(rcgen::DnType::CommonName, "Ann + Ben");
        parameters.distinguished_name = name;
        parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn the_subject_is_a_name_in_the_order_of_rfc_4514() {
        let schema = Schema::standard();
        let subject = subject(&certificate()).unwrap();
        let parsed = |name: &str| NormalizedDn::parse(&schema, name.as_bytes()).unwrap();
        assert_eq!(parsed(&subject), parsed("cn=Ann \\+ Ben,o=Example\\, Inc. \u{e9},c=CH"), "{subject}");
        let values = |name: &str| subject_values(&certificate(), &schema, name);
        assert_eq!(values("cn"), Some(vec!["Ann + Ben".to_owned()]));
        assert_eq!(values("mail"), Some(Vec::new()));
        assert_eq!(values("no-such-attribute"), None);
        assert_eq!(super::subject(b"rubbish"), None);
    }

    #[test]
    fn fingerprints_are_octets_with_colons() {
        assert_eq!(fingerprint(b"abc", FingerprintAlgorithm::Md5), "90:01:50:98:3c:d2:4f:b0:d6:96:3f:7d:28:e1:7f:72");
        let sha1 = "a9:99:3e:36:47:06:81:6a:ba:3e:25:71:78:50:c2:6c:9c:d0:d8:9d";
        assert_eq!(fingerprint(b"abc", FingerprintAlgorithm::Sha1), sha1);
        assert!(fingerprint(b"abc", FingerprintAlgorithm::Sha256).starts_with("ba:78:16:bf:8f:01:cf:ea:"));
    }
}
