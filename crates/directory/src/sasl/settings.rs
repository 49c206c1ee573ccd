//! The SASL mechanisms of the configuration.

use std::sync::Arc;
use std::time::Duration;

use config::{CertificateMapper, CertificateMapping, Config, ExternalSettings, OauthSettings, SaslHandler, SaslKind};
use sasl::Mechanism;
use sasl::jwt::TokenRules;
use sasl::scram::Decoys;
use schema::Schema;

use super::key_file::KeyFile;
use crate::decoy_secret::DecoySecret;
use crate::open_error::OpenError;

/// Octets of salt of keys of SCRAM that are made here.
const DECOY_SALT_BYTES: usize = 16;

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
            if let SaslKind::OauthBearer(settings) = &handler.kind {
                tokens = Some(Arc::new(Tokens::new(settings).map_err(fault)?));
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
            | (SaslKind::OauthBearer(_), Mechanism::OauthBearer) => true,
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
