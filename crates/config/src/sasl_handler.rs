//! `[sasl-mechanism-handler.NAME]`, `[certificate-mapper.NAME]`: which SASL mechanisms clients may bind with, and how
//! their users are found.
//!
//! The structs that the server reads; does not know how a mechanism works.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::object::{Judge, Object};
use crate::value::Value;

/// The class of mechanisms.
const CLASS: &str = "sasl-mechanism-handler";

/// `[sasl-mechanism-handler.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaslHandler {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// `type` and what belongs to it.
    pub kind: SaslKind,
}

/// A mechanism and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaslKind {
    /// `plain`
    Plain {
        /// `identity-mapper`
        identity_mapper: Option<String>,
        /// `require-encryption`
        require_encryption: bool,
    },
    /// `external`
    External(ExternalSettings),
    /// `scram-sha-…`
    Scram {
        /// `type`
        mechanism: &'static str,
        /// `identity-mapper`
        identity_mapper: Option<String>,
    },
    /// `oauthbearer`
    OauthBearer(Box<OauthSettings>),
    /// `gssapi`
    Gssapi(Box<GssapiSettings>),
}

/// What EXTERNAL is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalSettings {
    /// `certificate-mapper`
    pub certificate_mapper: Option<String>,
    /// `certificate-validation-policy`
    pub validation: CertificateValidation,
    /// `certificate-attribute`
    pub certificate_attribute: String,
    /// `ldapi-map-root-to-dn`
    pub local_root: Option<String>,
    /// `ldapi-map-to-entries`
    pub maps_local_users: bool,
}

/// Whether the entry of a user has to hold the user's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateValidation {
    /// It has to.
    Always,
    /// It has to if it holds any.
    IfPresent,
    /// It is not looked at.
    Never,
}

/// What OAUTHBEARER is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthSettings {
    /// `identity-mapper`
    pub identity_mapper: Option<String>,
    /// `token-issuer`
    pub issuer: String,
    /// `token-audience`
    pub audience: Vec<String>,
    /// `key-set-file`
    pub key_set: PathBuf,
    /// `user-name-claim`
    pub claim: String,
    /// `required-scope`
    pub scope: Option<String>,
    /// `clock-skew`
    pub clock_skew: Duration,
    /// `openid-configuration-url`
    pub openid_configuration: Option<String>,
}

/// What GSSAPI is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GssapiSettings {
    /// `identity-mapper`
    pub identity_mapper: Option<String>,
    /// `keytab`; none: that of the system.
    pub keytab: Option<PathBuf>,
    /// `principal-name`
    pub principal: Option<String>,
    /// `realm`
    pub realm: Option<String>,
    /// `offer-gss-spnego`
    pub offers_spnego: bool,
}

/// `[certificate-mapper.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateMapper {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// `user-base-dn`; empty is all backends.
    pub base_dns: Vec<String>,
    /// `type` and what belongs to it.
    pub kind: CertificateMapping,
}

/// How an entry is found by a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateMapping {
    /// `subject-equals-dn`
    SubjectIsName,
    /// `subject-dn-to-user-attribute`: the attribute.
    Subject(String),
    /// `subject-attribute-to-user-attribute`: attributes of the subject and of the entry.
    Attributes(Vec<(String, String)>),
    /// `fingerprint`
    Fingerprint {
        /// `fingerprint-attribute`
        attribute: String,
        /// `fingerprint-algorithm`
        algorithm: FingerprintAlgorithm,
    },
}

/// A hash function of fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FingerprintAlgorithm {
    /// `md5`
    Md5,
    /// `sha1`
    Sha1,
    /// `sha256`
    Sha256,
}

impl SaslHandler {
    /// The mechanisms that are offered without a table, with their defaults.
    #[must_use]
    pub fn defaults() -> [SaslHandler; 2] {
        ["plain", "external"].map(|type_name| {
            let class = &crate::declarations::CLASSES[0];
            let class = crate::declarations::class(CLASS).unwrap_or(class);
            let variant = class.variant(type_name).unwrap_or(&class.variants[0]);
            handler(&Object::with_defaults(class, variant, type_name), Path::new(""))
        })
    }
}

struct Get<'o>(&'o Object);

impl Get<'_> {
    fn texts(&self, name: &str) -> Vec<String> {
        self.0.values(name).iter().map(ToString::to_string).collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.texts(name).into_iter().next()
    }

    fn truth(&self, name: &str) -> bool {
        self.0.values(name) == [Value::Boolean(true)]
    }
}

pub(crate) fn handler(object: &Object, instance: &Path) -> SaslHandler {
    let get = Get(object);
    let identity_mapper = || get.text("identity-mapper");
    let kind = match object.variant.type_name {
        "external" => SaslKind::External(ExternalSettings {
            certificate_mapper: get.text("certificate-mapper"),
            validation: match get.text("certificate-validation-policy").as_deref() {
                Some("always") => CertificateValidation::Always,
                Some("never") => CertificateValidation::Never,
                _ => CertificateValidation::IfPresent,
            },
            certificate_attribute: get.text("certificate-attribute").unwrap_or_default(),
            local_root: get.text("ldapi-map-root-to-dn"),
            maps_local_users: get.truth("ldapi-map-to-entries"),
        }),
        "oauthbearer" => SaslKind::OauthBearer(Box::new(OauthSettings {
            identity_mapper: identity_mapper(),
            issuer: get.text("token-issuer").unwrap_or_default(),
            audience: get.texts("token-audience"),
            key_set: instance.join(get.text("key-set-file").unwrap_or_default()),
            claim: get.text("user-name-claim").unwrap_or_default(),
            scope: get.text("required-scope"),
            clock_skew: match object.values("clock-skew").first() {
                Some(Value::Duration(ms)) => Duration::from_millis(*ms),
                _ => Duration::ZERO,
            },
            openid_configuration: get.text("openid-configuration-url"),
        })),
        "gssapi" => SaslKind::Gssapi(Box::new(GssapiSettings {
            identity_mapper: identity_mapper(),
            keytab: get.text("keytab").map(|path| instance.join(path)),
            principal: get.text("principal-name"),
            realm: get.text("realm"),
            offers_spnego: get.truth("offer-gss-spnego"),
        })),
        "plain" => {
            SaslKind::Plain { identity_mapper: identity_mapper(), require_encryption: get.truth("require-encryption") }
        }
        mechanism => SaslKind::Scram { mechanism, identity_mapper: identity_mapper() },
    };
    SaslHandler { name: object.name.clone(), enabled: get.truth("enabled"), kind }
}

pub(crate) fn certificate_mapper(object: &Object) -> CertificateMapper {
    let get = Get(object);
    let kind = match object.variant.type_name {
        "subject-dn-to-user-attribute" => {
            CertificateMapping::Subject(get.text("subject-attribute").unwrap_or_default())
        }
        "subject-attribute-to-user-attribute" => {
            let pairs = get.texts("subject-attribute-mapping");
            CertificateMapping::Attributes(pairs.iter().filter_map(|text| pair(text)).collect())
        }
        "fingerprint" => CertificateMapping::Fingerprint {
            attribute: get.text("fingerprint-attribute").unwrap_or_default(),
            algorithm: match get.text("fingerprint-algorithm").as_deref() {
                Some("md5") => FingerprintAlgorithm::Md5,
                Some("sha1") => FingerprintAlgorithm::Sha1,
                _ => FingerprintAlgorithm::Sha256,
            },
        },
        _ => CertificateMapping::SubjectIsName,
    };
    let has_bases = object.variant.property("user-base-dn").is_some();
    CertificateMapper {
        name: object.name.clone(),
        enabled: get.truth("enabled"),
        base_dns: if has_bases { get.texts("user-base-dn") } else { Vec::new() },
        kind,
    }
}

fn pair(text: &str) -> Option<(String, String)> {
    let (subject, entry) = text.split_once(':')?;
    let (subject, entry) = (subject.trim(), entry.trim());
    (!subject.is_empty() && !entry.is_empty()).then(|| (subject.to_owned(), entry.to_owned()))
}

fn is_pair(text: &str) -> Result<(), String> {
    match pair(text) {
        Some(_) => Ok(()),
        None => Err("write the attribute of the subject, a colon and that of the entry".to_owned()),
    }
}

const JUDGED: [(&str, Judge); 1] = [("subject-attribute-mapping", is_pair)];

/// Faults that no syntax shows, each with its place in the text.
pub(crate) fn faults(objects: &[Object]) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for object in objects.iter().filter(|object| object.class.name == "certificate-mapper") {
        object.judge(&JUDGED, &mut faults);
    }
    let handlers: Vec<&Object> = objects.iter().filter(|object| object.class.name == CLASS).collect();
    for (at, object) in handlers.iter().enumerate() {
        let type_name = object.variant.type_name;
        if handlers[..at].iter().any(|other| other.variant.type_name == type_name) {
            let title = object.title();
            faults.push((object.offset, format!("{title} is a second handler of type {type_name}: remove one")));
        }
    }
    faults
}
