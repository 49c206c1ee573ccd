//! Which mechanisms work on a connection.

use config::SaslKind;
use sasl::Mechanism;

use super::settings::SaslSettings;
use crate::identity_mappers::IdentityMappers;

/// Why a mechanism cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOffered {
    /// Not at all here.
    NotInUse,
    /// Over TLS or a local socket only.
    NeedsEncryption,
}

impl SaslSettings {
    /// Whether a client on that connection may use the mechanism.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check_offer(
        &self,
        mappers: &IdentityMappers,
        session: &access::Session,
        mechanism: Mechanism,
    ) -> Result<&SaslKind, NotOffered> {
        let kind = self.kind(mechanism).ok_or(NotOffered::NotInUse)?;
        let mapper_works = |name: &Option<String>| mappers.find(name.as_deref()).settings.enabled;
        let is_encrypted = session.security_strength_bits > 0;
        let has_binding = session.tls.as_ref().is_some_and(|tls| !tls.bindings.is_empty());
        let (works, needs_encryption) = match (kind, mechanism) {
            (SaslKind::Plain { identity_mapper, require_encryption }, _) => {
                (mapper_works(identity_mapper), *require_encryption)
            }
            (SaslKind::OauthBearer(settings), _) => (mapper_works(&settings.identity_mapper), true),
            (SaslKind::Gssapi(settings), _) => (mapper_works(&settings.identity_mapper), false),
            (SaslKind::Scram { identity_mapper, .. }, Mechanism::Scram { plus, .. }) => {
                (mapper_works(identity_mapper) && (!plus || has_binding), false)
            }
            (SaslKind::External(settings), _) => {
                (self.certificate_mapper(settings).is_none_or(|mapper| mapper.enabled), false)
            }
            (SaslKind::Scram { .. }, _) => (false, false),
        };
        match (works, needs_encryption && !is_encrypted) {
            (false, _) => Err(NotOffered::NotInUse),
            (true, true) => Err(NotOffered::NeedsEncryption),
            (true, false) => Ok(kind),
        }
    }

    /// The names of the mechanisms that a client on that connection may use, the strongest first.
    pub(crate) fn offered(&self, mappers: &IdentityMappers, session: &access::Session) -> Vec<&'static str> {
        let is_known = session.local_peer.is_some() || session.certificate().is_some();
        let all = Mechanism::ALL.into_iter().filter(|mechanism| *mechanism != Mechanism::External || is_known);
        all.filter(|it| self.check_offer(mappers, session, *it).is_ok()).map(Mechanism::name).collect()
    }
}
