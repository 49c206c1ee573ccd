//! The SASL mechanisms of the configuration.

use std::sync::Arc;
use std::time::Duration;

use config::{
    CertificateMapper, CertificateMapping, Config, ExternalSettings, GssapiSettings, OauthSettings, SaslHandler,
    SaslKind,
};
use durable::ReadBound;
use sasl::Mechanism;
use sasl::jwt::TokenRules;
use sasl::scram::Decoys;
use schema::Schema;

use super::key_file::KeyFile;
use crate::decoy_secret::DecoySecret;
use crate::open_error::OpenError;

/// A keytab; the library of Kerberos reads it.
const KEYTAB: ReadBound = ReadBound::file(16 << 20);
/// Octets of salt of keys of SCRAM that are made here.
const DECOY_SALT_BYTES: usize = 16;

/// What to do about a handler that this program has nothing for.
const NO_KERBEROS: &str = "this pando is built without Kerberos: build it with \
    `cargo build --release -p pando --features gssapi` (libkrb5-dev and libclang-dev have to be there), or say \
    `enabled = false`";

/// See the module.
pub(crate) struct SaslSettings {
    /// As configured, with those that work without a table.
    handlers: Vec<SaslHandler>,
    certificate_mappers: Vec<CertificateMapper>,
    tokens: Option<Arc<Tokens>>,
    decoy_secret: DecoySecret,
}

/// What OAUTHBEARER goes by.
pub(crate) struct Tokens {
    pub(crate) keys: KeyFile,
    pub(crate) rules: TokenRules,
    pub(crate) settings: OauthSettings,
}

/// The same configuration makes the same mechanisms.
impl PartialEq for SaslSettings {
    fn eq(&self, other: &Self) -> bool {
        (&self.handlers, &self.certificate_mappers) == (&other.handlers, &other.certificate_mappers)
    }
}

impl SaslSettings {
    /// From the configuration.
    ///
    /// # Errors
    /// When a mechanism goes by something that the schema does not have, or by keys that cannot be read.
    pub(crate) fn new(config: &Config, schema: &Schema) -> Result<Self, OpenError> {
        let mut handlers = config.sasl_handlers.clone();
        for default in SaslHandler::defaults() {
            let is_same =
                |own: &SaslHandler| std::mem::discriminant(&own.kind) == std::mem::discriminant(&default.kind);
            if !handlers.iter().any(is_same) {
                handlers.push(default);
            }
        }
        handlers.retain(|handler| handler.enabled);
        let mut tokens = None;
        for handler in &handlers {
            let fault = |reason| OpenError::Sasl { name: handler.name.clone(), reason };
            match &handler.kind {
                SaslKind::OauthBearer(settings) => tokens = Some(Arc::new(Tokens::new(settings).map_err(fault)?)),
                SaslKind::Gssapi(settings) => check_kerberos(settings).map_err(fault)?,
                _ => {}
            }
        }
        for mapper in &config.certificate_mappers {
            check_mapper(mapper, schema)?;
        }
        Ok(SaslSettings {
            handlers,
            certificate_mappers: config.certificate_mappers.clone(),
            tokens,
            decoy_secret: DecoySecret::new(config),
        })
    }

    /// The settings of a mechanism; none when it is not in use.
    pub(crate) fn kind(&self, mechanism: Mechanism) -> Option<&SaslKind> {
        let is_it = |kind: &&SaslKind| match (kind, mechanism) {
            (SaslKind::Plain { .. }, Mechanism::Plain)
            | (SaslKind::External(_), Mechanism::External)
            | (SaslKind::OauthBearer(_), Mechanism::OauthBearer)
            | (SaslKind::Gssapi(_), Mechanism::Gssapi) => true,
            (SaslKind::Gssapi(settings), Mechanism::GssSpnego) => settings.offers_spnego,
            (SaslKind::Scram { mechanism, .. }, Mechanism::Scram { hash, .. }) => {
                mechanism.eq_ignore_ascii_case(hash.mechanism())
            }
            _ => false,
        };
        self.handlers.iter().map(|handler| &handler.kind).find(is_it)
    }

    /// What OAUTHBEARER goes by.
    pub(crate) fn tokens(&self) -> Option<&Arc<Tokens>> {
        self.tokens.as_ref()
    }

    /// The mapper that EXTERNAL names; none: the subject is the name of the entry.
    pub(crate) fn certificate_mapper(&self, settings: &ExternalSettings) -> Option<&CertificateMapper> {
        let name = settings.certificate_mapper.as_deref()?;
        self.certificate_mappers.iter().find(|mapper| mapper.name == name)
    }

    /// Keys for names that have none, with as many rounds as new stored values have.
    pub(crate) fn decoys(&self, iterations: u32) -> Decoys {
        Decoys::new(self.decoy_secret.get(), iterations, DECOY_SALT_BYTES)
    }
}

/// Whether tickets can be checked at all.
fn check_kerberos(settings: &GssapiSettings) -> Result<(), String> {
    if !sasl::gssapi::IS_BUILT {
        return Err(NO_KERBEROS.to_owned());
    }
    match &settings.keytab {
        Some(keytab) => KEYTAB
            .open(keytab)
            .map(drop)
            .map_err(|error| format!("keytab \"{}\" cannot be read: {error}", keytab.display())),
        None => Ok(()),
    }
}

/// The attributes have to be there, or nobody would ever be found.
fn check_mapper(mapper: &CertificateMapper, schema: &Schema) -> Result<(), OpenError> {
    let attributes: Vec<&str> = match &mapper.kind {
        CertificateMapping::SubjectIsName => Vec::new(),
        CertificateMapping::Subject(attribute) | CertificateMapping::Fingerprint { attribute, .. } => vec![attribute],
        CertificateMapping::Attributes(pairs) => pairs.iter().flat_map(|(left, right)| [&**left, &**right]).collect(),
    };
    match attributes.iter().find(|attribute| schema.attribute_type(attribute.as_bytes()).is_none()) {
        None => Ok(()),
        Some(unknown) => Err(OpenError::CertificateMapper {
            name: mapper.name.clone(),
            reason: format!("the schema has no attribute type {unknown}"),
        }),
    }
}

impl Tokens {
    fn new(settings: &OauthSettings) -> Result<Tokens, String> {
        let rules = TokenRules {
            issuer: settings.issuer.clone(),
            audience: settings.audience.clone(),
            claim: settings.claim.clone(),
            scope: settings.scope.clone(),
            leeway_seconds: Duration::as_secs(&settings.clock_skew),
        };
        Ok(Tokens { keys: KeyFile::open(&settings.key_set)?, rules, settings: settings.clone() })
    }
}

#[cfg(all(test, not(feature = "gssapi")))]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_kerberos_says_how_to_get_one_with_it() {
        let handler = |more: &str| {
            let text = format!("[sasl-mechanism-handler.GSSAPI]\ntype = \"gssapi\"\n{more}\n");
            let config = Config::parse(&text, std::path::Path::new("/x/pando.toml")).unwrap();
            SaslSettings::new(&config, &Schema::standard()).map(drop)
        };
        let refused = handler("").unwrap_err().to_string();
        assert!(refused.contains("GSSAPI") && refused.contains("--features gssapi"), "{refused}");
        handler("enabled = false").unwrap();
    }
}
